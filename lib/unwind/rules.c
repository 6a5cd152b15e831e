// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of rules that find the row of a frame, and those of them that need no stack. */
#include "unwind/rules.h"

#include <assert.h>

#include "base/alloc.h"
#include "mapping/space.h"
#include "unwind/module_cfi.h"
#include "unwind/rows_priv.h"
#include "unwind/rules_stack.h"

static struct row no_row(void)
{
	return row_of_kind(ROW_NO_CFI);
}

/* An address of the image, as are all below. */
static uint64_t pc_of(const struct rule_case *at)
{
	return at->code.pc - at->code.mapping->bias;
}

static const struct code_reader *reader_of(const struct rule_case *at)
{
	return at->query->arch->code;
}

static bool has_entry(struct rule_case *at)
{
	return module_cfi_entry(at->cfi, at->query->arch, at->query->frame->lookup.address,
				&at->entry);
}

static struct row row_of_root(struct rule_case *at)
{
	(void)at;
	return row_of_kind(ROW_ROOT);
}

/* The return address at the end of the stacks that a runtime makes. */
static bool is_bottom(struct rule_case *at)
{
	return (at->known.kind == ROW_NO_CFI || at->known.is_from_debug_frame) &&
	       !at->code.is_exact && reader_of(at)->is_bottom &&
	       reader_of(at)->is_bottom(at->code.image, pc_of(at));
}

/* Bound on the distance from an entry of code that neither CFI nor a symbol covers. */
#define ENTRY_FUNCTION_BYTES 128

/* The entry functions of a program and of the loader have no caller. */
static bool is_in_entry_function(struct rule_case *at)
{
	uint64_t entry = elf_image_entry(at->code.image);
	uint64_t pc = pc_of(at);
	uint64_t lookup = pc - !at->code.is_exact;
	struct cfi_fde fde;
	uint64_t start, end;

	if (at->known.kind != ROW_NO_CFI || !entry || lookup < entry)
		return false;
	if (lookup == entry)
		return true;
	if (module_cfi_fde(at->cfi, lookup, &fde))
		return fde.start == entry;
	if (elf_image_function(at->code.image, lookup, &start, &end))
		return start == entry;
	return pc - entry <= ENTRY_FUNCTION_BYTES && reader_of(at)->comes_by &&
	       reader_of(at)->comes_by(at->code.image, entry, pc);
}

static bool has_no_cfi(struct rule_case *at)
{
	return at->known.kind == ROW_NO_CFI;
}

static const struct row *forward(struct rule_case *at)
{
	if (at->forward.kind == ROW_EMPTY) {
		const struct code_at place = code_walk_at(&at->code);

		walk_work_add(at->query->walk, WALK_WORK_OF_CODE);
		at->forward = reader_of(at)->row(at->code.image, &place);
	}
	return &at->forward;
}

static const struct row *entered(struct rule_case *at)
{
	if (at->entered.kind == ROW_EMPTY)
		at->entered = code_walk_entered(at->query->arch, at->query->walk, &at->code);
	return &at->entered;
}

static bool proves(const struct rule_case *at, const struct row *row)
{
	return code_walk_proves(at->query->arch, at->query->walk, &at->code, row);
}

static struct row to_return(struct rule_case *at)
{
	return proves(at, forward(at)) ? *forward(at) : no_row();
}

/* A call that never returns may have led the path to a return into another function. */
static struct row from_symbol(struct rule_case *at)
{
	return proves(at, entered(at)) ? *entered(at) : no_row();
}

static struct row from_call(struct rule_case *at)
{
	return code_walk_called(at->query->arch, at->query->walk, &at->code);
}

static struct row from_reference(struct rule_case *at)
{
	return code_walk_referenced(at->query->arch, at->query->walk, &at->code);
}

static struct row endless(struct rule_case *at)
{
	return forward(at)->kind == ROW_NEVER_RETURNS ? *forward(at) : no_row();
}

/* A return address of 0: nothing is proved, nor disproved. */
static struct row to_zero(struct rule_case *at)
{
	const struct row *const paths[] = {entered(at), forward(at)};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct row row = *paths[i];

		row.is_unproved = true;
		if (code_walk_leads_to_zero(at->query->arch, at->query->walk, &at->code, &row))
			return row;
	}
	return no_row();
}

/* By the first way to read the code that leads to a row. */
static struct row row_by_code(struct rule_case *at)
{
	struct row row = no_row();

	for (int way = UNWIND_RULE_TO_RETURN; way <= UNWIND_RULE_TO_ZERO && row.kind == ROW_NO_CFI;
	     way++)
		row = unwind_rules[way].row(at);
	return row;
}

/* Code that never returns, without a symbol, may begin where the CFI before it ends. */
static struct row from_gap(struct rule_case *at)
{
	struct row row;
	uint64_t start;

	if (!module_cfi_gap(at->cfi, at->query->frame->lookup.address, &start))
		return no_row();
	row = code_walk_row_from_entry(at->query->arch, at->query->walk, &at->code, start, false);
	row.saves_eh = row.kind == ROW_STEP && at->query->arch->eh;
	return row;
}

/* Go has CFI in .debug_frame alone. */
static bool has_go_cfi_by_sp(const struct rule_case *at)
{
	return at->known.is_from_debug_frame && at->known.kind == ROW_STEP &&
	       at->known.cfa_reg == at->query->arch->regs->sp;
}

static bool has_left_its_stack(struct rule_case *at)
{
	return has_go_cfi_by_sp(at) && rows_has_switched_stack(at->rows, at->query);
}

/*
 * Its frame is on the stack that it left, and its frame pointer still points to it. The row is not
 * proved: the first copies lack that stack.
 */
static struct row by_own_fp(struct rule_case *at)
{
	struct row row = no_row();

	if (has_entry(at))
		row = reader_of(at)->row_from_entry(at->code.image, at->entry, pc_of(at), false);
	row.is_from_code = false;
	return row.cfa_reg == at->query->arch->regs->fp ? row : no_row();
}

/* Is the CFI relative to the stack pointer, in code that has switched stacks or will? */
static bool is_on_another_stack(struct rule_case *at)
{
	return has_go_cfi_by_sp(at) && !at->code.is_exact &&
	       rows_is_first_of_stack(at->rows, at->query);
}

/*
 * From the point where an exception's handler is certain to be entered next, libgcc writes the
 * handler's registers over those that it saved on its entry.
 */
static bool leaves_for_handler(struct rule_case *at)
{
	const struct code_at place = code_walk_at(&at->code);

	return at->known.saves_eh && at->query->arch->eh && has_entry(at) &&
	       !reader_of(at)->may_return(at->code.image, &place);
}

/* Then the path from the entry still finds the frame, by the stack pointer alone. */
static struct row before_handler(struct rule_case *at)
{
	uint64_t pc = pc_of(at);
	struct row row = reader_of(at)->row_from_entry(at->code.image, at->entry, pc, true);

	if (row.kind != ROW_STEP || row.cfa_reg != at->query->arch->regs->sp)
		return no_row();
	row.ra = ROW_RA_MAY_BE_REPLACED;
	row.entry_distance = (int32_t)(pc - at->entry);
	return row;
}

static bool has_switched_to_handler(struct rule_case *at)
{
	return at->code.is_exact && leaves_for_handler(at) &&
	       reader_of(at)->switched_stack(at->code.image, at->entry, pc_of(at));
}

/* The stack pointer and all registers are already the handler's. */
static struct row at_handler(struct rule_case *at)
{
	const unsigned int sp = at->query->arch->regs->sp;
	struct row row = at->known;

	/* The handler's address has just been popped, into a register for the jump. */
	if (row.kind == ROW_FALLBACK)
		row = (struct row){.kind = ROW_STEP,
				   .cfa_reg = (uint8_t)sp,
				   .ra_offset = -(int32_t)sizeof(uint64_t)};
	if (row.kind != ROW_STEP || row.cfa_reg != sp)
		return no_row();
	row.fp = ROW_FP_SAME;
	row.ra = ROW_RA_REPLACED;
	row.is_from_code = true;
	return row;
}

/* Functions save below their CFA. */
static bool saves_above_cfa(struct rule_case *at)
{
	return at->known.kind == ROW_STEP && at->known.ra == ROW_RA_AT_CFA &&
	       at->known.ra_offset >= 0;
}

static struct row step_by_code(struct rule_case *at)
{
	struct row row = row_by_code(at);

	return row.kind == ROW_STEP ? row : no_row();
}

static bool is_of_target(struct rule_case *at)
{
	return at->known.is_of_target && has_entry(at);
}

static struct row from_entry(struct rule_case *at)
{
	return code_walk_row_from_entry(at->query->arch, at->query->walk, &at->code, at->entry,
					false);
}

/* Does the CFI lead to an address that is no code? */
static bool is_contradicted(struct rule_case *at)
{
	return at->code.is_exact && code_walk_contradicts(at->query->walk, &at->code, &at->known);
}

static struct row proved_by_code(struct rule_case *at)
{
	struct row row = step_by_code(at);

	return row.is_unproved ? no_row() : row;
}

static bool may_lack_fp(struct rule_case *at)
{
	return at->known.is_from_debug_frame && at->known.kind == ROW_STEP &&
	       at->known.fp == ROW_FP_SAME && has_entry(at);
}

/* The code on the path from the entry shows where the frame pointer is saved. */
static struct row with_saved_fp(struct rule_case *at)
{
	struct row row = at->known;
	struct row by_code =
		reader_of(at)->row_from_entry(at->code.image, at->entry, pc_of(at), true);

	if (by_code.kind != ROW_STEP || by_code.cfa_reg != row.cfa_reg ||
	    by_code.cfa_offset != row.cfa_offset || by_code.fp != ROW_FP_AT_CFA)
		return no_row();
	row.fp = ROW_FP_AT_CFA;
	row.fp_offset = by_code.fp_offset;
	return row;
}

/* Does the CFI have the frame pointer saved where it pointed to, which it has left? */
static bool has_restored_fp(struct rule_case *at)
{
	struct code_at place;

	if (!reader_of(at)->keeps_fp || !at->code.is_exact || at->known.kind != ROW_STEP ||
	    at->known.fp != ROW_FP_AT_FP || at->known.cfa_reg == at->query->arch->regs->fp)
		return false;
	place = code_walk_at(&at->code);
	return reader_of(at)->keeps_fp(at->code.image, &place);
}

static struct row with_same_fp(struct rule_case *at)
{
	struct row row = at->known;

	row.fp = ROW_FP_SAME;
	row.is_from_code = true; /* libunwind would use the CFI, which is wrong */
	return row;
}

static bool is_signal_frame(struct rule_case *at)
{
	return at->known.kind == ROW_SIGNAL;
}

static bool is_left_to_libunwind(struct rule_case *at)
{
	return at->known.kind == ROW_FALLBACK;
}

static bool has_cfi(struct rule_case *at)
{
	return at->known.kind != ROW_NO_CFI;
}

static struct row by_cfi(struct rule_case *at)
{
	return at->known;
}

static bool wants_regs(struct rule_case *at)
{
	return at->want == RULE_WANT_REGS && at->code.image && reader_of(at);
}

/* Proved on each stack. */
static struct row by_code(struct rule_case *at)
{
	const struct row_key key = row_key(at->query->frame->lookup, at->query->frame->is_exact);
	const struct row *kept = row_cache_find(&at->rows->jit, key);
	struct row row;

	if (kept && proves(at, kept))
		return *kept;
	row = proved_by_code(at);
	if (row.kind == ROW_STEP)
		row_cache_put(&at->rows->jit, key, row);
	return row;
}

/*
 * Above each rule is the program that needs it, and the share of callers (or ends of stacks) that
 * it has found there.
 */
const struct rule unwind_rules[UNWIND_RULE_COUNT] = {
	[UNWIND_RULE_NONE] = {.name = "none"},

	/* Go: the end of nearly each goroutine's stack, 3 to 4 %, and of each thread's own. */
	[UNWIND_RULE_GO_BOTTOM] = {.name = "bottom of a goroutine",
				   .applies = is_bottom,
				   .row = row_of_root},
	/* musl's _start: 6 to 7 %; the loader's first instructions, in any program. */
	[UNWIND_RULE_ENTRY_FUNCTION] = {.name = "entry function",
					.applies = is_in_entry_function,
					.row = row_of_root},
	/* musl 28 to 33 %; C without CFI 38 to 50 %; PLTs of LLD; node 13 %. */
	[UNWIND_RULE_TO_RETURN] = {.name = "path to a return",
				   .applies = has_no_cfi,
				   .row = to_return},
	/* V8's builtins, in node: 14 to 24 %; static musl 14 %. */
	[UNWIND_RULE_FROM_SYMBOL] = {.name = "path from a symbol",
				     .applies = has_no_cfi,
				     .row = from_symbol},
	/* mold 3 %; musl 0.2 %. */
	[UNWIND_RULE_FROM_CALL] = {.name = "path from a call's target",
				   .applies = has_no_cfi,
				   .row = from_call},
	/* main() that calls exit(), on dynamic musl: 13 %; static busybox, all stacks. */
	[UNWIND_RULE_FROM_REFERENCE] = {.name = "path from an address taken",
					.applies = has_no_cfi,
					.row = from_reference},
	/* How threads begin with musl: 7 %; PHP's fibers 6 %. */
	[UNWIND_RULE_ENDLESS] = {.name = "no path to a return",
				 .applies = has_no_cfi,
				 .row = endless},
	/* Erlang, node: 0.1 to 0.2 %. */
	[UNWIND_RULE_TO_ZERO] = {.name = "path to a zero", .applies = has_no_cfi, .row = to_zero},
	/* LLVM's libunwind, as an exception lands: 0.1 % of the stacks of a program that throws. */
	[UNWIND_RULE_FROM_GAP] = {.name = "path from the end of CFI",
				  .applies = has_no_cfi,
				  .row = from_gap},

	/* Go's time.now(), which calls the vDSO on another stack: 83 % of a program that asks it.
	 */
	[UNWIND_RULE_GO_OWN_FP] = {.name = "Go's own frame pointer",
				   .applies = has_left_its_stack,
				   .row = by_own_fp},
	/* Go's mcall() and systemstack(): 1 to 5 %. */
	[UNWIND_RULE_GO_SWITCH] = {.name = "Go's switch of stacks",
				   .applies = is_on_another_stack,
				   .row = rule_stack_switch},
	/* libgcc, as an exception lands: 4 % of a program that throws. */
	[UNWIND_RULE_BEFORE_HANDLER] = {.name = "before a handler",
					.applies = leaves_for_handler,
					.row = before_handler},
	/* libgcc, in the last instructions before a handler: 0.002 % of a program that throws. */
	[UNWIND_RULE_AT_HANDLER] = {.name = "at a handler",
				    .applies = has_switched_to_handler,
				    .row = at_handler},
	/* glibc's _dl_runtime_resolve() on aarch64: each stack of lazy binding. */
	[UNWIND_RULE_SAVED_ABOVE_CFA] = {.name = "saved above the CFA",
					 .applies = saves_above_cfa,
					 .row = step_by_code},
	/* glibc's longjmp(): 0.002 % of a program that calls it now and then. */
	[UNWIND_RULE_LONGJMP] = {.name = "CFI of longjmp's target",
				 .applies = is_of_target,
				 .row = from_entry},
	/* Mono describes no epilogues: 9 to 100 % of a function; LuaJIT 0.2 %. */
	[UNWIND_RULE_CONTRADICTED] = {.name = "CFI to no code",
				      .applies = is_contradicted,
				      .row = proved_by_code},
	/* Go, which describes no frame pointers: 61 to 68 %. */
	[UNWIND_RULE_GO_FP] = {.name = "Go's frame pointer",
			       .applies = may_lack_fp,
			       .row = with_saved_fp,
			       .is_by_cfi = true},
	/* gcc -mavx2 after `leave` in realigned frames: 0.001 %. */
	[UNWIND_RULE_RESTORED_FP] = {.name = "restored frame pointer",
				     .applies = has_restored_fp,
				     .row = with_same_fp},

	/* Each stack of a signal handler. */
	[UNWIND_RULE_SIGNAL] = {.name = "signal frame",
				.applies = is_signal_frame,
				.row = by_cfi,
				.is_by_cfi = true},
	/* OpenSSL's assembly: 3 %; lazy binding; 0 to 0.4 % of other programs. */
	[UNWIND_RULE_LIBUNWIND] = {.name = "libunwind",
				   .applies = is_left_to_libunwind,
				   .row = by_cfi,
				   .is_by_cfi = true},
	/* All others: nearly all of most programs. */
	[UNWIND_RULE_CFI] = {.name = "CFI", .applies = has_cfi, .row = by_cfi, .is_by_cfi = true},

	/* Sleeping threads, which are read without a stop: 0.3 %, 85 % of code at -O0. */
	[UNWIND_RULE_BY_SP] = {.name = "path by the stack pointer",
			       .applies = rule_wants_fp,
			       .row = rule_by_sp},
	/* libgcc, as an exception passes frames with alloca(): 0.1 % of a program that throws. */
	[UNWIND_RULE_BY_HANDLER] = {.name = "handler's frame",
				    .applies = rule_has_handlers,
				    .row = rule_by_handler,
				    .is_by_cfi = true},
	/* The loader's functions with alloca(), asleep at the start: ffmpeg 0.7 %, PHP, Emacs. */
	[UNWIND_RULE_BY_CALL] = {.name = "call above",
				 .applies = rule_may_have_call,
				 .row = rule_by_call,
				 .trials = 4},
	/* SBCL's call_into_lisp(): 3 %, in each stack. */
	[UNWIND_RULE_BY_CODE] = {.name = "code in place of libunwind",
				 .applies = wants_regs,
				 .row = by_code},
	/* HotSpot's interpreter called from compiled code: 3 %. */
	[UNWIND_RULE_JIT_ADAPTER] = {.name = "JIT adapter",
				     .applies = rule_may_have_adapter,
				     .row = rule_jit_adapter},
	/* HotSpot's compiled code 5 %, Python's trampolines for perf, SBCL 36 %. */
	[UNWIND_RULE_JIT] = {.name = "JIT code", .applies = rule_is_in_jit, .row = rule_jit},
	/* SBCL 40 %, HotSpot's interpreter 17 %, V8's compiled code 3 to 6 %. */
	[UNWIND_RULE_FRAME_POINTER] = {.name = "frame pointer",
				       .applies = rule_wants_record,
				       .row = rule_frame_pointer},
	/* Traces of LuaJIT 0.4 %, PHP's, QEMU's and Guile's code: each stack of them. */
	[UNWIND_RULE_JIT_HOST] = {.name = "frame of the JIT's host",
				  .applies = rule_may_have_host,
				  .row = rule_jit_host,
				  .trials = 1},
	/* Interpreters in assembly that dispatch by a table, without CFI: 13 %. */
	[UNWIND_RULE_BY_SYMBOL] = {.name = "call of the symbol above",
				   .applies = rule_has_symbol,
				   .row = rule_by_symbol,
				   .trials = 4},
	/* cgo 3 %; coroutines: the end of each of their stacks. */
	[UNWIND_RULE_STACK_SWITCH] = {.name = "switch of stacks",
				      .applies = rule_is_first_of_stack,
				      .row = rule_stack_switch},
	/* Erlang's scheduler's code: 4 %, the end of each stack. */
	[UNWIND_RULE_ZERO_FP] = {.name = "frame pointer of 0",
				 .applies = rule_has_zero_fp,
				 .row = rule_zero_fp},
	/* Handlers of SIGSEGV after a call through a null pointer: each stack of them. */
	[UNWIND_RULE_WILD_CALL] = {.name = "call to no code",
				   .applies = rule_is_outside_code,
				   .row = rule_wild_call},
};

struct row rules_row_of_place(struct rule_case *at)
{
	bool is_cfi_only = at->query->is_cfi_only || !reader_of(at);
	struct row row = no_row();

	for (int i = is_cfi_only ? UNWIND_RULE_SIGNAL : UNWIND_RULE_NONE + 1;
	     i < RULES_OF_STACK && row.kind == ROW_NO_CFI; i++) {
		if (!unwind_rules[i].applies(at))
			continue;
		row = unwind_rules[i].row(at);
		row.rule = (uint8_t)(row.kind == ROW_NO_CFI ? UNWIND_RULE_NONE : i);
	}
	return row;
}

const char *unwind_rule_name(enum unwind_rule rule)
{
	assert(rule < UNWIND_RULE_COUNT);
	return unwind_rules[rule].name;
}

bool unwind_rule_is_by_cfi(enum unwind_rule rule)
{
	return unwind_rules[rule].is_by_cfi;
}
