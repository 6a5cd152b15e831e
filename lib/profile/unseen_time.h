/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the CPU time of processes that were never found among samples, by ancestor. */
#ifndef PROFC_PROFILE_UNSEEN_TIME_H
#define PROFC_PROFILE_UNSEEN_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* A process in this division. */
struct unseen_process {
	uint64_t cpu_ns; /* of all its samples */
	uint32_t run;	 /* of a merged recording */
	bool stands;	 /* its last sample stands for unseen time */
	/* Set by unseen_divide(): */
	uint32_t ancestor; /* the nearest one whose unseen time is known apart, or PROCESS_NONE */
	uint64_t ns;	   /* the time that its last sample stands for; 0 unless it stands */
};

struct unseen_division {
	const struct profile *profile;
	struct unseen_process *processes; /* one for each of the profile's */
	const uint64_t *run_ns;		  /* the unseen time of each run */
	size_t nr_runs;
	uint64_t mean_ns; /* the CPU time between two samples */
	uint64_t most_ns; /* that a sample may stand for */
};

/*
 * Divide the unseen time of each run. The kernel says of each process how much CPU time its reaped
 * descendants had (profile_process.children_ns). Descendants that were found have a part of it; the
 * rest is the unseen time below the process, and is divided equally among the samples below it that
 * stand for unseen time, unless they are below another such process that is nearer.
 *
 * It is known apart only if it is large: the kernel's ticks must make less of an error than the
 * number of samples. The time of a run that is in no such part goes to samples that are in none; if
 * these would stand for more than most_ns, to all.
 *
 * The parts of a run together are its unseen time, or less if all samples would stand for more than
 * most_ns.
 */
void unseen_divide(const struct unseen_division *of);

#endif
