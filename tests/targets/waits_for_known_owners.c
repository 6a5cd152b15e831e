// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waits_for_known_owners [MS]: "holder" has three locks, and spends 3/4 of the time in
 * compute_with_locks() and 1/4 asleep in sleep_with_locks(), while "waiter-1" and "waiter-2" wait
 * for `plain_lock`, "heir" for `heir_lock`, which hands its priority on, and "robust" for
 * `robust_lock`. "idle" waits for `never`, a condition, "sem" for `tickets`, a semaphore, and
 * the main thread for the end of "holder". "heap" waits for a lock that is no
 * variable. Prints {"waited_ns", "address"}: how long each of them waited, and where that lock is.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>

#include "self_measure.h"

#define ROUNDS 20

static pthread_mutex_t plain_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t heir_lock, robust_lock;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t *heap_lock;
static sem_t tickets;
static pthread_barrier_t held;
static uint64_t time_ns;

struct waiter {
	const char *name;
	pthread_mutex_t *lock;
	pthread_t thread;
	uint64_t waited_ns;
};

NOINLINE static void compute_with_locks(uint64_t until_ns)
{
	volatile uint64_t x = 1;

	while (monotonic_ns() < until_ns) {
		for (int i = 0; i < 100000; i++)
			SPIN_STEP(x);
	}
}

NOINLINE static void sleep_with_locks(uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
				       .tv_nsec = (long)(until_ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	__asm__ volatile("");
}

static void *holder_main(void *unused)
{
	uint64_t begin_ns;

	(void)unused;
	prctl(PR_SET_NAME, "holder");
	pthread_mutex_lock(&plain_lock);
	pthread_mutex_lock(&heir_lock);
	pthread_mutex_lock(&robust_lock);
	pthread_mutex_lock(heap_lock);
	pthread_barrier_wait(&held);
	begin_ns = monotonic_ns();
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t round_ns = begin_ns + i * time_ns / ROUNDS;

		compute_with_locks(round_ns + time_ns / ROUNDS * 3 / 4);
		sleep_with_locks(round_ns + time_ns / ROUNDS);
	}
	pthread_mutex_unlock(heap_lock);
	pthread_mutex_unlock(&robust_lock);
	pthread_mutex_unlock(&heir_lock);
	pthread_mutex_unlock(&plain_lock);
	return NULL;
}

NOINLINE static void want_lock(struct waiter *self)
{
	uint64_t before_ns = monotonic_ns();

	pthread_mutex_lock(self->lock);
	self->waited_ns = monotonic_ns() - before_ns;
	pthread_mutex_unlock(self->lock);
}

static void *waiter_main(void *argument)
{
	struct waiter *self = argument;

	prctl(PR_SET_NAME, self->name);
	pthread_barrier_wait(&held);
	want_lock(self);
	return NULL;
}

static void *idle_main(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "idle");
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
	return NULL;
}

static void *sem_main(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "sem");
	for (;;)
		sem_wait(&tickets);
	return NULL;
}

static void begin_locks(void)
{
	pthread_mutexattr_t heir, robust;

	pthread_mutexattr_init(&heir);
	pthread_mutexattr_setprotocol(&heir, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&heir_lock, &heir);
	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust_lock, &robust);
	heap_lock = malloc(sizeof(*heap_lock));
	pthread_mutex_init(heap_lock, NULL);
	sem_init(&tickets, 0, 0);
}

int main(int argc, char **argv)
{
	struct waiter waiters[] = {{.name = "waiter-1", .lock = &plain_lock},
				   {.name = "waiter-2", .lock = &plain_lock},
				   {.name = "heir", .lock = &heir_lock},
				   {.name = "robust", .lock = &robust_lock},
				   {.name = "heap"}};
	const unsigned int nr = sizeof(waiters) / sizeof(waiters[0]);
	pthread_t holder, others[2];

	time_ns = number_argument(argc, argv, 1, 2000) * MS;
	begin_locks();
	waiters[4].lock = heap_lock;
	pthread_barrier_init(&held, NULL, nr + 1);
	pthread_create(&others[0], NULL, idle_main, NULL);
	pthread_create(&others[1], NULL, sem_main, NULL);
	for (unsigned int i = 0; i < nr; i++)
		pthread_create(&waiters[i].thread, NULL, waiter_main, &waiters[i]);
	pthread_create(&holder, NULL, holder_main, NULL);
	pthread_join(holder, NULL);
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(waiters[i].thread, NULL);
	printf("{\"address\": \"%p\", \"waited_ns\": {", (void *)heap_lock);
	for (unsigned int i = 0; i < nr; i++)
		printf("%s\"%s\": %llu", i ? ", " : "", waiters[i].name,
		       (unsigned long long)waiters[i].waited_ns);
	printf("}}\n");
	return 0;
}
