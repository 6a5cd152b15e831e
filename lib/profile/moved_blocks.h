/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_MOVED_BLOCKS_H
#define PROFC_PROFILE_MOVED_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/ids.h"
#include "stack/stack.h"
#include "stack/stack_end.h"

struct profile;

/* A recorded block that is freed. */
struct freed_block {
	uint32_t process;
	pid_t tid;
	uint64_t address;
	uint32_t row; /* in the profile */
	uint64_t time_ns;
	struct thread_id thread;
	bool wants_stack; /* record the freeing stack, which is this */
	struct stack_id stack;
	enum stack_end end;
};

#define MOVED_BLOCKS 64

/*
 * Blocks that realloc() has freed, unless it fails: its own thread reports that soon after. Only
 * then they end in the profile. Zero-initialised is empty.
 */
struct moved_blocks {
	struct {
		bool is_there;
		struct freed_block block;
	} rows[MOVED_BLOCKS];
	size_t next;
};

/* The block ends. */
void moved_blocks_free(struct profile *profile, const struct freed_block *freed);
/* Add a thread's latest move; if there are too many, the oldest block ends. */
void moved_blocks_add(struct moved_blocks *moved, struct profile *profile,
		      const struct freed_block *freed);
/* End the blocks of a thread, or all. */
void moved_blocks_end(struct moved_blocks *moved, struct profile *profile, uint32_t process,
		      pid_t tid);
void moved_blocks_end_all(struct moved_blocks *moved, struct profile *profile);
/* The thread's realloc() failed, and its block remains. False: none at that address is noted. */
bool moved_blocks_keep(struct moved_blocks *moved, uint32_t process, pid_t tid, uint64_t address,
		       uint32_t *row);

#endif
