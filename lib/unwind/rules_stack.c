// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules for frames without a row that leads to a caller on every stack: see rules.c. */
#include "unwind/rules_stack.h"

#include "mapping/space.h"
#include "unwind/module_cfi.h"
#include "unwind/rows_priv.h"

/* Nothing is ever mapped below vm.mmap_min_addr, nor above 57 bits. */
#define SMALLEST_ADDRESS UINT64_C(4096)
#define LARGEST_ADDRESS	 (UINT64_C(1) << 56)

static struct row no_row(void)
{
	return row_of_kind(ROW_NO_CFI);
}

static struct row_key key_of(const struct rule_case *at)
{
	return row_key(at->query->frame->lookup, at->query->frame->is_exact);
}

static uint64_t sp_of(const struct rule_case *at)
{
	return at->query->regs->value[at->query->arch->regs->sp];
}

static bool fp_of(const struct rule_case *at, uint64_t *fp)
{
	return regs_get(at->query->regs, at->query->arch->regs->fp, fp);
}

static bool has_entry(const struct rule_case *at, uint64_t *entry)
{
	return at->cfi && at->query->arch->code &&
	       module_cfi_entry(at->cfi, at->query->arch, at->query->frame->lookup.address, entry);
}

bool rule_wants_fp(struct rule_case *at)
{
	return at->want == RULE_WANT_FP;
}

static struct row compile_by_sp(const struct rule_case *at)
{
	struct row row;
	uint64_t entry;

	if (!has_entry(at, &entry))
		return no_row();
	row = code_walk_row_from_entry(at->query->arch, at->query->walk, &at->code, entry, true);
	return row.cfa_reg == at->query->arch->regs->sp ? row : no_row();
}

/* ROW_NO_CFI, too, is kept for all stacks: alloca, a realigned stack. */
struct row rule_by_sp(struct rule_case *at)
{
	const struct row *kept = row_cache_find(&at->rows->without_fp, key_of(at));
	struct row row;

	if (kept)
		return *kept;
	row = compile_by_sp(at);
	row_cache_add(&at->rows->without_fp, key_of(at), row);
	return row;
}

bool rule_has_handlers(struct rule_case *at)
{
	return at->want == RULE_WANT_FP && at->eh->nr_targets > 0;
}

/*
 * The frame that the exception goes to has its frame pointer saved by its callee. If this frame is
 * the callee, its CFA follows.
 */
static bool row_by_target(const struct rule_case *at, const struct eh_target *target,
			  struct row *row)
{
	const struct row *known = &at->known;
	uint64_t sp = sp_of(at);
	uint64_t cfa = target->fp_slot - (uint64_t)(int64_t)known->fp_offset;

	if (target->cfa <= sp || target->cfa - sp > INT32_MAX)
		return false;
	if (known->kind == ROW_STEP_DEREF && known->fp == ROW_FP_AT_FP) {
		if (!walk_read(at->query->walk, cfa + (uint64_t)(int64_t)known->cfa_offset, &cfa))
			return false;
	} else if (known->kind != ROW_STEP || known->fp != ROW_FP_AT_CFA) {
		return false;
	}
	*row = *known;
	row->kind = ROW_STEP;
	row->cfa_reg = (uint8_t)at->query->arch->regs->sp;
	row->cfa_offset = (int32_t)(target->cfa - sp);
	row->fp = ROW_FP_AT_CFA;
	row->fp_offset = (int32_t)(target->fp_slot - target->cfa);
	return cfa == target->cfa;
}

struct row rule_by_handler(struct rule_case *at)
{
	struct row row;

	for (size_t i = 0; i < at->eh->nr_targets; i++) {
		if (row_by_target(at, &at->eh->targets[i], &row))
			return row;
	}
	return no_row();
}

/* Machines with calls that push the return address. */
static bool pushes_calls(const struct rule_case *at)
{
	return at->query->arch->code && at->query->arch->code->entry_before;
}

/* The next return address above the stack pointer that may be the caller's. */
static bool next_candidate(struct rule_case *at)
{
	return code_walk_next_host(at->query->arch, at->query->walk, &at->code, &at->host);
}

bool rule_may_have_call(struct rule_case *at)
{
	uint64_t entry;

	if (at->want != RULE_WANT_FP || !pushes_calls(at) || !has_entry(at, &entry))
		return false;
	at->host = (struct code_host){.wanted = entry + at->code.mapping->bias};
	return true;
}

struct row rule_by_call(struct rule_case *at)
{
	if (!next_candidate(at))
		return no_row();
	if (at->known.fp == ROW_FP_AT_CFA) {
		at->host.row.fp = ROW_FP_AT_CFA;
		at->host.row.fp_offset = at->known.fp_offset;
	}
	return at->host.row;
}

bool rule_is_in_jit(struct rule_case *at)
{
	return at->want == RULE_WANT_ROW && at->code.mapping && pushes_calls(at) &&
	       space_module(at->query->walk->space, at->code.mapping)->kind == MODULE_KIND_JIT;
}

/* JIT-compiled code changes and grows: a search that failed may succeed later. */
#define JIT_TRIES_MAX 16

/* Proved each time, as other code may have replaced it. */
static struct row row_in_jit(const struct rule_case *at, const struct regs *regs)
{
	const struct row_query *query = at->query;
	const struct row *kept = row_cache_find(&at->rows->jit, key_of(at));
	struct code_frame code = at->code;
	struct row row;

	code.regs = regs;
	if (kept && kept->kind == ROW_NO_CFI
		    ? kept->nr_tries >= JIT_TRIES_MAX
		    : kept && code_walk_proves_jit_row(query->arch, query->walk, &code, kept))
		return *kept;
	row = code_walk_jit_row(query->arch, query->walk, &code);
	if (row.kind == ROW_NO_CFI)
		row.nr_tries = kept && kept->kind == ROW_NO_CFI ? kept->nr_tries + 1 : 1;
	/* A failure on one stack does not imply one on the next. */
	if (!kept || kept->kind == ROW_NO_CFI || row.kind == ROW_STEP)
		row_cache_put(&at->rows->jit, key_of(at), row);
	return row;
}

/* Adapters push at most this much for one call. */
#define ADAPTER_BYTES_MAX 2048

bool rule_may_have_adapter(struct rule_case *at)
{
	uint64_t sp = sp_of(at);

	return rule_is_in_jit(at) && at->query->frame->rule == UNWIND_RULE_FRAME_POINTER &&
	       at->sender_sp > sp && at->sender_sp - sp <= ADAPTER_BYTES_MAX &&
	       at->sender_sp % sizeof(sp) == 0;
}

/*
 * The adapter moves the return address below the arguments that it pushes. The interpreter keeps
 * the caller's true stack pointer just below its frame pointer; other code has no such address of
 * the stack there.
 */
struct row rule_jit_adapter(struct rule_case *at)
{
	const unsigned int sp = at->query->arch->regs->sp;
	struct regs moved = *at->query->regs;
	struct row row;

	moved.value[sp] = at->sender_sp;
	row = row_in_jit(at, &moved);
	if (row.kind == ROW_STEP && row.cfa_reg == sp)
		row.cfa_offset += (int32_t)(at->sender_sp - sp_of(at));
	return row;
}

struct row rule_jit(struct rule_case *at)
{
	return row_in_jit(at, at->query->regs);
}

/* Not 0, but outside the user part of the address space. */
static bool is_no_address(uint64_t return_address)
{
	return return_address &&
	       (return_address < SMALLEST_ADDRESS || return_address > LARGEST_ADDRESS);
}

bool rule_wants_record(struct rule_case *at)
{
	return at->want == RULE_WANT_ROW || at->want == RULE_WANT_RECORD;
}

static struct row no_record(struct rule_case *at, enum stack_end end, uint64_t wanted_address)
{
	at->end = end;
	at->wanted_address = wanted_address;
	return no_row();
}

/*
 * A record of the caller's frame pointer and the return address. It must be aligned, above the
 * stack pointer and in the stack's memory, and its return address after a call.
 */
struct row rule_frame_pointer(struct rule_case *at)
{
	const struct row_query *query = at->query;
	const struct walk *walk = query->walk;
	const struct mapping *stack;
	uint64_t fp, caller_fp, return_address;

	if (!fp_of(at, &fp))
		return no_record(at, STACK_END_UNKNOWN_REG, 0);
	if (!fp || fp % sizeof(fp) || fp < sp_of(at))
		return no_row();
	stack = space_find(walk->space, sp_of(at));
	if (stack && fp >= stack->end)
		return no_row();
	if (!walk_read(walk, fp, &caller_fp))
		return no_record(at, STACK_END_BAD_MEMORY, fp);
	if (!walk_read(walk, fp + 8, &return_address))
		return no_record(at, STACK_END_BAD_MEMORY, fp + 8);
	return_address &= query->arch->code_mask;
	if (is_no_address(return_address) ||
	    (return_address && !rows_is_behind_call(at->rows, query, return_address) &&
	     space_locate(walk->space, return_address - 1).module.v != MODULE_UNKNOWN.v))
		return no_row();
	return row_of_kind(ROW_RECORD);
}

bool rule_may_have_host(struct rule_case *at)
{
	at->host = (struct code_host){0};
	return rule_is_in_jit(at);
}

/* The CFI row of the function at `target`, which may hold in the middle of it, too. */
static struct row row_at_target(const struct rule_case *at, uint64_t target)
{
	struct space *space = at->query->walk->space;
	const struct mapping *mapping = space_find(space, target);
	struct elf_image *image = mapping ? space_image(space, mapping) : NULL;

	if (!image)
		return no_row();
	return module_cfi_row(rows_cfi(at->rows, mapping->module, image), at->query->arch,
			      target - mapping->bias, target - mapping->bias);
}

/*
 * A hand-written interpreter has the same frame everywhere, and its CFI says so even at its entry.
 */
static void take_fp_of_host(const struct rule_case *at, struct row *row)
{
	struct row host = row_at_target(at, at->host.target);

	if (host.kind != ROW_STEP || host.cfa_reg != row->cfa_reg || host.cfa_offset <= 8 ||
	    host.cfa_offset > row->cfa_offset || host.fp != ROW_FP_AT_CFA)
		return;
	row->fp = ROW_FP_AT_CFA;
	row->fp_offset = host.fp_offset;
}

struct row rule_jit_host(struct rule_case *at)
{
	if (!next_candidate(at))
		return no_row();
	if (at->host.target)
		take_fp_of_host(at, &at->host.row);
	return at->host.row;
}

bool rule_has_symbol(struct rule_case *at)
{
	uint64_t entry, end;

	if (at->want != RULE_WANT_ROW || !at->code.image || !pushes_calls(at) ||
	    !elf_image_function(at->code.image, at->query->frame->lookup.address, &entry, &end))
		return false;
	at->host = (struct code_host){.wanted = entry + at->code.mapping->bias};
	return true;
}

struct row rule_by_symbol(struct rule_case *at)
{
	return next_candidate(at) ? at->host.row : no_row();
}

bool rule_is_first_of_stack(struct rule_case *at)
{
	return at->want == RULE_WANT_ROW && rows_is_first_of_stack(at->rows, at->query);
}

struct row rule_stack_switch(struct rule_case *at)
{
	(void)at;
	return row_of_kind(ROW_OTHER_STACK);
}

bool rule_has_zero_fp(struct rule_case *at)
{
	uint64_t fp;

	return rule_wants_record(at) && at->query->walk->nr_pushed > 1 && fp_of(at, &fp) && !fp;
}

/* Code that uses the frame pointer as a number may have 0 there, too. */
struct row rule_zero_fp(struct rule_case *at)
{
	(void)at;
	return row_of_kind(ROW_NEVER_RETURNS);
}

bool rule_is_outside_code(struct rule_case *at)
{
	const struct arch_regs *regs = at->query->arch->regs;

	return at->want == RULE_WANT_CODE && regs->ra == regs->pc;
}

/* The call has pushed its return address, and nothing else has happened. */
struct row rule_wild_call(struct rule_case *at)
{
	const struct row_query *query = at->query;
	uint64_t sp, ra;

	if (!regs_get(query->regs, query->arch->regs->sp, &sp) ||
	    !walk_read(query->walk, sp, &ra) ||
	    space_locate(query->walk->space, ra - 1).module.v == MODULE_UNKNOWN.v ||
	    !rows_is_behind_call(at->rows, query, ra))
		return no_row();
	return (struct row){.kind = ROW_STEP,
			    .cfa_reg = (uint8_t)query->arch->regs->sp,
			    .cfa_offset = sizeof(ra),
			    .ra_offset = -(int32_t)sizeof(ra),
			    .is_from_code = true};
}
