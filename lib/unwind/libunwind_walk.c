// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks by libunwind, with the accessors of libunwind_space.c. */
#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "unwind/libunwind_follow.h"
#include "unwind/row.h"

/* Code without unwind information: is the file missing, the mapping, or the section? */
static enum stack_end end_without_info(const struct walk *walk, uint64_t pc)
{
	const struct mapping *mapping = space_find(walk->space, pc);

	if (!mapping || !mapping->executable)
		return STACK_END_NO_MAPPING;
	if (mapping->module.v != MODULE_UNKNOWN.v && !space_image(walk->space, mapping))
		return STACK_END_NO_FILE;
	return STACK_END_NO_CFI;
}

static void end_walk(struct walk *walk, const struct access *access, int step, uint64_t pc)
{
	if (walk_is_over(walk))
		walk_end(walk, STACK_END_COSTLY, pc);
	else if (step == 0 && access->has_info)
		walk_end(walk, STACK_END_ROOT, 0);
	else if (!access->has_info)
		walk_end(walk, end_without_info(walk, pc), pc);
	else if (access->missing_address)
		walk_end_at(walk, pc, access->missing_address);
	else if (step == -UNW_EBADREG)
		walk_end(walk, STACK_END_UNKNOWN_REG, pc);
	else
		walk_end(walk, STACK_END_BAD_CFI, pc);
}

static bool is_native(const struct snapshot *snapshot)
{
	return snapshot->arch == arch_native();
}

/*
 * Does the frame at pc end in the kernel's signal frame? unw_is_signal_frame()
 * knows only of those that libunwind passed without CFI.
 */
static bool is_trampoline(const struct access *access, const struct unwind_arch *arch, uint64_t pc)
{
	uint64_t code[2] = {0};

	return access_code(access, pc, &code[0]) && access_code(access, pc + 8, &code[1]) &&
	       arch->is_sigreturn((const uint8_t *)code, sizeof(code));
}

/* Are the registers known that every frame needs? */
static bool is_complete(const struct regs *regs, const struct arch_regs *arch)
{
	return regs->known >> arch->pc & regs->known >> arch->sp & 1;
}

struct position {
	uint64_t pc, sp;
};

static struct position position_of(unw_cursor_t *cursor)
{
	unw_word_t pc = 0;
	unw_word_t sp = 0;

	unw_get_reg(cursor, UNW_REG_IP, &pc);
	unw_get_reg(cursor, UNW_REG_SP, &sp);
	return (struct position){.pc = pc, .sp = sp};
}

static void walk_frames(struct walk *walk, unw_cursor_t *cursor, struct access *access)
{
	enum unwind_rule rule = UNWIND_RULE_NONE;
	const struct unwind_arch *arch = unwind_arch(walk->snapshot->arch);
	struct position here = position_of(cursor);
	bool is_exact = true;

	for (;;) {
		bool is_called = !is_exact && !is_trampoline(access, arch, here.pc);
		struct unwind_frame frame = walk_frame(walk, here.pc, here.sp, !is_called, rule);
		struct position caller;
		int step;

		if (!walk_push(walk, &frame))
			return;
		rule = UNWIND_RULE_LIBUNWIND;
		is_exact = is_trampoline(access, arch, here.pc);
		access->has_info = true;
		access->missing_address = 0;
		step = unw_step(cursor);
		if (step <= 0) {
			end_walk(walk, access, step, here.pc);
			return;
		}
		caller = position_of(cursor);
		if (caller.pc == here.pc && caller.sp == here.sp) {
			walk_end(walk, STACK_END_LOOP, here.pc);
			return;
		}
		here = caller;
	}
}

/* False where libunwind cannot be used: another machine's snapshot, or no address space. */
static bool begin(struct libunwind_spaces *spaces, struct access *access, unw_cursor_t *cursor)
{
	return is_native(access->walk->snapshot) && access_begin(access, spaces, cursor);
}

void libunwind_walk(struct libunwind_spaces *spaces, struct walk *walk)
{
	struct access access = {.walk = walk};
	const struct arch_regs *arch = arch_regs(walk->snapshot->arch);
	struct unwind_frame leaf;
	unw_cursor_t cursor;
	uint64_t pc = 0, sp = 0;

	if (begin(spaces, &access, &cursor)) {
		walk_frames(walk, &cursor, &access);
		return;
	}
	regs_get(&walk->snapshot->regs, arch->pc, &pc);
	regs_get(&walk->snapshot->regs, arch->sp, &sp);
	leaf = walk_frame(walk, pc, sp, true, UNWIND_RULE_NONE);
	if (walk_push(walk, &leaf))
		walk_end(walk, STACK_END_UNKNOWN_REG, pc);
}

static void take_registers(unw_cursor_t *cursor, const struct arch_regs *arch, struct regs *regs)
{
	*regs = (struct regs){0};
	for (unsigned int reg = 0; reg < arch->nr; reg++) {
		unw_word_t value;

		if (unw_get_reg(cursor, (int)reg, &value) == 0)
			regs_set(regs, reg, value);
	}
}

static void go_on(struct libunwind_follower *follower)
{
	if (unw_step(&follower->cursor) > 0)
		follower->index++;
	else
		follower->state = LIBUNWIND_LOST;
}

/* Is libunwind, following its own steps, at the frame that is `index` steps from the leaf? */
static bool follow_to(struct libunwind_follower *follower, size_t index)
{
	if (follower->state == LIBUNWIND_NOT_BEGUN) {
		follower->access.walk = follower->walk;
		follower->state = begin(follower->spaces, &follower->access, &follower->cursor)
					  ? LIBUNWIND_FOLLOWS
					  : LIBUNWIND_LOST;
	}
	while (follower->state == LIBUNWIND_FOLLOWS && follower->index < index)
		go_on(follower);
	return follower->state == LIBUNWIND_FOLLOWS && follower->index == index;
}

bool libunwind_caller(struct libunwind_follower *follower, size_t index, uint64_t pc,
		      struct regs *regs)
{
	const struct arch_regs *arch = arch_regs(follower->walk->snapshot->arch);
	struct position here;

	if (!follow_to(follower, index))
		return false;
	here = position_of(&follower->cursor);
	if (here.pc != pc || here.sp != regs->value[arch->sp])
		return false;
	follower->access.has_info = true;
	go_on(follower);
	if (follower->state == LIBUNWIND_LOST || !follower->access.has_info)
		return false;
	take_registers(&follower->cursor, arch, regs);
	return is_complete(regs, arch);
}
