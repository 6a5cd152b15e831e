/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_CROWD_H
#define PROFC_TESTS_CROWD_H

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The n-th CPU that we may use, or the last one. */
static inline void go_to(unsigned n)
{
	cpu_set_t allowed, one;
	size_t found = 0;

	sched_getaffinity(getppid(), sizeof(allowed), &allowed);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		found = cpu;
		if (n-- == 0)
			break;
	}
	CPU_ZERO(&one);
	CPU_SET(found, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* Busy processes where the calling thread runs now; they end with it. */
static inline void crowd(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (volatile uint64_t x = 0;; x++)
				continue;
		}
	}
}

#endif
