// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sleeping [MS]: for MS milliseconds five threads block, each in its own
 * function by its own call: sleep_in_nanosleep (20 ms at a time), sleep_in_poll
 * (the whole time), sleep_in_read (a pipe fed every 50 ms), sleep_in_condition,
 * and sleep_between_work (3 ms of work, then 12 ms asleep).
 * Prints {"function", "tid", "blocked_ns", "cpu_ns"} for each; blocked is what
 * passed on the clock inside the blocking calls.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_measure.h"

struct sleeper {
	const char *function;
	void (*sleep)(struct sleeper *self);
	pthread_t thread;
	long tid;
	uint64_t blocked_ns, cpu_ns;
};

static uint64_t end_ns;
static int fed_pipe[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void nap_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

NOINLINE static void sleep_in_nanosleep(struct sleeper *self)
{
	while (monotonic_ns() < end_ns) {
		uint64_t before = monotonic_ns();

		nap_ms(20);
		self->blocked_ns += monotonic_ns() - before;
	}
}

NOINLINE static void sleep_in_poll(struct sleeper *self)
{
	uint64_t before = monotonic_ns();

	poll(NULL, 0, (int)((end_ns - before) / MS));
	self->blocked_ns = monotonic_ns() - before;
}

NOINLINE static void sleep_in_read(struct sleeper *self)
{
	char byte;

	for (;;) {
		uint64_t before = monotonic_ns();
		ssize_t got = read(fed_pipe[0], &byte, 1);

		self->blocked_ns += monotonic_ns() - before;
		if (got != 1)
			return;
	}
}

NOINLINE static void sleep_in_condition(struct sleeper *self)
{
	uint64_t before = monotonic_ns();

	pthread_mutex_lock(&mutex);
	while (monotonic_ns() < end_ns)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	self->blocked_ns = monotonic_ns() - before;
}

NOINLINE static uint64_t work_between_sleeps(uint64_t spend_ns)
{
	uint64_t until_ns = thread_cpu_ns() + spend_ns;
	uint64_t x = 1;

	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 20000; i++)
			SPIN_STEP(x);
	return x;
}

NOINLINE static void sleep_between_work(struct sleeper *self)
{
	while (monotonic_ns() < end_ns) {
		uint64_t before;

		work_between_sleeps(3 * MS);
		before = monotonic_ns();
		nap_ms(12);
		self->blocked_ns += monotonic_ns() - before;
	}
}

static void *sleeper_main(void *arg)
{
	struct sleeper *self = arg;

	self->tid = syscall(SYS_gettid);
	self->sleep(self);
	self->cpu_ns = thread_cpu_ns();
	return NULL;
}

static void feed_pipe_until_end(void)
{
	while (monotonic_ns() < end_ns) {
		nap_ms(50);
		if (write(fed_pipe[1], "x", 1) != 1)
			return;
	}
	close(fed_pipe[1]);
}

static void wake_condition(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	struct sleeper sleepers[] = {
		{.function = "sleep_in_nanosleep", .sleep = sleep_in_nanosleep},
		{.function = "sleep_in_poll", .sleep = sleep_in_poll},
		{.function = "sleep_in_read", .sleep = sleep_in_read},
		{.function = "sleep_in_condition", .sleep = sleep_in_condition},
		{.function = "sleep_between_work", .sleep = sleep_between_work},
	};
	const unsigned nr = sizeof(sleepers) / sizeof(sleepers[0]);

	end_ns = monotonic_ns() + number_argument(argc, argv, 1, 2000) * MS;
	if (pipe(fed_pipe))
		return 2;
	for (unsigned i = 0; i < nr; i++)
		pthread_create(&sleepers[i].thread, NULL, sleeper_main, &sleepers[i]);
	say_ready();
	feed_pipe_until_end();
	wake_condition();
	for (unsigned i = 0; i < nr; i++) {
		pthread_join(sleepers[i].thread, NULL);
		printf("{\"function\": \"%s\", \"tid\": %ld, \"blocked_ns\": %llu, \"cpu_ns\": "
		       "%llu}\n",
		       sleepers[i].function, sleepers[i].tid,
		       (unsigned long long)sleepers[i].blocked_ns,
		       (unsigned long long)sleepers[i].cpu_ns);
	}
	return 0;
}
