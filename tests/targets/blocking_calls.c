// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * blocking_calls [MS [COMPUTE]]: a thread in each of some eighty blocking system calls for
 * MS milliseconds, and COMPUTE threads that compute, in items of a millisecond. Prints for each
 * {"name", "calls", "eintr", "shorts", "wrong", "longest_ns", "absent"}, the longest call without
 * its waits for a CPU: nobody may see EINTR (no signal is sent), a short transfer, another result
 * than the one expected, or a longer timeout. Built from blocking_calls.c, blocking_waits.c,
 * blocking_transfers.c, blocking_locks.c.
 */
#include "blocking_calls.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "self_measure.h"

static void judge(struct blocking_case *self, long result, int error, uint64_t took_ns)
{
	atomic_fetch_add(&self->calls, 1);
	if (result == -1 && error == EINTR)
		atomic_fetch_add(&self->eintr, 1);
	else if (self->expects == EXPECT_TRANSFER && result >= 0 && result < self->result)
		atomic_fetch_add(&self->shorts, 1);
	else if (self->expects == EXPECT_NEVER || result != self->result ||
		 (self->result_errno && error != self->result_errno))
		atomic_fetch_add(&self->wrong, 1);
	if (took_ns > atomic_load(&self->longest_ns))
		atomic_store(&self->longest_ns, took_ns);
}

static void *case_main(void *arg)
{
	struct blocking_case *self = arg;
	int schedstat = own_schedstat();

	for (;;) {
		uint64_t before_ns = monotonic_ns();
		uint64_t waited_before_ns = waited_for_cpu_ns(schedstat);
		uint64_t waited_ns, took_ns;
		long result;
		int error;

		errno = 0;
		result = self->call(self->fd);
		error = errno;
		/* On a busy machine a thread whose time is up waits for a CPU: nobody's doing. */
		waited_ns = waited_for_cpu_ns(schedstat) - waited_before_ns;
		took_ns = monotonic_ns() - before_ns;
		judge(self, result, error, took_ns - waited_ns);
		if (self->expects == EXPECT_NEVER)
			usleep(1000); /* a call that fails at once must not become a busy loop */
	}
	return NULL;
}

static void start(struct blocking_case *cases, unsigned nr)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	for (unsigned i = 0; i < nr; i++) {
		errno = 0;
		cases[i].fd = cases[i].prepare ? cases[i].prepare() : -1;
		if (cases[i].fd == -1 && errno)
			cases[i].absent_errno = errno;
		else
			pthread_create(&thread, &attributes, case_main, &cases[i]);
	}
}

static void print(const struct blocking_case *cases, unsigned nr)
{
	static const char *const kinds[] = {"never", "timeout", "transfer"};

	for (unsigned i = 0; i < nr; i++) {
		const struct blocking_case *self = &cases[i];

		printf("{\"name\": \"%s\", \"expects\": \"%s\", \"calls\": %u, \"eintr\": %u, "
		       "\"shorts\": %u, \"wrong\": %u, \"longest_ns\": %llu, \"absent\": \"%s\"}\n",
		       self->name, kinds[self->expects], self->calls, self->eintr, self->shorts,
		       self->wrong, (unsigned long long)self->longest_ns,
		       self->absent_errno ? strerror(self->absent_errno) : "");
	}
}

__attribute__((noinline)) void finish_item(void);
void finish_item(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void compute(void);
void compute(void)
{
	for (int i = 0; i < 1000000; i++)
		__asm__ volatile("");
}

static void *compute_main(void *arg)
{
	for (;;) {
		compute();
		finish_item();
	}
	return arg;
}

int main(int argc, char **argv)
{
	uint64_t run_ms = number_argument(argc, argv, 1, 3000);
	uint64_t nr_compute = number_argument(argc, argv, 2, 0);
	pthread_t thread;

	/* Locks first: their holder is a fork, before there are threads. */
	start(blocking_locks, nr_blocking_locks);
	start(blocking_waits, nr_blocking_waits);
	start(blocking_transfers, nr_blocking_transfers);
	for (uint64_t i = 0; i < nr_compute; i++)
		pthread_create(&thread, NULL, compute_main, NULL);
	say_ready();
	usleep((useconds_t)(run_ms * 1000));
	print(blocking_waits, nr_blocking_waits);
	print(blocking_transfers, nr_blocking_transfers);
	print(blocking_locks, nr_blocking_locks);
	return 0;
}
