/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_MOMENTS_H
#define PROFC_COLLECTOR_MOMENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector_cut;
struct profile;

/* Moments of a recording that the user names, on their way to the collector's thread: marks and
 * cuts. */
struct moments {
	pthread_mutex_t lock; /* never taken by a producer of messages */
	struct moment *rows;  /* owned; in the order of their times */
	size_t nr, cap;
	_Atomic uint64_t cut_due_ns; /* the time of the first cut among them, or UINT64_MAX */
};

void moments_init(struct moments *moments);
void moments_release(struct moments *moments);
/* Any thread. */
void moments_add_mark(struct moments *moments, const char *text);
/* Any thread; `cut` is borrowed until it is taken. */
void moments_add_cut(struct moments *moments, struct collector_cut *cut);
bool moments_has_cut_before(const struct moments *moments, uint64_t time_ns);
/*
 * Those up to then, in order, as far as the first cut: marks go into the profile. Returns the cut,
 * to be made now, before the next ones are taken; or NULL.
 */
struct collector_cut *moments_take(struct moments *moments, uint64_t until_ns,
				   struct profile *profile, uint64_t start_ns);

#endif
