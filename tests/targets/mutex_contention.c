// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mutex_contention [MS]: three threads contend for one mutex, held 8 ms at a
 * time, asleep, in hold_the_lock(), and waited for in wait_for_lock(). Prints
 * {"waited_ns", "held_ns"}: the sums over the threads, by the clock; and {"held_by_ns"}: the latter
 * of each, by its id.
 */
#include <pthread.h>

#include "self_measure.h"

#define NR_THREADS 3

struct contender {
	pthread_t thread;
	pid_t tid;
	uint64_t end_ns, waited_ns, held_ns;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void wait_for_lock(struct contender *self)
{
	uint64_t before = monotonic_ns();

	pthread_mutex_lock(&mutex);
	self->waited_ns += monotonic_ns() - before;
}

NOINLINE static void hold_the_lock(struct contender *self)
{
	const struct timespec hold = {.tv_nsec = 8000000};
	uint64_t before = monotonic_ns();

	nanosleep(&hold, NULL);
	self->held_ns += monotonic_ns() - before;
}

static void *contender_main(void *arg)
{
	const struct timespec pause = {.tv_nsec = 100000};
	struct contender *self = arg;

	self->tid = gettid();
	while (monotonic_ns() < self->end_ns) {
		wait_for_lock(self);
		hold_the_lock(self);
		pthread_mutex_unlock(&mutex);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct contender contenders[NR_THREADS] = {0};
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 2000) * MS;
	uint64_t waited_ns = 0, held_ns = 0;

	for (int i = 0; i < NR_THREADS; i++) {
		contenders[i].end_ns = end_ns;
		pthread_create(&contenders[i].thread, NULL, contender_main, &contenders[i]);
	}
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(contenders[i].thread, NULL);
		waited_ns += contenders[i].waited_ns;
		held_ns += contenders[i].held_ns;
	}
	printf("{\"waited_ns\": %llu, \"held_ns\": %llu, \"held_by_ns\": {",
	       (unsigned long long)waited_ns, (unsigned long long)held_ns);
	for (int i = 0; i < NR_THREADS; i++)
		printf("%s\"%d\": %llu", i ? ", " : "", (int)contenders[i].tid,
		       (unsigned long long)contenders[i].held_ns);
	printf("}}\n");
	return 0;
}
