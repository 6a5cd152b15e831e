// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A probe replaces one instruction by a branch to its thunk: as a branch into the middle of one
 * word cannot exist, nothing but a loop to the word itself can be misled by it, and no thread has
 * to be moved. A thunk changes no register, and no flag. It has no landing pad for indirect
 * branches (BTI), as only direct ones lead there and back.
 */
#include "patch/patch.h"

#if defined(__aarch64__)

#include <assert.h>
#include <string.h>

#include "code/code_aarch64.h"
#include "patch/branches.h"
#include "patch/gate.h"
#include "patch/maker_aarch64.h"

#define THUNK_ALIGNMENT 8

#define NOP UINT32_C(0xd503201f)

static void begin(struct maker *maker, enum patch_kind kind, uint64_t address,
		  const struct code_area *area)
{
	uint64_t end = area->address + area->nr_bytes;

	maker->patch.kind = kind;
	maker->patch.address = address;
	maker->patch.nr_bytes = WORD_BYTES;
	maker->patch.thunk = (end + THUNK_ALIGNMENT - 1) & -(uint64_t)THUNK_ALIGNMENT;
}

/* Puts the thunk into the area, the branch to it into the patch, and that into *patch. */
static enum patch_outcome finish(struct maker *maker, uint32_t old, struct code_area *area,
				 struct patch *patch)
{
	size_t start = maker->patch.thunk - area->address, nr_bytes = maker->nr * WORD_BYTES;
	uint32_t new = branch(maker, maker->patch.kind == PATCH_CALL, maker->patch.address,
			      maker->patch.thunk + maker->entry * WORD_BYTES);

	if (maker->is_out_of_reach)
		return PATCH_OUT_OF_REACH;
	if (start > area->cap_bytes || nr_bytes > area->cap_bytes - start)
		return PATCH_NO_ROOM;
	memcpy(maker->patch.old, &old, sizeof(old));
	memcpy(maker->patch.new, &new, sizeof(new));
	memset(area->bytes + area->nr_bytes, 0, start - area->nr_bytes); /* udf */
	memcpy(area->bytes + start, maker->words, nr_bytes);
	area->nr_bytes = start + nr_bytes;
	maker->patch.nr_thunk_bytes = (uint16_t)nr_bytes;
	*patch = maker->patch;
	return PATCH_OK;
}

static bool matches(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

/*
 * Is it one of the exceptions (svc, brk, hlt and the like), which show their address to handlers
 * and to the kernel's restarts; or one of those that sign and compare with the address of the
 * instruction itself, or branch, and that a64_decode() does not know?
 */
static bool depends_on_place(uint32_t word)
{
	return matches(word, 0xff000000, 0xd4000000) || /* exceptions */
	       matches(word, 0xff000000, 0x55000000) || /* retaasppc */
	       matches(word, 0x7e000000, 0x74000000) || /* cb<cc> */
	       matches(word, 0xff800000, 0xf3800000) || /* autiasppc */
	       matches(word, 0xffff8000, 0xdac18000);	/* paciasppc and the like */
}

/* ldr, ldrsw of a general register, from an address relative to the instruction. */
static enum patch_outcome put_literal(struct maker *maker, uint32_t word, uint64_t address)
{
	static const uint32_t loads[] = {0xb9400000, 0xf9400000, 0xb9800000};
	int64_t distance = (int64_t)((uint64_t)(word >> 5 & 0x7ffff) << 45) >> 43;
	uint32_t size = word >> 30, reg = word & 31;

	if (size == 3 || word >> 26 & 1 || reg == XZR) /* prfm; of a vector register */
		return PATCH_NO_FIXED_FORM;
	put_value(maker, reg, address + (uint64_t)distance);
	put(maker, loads[size] | reg << 5 | reg);
	return PATCH_OK;
}

/* adr, adrp */
static enum patch_outcome put_adr(struct maker *maker, uint32_t word, uint64_t address)
{
	uint64_t immediate = (uint64_t)(word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
	int64_t distance = (int64_t)(immediate << 43) >> 43;

	if ((word & 31) == XZR)
		return PATCH_NO_FIXED_FORM;
	put_value(maker, word & 31,
		  word >> 31 ? (address & -PAGE_BYTES) + (uint64_t)distance * PAGE_BYTES
			     : address + (uint64_t)distance);
	return PATCH_OK;
}

/* A conditional branch to what follows, around one to where the thread continues otherwise. */
static void put_condition(struct maker *maker, uint32_t word, uint64_t next)
{
	bool is_test = matches(word, 0x7e000000, 0x36000000); /* tbz, tbnz */
	uint32_t offset_mask = (is_test ? UINT32_C(0x3fff) : UINT32_C(0x7ffff)) << 5;

	put(maker, (word & ~offset_mask) | 2 << 5); /* over the next word */
	put_branch(maker, next);
}

/*
 * Adds code with the same effect as the instruction at `address`, and the way on from there. Until
 * its last word nothing has changed but a register that the instruction only writes, so that a
 * thread can begin with it again.
 */
static enum patch_outcome displace(struct maker *maker, uint32_t word, uint64_t address)
{
	uint64_t next = address + WORD_BYTES;
	struct a64_instruction code;
	enum patch_outcome outcome = PATCH_OK;

	a64_decode(word, address, &code);
	if (depends_on_place(word) || code.effect == A64_EFFECT_HALT ||
	    code.effect == A64_EFFECT_CALL)
		return PATCH_NO_FIXED_FORM;
	add_step(maker, address, false);
	switch (code.effect) {
	case A64_EFFECT_JUMP:
		put_branch(maker, code.target);
		return PATCH_OK;
	case A64_EFFECT_BRANCH:
		put_condition(maker, word, next);
		put_branch(maker, code.target);
		return PATCH_OK;
	case A64_EFFECT_RETURN:
	case A64_EFFECT_LEAVE:
	case A64_EFFECT_STOP:
		put(maker, word);
		return PATCH_OK;
	default:
		break;
	}
	if (matches(word, 0x1f000000, 0x10000000))
		outcome = put_adr(maker, word, address);
	else if (matches(word, 0x3b000000, 0x18000000))
		outcome = put_literal(maker, word, address);
	else
		put(maker, word);
	add_step(maker, next, false);
	put_branch(maker, next);
	return outcome;
}

/*
 * Indirect calls of guarded code may lead only to a landing pad: `bti` (any), paciasp or pacibsp.
 * So it stays, and the next instruction is replaced, which every call passes as well.
 */
static bool is_landing_pad(uint32_t word)
{
	return matches(word, 0xffffff3f, 0xd503241f) || word == PACIASP || word == PACIBSP;
}

static size_t nr_words(const struct patch_function *function)
{
	size_t nr_bytes = function->nr_readable;

	if (function->nr_bytes && function->nr_bytes < nr_bytes)
		nr_bytes = function->nr_bytes;
	return nr_bytes / WORD_BYTES;
}

static uint32_t function_word(const struct patch_function *function, size_t i)
{
	return word_at(function->bytes + i * WORD_BYTES);
}

/*
 * Words that compilers put at a function's beginning for the program itself to patch: no-ops, and
 * XRay's branch over some.
 */
static size_t sled_words(const struct patch_function *function, size_t start)
{
	enum { MAX_WORDS = PATCH_SLED_MAX_BYTES / WORD_BYTES };
	const uint32_t over = UINT32_C(0x14000000) | MAX_WORDS; /* b .+32 */
	size_t nr = 0, end = nr_words(function);

	if (start < end && function_word(function, start) == over)
		nr = 1;
	while (start + nr < end && nr < MAX_WORDS && function_word(function, start + nr) == NOP)
		nr++;
	return nr == 1 && function_word(function, start) == over ? 0 : nr;
}

/*
 * Does anything but a call lead to the function's first instruction, or back to the one replaced? A
 * branch from before that is passed once by each call.
 */
static enum patch_outcome judge(const struct patch_function *function, const struct patch *patch,
				const struct branches *branches)
{
	uint64_t start = function->address - function->bias;
	uint64_t at = patch->address - function->bias;
	uint64_t next = branches_next_start(branches, start);
	uint64_t end = function->nr_bytes ? start + function->nr_bytes : next;

	if (next <= at)
		return PATCH_JUMPED_INTO;
	return branches_loop_to(branches, at, at, end) ||
			       branches_loop_to(branches, start, start, end)
		       ? PATCH_LOOPS_TO_ENTRY
		       : PATCH_OK;
}

static enum patch_outcome make_entry(struct patch *patch, const struct patch_function *function,
				     size_t start, const struct branches *branches,
				     struct code_area *area, const struct patch_counter *counter)
{
	uint64_t address = function->address + start * WORD_BYTES;
	struct maker maker = {.nr = 0};
	enum patch_outcome outcome;

	if (start >= nr_words(function))
		return PATCH_TOO_SHORT;
	begin(&maker, PATCH_ENTRY, address, area);
	add_step(&maker, address, false);
	maker_put_count(&maker, counter);
	outcome = displace(&maker, function_word(function, start), address);
	if (outcome == PATCH_OK)
		outcome = judge(function, &maker.patch, branches);
	return outcome ? outcome : finish(&maker, function_word(function, start), area, patch);
}

enum patch_outcome patch_entry(struct patch *patch, const struct patch_function *function,
			       const struct branches *branches, struct code_area *area,
			       const struct patch_counter *counter)
{
	size_t start = nr_words(function) && is_landing_pad(function_word(function, 0));
	size_t sled = sled_words(function, start);
	enum patch_outcome outcome;

	if (function->address % WORD_BYTES || !nr_words(function))
		return PATCH_UNKNOWN_CODE;
	outcome = make_entry(patch, function, start + sled, branches, area, counter);
	if (outcome == PATCH_OK || !sled)
		return outcome;
	outcome = make_entry(patch, function, start, branches, area, counter);
	if (outcome == PATCH_OK)
		patch->is_in_sled = true;
	return outcome;
}

/* Nothing is timed here yet. */
enum patch_outcome patch_site(struct patch *patch, const struct patch_function *function,
			      const struct branches *branches, struct code_area *area,
			      const struct patch_counter *counter)
{
	(void)patch;
	(void)function;
	(void)branches;
	(void)area;
	(void)counter;
	return PATCH_UNSUPPORTED;
}

uint64_t patch_pad(const struct patch *patch, unsigned int which)
{
	(void)which;
	return patch->address;
}

bool patch_pad_bytes(uint64_t pad, uint64_t thunk, uint8_t bytes[PATCH_PAD_BYTES])
{
	(void)pad;
	(void)thunk;
	(void)bytes;
	return false;
}

/*
 * The landing pad is passed before the probe. Where it signs the return address, a call of the
 * thunk has to do so, too: a thread there continues at the function's first word.
 */
static void put_signing(struct maker *maker, const struct patch_function *function)
{
	uint32_t pad = function_word(function, 0);

	if (maker->patch.address == function->address || (pad != PACIASP && pad != PACIBSP))
		return;
	put_branch(maker, next_address(maker) + 2 * WORD_BYTES);
	add_step(maker, function->address, false);
	put(maker, pad);
}

enum patch_outcome patch_entry_behind(struct patch *patch, const struct patch_function *function,
				      const struct branches *branches, struct code_area *area,
				      maker_prelude *prelude, const void *context,
				      uint64_t *original)
{
	size_t start = nr_words(function) && is_landing_pad(function_word(function, 0));
	uint64_t address = function->address + start * WORD_BYTES;
	struct maker maker = {.nr = 0};
	enum patch_outcome outcome;

	if (function->address % WORD_BYTES || start >= nr_words(function))
		return PATCH_TOO_SHORT;
	begin(&maker, PATCH_ENTRY, address, area);
	add_step(&maker, address, false);
	prelude(&maker, context);
	put_signing(&maker, function);
	if (maker.patch.nr_steps > 1) /* of the landing pad */
		*original = maker.patch.thunk + maker.patch.steps[1].offset;
	else
		*original = maker.patch.thunk + maker.nr * WORD_BYTES;
	outcome = displace(&maker, function_word(function, start), address);
	if (outcome == PATCH_OK)
		outcome = judge(function, &maker.patch, branches);
	return outcome ? outcome : finish(&maker, function_word(function, start), area, patch);
}

/* A uprobe there is executed apart, and goes on after our branch. */
bool patch_is_breakpoint(uint8_t byte)
{
	(void)byte;
	return false;
}

uint16_t patch_breakpoints_of(const uint8_t *bytes, size_t nr)
{
	(void)bytes;
	(void)nr;
	return 0;
}

enum patch_outcome patch_call(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_readable, struct code_area *area,
			      const struct patch_counter *counter)
{
	struct maker maker = {.nr = 0};
	struct a64_instruction call = {.effect = A64_EFFECT_NONE};

	if (nr_readable >= WORD_BYTES)
		a64_decode(word_at(bytes), address, &call);
	if (call.effect != A64_EFFECT_CALL)
		return PATCH_UNKNOWN_CODE;
	if (!call.target)
		return PATCH_INDIRECT_CALL;
	begin(&maker, PATCH_CALL, address, area);
	maker.patch.callee_kind = PATCH_CALLEE_DIRECT;
	maker.patch.callee = call.target;
	add_step(&maker, address, true);
	maker_put_count(&maker, counter);
	put_branch(&maker, call.target);
	return finish(&maker, word_at(bytes), area, patch);
}

/* The replaced instruction of an entry is no call. */
bool patch_always_calls(const struct patch *patch, uint64_t call)
{
	(void)patch;
	(void)call;
	return false;
}

/* br, and the same of a signed address. */
static bool is_register_branch(uint32_t word, bool *is_signed)
{
	*is_signed = matches(word, 0xfefff800, 0xd61f0800);
	return *is_signed || matches(word, 0xfffffc1f, 0xd61f0000);
}

static enum patch_outcome put_exit(struct maker *maker, uint32_t word, uint64_t address,
				   const struct patch_counter *counter)
{
	struct a64_instruction code;
	bool is_signed;

	a64_decode(word, address, &code);
	switch (code.effect) {
	case A64_EFFECT_BRANCH:
		put_condition(maker, word, address + WORD_BYTES);
		maker_put_leave(maker, counter);
		put_branch(maker, code.target);
		return PATCH_OK;
	case A64_EFFECT_JUMP:
		maker_put_leave(maker, counter);
		put_branch(maker, code.target);
		return PATCH_OK;
	case A64_EFFECT_RETURN:
	case A64_EFFECT_LEAVE:
	case A64_EFFECT_STOP:
		break;
	default:
		return PATCH_UNKNOWN_CODE;
	}
	if (!is_register_branch(word, &is_signed))
		maker_put_leave(maker, counter);
	else if (counter->gate->nr <= GATE_PARTS_MAX)
		maker_put_leave_to(maker, counter, word >> 5 & 31, is_signed);
	else
		return PATCH_NO_ROOM;
	put(maker, word);
	return PATCH_OK;
}

/* The thunk changes nothing before the way out, and that may begin again anywhere in it. */
enum patch_outcome patch_exit(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_bytes, size_t exit_at, struct code_area *area,
			      const struct patch_counter *counter)
{
	struct maker maker = {.nr = 0};
	enum patch_outcome outcome;

	assert(nr_bytes == WORD_BYTES && exit_at == 0);
	begin(&maker, PATCH_EXIT, address, area);
	add_step(&maker, address, false);
	outcome = put_exit(&maker, word_at(bytes), address, counter);
	return outcome ? outcome : finish(&maker, word_at(bytes), area, patch);
}

enum patch_outcome patch_syscall(struct patch *patch, const struct patch_function *function,
				 const struct branches *branches, struct code_area *area,
				 const struct patch_counter *counter)
{
	(void)patch;
	(void)function;
	(void)branches;
	(void)area;
	(void)counter;
	return PATCH_UNSUPPORTED;
}

/* No copy of a counter has an owner: all are added to in one instruction, or again until it works.
 */
bool patch_stub(struct patch_owners *owners, const struct patch_counter *counter,
		struct code_area *area)
{
	(void)owners;
	(void)counter;
	(void)area;
	return false;
}

bool patch_slow_stub(struct patch_owners *owners, const struct patch_counter *counter,
		     struct code_area *area)
{
	return patch_stub(owners, counter, area);
}

bool patch_is_in_stub(const struct patch *patch, uint64_t pc, uint64_t link,
		      struct patch_saved *saved)
{
	(void)patch;
	(void)pc;
	(void)link;
	(void)saved;
	return false;
}

static bool leads_out(const struct patch_calls *calls, const struct a64_instruction *code)
{
	if (code->effect == A64_EFFECT_LEAVE)
		return true;
	return (code->effect == A64_EFFECT_JUMP || code->effect == A64_EFFECT_BRANCH) &&
	       code->target - calls->address >= calls->nr_bytes;
}

bool patch_calls_next(struct patch_calls *calls, struct patch_call_site *site)
{
	while (calls->nr_bytes - calls->at >= WORD_BYTES) {
		size_t at = calls->at;
		uint32_t word = word_at(calls->bytes + at);
		struct a64_instruction code;

		calls->at += WORD_BYTES;
		calls->has_unknown |= !(word >> 16); /* udf, as numbers among the code look */
		a64_decode(word, calls->address + at, &code);
		if (code.effect != A64_EFFECT_CALL &&
		    !(calls->with_jumps && leads_out(calls, &code)))
			continue;
		*site = (struct patch_call_site){
			.address = calls->address + at,
			.nr_bytes = WORD_BYTES,
			.kind = code.effect != A64_EFFECT_CALL ? PATCH_CALL_JUMP
				: code.target		       ? PATCH_CALL
							       : PATCH_CALL_INDIRECT,
			.callee = code.target,
			.bytes = calls->bytes + at,
		};
		return true;
	}
	calls->at = calls->nr_bytes;
	return false;
}

uint8_t patch_entry_reach(const uint8_t *bytes, size_t nr_readable, bool *is_plain)
{
	(void)bytes;
	(void)nr_readable;
	*is_plain = false;
	return PATCH_REACH_MAX_BYTES;
}

void branches_add_code(struct branches *branches, uint64_t address, const uint8_t *bytes,
		       size_t nr_bytes)
{
	for (size_t at = 0; at + WORD_BYTES <= nr_bytes; at += WORD_BYTES) {
		struct a64_instruction code;
		bool is_jump;

		a64_decode(word_at(bytes + at), address + at, &code);
		is_jump = code.effect == A64_EFFECT_JUMP || code.effect == A64_EFFECT_BRANCH;
		if (is_jump || (code.effect == A64_EFFECT_CALL && code.target))
			branches_add(branches, address + at, code.target,
				     code.effect == A64_EFFECT_CALL);
	}
}

#endif
