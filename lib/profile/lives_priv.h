/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of short lives, of processes or threads, that stand for the time of all of these. */
#ifndef PROFC_PROFILE_LIVES_PRIV_H
#define PROFC_PROFILE_LIVES_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/ids.h"
#include "profile/share_out.h"

struct profile;

/*
 * How an estimate is made, for processes (short_lives.h) and for threads (short_threads.h):
 * lives_begin(); the caller sets what is his of each life, and of_thread; lives_see(); he divides
 * the unseen time of each pool, and groups the lives; lives_set_groups(); he may say which thread
 * has the unseen time of a group; lives_share(); lives_end().
 */

/* A process or a thread, as its samples show it. */
struct life {
	/* The caller's, before lives_see(): */
	uint32_t pool;	/* its samples may stand for unseen time of this one */
	bool has_ended; /* while it was recorded */
	bool is_unseen; /* it is the row with the unseen time of its pool */
	bool stands;	/* its last sample stands for unseen time; lives_see() clears it if none */
	/*
	 * The last tick that found it was too late to stop it, before this time; 0: it was not.
	 * That counts as a sample; the time that it stands for stays without a stack.
	 */
	uint64_t missed_ns;
	/* Set by lives_see(): */
	bool is_short; /* it has ended, with few samples */
	uint64_t nr;   /* samples on a CPU */
	uint64_t cpu_ns;
	size_t last; /* the number of the last of these samples + 1; 0: there is none */
	/* The caller's, after that: */
	uint64_t part_ns; /* the unseen time that its last sample stands for */
	uint32_t group;
};

/* Exact CPU time that no clock of a life has. */
struct unseen_pool {
	size_t sample; /* the number of the one that has it + 1; 0: there is none */
};

/* Lives of one kind, which are looked at together. */
struct life_group {
	uint64_t short_ns;	     /* unseen time that samples of its short lives stand for */
	uint64_t nr_short, known_ns; /* short lives that were found, and their CPU time */
	bool has_thread;	     /* the caller's: unseen time is of this thread; */
	struct thread_id thread;     /* else of the one that it was in */
};

struct lives {
	struct profile *profile;
	uint32_t *of_thread; /* the number of the life of each thread; owned, as are all below */
	struct life *rows;
	struct unseen_pool *pools;
	struct life_group *groups;
	size_t nr, nr_pools, nr_groups;
	uint64_t mean_ns, most_ns; /* CPU time of one sample, and what it may stand for */
	struct share_list shares;
};

void lives_begin(struct lives *lives, struct profile *profile, size_t nr, size_t nr_pools);
void lives_end(struct lives *lives);
/* Find out what the samples say, and which have the unseen time: of each pool one. */
void lives_see(struct lives *lives);
/* The unseen time of a pool. */
uint64_t lives_unseen_ns(const struct lives *lives, uint32_t pool);
/* All lives have a group, a number below nr_groups, and their parts. */
void lives_set_groups(struct lives *lives, size_t nr_groups);
/*
 * Make the samples anew: short lives of a group share the CPU time of all of them, and the unseen
 * time that came to one of them; another life keeps its own, and its last sample has its part. Each
 * life keeps the CPU time of its clock, with the stacks of others for it, the nearest in time.
 */
void lives_share(struct lives *lives);

#endif
