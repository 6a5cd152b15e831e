// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * userfault_stack [MS]: a thread whose stack itself is memory that userfaultfd(2) fills, by the
 * main thread, some milliseconds after each touch: the thread waits for most of the time with its
 * stack pointer in a page that is not there. After MS milliseconds prints {"filled"}: pages.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_stack.h"
#include "self_measure.h"

#define STACK_BYTES (512u << 10)
#define PAGE_BYTES  4096u
#define FRAME_BYTES (3 * PAGE_BYTES)
#define DEPTH	    20

static NOINLINE unsigned touch_stack(unsigned depth)
{
	volatile char frame[FRAME_BYTES];

	frame[0] = (char)depth; /* the lowest page first */
	return depth ? touch_stack(depth - 1) + (unsigned)frame[0] : 0;
}

static void *toucher_main(void *stack)
{
	for (;;) {
		touch_stack(DEPTH);
		madvise(stack, STACK_BYTES / 2, MADV_DONTNEED);
	}
	return NULL;
}

static void fill(int faults, uint64_t address)
{
	struct uffdio_zeropage page = {
		.range = {address & ~(uint64_t)(PAGE_BYTES - 1), PAGE_BYTES}};

	ioctl(faults, UFFDIO_ZEROPAGE, &page);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 2000) * MS;
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = {.api = UFFD_API};
	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {.range = {(uintptr_t)stack, STACK_BYTES / 2},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct pollfd fault = {.fd = faults, .events = POLLIN};
	unsigned filled = 0;
	struct uffd_msg message;

	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
	    ioctl(faults, UFFDIO_REGISTER, &range)) {
		perror("userfaultfd");
		return 77;
	}
	start_on_stack(stack, STACK_BYTES, toucher_main, stack);
	say_ready();
	while (monotonic_ns() < end_ns) {
		if (poll(&fault, 1, 10) <= 0 ||
		    read(faults, &message, sizeof(message)) != sizeof(message))
			continue;
		usleep(4000);
		fill(faults, message.arg.pagefault.address);
		filled++;
	}
	printf("{\"filled\": %u}\n", filled);
	fflush(stdout);
	_exit(0);
}
