/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributes the CPU time between two samples among the samples around it. */
#ifndef PROFC_PROFILE_SPREAD_H
#define PROFC_PROFILE_SPREAD_H

#include <stddef.h>
#include <stdint.h>

struct profile;
struct sample;

/*
 * The CPU time between two samples of a running thread belongs to the samples around it as much as
 * to the one that ends it: attributed to that one alone, the random gaps between samples add to the
 * error of shares. It is therefore shared by the two samples before and the two after, half of it
 * on either side, so that threads with few samples are not biased; the time before the first sample
 * stays with it. Sharing among more samples would blur functions that alternate slowly. For views
 * and exports, once; samples written back to a file stay as recorded.
 */
void profile_spread_cpu_time(struct profile *profile);

/*
 * As above for `samples`, in time order within each thread; thread ids are below nr_threads. Sums
 * per thread and all members but cpu_ns stay as they are; samples without CPU time get none. Time
 * moves by no more than reach_ns.
 */
void spread_cpu_time(struct sample *samples, size_t nr_samples, size_t nr_threads,
		     uint64_t reach_ns);

#endif
