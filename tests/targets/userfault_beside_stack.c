// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * userfault_beside_stack [MS]: threads whose stacks end where memory begins that is filled by
 * userfaultfd(2), by nobody here: whoever reads it waits for ever. One thread sleeps, one
 * computes, one spawns children, whose stacks are empty at first. After MS milliseconds prints
 * {"faults"}: how often somebody did.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "own_stack.h"
#include "self_measure.h"

#define STACK_BYTES  (256u << 10)
#define FILLED_BYTES (256u << 10)
#define HOLES	     16
#define HOLE_BYTES   (32u << 10)

static NOINLINE void sleep_in_between(void)
{
	for (;;)
		nanosleep(&(struct timespec){.tv_nsec = 2 * MS}, NULL);
}

static NOINLINE void compute_on(void)
{
	volatile uint64_t x = 1;

	for (;;)
		SPIN_STEP(x);
}

static void *sleeper_main(void *nothing)
{
	sleep_in_between();
	return nothing;
}

static void *computer_main(void *nothing)
{
	compute_on();
	return nothing;
}

static void *spawner_main(void *program)
{
	char *arguments[] = {program, "child", NULL};
	pid_t child;

	for (;;)
		if (posix_spawn(&child, program, NULL, NULL, arguments, NULL) == 0)
			waitpid(child, NULL, 0);
	return NULL;
}

/* Behind the stack, with nothing in between. */
static void add_userfault_memory(int faults, char *start, size_t nr_bytes)
{
	struct uffdio_register range = {.range = {(uintptr_t)start, nr_bytes},
					.mode = UFFDIO_REGISTER_MODE_MISSING};

	if (ioctl(faults, UFFDIO_REGISTER, &range))
		exit(2);
}

static char *map_memory(size_t nr_bytes)
{
	char *memory =
		mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(2);
	return memory;
}

static char *map_stack(int faults)
{
	char *stack = map_memory(STACK_BYTES + FILLED_BYTES);

	add_userfault_memory(faults, stack + STACK_BYTES, FILLED_BYTES);
	return stack;
}

/* The stacks of children, which the C library maps, then end where memory of ours begins. */
static void fill_holes(int faults)
{
	for (unsigned i = 0; i < HOLES; i++)
		add_userfault_memory(faults, map_memory(HOLE_BYTES), HOLE_BYTES);
}

static void start(int faults, void *(*entry)(void *), void *argument)
{
	start_on_stack(map_stack(faults), STACK_BYTES, entry, argument);
}

int main(int argc, char **argv)
{
	uint64_t run_ms = number_argument(argc, argv, 1, 2000);
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = {.api = UFFD_API};
	struct pollfd fault = {.fd = faults, .events = POLLIN};
	struct uffd_msg message;
	unsigned nr = 0;

	if (argc > 1 && !strcmp(argv[1], "child"))
		return 0;
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api)) {
		perror("userfaultfd");
		return 77;
	}
	start(faults, sleeper_main, NULL);
	start(faults, computer_main, NULL);
	start(faults, spawner_main, argv[0]);
	fill_holes(faults);
	say_ready();
	while (poll(&fault, 1, (int)run_ms) > 0 && nr < 100)
		nr += read(faults, &message, sizeof(message)) == sizeof(message);
	printf("{\"faults\": %u}\n", nr);
	fflush(stdout);
	_exit(0); /* whoever waits is let go with the memory */
}
