// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuse_stack [MS]: a thread whose stack is mapped from a file that its parent serves by FUSE. After
 * MS milliseconds prints {"calls"}, how often the stack was gone through, and {"reads"}, how many
 * were served. Status 77 where it may not mount.
 */
#include "fuse_server.h"
#include "own_stack.h"

#define STACK_BYTES (512u << 10)
#define PAGE_BYTES  4096u
#define DEPTH	    60

static NOINLINE unsigned touch_stack(unsigned depth)
{
	volatile char frame[PAGE_BYTES];

	frame[0] = (char)depth;
	return depth ? touch_stack(depth - 1) + (unsigned)frame[0] : 0;
}

static atomic_uint nr_calls;
static int file;

static void *toucher_main(void *stack)
{
	for (;;) {
		touch_stack(DEPTH);
		nr_calls++;
		madvise(stack, STACK_BYTES - 16 * PAGE_BYTES, MADV_DONTNEED);
		posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	}
	return NULL;
}

static void run_client(uint64_t end_ns)
{
	void *stack;

	close(fuse_server.device);
	file = fuse_open_file();
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	if (stack == MAP_FAILED)
		_exit(1);
	start_on_stack(stack, STACK_BYTES, toucher_main, stack);
	while (monotonic_ns() < end_ns)
		usleep(1000);
	printf("{\"calls\": %u}\n", nr_calls);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 2000) * MS;
	int status = 1;
	pid_t client;

	if (fuse_server_start(calloc(1, STACK_BYTES), STACK_BYTES, end_ns))
		return CANNOT;
	client = fork();
	if (client == 0)
		run_client(end_ns);
	waitpid(client, &status, 0);
	fuse_server_end();
	_exit(status != 0);
}
