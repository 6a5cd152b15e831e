// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/moved_blocks.h"

#include "profile/profile.h"

void moved_blocks_free(struct profile *profile, const struct freed_block *freed)
{
	profile_free_allocation(profile, freed->row, freed->time_ns, freed->thread);
	if (freed->wants_stack)
		profile_note_freeing(profile, freed->row, freed->stack, freed->end);
}

static void end(struct moved_blocks *moved, struct profile *profile, size_t at)
{
	if (!moved->rows[at].is_there)
		return;
	moved_blocks_free(profile, &moved->rows[at].block);
	profile_move_allocation(profile, moved->rows[at].block.row);
	moved->rows[at].is_there = false;
}

void moved_blocks_add(struct moved_blocks *moved, struct profile *profile,
		      const struct freed_block *freed)
{
	end(moved, profile, moved->next);
	moved->rows[moved->next].is_there = true;
	moved->rows[moved->next].block = *freed;
	moved->next = (moved->next + 1) % MOVED_BLOCKS;
}

/* MOVED_BLOCKS: there is none. */
static size_t find(const struct moved_blocks *moved, uint32_t process, pid_t tid)
{
	size_t i = 0;

	while (i < MOVED_BLOCKS &&
	       !(moved->rows[i].is_there && moved->rows[i].block.process == process &&
		 moved->rows[i].block.tid == tid))
		i++;
	return i;
}

void moved_blocks_end(struct moved_blocks *moved, struct profile *profile, uint32_t process,
		      pid_t tid)
{
	size_t at = find(moved, process, tid);

	if (at < MOVED_BLOCKS)
		end(moved, profile, at);
}

void moved_blocks_end_all(struct moved_blocks *moved, struct profile *profile)
{
	for (size_t i = 0; i < MOVED_BLOCKS; i++)
		end(moved, profile, i);
}

bool moved_blocks_keep(struct moved_blocks *moved, uint32_t process, pid_t tid, uint64_t address,
		       uint32_t *row)
{
	size_t at = find(moved, process, tid);

	if (at == MOVED_BLOCKS || moved->rows[at].block.address != address)
		return false;
	moved->rows[at].is_there = false;
	*row = moved->rows[at].block.row;
	return true;
}
