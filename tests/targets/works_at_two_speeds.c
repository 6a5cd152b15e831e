// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose function hot() has as much of its work as is asked for, so that what it gains by
 * a faster one can be measured.
 *
 *	works_at_two_speeds KIND PERCENT STEPS_PER_MS [ITEMS]
 *	works_at_two_speeds measure
 *
 * Of the work of hot() PERCENT is done, of that of cold() all. At the end of standard input, or
 * after so many ITEMS, it prints how often finish_item() was called in a second. The second form
 * prints the steps that take a millisecond, the same number for all runs that are to be compared.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROOM 4

static double steps_per_us, hot_part;
static volatile uint64_t number = 1;
static _Atomic uint64_t items;
static uint64_t wanted_items;
static sem_t has_enough;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static int queued;

static double seconds_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#define COMPUTE(steps)                                                                             \
	do {                                                                                       \
		uint64_t x = number;                                                               \
                                                                                                   \
		for (long i = 0; i < (long)(steps); i++) {                                         \
			x = x * 6364136223846793005u + 1;                                          \
			__asm__ volatile("" ::"r"(x));                                             \
		}                                                                                  \
		number = x;                                                                        \
	} while (0)

__attribute__((noinline)) void hot(double us);
void hot(double us)
{
	COMPUTE(us * hot_part * steps_per_us);
}

__attribute__((noinline)) void cold(double us);
void cold(double us)
{
	COMPUTE(us * steps_per_us);
}

/* Each word leads to another one, far away: all of its time it waits for memory. */
#define NR_WORDS (UINT32_C(8) << 20)
static uint32_t *chain;

static void make_chain(void)
{
	uint64_t random = 88172645463325252u;

	chain = malloc(NR_WORDS * sizeof(*chain));
	for (uint32_t i = 0; i < NR_WORDS; i++)
		chain[i] = i;
	/* One circle: Sattolo. */
	for (uint32_t i = NR_WORDS - 1; i > 0; i--) {
		uint32_t other, word = chain[i];

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		other = (uint32_t)(random % i);
		chain[i] = chain[other];
		chain[other] = word;
	}
}

__attribute__((noinline)) void hot_in_memory(long steps);
void hot_in_memory(long steps)
{
	static __thread uint32_t at;
	uint32_t word = at;

	for (long i = 0; i < (long)((double)steps * hot_part); i++)
		word = chain[word];
	at = word;
	__asm__ volatile("" ::"r"(word));
}

__attribute__((noinline)) void finish_item(void);
void finish_item(void)
{
	if (++items == wanted_items)
		sem_post(&has_enough);
	__asm__ volatile("" ::: "memory");
}

static void put(void)
{
	pthread_mutex_lock(&queue_lock);
	while (queued == ROOM)
		pthread_cond_wait(&changed, &queue_lock);
	queued++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&queue_lock);
}

static void take(void)
{
	pthread_mutex_lock(&queue_lock);
	while (!queued)
		pthread_cond_wait(&changed, &queue_lock);
	queued--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&queue_lock);
}

/* --- what threads do, again and again --- */

static void single(void)
{
	hot(600);
	cold(400);
	finish_item();
}

static void makes(void)
{
	hot(2000);
	put();
}

static void takes(void)
{
	take();
	cold(1000);
	finish_item();
}

/* A pipeline by a pipe, whose room is never used up. */
static int ends[2];

static void sends(void)
{
	const char item = 'x';

	hot(2000);
	if (write(ends[1], &item, 1) < 0)
		exit(1);
}

static void receives(void)
{
	char item;

	if (read(ends[0], &item, 1) < 1)
		exit(1);
	cold(1000);
	finish_item();
}

/* With two of them the lock is the limit. */
static void locks_for(double us)
{
	cold(us / 2);
	pthread_mutex_lock(&lock);
	hot(us);
	pthread_mutex_unlock(&lock);
	finish_item();
}

static void spins_for(double us)
{
	cold(us / 2);
	pthread_spin_lock(&spin);
	hot(us);
	pthread_spin_unlock(&spin);
	finish_item();
}

static void locks(void)
{
	locks_for(3000);
}

static void locks_shortly(void)
{
	locks_for(300);
}

static void spins(void)
{
	spins_for(3000);
}

static void spins_shortly(void)
{
	spins_for(300);
}

static void straggles(void)
{
	hot(2000);
	pthread_barrier_wait(&barrier);
	finish_item();
}

static void is_early(void)
{
	cold(1000);
	pthread_barrier_wait(&barrier);
}

static void requests(void)
{
	put();
}

/* A server: of the two that serve one at a time has the lock. */
static void serves(void)
{
	take();
	cold(500);
	pthread_mutex_lock(&lock);
	hot(1000);
	pthread_mutex_unlock(&lock);
	finish_item();
}

static void chases(void)
{
	hot_in_memory(20000);
	pthread_barrier_wait(&barrier);
	finish_item();
}

static const struct kind {
	const char *name;
	void (*threads[3])(void);
} kinds[] = {
	{"single", {single}},
	{"pipeline", {makes, takes}},
	{"pipe", {sends, receives}},
	{"convoy", {locks, locks}},
	{"short_convoy", {locks_shortly, locks_shortly}},
	{"join", {straggles, is_early}},
	{"server", {requests, serves, serves}},
	{"spin", {spins, spins}},
	{"short_spin", {spins_shortly, spins_shortly}},
	{"memory", {chases, is_early}},
};

static void *repeat(void *argument)
{
	void (*const *work)(void) = argument;

	for (;;)
		(*work)();
	return NULL;
}

static const struct kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	exit(2);
}

static int measure(void)
{
	double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);

	COMPUTE(200e6);
	printf("{\"steps_per_ms\": %.0f}\n",
	       200e6 / (seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin) / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	const struct kind *kind;
	pthread_t thread;
	uint64_t before;
	double begin;
	char byte;

	if (argc == 2 && !strcmp(argv[1], "measure"))
		return measure();
	if (argc < 4 || argc > 5)
		return 2;
	wanted_items = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
	sem_init(&has_enough, 0, 0);
	kind = kind_of(argv[1]);
	hot_part = strtod(argv[2], NULL) / 100;
	steps_per_us = strtod(argv[3], NULL) / 1000;
	if (!strcmp(kind->name, "memory"))
		make_chain();
	if (pipe(ends) < 0)
		return 1;
	pthread_spin_init(&spin, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	for (size_t i = 0; i < 3 && kind->threads[i]; i++)
		pthread_create(&thread, NULL, repeat, (void *)&kind->threads[i]);
	printf("ready\n");
	fflush(stdout);
	before = items;
	begin = seconds_of(CLOCK_MONOTONIC);
	while (wanted_items ? sem_wait(&has_enough) != 0 : read(STDIN_FILENO, &byte, 1) > 0)
		;
	printf("{\"items_per_s\": %.2f}\n",
	       (double)(items - before) / (seconds_of(CLOCK_MONOTONIC) - begin));
	return 0;
}
