// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * filters_later main|small|all|mild: two threads, of which one calls counted(); if small, on a stack
 * that is too small for others. Says "ready"; told a line, the main thread, or both, install a
 * filter that kills the process for a change of its memory map, or, if mild, one that forbids
 * ptrace(2) to both, and it says {"filtered"}. At the end it prints {"calls"} of counted().
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_counts.h"
#include "self_measure.h"

#define KILLS_FOR(nr)                                                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),                                             \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static uint64_t calls;

COUNTED void counted(void)
{
	OWN_CALL(calls);
}

static void *call_all_the_time(void *nothing)
{
	while (!nothing) {
		counted();
		usleep(200);
	}
	return nothing;
}

static long install(struct sock_filter *program, unsigned short nr, unsigned int flags)
{
	struct sock_fprog filter = {.len = nr, .filter = program};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
}

static long filter_mildly(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(program, sizeof(program) / sizeof(program[0]), SECCOMP_FILTER_FLAG_TSYNC);
}

static long filter(unsigned int flags)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILLS_FOR(SYS_mmap),
		KILLS_FOR(SYS_munmap),
		KILLS_FOR(SYS_memfd_create),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(program, sizeof(program) / sizeof(program[0]), flags);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "main";
	pthread_attr_t attributes;
	pthread_t thread;
	char line[16];

	pthread_attr_init(&attributes);
	if (!strcmp(how, "small"))
		pthread_attr_setstacksize(&attributes, 32 * 1024);
	pthread_create(&thread, &attributes, call_all_the_time, NULL);
	setvbuf(stdin, NULL, _IONBF, 0);
	say_ready();
	while (fgets(line, sizeof(line), stdin)) {
		long status = !strcmp(how, "mild") ? filter_mildly()
						   : filter(!strcmp(how, "all") ? SECCOMP_FILTER_FLAG_TSYNC : 0);

		printf("{\"filtered\": %s}\n", status == 0 ? "true" : "false");
		fflush(stdout);
	}
	printf("{\"calls\": %llu}\n", (unsigned long long)calls);
	fflush(stdout);
	_exit(0); /* threads that end give back memory */
}
