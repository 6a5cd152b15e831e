// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * uring_timeouts NR: NR times, io_uring_enter(2) is to submit a read that never completes and to
 * wait for it, at most 100 ms, and NR times only to wait, while each 20 ms a signal comes that is
 * ignored. Prints {"waits", "submitted", "timed_out", "early"}: the calls that came back,
 * those that said that they submitted one, those that said that their time was up, and those that
 * lasted less than their time.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_measure.h"

#define TIMEOUT_NS 100000000
#define SIGNAL_US  20000

static atomic_bool is_over;

static void *disturb(void *arg)
{
	pthread_t *waiter = arg;

	while (!atomic_load(&is_over)) {
		usleep(SIGNAL_US);
		pthread_kill(*waiter, SIGWINCH);
	}
	return NULL;
}

struct ring {
	int fd;
	struct io_uring_sqe *sqes;
	unsigned *tail, *array;
};

static int open_ring(struct ring *ring)
{
	struct io_uring_params params = {0};
	char *submissions;

	ring->fd = (int)syscall(SYS_io_uring_setup, 64, &params);
	if (ring->fd < 0)
		return -1;
	submissions = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned),
			   PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, params.sq_entries * sizeof(*ring->sqes), PROT_READ | PROT_WRITE,
			  MAP_SHARED, ring->fd, IORING_OFF_SQES);
	if (submissions == MAP_FAILED || ring->sqes == MAP_FAILED)
		return -1;
	ring->tail = (unsigned *)(submissions + params.sq_off.tail);
	ring->array = (unsigned *)(submissions + params.sq_off.array);
	return 0;
}

static void submit(struct ring *ring, unsigned i, int silent)
{
	static char byte;

	ring->sqes[i] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = silent, .addr = (uintptr_t)&byte, .len = 1};
	ring->array[i] = i;
	__atomic_store_n(ring->tail, i + 1, __ATOMIC_RELEASE);
}

static long enter(const struct ring *ring, unsigned nr_submitted)
{
	struct __kernel_timespec timeout = {.tv_nsec = TIMEOUT_NS};
	struct io_uring_getevents_arg argument = {.ts = (uintptr_t)&timeout};

	return syscall(SYS_io_uring_enter, ring->fd, nr_submitted, 1,
		       IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof(argument));
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)number_argument(argc, argv, 1, 10);
	pthread_t self = pthread_self(), other;
	unsigned waits = 0, submitted = 0, timed_out = 0, early = 0;
	struct ring ring;
	int silent[2];

	if (nr > 64 || pipe(silent) != 0 || open_ring(&ring) != 0)
		return 2;
	pthread_create(&other, NULL, disturb, &self);
	for (; waits < 2 * nr; waits++) {
		uint64_t begun_ns = monotonic_ns(), lasted_ns;
		long result;

		if (waits < nr)
			submit(&ring, waits, silent[0]);
		result = enter(&ring, waits < nr);
		lasted_ns = monotonic_ns() - begun_ns;
		submitted += result == 1;
		timed_out += result == -1 && errno == ETIME;
		early += lasted_ns < TIMEOUT_NS;
	}
	atomic_store(&is_over, true);
	pthread_join(other, NULL);
	printf("{\"waits\": %u, \"submitted\": %u, \"timed_out\": %u, \"early\": %u}\n", waits,
	       submitted, timed_out, early);
	return 0;
}
