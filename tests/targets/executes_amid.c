// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * executes_amid PROGRAM ADDRESS FILE: calls counted() on a stack on which there is no room for
 * system calls of others, until it was traced some times in search of that. Then it executes
 * PROGRAM, while a process that shares its memory keeps that as it was: with FILE at ADDRESS, in
 * which there are instructions for system calls, and room wherever the stack of PROGRAM may be.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "self_measure.h"

#define PAGE_BYTES   4096
#define STACK_BYTES  (1u << 20)
#define LOWEST_STACK UINT64_C(0x7ff000000000)
#define END_OF_STACK UINT64_C(0x7ffffffff000)
#define TRACED_TIMES 3
#define LONGEST_MS   5000 /* profc has given up by then */
#define KEPT_SEC     4

static atomic_ulong nr_calls;
static atomic_bool goes;
static char *program;

NOINLINE void counted(void)
{
	nr_calls++;
}

static void *make_stack(void)
{
	return mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* All that is free, in ever smaller pieces. */
static void map_room(uint64_t start, uint64_t end, uint64_t piece)
{
	for (uint64_t at = start; at < end; at += piece) {
		void *got = mmap((void *)(uintptr_t)at, piece, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
				 -1, 0);

		if (got == MAP_FAILED && piece > (1u << 22))
			map_room(at, at + piece < end ? at + piece : end, piece >> 3);
	}
}

static int map_instructions(uint64_t address, const char *path)
{
	static const char call[] = "\x0f\x05\xc3", restore[] = "\x48\xc7\xc0\x0f\0\0\0\x0f\x05";
	char page[PAGE_BYTES] = {0};
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);

	memcpy(page, call, sizeof(call) - 1);
	memcpy(page + 64, restore, sizeof(restore) - 1);
	return fd < 0 || write(fd, page, sizeof(page)) != sizeof(page) ||
	       mmap((void *)(uintptr_t)address, sizeof(page), PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED;
}

static int is_traced(pid_t pid)
{
	char path[32], text[2048] = "", *line;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		_exit(1);
	close(fd);
	line = strstr(text, "TracerPid:");
	return line && atoi(line + strlen("TracerPid:"));
}

/* Not for longer than the caller lives. */
static int keep_memory(void *nothing)
{
	pid_t caller = getppid();
	uint64_t end_ns = monotonic_ns() + LONGEST_MS * MS;

	(void)nothing;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int nr = 0; nr < TRACED_TIMES && monotonic_ns() < end_ns; nr += is_traced(caller))
		continue;
	goes = 1;
	sleep(KEPT_SEC);
	_exit(0);
}

static void call(void)
{
	char *const argv[] = {program, NULL};

	while (!goes)
		counted();
	execv(program, argv);
	_exit(1);
}

int main(int argc, char **argv)
{
	static ucontext_t before, on_stack;
	char *stack = make_stack();

	if (argc != 4 || map_instructions(number_argument(argc, argv, 2, 0), argv[3]))
		return 77;
	program = argv[1];
	map_room(LOWEST_STACK, END_OF_STACK, UINT64_C(1) << 30);
	if (clone(keep_memory, stack + STACK_BYTES, CLONE_VM, NULL) < 0)
		return 1;
	getcontext(&on_stack);
	on_stack.uc_stack = (stack_t){.ss_sp = make_stack(), .ss_size = STACK_BYTES};
	makecontext(&on_stack, call, 0);
	say_ready();
	return swapcontext(&before, &on_stack);
}
