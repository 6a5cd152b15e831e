/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fast part of a walk: consecutive frames with rows in the cache of hot rows. */
#ifndef PROFC_UNWIND_HOT_WALK_H
#define PROFC_UNWIND_HOT_WALK_H

struct hot_rows;
struct regs;
struct unwind_arch;
struct unwind_frame;
struct walk;

/*
 * Continue from *frame, which is pushed, while both frames' rows are in the cache, the stack is in
 * the snapshot's first region and rises, and no limit is reached. Leaves *frame and *regs at the
 * last frame pushed; its caller is not determined yet.
 */
void hot_walk(const struct hot_rows *hot, const struct unwind_arch *arch, struct walk *walk,
	      struct regs *regs, struct unwind_frame *frame);

#endif
