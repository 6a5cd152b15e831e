// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * allocates_then_filters WHO ROUNDS [waits]: allocates and frees in ROUNDS rounds, then puts a filter on its
 * system calls that kills the process for most of them, as sandboxes do, and allocates on for as
 * many. WHO is "alone" (it has no other thread), "worker" (of two threads that one gets it) or
 * "main" (the other one). Prints {"rounds"}. If it waits, it does so for a line of standard input
 * before the first round, and again behind the filter, when it has printed {"filtered"}.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_measure.h"

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Those of an allocator, and what a thread needs to end. */
static int install_filter(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_madvise),
		ALLOW(SYS_brk),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_newfstatat),
		ALLOW(SYS_futex),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#define BLOCKS 256

static unsigned rounds;
static char *kept[2][BLOCKS];

NOINLINE static void allocates(unsigned thread)
{
	unsigned random = 1;

	for (unsigned i = 0; i < rounds * BLOCKS; i++) {
		char **block = &kept[thread][(random = random * 1103515245 + 12345) >> 20 & 255];

		free(*block);
		*block = malloc(16 + (random >> 8 & 2047));
		memset(*block, 1, 16);
	}
}

static void wait_for_line(void)
{
	char byte;

	if (read(0, &byte, 1) < 0)
		exit(3);
}

static void work(unsigned thread, int is_filtered)
{
	allocates(thread);
	if (is_filtered && install_filter())
		exit(2);
	allocates(thread);
}

static void *worker(void *is_filtered)
{
	work(1, is_filtered != NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *who = argc > 1 ? argv[1] : "alone";
	pthread_t thread;

	rounds = (unsigned)number_argument(argc, argv, 2, 100);
	if (argc > 3) {
		say_ready();
		wait_for_line();
	}
	if (strcmp(who, "alone") != 0 &&
	    pthread_create(&thread, NULL, worker, strcmp(who, "worker") == 0 ? &rounds : NULL))
		return 2;
	work(0, strcmp(who, "worker") != 0);
	if (strcmp(who, "alone") != 0)
		pthread_join(thread, NULL);
	if (argc > 3) {
		printf("{\"filtered\": 1}\n");
		fflush(stdout);
		wait_for_line();
	}
	allocates(0);
	printf("{\"rounds\": %u}\n", rounds);
	return 0;
}
