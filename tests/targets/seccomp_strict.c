// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * seccomp_strict [MS]: for MS milliseconds sleeps in clock_nanosleep and works in
 * turn, under a filter that allows those calls but not restart_syscall: a sleep
 * that is interrupted and restarted by the kernel ends the program with SIGSYS.
 * Prints {"naps"}.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_measure.h"

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int install_filter(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_clock_nanosleep),
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_write),
		ALLOW(SYS_newfstatat),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

NOINLINE static uint64_t strict_work(uint64_t x)
{
	for (unsigned i = 0; i < 300000; i++)
		SPIN_STEP(x);
	return x;
}

NOINLINE static void strict_nap(void)
{
	const struct timespec nap = {.tv_nsec = 3000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 1500) * MS;
	unsigned naps = 0;
	uint64_t x = 1;

	say_ready();
	if (install_filter())
		return 2;
	while (monotonic_ns() < end_ns) {
		x = strict_work(x);
		strict_nap();
		naps++;
	}
	printf("{\"naps\": %u, \"x\": %llu}\n", naps, (unsigned long long)(x & 1));
	return 0;
}
