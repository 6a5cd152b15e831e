// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * io_uring_workers MS: an io_uring whose requests the kernel's own threads inside this process
 * serve: a poller of the queue (IORING_SETUP_SQPOLL) and workers that sleep in reads of a
 * silent pipe and do those of a fed one. For MS milliseconds the main thread computes, feeds the
 * pipe, and waits for the read, for seconds at most. Prints {"absent": why not} or {"workers":
 * threads of the kernel's, "fed": COUNT, "reads": done, "failed": COUNT, "cpu_ns": of the main
 * thread}.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_measure.h"

#define ENTRIES 8
#define SILENT	1
#define FED	2

struct ring {
	int fd;
	struct io_uring_params params;
	char *submissions, *completions;
	struct io_uring_sqe *entries;
};

static char *map(int fd, size_t nr_bytes, off_t offset)
{
	void *at =
		mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	if (at == MAP_FAILED)
		exit(2);
	return at;
}

static void map_ring(struct ring *ring)
{
	const struct io_uring_params *params = &ring->params;

	ring->submissions =
		map(ring->fd, params->sq_off.array + params->sq_entries * 4, IORING_OFF_SQ_RING);
	ring->completions = map(
		ring->fd, params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe),
		IORING_OFF_CQ_RING);
	ring->entries = (void *)map(ring->fd, params->sq_entries * sizeof(struct io_uring_sqe),
				    IORING_OFF_SQES);
}

static _Atomic unsigned *word(char *at, unsigned offset)
{
	return (_Atomic unsigned *)(void *)(at + offset);
}

/* A read that a worker shall do, however ready the descriptor is. */
static void submit_read(struct ring *ring, int fd, char *byte, unsigned long what)
{
	const struct io_sqring_offsets *at = &ring->params.sq_off;
	unsigned tail = atomic_load(word(ring->submissions, at->tail));
	unsigned index = tail & atomic_load(word(ring->submissions, at->ring_mask));

	ring->entries[index] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ,
		.flags = IOSQE_ASYNC,
		.fd = fd,
		.addr = (unsigned long)byte,
		.len = 1,
		.user_data = what,
	};
	word(ring->submissions, at->array)[index] = index;
	atomic_store(word(ring->submissions, at->tail), tail + 1);
	if (atomic_load(word(ring->submissions, at->flags)) & IORING_SQ_NEED_WAKEUP)
		syscall(SYS_io_uring_enter, ring->fd, 1, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

/* Takes one completion, if there is one. */
static int take(struct ring *ring, struct io_uring_cqe *done)
{
	const struct io_cqring_offsets *at = &ring->params.cq_off;
	unsigned head = atomic_load(word(ring->completions, at->head));
	struct io_uring_cqe *entries = (void *)(ring->completions + at->cqes);

	if (head == atomic_load(word(ring->completions, at->tail)))
		return 0;
	*done = entries[head & atomic_load(word(ring->completions, at->ring_mask))];
	atomic_store(word(ring->completions, at->head), head + 1);
	return 1;
}

NOINLINE static uint64_t work_beside_workers(uint64_t spend_ns)
{
	uint64_t until_ns = thread_cpu_ns() + spend_ns;
	uint64_t x = 1;

	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 20000; i++)
			SPIN_STEP(x);
	return x;
}

/* Threads of ours beside this one: all are the kernel's. */
static unsigned count_workers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned nr = 0;

	while (tasks && readdir(tasks))
		nr++;
	if (tasks)
		closedir(tasks);
	return nr - 3; /* ".", "..", this thread */
}

#define PATIENCE_NS (10 * 1000 * MS)

static int await_completion(struct ring *ring, struct io_uring_cqe *done)
{
	uint64_t until_ns = monotonic_ns() + PATIENCE_NS;

	while (monotonic_ns() < until_ns) {
		usleep(1000);
		if (take(ring, done))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 1500) * MS;
	struct ring ring = {.params = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 10}};
	unsigned fed_bytes = 0, reads = 0, failed = 0, workers = 0;
	struct io_uring_cqe done;
	int silent[2], fed[2];
	static char bytes[2]; /* the last read may complete after main() */

	ring.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &ring.params);
	if (ring.fd < 0) {
		printf("ready\n{\"absent\": \"%s\"}\n", strerror(errno));
		return 0;
	}
	map_ring(&ring);
	if (pipe(silent) || pipe(fed))
		return 2;
	submit_read(&ring, silent[0], &bytes[0], SILENT);
	submit_read(&ring, fed[0], &bytes[1], FED);
	say_ready();
	while (monotonic_ns() < end_ns && reads == fed_bytes) {
		work_beside_workers(2 * MS);
		if (write(fed[1], "x", 1) != 1)
			return 2;
		fed_bytes++;
		workers = count_workers() > workers ? count_workers() : workers;
		if (await_completion(&ring, &done)) {
			reads++;
			failed += done.res != 1 || done.user_data != FED;
			submit_read(&ring, fed[0], &bytes[1], FED);
		}
	}
	printf("{\"workers\": %u, \"fed\": %u, \"reads\": %u, \"failed\": %u, \"cpu_ns\": %llu}\n",
	       workers, fed_bytes, reads, failed, (unsigned long long)thread_cpu_ns());
	return 0;
}
