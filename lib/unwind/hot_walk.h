/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fast part of a walk: consecutive frames whose rows are in the cache of hot rows. */
#ifndef PROFC_UNWIND_HOT_WALK_H
#define PROFC_UNWIND_HOT_WALK_H

struct hot_rows;
struct regs;
struct unwind_arch;
struct unwind_frame;
struct walk;

/*
 * Go on from *frame, which is pushed, for as long as everything is in plain sight:
 * both frames' rows are hot ones, the stack is in the snapshot's first region and
 * rises, and there is no limit in the way. Leaves *frame and *regs at the last
 * frame pushed; what comes there is not known yet.
 */
void hot_walk(const struct hot_rows *hot, const struct unwind_arch *arch, struct walk *walk,
	      struct regs *regs, struct unwind_frame *frame);

#endif
