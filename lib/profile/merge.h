/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_MERGE_H
#define PROFC_PROFILE_MERGE_H

#include <stddef.h>

struct profile;

/*
 * One profile that contains several, which may be runs of one program or recordings of several
 * hosts. Equal modules, code addresses, stacks and functions become one; processes and threads stay
 * apart. Each recording keeps its place in time, by the wall clock: the result begins when the
 * first of them began.
 *
 * All runs are listed. Facts that differ are listed (hosts, kernels) or left out (0, unknown).
 * Counters are added up, except that the largest of medians, maxima and rates is kept. Symbols are
 * those of the first recording that has any for a frame. There is at least one profile; the caller
 * owns the result and keeps the merged ones.
 */
struct profile *profile_merge(const struct profile *const *profiles, size_t nr);

/*
 * As profile_merge(), for two parts of one recording, the latter of which attached again to
 * processes that were detached at the end of the former: these and their threads are one in the
 * result. Their time between the parts is not attributed to any thread.
 */
struct profile *profile_join(const struct profile *former, const struct profile *latter);

#endif
