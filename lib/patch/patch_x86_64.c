// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Callers keep values in any register that they know a function to preserve, and code in assembly
 * may keep some below its stack pointer: so a thunk changes nothing but the flags, and writes below
 * the stack pointer only where the call that it represents does. Amid a function it changes
 * nothing. A displaced system call leaves the thunk's address in rcx, where the kernel puts it.
 */
#include "patch/patch.h"

#if defined(__x86_64__)

#include <assert.h>
#include <cpuid.h>
#include <string.h>

#include "code/code_x86_64.h"
#include "patch/branches.h"
#include "patch/first_x86_64.h"
#include "patch/maker_x86_64.h"

#define JUMP_BYTES	5  /* e9 and a displacement */
#define THUNK_ALIGNMENT 16 /* a power of two */
#define INT3		0xcc

/* An instruction at its place in the program. */
struct original {
	struct code_instruction code;
	const uint8_t *bytes;
	uint64_t address;
};

static bool read_original(struct original *original, uint64_t address, const uint8_t *bytes,
			  size_t nr_bytes)
{
	original->bytes = bytes;
	original->address = address;
	return code_decode(bytes, nr_bytes, address, &original->code);
}

static bool has_prefix(const struct original *original, uint8_t prefix)
{
	return memchr(original->bytes, prefix, original->code.opcode_at) != NULL;
}

/* The four bits of a REX prefix; 0 without one. */
static uint8_t rex(const struct original *original)
{
	size_t at = original->code.opcode_at;

	return at && (original->bytes[at - 1] & 0xf0) == 0x40 ? original->bytes[at - 1] & 0xf : 0;
}

static uint8_t opcode(const struct original *original)
{
	return original->bytes[original->code.opcode_at];
}

/* The reg field of ModRM, where the opcode has one byte. */
static uint8_t operation(const struct original *original)
{
	return original->bytes[original->code.opcode_at + 1] >> 3 & 7;
}

/*
 * Is it a jump or call with a 16-bit operand, on which processors disagree (Intel SDM vol. 2,
 * CALL), or one with an operand relative to the low half of rip? REX.W overrides 66: calls of
 * __tls_get_addr() are padded with both.
 */
static bool is_odd(const struct original *original)
{
	enum code_effect effect = original->code.effect;
	bool leads = code_flow(effect) != CODE_FLOW_ON && effect != CODE_EFFECT_RETURN &&
		     effect != CODE_EFFECT_HALT;

	return (leads && has_prefix(original, 0x66) && !(rex(original) & 8)) ||
	       (original->code.disp_at && has_prefix(original, 0x67));
}

static void put_jump(struct maker *maker, uint64_t target)
{
	put(maker, "\xe9", 1);
	put_displacement(maker, target);
}

/* The next instruction of the thunk represents this place in the program. */
static void add_step(struct maker *maker, uint64_t address, bool is_callee)
{
	assert(maker->patch.nr_steps < PATCH_MAX_STEPS);
	maker->patch.steps[maker->patch.nr_steps++] = (struct patch_step){
		.offset = (uint8_t)maker->nr_bytes,
		.window_offset = (int8_t)(address - maker->patch.address),
		.is_callee = is_callee,
	};
}

static void begin(struct maker *maker, enum patch_kind kind, uint64_t address,
		  const struct code_area *area)
{
	uint64_t end = area->address + area->nr_bytes;

	maker->patch.kind = kind;
	maker->patch.address = address;
	maker->patch.thunk = (end + THUNK_ALIGNMENT - 1) & -(uint64_t)THUNK_ALIGNMENT;
}

/* Puts the thunk into the area, and the patch into *patch. */
static enum patch_outcome finish(struct maker *maker, struct code_area *area, struct patch *patch)
{
	size_t start = maker->patch.thunk - area->address;

	maker_put_way_to_stub(maker);
	if (maker->is_out_of_reach)
		return PATCH_OUT_OF_REACH;
	if (maker->nr_bytes > THUNK_MAX_BYTES || start > area->cap_bytes ||
	    maker->nr_bytes > area->cap_bytes - start)
		return PATCH_NO_ROOM;
	memset(area->bytes + area->nr_bytes, INT3, start - area->nr_bytes);
	memcpy(area->bytes + start, maker->bytes, maker->nr_bytes);
	area->nr_bytes = start + maker->nr_bytes;
	maker->patch.nr_thunk_bytes = (uint16_t)maker->nr_bytes;
	*patch = maker->patch;
	return PATCH_OK;
}

/* A copy, with operands relative to rip adjusted. */
static void put_copy(struct maker *maker, const struct original *original)
{
	const struct code_instruction *code = &original->code;
	size_t start = maker->nr_bytes;

	put(maker, original->bytes, code->nr_bytes);
	if (code->disp_at) {
		uint64_t end = maker->patch.thunk + maker->nr_bytes;
		int32_t distance = displacement(maker, code->operand, end);

		memcpy(maker->bytes + start + code->disp_at, &distance, sizeof(distance));
	}
}

/*
 * Prefixes are dropped: they are hints at the way of a branch, or of MPX, which no longer exists.
 */
static enum patch_outcome put_branch(struct maker *maker, const struct original *original)
{
	uint8_t op = opcode(original);
	uint8_t condition;

	if (op >= 0x70 && op <= 0x7f)
		condition = op & 0xf;
	else if (op == 0x0f)
		condition = original->bytes[original->code.opcode_at + 1] & 0xf;
	else /* loop, jrcxz, xbegin */
		return PATCH_NO_FIXED_FORM;
	put(maker, (const uint8_t[]){0x0f, (uint8_t)(0x80 | condition)}, 2);
	put_displacement(maker, original->code.target);
	return PATCH_OK;
}

/* Does the operand of a call change with the stack pointer? */
static bool uses_rsp(const struct original *original)
{
	const uint8_t *modrm = original->bytes + original->code.opcode_at + 1;

	if ((modrm[0] & 7) != 4 || (rex(original) & 1)) /* with REX.B it is r12, not rsp */
		return false;
	return modrm[0] >> 6 == 3 || (modrm[1] & 7) == 4;
}

/* The jump that remains of a call once its return address is pushed. */
static void put_call_target(struct maker *maker, const struct original *original)
{
	size_t modrm = maker->nr_bytes + original->code.opcode_at + 1;

	if (original->code.target) {
		maker->patch.callee_kind = PATCH_CALLEE_DIRECT;
		maker->patch.callee = original->code.target;
		put_jump(maker, original->code.target);
		return;
	}
	if (original->code.disp_at) {
		maker->patch.callee_kind = PATCH_CALLEE_IN_WORD;
		maker->patch.callee = original->code.operand;
	} else {
		maker->patch.callee_kind = PATCH_CALLEE_UNKNOWN;
	}
	put_copy(maker, original);
	maker->bytes[modrm] ^= 6 << 3; /* from ff /2, a call, to ff /4, a jump */
}

/*
 * Unwinders, for an exception or of the program itself, must find the return address that is on the
 * stack without a probe. It is written before the stack pointer moves, where a call would write it:
 * the thread is before the call until the jump, and after it from there on.
 */
static enum patch_outcome put_call(struct maker *maker, const struct original *original)
{
	uint64_t address = original->address;
	uint64_t behind = address + original->code.nr_bytes;

	if (!original->code.target && (operation(original) != 2 || uses_rsp(original)))
		return PATCH_NO_FIXED_FORM;
	put(maker, "\xc7\x44\x24\xf8", 4); /* movl $low,-8(%rsp) */
	put(maker, &behind, 4);
	add_step(maker, address, false);
	put(maker, "\xc7\x44\x24\xfc", 4); /* movl $high,-4(%rsp) */
	put(maker, (const uint8_t *)&behind + 4, 4);
	add_step(maker, address, false);
	put(maker, "\x48\x8d\x64\x24\xf8", 5); /* lea -8(%rsp),%rsp */
	add_step(maker, address, true);
	put_call_target(maker, original);
	return PATCH_OK;
}

/* Adds code to the thunk with the same effect as the instruction. */
static enum patch_outcome displace(struct maker *maker, const struct original *original)
{
	enum code_effect effect = original->code.effect;

	if (is_odd(original))
		return PATCH_NO_FIXED_FORM;
	/* Not far jumps and int3. A signal handler may see the address of hlt and ud2. */
	if (effect == CODE_EFFECT_HALT ||
	    (effect == CODE_EFFECT_STOP && (opcode(original) != 0xff || operation(original) != 4)))
		return PATCH_NO_FIXED_FORM;
	add_step(maker, original->address, false);
	if (effect == CODE_EFFECT_BRANCH)
		return put_branch(maker, original);
	if (effect == CODE_EFFECT_CALL)
		return put_call(maker, original);
	if (effect == CODE_EFFECT_JUMP)
		put_jump(maker, original->code.target);
	else
		put_copy(maker, original);
	return PATCH_OK;
}

static bool is_padding(const struct original *original)
{
	return original->code.is_padding || opcode(original) == INT3 ||
	       (opcode(original) == 0x90 && !(rex(original) & 1)); /* with REX.B it is xchg */
}

/* A displaced instruction must not lead into the bytes that change. */
static enum patch_outcome judge_target(const struct patch_function *function,
				       const struct patch *patch, uint64_t target)
{
	if (target >= function->address && target <= patch->address)
		return PATCH_LOOPS_TO_ENTRY;
	if (target > patch->address && target < patch->address + patch->nr_bytes)
		return PATCH_JUMPED_INTO;
	return PATCH_OK;
}

/* The first instructions of a function, which are moved into the thunk. */
struct window {
	const struct patch_function *function;
	size_t start;	      /* offset in the function */
	bool is_behind_first; /* the instruction before it stays, and could be in it, too */
	bool is_closed;	      /* only a return can come to the byte after the last instruction */
	uint64_t targets[JUMP_BYTES];
	size_t nr_targets;
	struct original last;
};

static enum patch_outcome read_next(const struct window *window, const struct patch *patch,
				    struct original *next)
{
	const struct patch_function *function = window->function;
	size_t at = window->start + patch->nr_bytes;

	return at < function->nr_readable &&
			       read_original(next, function->address + at, function->bytes + at,
					     function->nr_readable - at)
		       ? PATCH_OK
		       : PATCH_UNKNOWN_CODE;
}

static bool is_system_call(const struct original *original)
{
	return opcode(original) == 0x0f && original->bytes[original->code.opcode_at + 1] == 0x05;
}

/* Moves one more instruction of the function. */
static enum patch_outcome take_instruction(struct window *window, struct maker *maker)
{
	struct original *next = &window->last;
	const struct patch_function *function = window->function;
	struct patch *patch = &maker->patch;
	enum patch_outcome outcome;

	if (function->nr_bytes && window->start + patch->nr_bytes >= function->nr_bytes)
		return PATCH_TOO_SHORT; /* its end continues into the next function */
	outcome = read_next(window, patch, next);
	/* Threads sleep there: the window at the entry may be without it. */
	if (!outcome && window->is_behind_first && is_system_call(next))
		outcome = PATCH_NO_FIXED_FORM;
	if (!outcome)
		outcome = displace(maker, next);
	if (outcome)
		return outcome;
	patch->nr_bytes = (uint8_t)(patch->nr_bytes + next->code.nr_bytes);
	if (next->code.effect == CODE_EFFECT_CALL) {
		window->is_closed = true; /* the callee returns to the byte after it */
		return patch->nr_bytes < JUMP_BYTES ? PATCH_JUMPED_INTO : PATCH_OK;
	}
	if (next->code.target)
		window->targets[window->nr_targets++] = next->code.target;
	window->is_closed = code_flow(next->code.effect) == CODE_FLOW_LEAVES;
	return PATCH_OK;
}

/* After an instruction that leads elsewhere, overwrite only bytes that are never executed. */
static enum patch_outcome take_padding(struct window *window, struct maker *maker)
{
	struct original padding;

	while (maker->patch.nr_bytes < JUMP_BYTES) {
		enum patch_outcome outcome = read_next(window, &maker->patch, &padding);

		if (!outcome && is_padding(&padding)) {
			maker->patch.nr_bytes =
				(uint8_t)(maker->patch.nr_bytes + padding.code.nr_bytes);
			continue;
		}
		return window->last.code.effect == CODE_EFFECT_STOP ? PATCH_INDIRECT_JUMP
								    : PATCH_TOO_SHORT;
	}
	return PATCH_OK;
}

/* Does anything lead to the function's first instruction, or into the window? */
static enum patch_outcome judge_window(const struct window *window, const struct patch *patch,
				       const struct branches *branches)
{
	const struct patch_function *function = window->function;
	uint64_t start = function->address - function->bias;
	uint64_t at = patch->address - function->bias;
	uint64_t end;

	for (size_t i = 0; i < window->nr_targets; i++) {
		enum patch_outcome outcome = judge_target(function, patch, window->targets[i]);

		if (outcome)
			return outcome;
	}
	if (window->is_behind_first && function->spared_from &&
	    patch->address + patch->nr_bytes > function->spared_from)
		return PATCH_JUMPED_INTO;
	if (function->is_plain)
		return PATCH_OK;
	if (branches_lead_into(branches, at, at + patch->nr_bytes) ||
	    (window->is_behind_first && branches_lead_into(branches, start, at + 1)))
		return PATCH_JUMPED_INTO;
	/* A branch from before the window is passed once by each call. */
	end = function->nr_bytes ? start + function->nr_bytes
				 : branches_next_start(branches, start);
	if (branches_loop_to(branches, at, at, end) ||
	    branches_loop_to(branches, start, start, end))
		return PATCH_LOOPS_TO_ENTRY;
	return PATCH_OK;
}

static size_t endbr_bytes(const struct patch_function *function)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return function->nr_readable >= sizeof(endbr64) &&
			       memcmp(function->bytes, endbr64, sizeof(endbr64)) == 0
		       ? sizeof(endbr64)
		       : 0;
}

/*
 * Bytes that compilers put at a function's beginning for the program itself to patch:
 * -fpatchable-function-entry, -mnop-mcount, and XRay, which begins with a jump over them. The patch
 * comes and goes, and the bytes that it saves must not be ours; the instructions after it are
 * passed with it and without it. 0: there are none, or too few for a jump, which only align.
 */
static size_t sled_bytes(const struct patch_function *function, size_t start)
{
	static const uint8_t xray[] = {0xeb, 0x09, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0};
	const uint8_t *bytes = function->bytes + start;
	size_t nr_left = function->nr_readable - start, nr = 0;
	struct original nop;

	if (nr_left >= sizeof(xray) && memcmp(bytes, xray, sizeof(xray)) == 0)
		return sizeof(xray);
	while (nr <= PATCH_SLED_MAX_BYTES &&
	       read_original(&nop, function->address + start + nr, bytes + nr, nr_left - nr) &&
	       opcode(&nop) != INT3 && is_padding(&nop))
		nr += nop.code.nr_bytes;
	return nr >= JUMP_BYTES && nr <= PATCH_SLED_MAX_BYTES ? nr : 0;
}

/* Writes the jump to the thunk; the bytes left over trap. */
static void write_window(struct maker *maker, const uint8_t *old)
{
	struct patch *patch = &maker->patch;
	int32_t distance =
		displacement(maker, patch->thunk + maker->entry, patch->address + JUMP_BYTES);

	memcpy(patch->old, old, patch->nr_bytes);
	memset(patch->new, INT3, patch->nr_bytes);
	patch->new[0] = 0xe9;
	memcpy(patch->new + 1, &distance, sizeof(distance));
}

/* Moves the instructions into the thunk, after the prelude or count, and makes the jump to it. */
static enum patch_outcome make_entry(struct maker *maker, struct window *window,
				     const struct branches *branches)
{
	enum patch_outcome outcome = PATCH_OK;

	while (!outcome && !window->is_closed && maker->patch.nr_bytes < JUMP_BYTES)
		outcome = take_instruction(window, maker);
	if (!outcome)
		outcome = take_padding(window, maker);
	if (!outcome)
		outcome = judge_window(window, &maker->patch, branches);
	if (outcome)
		return outcome;
	if (!window->is_closed) {
		uint64_t end = maker->patch.address + maker->patch.nr_bytes;

		add_step(maker, end, false);
		put_jump(maker, end);
	}
	maker->patch.ends_with_syscall = !window->is_closed && is_system_call(&window->last);
	write_window(maker, window->function->bytes + window->start);
	return PATCH_OK;
}

/* The first instruction of the function, if that stays: NULL if the window begins with it. */
static void begin_entry(struct maker *maker, struct window *window,
			const struct first_instruction *first, const struct code_area *area)
{
	if (first) {
		window->is_behind_first = true;
		window->start = first->nr_bytes;
		maker->lowered_by = first->lowers_by;
	}
	begin(maker, PATCH_ENTRY, window->function->address + window->start, area);
	if (!first)
		return;
	maker->patch.nr_before = (uint8_t)first->nr_bytes;
	memcpy(maker->patch.before, window->function->bytes, first->nr_bytes);
}

/* Executes the first instruction again. */
static void put_first(struct maker *maker, const struct patch_function *function)
{
	struct original first;

	if (!read_original(&first, function->address, function->bytes, function->nr_readable))
		return;
	add_step(maker, function->address, false);
	put_copy(maker, &first);
}

static enum patch_outcome make_counting_entry(struct patch *patch, struct window window,
					      const struct first_instruction *first,
					      const struct branches *branches,
					      struct code_area *area,
					      const struct patch_counter *counter)
{
	const struct patch_function *function = window.function;
	bool is_repeated = first && first->is_repeated;
	struct maker maker;
	enum patch_outcome outcome;

	maker_clear(&maker);
	begin_entry(&maker, &window, first, area);
	add_step(&maker, is_repeated ? function->address : maker.patch.address, false);
	maker_put_entry(&maker);
	maker_put_pass(&maker, counter);
	if (is_repeated)
		put_first(&maker, function);
	outcome = make_entry(&maker, &window, branches);
	return outcome ? outcome : finish(&maker, area, patch);
}

uint8_t patch_entry_reach(const uint8_t *bytes, size_t nr_readable, bool *is_plain)
{
	const struct patch_function function = {.bytes = bytes, .nr_readable = nr_readable};
	size_t start = endbr_bytes(&function), last, at;
	struct first_instruction first;
	bool leads_on = true;
	struct original next;

	*is_plain = false;
	/* Such bytes may change. */
	if (sled_bytes(&function, start))
		return PATCH_REACH_MAX_BYTES;
	last = start + JUMP_BYTES;
	if (!start && first_instruction_stays(bytes, nr_readable, &first))
		last += first.nr_bytes;
	for (at = start; at < last; at += next.code.nr_bytes) {
		if (at >= nr_readable || !read_original(&next, at, bytes + at, nr_readable - at))
			return PATCH_REACH_MAX_BYTES;
		/* Behind the first instruction it need not be. */
		if (at < start + JUMP_BYTES)
			leads_on &= code_flow(next.code.effect) == CODE_FLOW_ON && !is_odd(&next);
	}
	*is_plain = leads_on;
	return (uint8_t)at;
}

void maker_put_entry(struct maker *maker)
{
	struct patch *patch = &maker->patch;
	const struct patch_step represented = patch->steps[patch->nr_steps - 1];

	maker->entry = maker->nr_bytes;
	if (!maker->lowered_by)
		return;
	if (represented.offset == maker->nr_bytes)
		patch->nr_steps--;
	add_step(maker, patch->address, false);
	put(maker, "\x48\x8d\xa4\x24", 4); /* lea lowered_by(%rsp),%rsp */
	put(maker, &maker->lowered_by, sizeof(maker->lowered_by));
	add_step(maker, patch->address + represented.window_offset, false);
	maker->stub_step = patch->nr_steps - 1u;
}

enum patch_outcome patch_entry(struct patch *patch, const struct patch_function *function,
			       const struct branches *branches, struct code_area *area,
			       const struct patch_counter *counter)
{
	size_t start = endbr_bytes(function);
	size_t sled = sled_bytes(function, start);
	struct window window = {.function = function, .start = start + sled};
	struct first_instruction first;
	enum patch_outcome outcome;

	if (!window.start &&
	    first_instruction_stays(function->bytes, function->nr_readable, &first) &&
	    make_counting_entry(patch, window, &first, branches, area, counter) == PATCH_OK)
		return PATCH_OK;
	if (!window.start && function->has_breakpoint)
		return PATCH_DIFFERS_FROM_FILE;
	outcome = make_counting_entry(patch, window, NULL, branches, area, counter);
	if (outcome == PATCH_OK || !sled)
		return outcome;
	if (!start && function->has_breakpoint)
		return PATCH_DIFFERS_FROM_FILE;
	window.start = start;
	outcome = make_counting_entry(patch, window, NULL, branches, area, counter);
	if (outcome == PATCH_OK)
		patch->is_in_sled = true;
	return outcome;
}

struct behind {
	maker_prelude *prelude;
	const void *context;
};

static enum patch_outcome make_entry_behind(struct patch *patch, struct window window,
					    const struct first_instruction *first,
					    const struct branches *branches, struct code_area *area,
					    const struct behind *behind, uint64_t *original)
{
	const struct patch_function *function = window.function;
	struct maker maker = {0};
	enum patch_outcome outcome;

	begin_entry(&maker, &window, first, area);
	add_step(&maker, first ? function->address : maker.patch.address, false);
	behind->prelude(&maker, behind->context);
	*original = maker.patch.thunk + maker.nr_bytes;
	if (first)
		put_first(&maker, function);
	outcome = make_entry(&maker, &window, branches);
	return outcome ? outcome : finish(&maker, area, patch);
}

enum patch_outcome patch_entry_behind(struct patch *patch, const struct patch_function *function,
				      const struct branches *branches, struct code_area *area,
				      maker_prelude *prelude, const void *context,
				      uint64_t *original)
{
	const struct window window = {.function = function, .start = endbr_bytes(function)};
	const struct behind behind = {prelude, context};
	struct first_instruction first;

	if (!window.start &&
	    first_instruction_stays(function->bytes, function->nr_readable, &first) &&
	    first.can_repeat &&
	    make_entry_behind(patch, window, &first, branches, area, &behind, original) == PATCH_OK)
		return PATCH_OK;
	if (!window.start && function->has_breakpoint)
		return PATCH_DIFFERS_FROM_FILE;
	return make_entry_behind(patch, window, NULL, branches, area, &behind, original);
}

bool patch_is_breakpoint(uint8_t byte)
{
	return byte == INT3;
}

uint16_t patch_breakpoints_of(const uint8_t *bytes, size_t nr)
{
	const uint8_t *end = bytes + nr, *at = bytes;
	uint64_t sum = 0;

	for (; (at = memchr(at, INT3, (size_t)(end - at))); at++)
		sum = (sum + 1) * 31 + (uint64_t)(at - bytes);
	return sum ? (uint16_t)(sum % UINT16_MAX + 1) : 0;
}

static enum patch_kind kind_of_call(const struct original *call)
{
	if (call->code.target)
		return PATCH_CALL;
	return call->code.disp_at && operation(call) == 2 ? PATCH_CALL_GOT : PATCH_CALL_INDIRECT;
}

/*
 * A call of the same length. In a direct one the displacement changes; one through a word has a
 * byte more in front, which becomes a prefix without effect.
 */
static void write_call(struct maker *maker, const struct original *call)
{
	struct patch *patch = &maker->patch;
	size_t displacement_at = call->code.nr_bytes - sizeof(int32_t);
	int32_t distance;

	patch->nr_bytes = (uint8_t)call->code.nr_bytes;
	distance = displacement(maker, patch->thunk, patch->address + patch->nr_bytes);
	memcpy(patch->old, call->bytes, patch->nr_bytes);
	memcpy(patch->new, call->bytes, patch->nr_bytes);
	if (patch->kind == PATCH_CALL_GOT) {
		memset(patch->new, 0x67, displacement_at - 1);
		patch->new[displacement_at - 1] = 0xe8;
	}
	memcpy(patch->new + displacement_at, &distance, sizeof(distance));
}

enum patch_outcome patch_call(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_readable, struct code_area *area,
			      const struct patch_counter *counter)
{
	struct maker maker = {0};
	struct original call;

	if (!read_original(&call, address, bytes, nr_readable) ||
	    call.code.effect != CODE_EFFECT_CALL)
		return PATCH_UNKNOWN_CODE;
	if (kind_of_call(&call) == PATCH_CALL_INDIRECT)
		return PATCH_INDIRECT_CALL;
	if (is_odd(&call))
		return PATCH_NO_FIXED_FORM;
	begin(&maker, kind_of_call(&call), address, area);
	add_step(&maker, address, true);
	maker_put_pass(&maker, counter);
	add_step(&maker, address, true);
	put_call_target(&maker, &call);
	write_call(&maker, &call);
	return finish(&maker, area, patch);
}

bool patch_always_calls(const struct patch *patch, uint64_t call)
{
	struct code_instruction code;
	enum code_flow flow;

	if (patch->kind != PATCH_ENTRY)
		return false;
	for (size_t at = 0; at < patch->nr_bytes; at += code.nr_bytes) {
		if (!code_decode(patch->old + at, patch->nr_bytes - at, patch->address + at, &code))
			return false;
		flow = code_flow(code.effect);
		if (flow != CODE_FLOW_ON)
			return flow == CODE_FLOW_CALLS && patch->address + at == call;
	}
	return false;
}

static bool leads_out(const struct patch_calls *calls, const struct code_instruction *code)
{
	if (code->effect == CODE_EFFECT_JUMP_GOT)
		return true;
	return (code->effect == CODE_EFFECT_JUMP || code->effect == CODE_EFFECT_BRANCH) &&
	       code->target - calls->address >= calls->nr_bytes;
}

static struct patch_call_site call_site_of(const struct original *call)
{
	bool is_call = call->code.effect == CODE_EFFECT_CALL;
	struct patch_call_site site = {
		.address = call->address,
		.nr_bytes = (uint8_t)call->code.nr_bytes,
		.kind = is_call ? kind_of_call(call) : PATCH_CALL_JUMP,
		.bytes = call->bytes,
	};

	if (site.kind == PATCH_CALL_GOT)
		site.callee = call->code.operand;
	else if (call->code.effect != CODE_EFFECT_JUMP_GOT)
		site.callee = call->code.target;
	return site;
}

/* Branches first; if the branch is not taken, the thread continues after it inside of the gate. */
static void put_branch_out(struct maker *maker, const struct original *original,
			   const struct patch_counter *counter)
{
	uint64_t behind = original->address + original->code.nr_bytes;
	const uint8_t *bytes = original->bytes + original->code.opcode_at;
	size_t out;

	add_step(maker, original->address, false);
	out = put_short_jump(maker, (uint8_t)(0x70 | (bytes[bytes[0] == 0x0f] & 0xf)));
	add_step(maker, behind, false);
	put_jump(maker, behind);
	jump_to_here(maker, out);
	maker->patch.callee_kind = PATCH_CALLEE_DIRECT;
	maker->patch.callee = original->code.target;
	add_step(maker, original->address, true);
	maker_put_pass(maker, counter);
	put_jump(maker, original->code.target);
}

static enum patch_outcome put_exit(struct maker *maker, const struct original *original,
				   const struct patch_counter *counter)
{
	enum code_effect effect = original->code.effect;

	if (is_odd(original) || (effect == CODE_EFFECT_STOP && uses_rsp(original)))
		return PATCH_NO_FIXED_FORM;
	if (effect == CODE_EFFECT_BRANCH) {
		put_branch_out(maker, original, counter);
		return PATCH_OK;
	}
	add_step(maker, original->address, false);
	maker_put_pass(maker, counter);
	if (effect == CODE_EFFECT_JUMP)
		put_jump(maker, original->code.target);
	else
		put_copy(maker, original);
	return PATCH_OK;
}

enum patch_outcome patch_exit(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_bytes, size_t exit_at, struct code_area *area,
			      const struct patch_counter *counter)
{
	struct maker maker = {0};
	enum patch_outcome outcome = PATCH_OK;
	struct original original;

	assert(nr_bytes >= JUMP_BYTES && nr_bytes <= PATCH_MAX_BYTES);
	begin(&maker, PATCH_EXIT, address, area);
	maker.patch.nr_bytes = (uint8_t)nr_bytes;
	for (size_t at = 0; at <= exit_at && !outcome; at += original.code.nr_bytes) {
		if (!read_original(&original, address + at, bytes + at, nr_bytes - at))
			return PATCH_UNKNOWN_CODE;
		outcome = at == exit_at ? put_exit(&maker, &original, counter)
					: displace(&maker, &original);
	}
	if (outcome)
		return outcome;
	write_window(&maker, bytes);
	return finish(&maker, area, patch);
}

static void lose_registers(struct maker *maker)
{
	add_step(maker, maker->patch.address + maker->patch.nr_bytes, true);
}

/*
 * Jumps through tables are not seen, but none leads to the middle of an instruction: where the
 * function has one, the caller gives one instruction.
 */
enum patch_outcome patch_syscall(struct patch *patch, const struct patch_function *function,
				 const struct branches *branches, struct code_area *area,
				 const struct patch_counter *counter)
{
	uint64_t start = function->address - function->bias, end = start + function->nr_bytes;
	struct maker maker = {0};
	enum patch_outcome outcome = PATCH_OK;
	struct original original;

	if (function->nr_bytes < JUMP_BYTES || function->nr_bytes > PATCH_MAX_BYTES ||
	    function->nr_readable < function->nr_bytes + 2 ||
	    memcmp(function->bytes + function->nr_bytes, "\x0f\x05", 2) != 0)
		return PATCH_UNKNOWN_CODE;
	if (branches_lead_to(branches, start + 1, end + 1) ||
	    branches_next_start(branches, start) <= end)
		return PATCH_JUMPED_INTO;
	begin(&maker, PATCH_SYSCALL, function->address, area);
	maker.patch.nr_bytes = (uint8_t)function->nr_bytes;
	for (size_t at = 0; at < function->nr_bytes && !outcome; at += original.code.nr_bytes) {
		if (!read_original(&original, function->address + at, function->bytes + at,
				   function->nr_bytes - at))
			return PATCH_UNKNOWN_CODE;
		outcome = code_flow(original.code.effect) == CODE_FLOW_ON
				  ? displace(&maker, &original)
				  : PATCH_NO_FIXED_FORM;
	}
	if (outcome)
		return outcome;
	add_step(&maker, function->address + function->nr_bytes, false);
	maker_put_note(&maker, counter, lose_registers);
	add_step(&maker, function->address + function->nr_bytes, false);
	put_jump(&maker, function->address + function->nr_bytes);
	write_window(&maker, function->bytes);
	return finish(&maker, area, patch);
}

/* -- static probes -- */

#define NOP 0x90

/* Amid a function its locals may be below the stack pointer, and its flags may be needed. */
static void put_sparing_pass(struct maker *maker, const struct patch_counter *counter)
{
	put(maker, "\x48\x8d\x64\x24\x80", 5); /* lea -128(%rsp),%rsp */
	assert(maker->nr_bytes == PATCH_SKIPPED_FROM);
	put(maker, "\x9c", 1); /* pushfq */
	maker_put_pass(maker, counter);
	/* A popfq would take as long as all the rest. */
	put(maker, "\x50", 1);			     /* push %rax */
	put(maker, "\x48\x8b\x44\x24\x08", 5);	     /* mov 8(%rsp),%rax */
	put(maker, "\x86\xc4", 2);		     /* xchg %al,%ah */
	put(maker, "\x24\x08", 2);		     /* and $8,%al: overflow */
	put(maker, "\x04\x78", 2);		     /* add $0x78,%al: sets it */
	put(maker, "\x9e", 1);			     /* sahf: the others */
	put(maker, "\x58", 1);			     /* pop %rax */
	put(maker, "\x48\x8d\xa4\x24\x88\0\0\0", 8); /* lea 136(%rsp),%rsp */
	maker->patch.spared_to = (uint8_t)maker->nr_bytes;
}

/* From Linux 6.18 on a uprobe at this nop is a call in its place, of five bytes. */
static bool is_nop_of_five(const struct original *next)
{
	static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0, 0};

	return next->code.nr_bytes == sizeof(nop) && memcmp(next->bytes, nop, sizeof(nop)) == 0;
}

static enum patch_outcome want_pads(const struct patch_function *function, struct patch *patch)
{
	struct original next;

	patch->pads = 1;
	for (size_t at = 1; at < PATCH_SITE_BYTES; at += next.code.nr_bytes) {
		if (function->bytes[at] != INT3)
			patch->pads |= (uint8_t)(1U << at);
		if (!read_original(&next, function->address + at, function->bytes + at,
				   function->nr_readable - at))
			break;
		if (is_nop_of_five(&next))
			return PATCH_CHANGED_LATER;
	}
	return PATCH_OK;
}

/* Replaces the jump after the nop; to skip the nop, a branch would have to lead to that jump. */
static enum patch_outcome make_site_jump(struct maker *maker, const struct patch_function *function,
					 const struct branches *branches,
					 const struct code_area *area,
					 const struct patch_counter *counter)
{
	uint64_t address = function->address + 1, at = address - function->bias;
	struct original jump;

	if (!read_original(&jump, address, function->bytes + 1, function->nr_readable - 1))
		return PATCH_UNKNOWN_CODE;
	if (branches_lead_to(branches, at, at + 1))
		return PATCH_SKIPPED;
	begin(maker, PATCH_SITE, address, area);
	maker->patch.nr_bytes = JUMP_BYTES;
	add_step(maker, address, false);
	put_sparing_pass(maker, counter);
	add_step(maker, address, false);
	put_jump(maker, jump.code.target);
	write_window(maker, function->bytes + 1);
	return PATCH_OK;
}

static enum patch_outcome make_site(struct maker *maker, const struct patch_function *function,
				    const struct code_area *area,
				    const struct patch_counter *counter)
{
	struct patch *patch = &maker->patch;

	begin(maker, PATCH_SITE, function->address, area);
	patch->nr_bytes = 1;
	add_step(maker, function->address, false);
	put_sparing_pass(maker, counter);
	add_step(maker, function->address + 1, false);
	put_jump(maker, function->address + 1);
	memcpy(patch->old, function->bytes, PATCH_SITE_BYTES);
	memcpy(patch->new, function->bytes, PATCH_SITE_BYTES);
	patch->new[0] = 0xe9;
	return want_pads(function, patch);
}

/* Not the first processors of 64 bits (CPUID 80000001H, ECX bit 0). */
static bool has_sahf(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000001, &a, &b, &c, &d) && c & 1;
}

enum patch_outcome patch_site(struct patch *patch, const struct patch_function *function,
			      const struct branches *branches, struct code_area *area,
			      const struct patch_counter *counter)
{
	struct maker maker = {0};
	enum patch_outcome outcome = PATCH_OK;

	if (!has_sahf())
		return PATCH_UNSUPPORTED;
	if (function->nr_readable < 1 + JUMP_BYTES || function->bytes[0] != NOP)
		return PATCH_NO_NOP;
	if (function->bytes[1] == 0xe9)
		outcome = make_site_jump(&maker, function, branches, area, counter);
	else
		outcome = make_site(&maker, function, area, counter);
	return outcome ? outcome : finish(&maker, area, patch);
}

uint64_t patch_pad(const struct patch *patch, unsigned int which)
{
	uint8_t bytes[PATCH_SITE_BYTES];
	int32_t distance;

	memcpy(bytes, patch->new, sizeof(bytes));
	for (size_t i = 1; i < sizeof(bytes); i++) {
		if (which & 1U << (i - 1))
			bytes[i] = INT3;
	}
	memcpy(&distance, bytes + 1, sizeof(distance));
	return patch->address + JUMP_BYTES + (uint64_t)(int64_t)distance;
}

bool patch_pad_bytes(uint64_t pad, uint64_t thunk, uint8_t bytes[PATCH_PAD_BYTES])
{
	int64_t distance = (int64_t)(thunk - (pad + JUMP_BYTES));
	int32_t short_distance = (int32_t)distance;

	bytes[0] = 0xe9;
	memcpy(bytes + 1, &short_distance, sizeof(short_distance));
	return distance == short_distance;
}

bool patch_calls_next(struct patch_calls *calls, struct patch_call_site *site)
{
	while (calls->at < calls->nr_bytes) {
		size_t at = calls->at;
		struct original call;

		if (!read_original(&call, calls->address + at, calls->bytes + at,
				   calls->nr_bytes - at)) {
			calls->has_unknown = true;
			calls->at++;
			continue;
		}
		calls->at += call.code.nr_bytes;
		if (call.code.effect != CODE_EFFECT_CALL &&
		    !(calls->with_jumps && leads_out(calls, &call.code)))
			continue;
		*site = call_site_of(&call);
		return true;
	}
	return false;
}

#endif
