// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits that other threads end, two of one kind to one of the other: argv[1] s of a condition, on
 * which "taker" waits and which "often" signals twice as often as "rarely"; of a semaphore, "eater"
 * and "giver-a" and "giver-b"; and of a queue with three workers. Then prints how many waits each
 * thread has ended by its own count, as "NAME COUNT". With argv[2] a forked child does the same.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, queued = PTHREAD_COND_INITIALIZER;
static sem_t given;
static int nr_filled, nr_queued;
static atomic_bool is_over;

struct maker {
	const char *name;
	unsigned int pause_us;
	void (*make)(void);
	unsigned long nr;
};

static void __attribute__((noinline)) fill(void)
{
	pthread_mutex_lock(&lock);
	nr_filled++;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static void __attribute__((noinline)) fill_rarely(void)
{
	pthread_mutex_lock(&lock);
	nr_filled++;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static void __attribute__((noinline)) give(void)
{
	sem_post(&given);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static void __attribute__((noinline)) enqueue(void)
{
	pthread_mutex_lock(&queue_lock);
	nr_queued++;
	pthread_cond_signal(&queued);
	pthread_mutex_unlock(&queue_lock);
}

static void *take(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "taker");
	pthread_mutex_lock(&lock);
	while (!is_over) {
		while (!nr_filled && !is_over)
			pthread_cond_wait(&filled, &lock);
		nr_filled = 0;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *eat(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "eater");
	while (!is_over)
		sem_wait(&given);
	return NULL;
}

static void spin_us(unsigned int us)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begun.tv_sec) * 1000000 + (now.tv_nsec - begun.tv_nsec) / 1000 <
	       (long)us);
}

static void *work(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "worker");
	pthread_mutex_lock(&queue_lock);
	while (!is_over) {
		while (!nr_queued && !is_over)
			pthread_cond_wait(&queued, &queue_lock);
		nr_queued -= nr_queued > 0;
		pthread_mutex_unlock(&queue_lock);
		spin_us(100);
		pthread_mutex_lock(&queue_lock);
	}
	pthread_mutex_unlock(&queue_lock);
	return NULL;
}

static void *make_all(void *context)
{
	struct maker *maker = context;

	pthread_setname_np(pthread_self(), maker->name);
	while (!is_over) {
		usleep(maker->pause_us);
		maker->make();
		maker->nr++;
	}
	return NULL;
}

/* A profc that is killed while the thread makes calls for it may end its sleep. */
static void sleep_until(const struct timespec *end)
{
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, end, NULL) != 0)
		continue;
}

static struct maker makers[] = {
	{"often", 4000, fill, 0},	{"rarely", 8000, fill_rarely, 0},
	{"giver-a", 3000, give, 0},	{"giver-b", 6000, give, 0},
	{"queuer-a", 2500, enqueue, 0}, {"queuer-b", 5000, enqueue, 0},
};
#define NR_MAKERS (sizeof(makers) / sizeof(makers[0]))
#define NR_TAKERS 5

int main(int argc, char **argv)
{
	static void *(*const takers[NR_TAKERS])(void *) = {take, eat, work, work, work};
	struct timespec end;
	pid_t child = 0;
	pthread_t made[NR_MAKERS], taken[NR_TAKERS];
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;

	if (argc > 2)
		child = fork();
	sem_init(&given, 0, 0);
	for (size_t i = 0; i < NR_TAKERS; i++)
		pthread_create(&taken[i], NULL, takers[i], NULL);
	for (size_t i = 0; i < NR_MAKERS; i++)
		pthread_create(&made[i], NULL, make_all, &makers[i]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	puts("ready");
	fflush(stdout);
	sleep_until(&end);
	is_over = true;
	for (size_t i = 0; i < NR_MAKERS; i++)
		pthread_join(made[i], NULL);
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&queue_lock);
	pthread_cond_broadcast(&queued);
	pthread_mutex_unlock(&queue_lock);
	sem_post(&given);
	for (size_t i = 0; i < NR_TAKERS; i++)
		pthread_join(taken[i], NULL);
	for (size_t i = 0; i < NR_MAKERS; i++)
		printf("%s %lu\n", makers[i].name, makers[i].nr);
	if (child)
		waitpid(child, NULL, 0);
	return 0;
}
