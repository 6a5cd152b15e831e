// SPDX-License-Identifier: GPL-2.0-or-later
/* Unwinding of frames without CFI by analysis of their code. */
#include "unwind/code_walk.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "unwind/code_entries.h"
#include "unwind/unwind_priv.h"

/* Bounds on the search for a return address up the stack, and on the length of its function. */
#define WORDS_SEARCHED	   512
#define FUNCTION_BYTES_MAX (UINT64_C(1) << 18)

static size_t read_jit(const void *context, uint64_t address, void *out, size_t nr_bytes);

/*
 * The instruction before an address in JIT-compiled code, which may not be a call: Java's
 * interpreter pushes return addresses.
 */
static enum row_call jit_call_before(const struct unwind_arch *arch, const struct walk *walk,
				     uint64_t return_address)
{
	struct elf_image *image = elf_image_of_reader(read_jit, walk);
	uint64_t target;
	enum row_call call = arch->code->call_before(image, return_address, &target);

	elf_image_free(image);
	return call == ROW_CALL_NONE ? ROW_CALL_UNSURE : ROW_CALL_INDIRECT;
}

/* Is there a call before an address of the target? Only direct calls have a target. */
static enum row_call call_before(const struct unwind_arch *arch, const struct walk *walk,
				 uint64_t return_address, uint64_t *target)
{
	const struct mapping *mapping = space_find(walk->space, return_address);
	const struct elf_image *image;
	uint8_t code[16] = {0};
	enum row_call call;

	walk_work_add(walk, WALK_WORK_OF_CALL);
	if (!mapping || !mapping->executable)
		return ROW_CALL_NONE;
	image = space_image(walk->space, mapping);
	if (!image)
		return jit_call_before(arch, walk, return_address);
	if (elf_image_read(image, return_address - mapping->bias, code, sizeof(code)) &&
	    arch->is_sigreturn(code, sizeof(code)))
		return ROW_CALL_INDIRECT; /* made by the kernel */
	call = arch->code->call_before(image, return_address - mapping->bias, target);
	if (call == ROW_CALL_DIRECT)
		*target += mapping->bias;
	return call;
}

static bool slot_of(const struct code_frame *frame, const struct row *row, uint64_t *slot)
{
	uint64_t base;

	if (row->kind != ROW_STEP || row->ra == ROW_RA_IN_REG ||
	    !regs_get(frame->regs, row->cfa_reg, &base))
		return false;
	*slot = base + (uint64_t)(int64_t)row->cfa_offset + (uint64_t)(int64_t)row->ra_offset;
	return true;
}

/* The kind of word at the place where the row has the return address. */
enum proof {
	PROOF_NONE,
	PROOF_ZERO, /* 0: the outermost frame's, or any word of memory not in use */
	PROOF_CODE, /* an address in JIT-compiled code, without a visible call before it */
	PROOF_CALL, /* an address after a call, or of a signal trampoline */
};

static bool find_return_address(const struct unwind_arch *arch, const struct walk *walk,
				const struct code_frame *frame, const struct row *row,
				uint64_t *return_address)
{
	uint64_t slot;

	if (row->kind == ROW_STEP && row->ra == ROW_RA_IN_REG) {
		if (!regs_get(frame->regs, arch->regs->ra, return_address))
			return false;
	} else if (!slot_of(frame, row, &slot) || !walk_read(walk, slot, return_address)) {
		return false;
	}
	*return_address &= arch->code_mask;
	return true;
}

static enum proof prove(const struct unwind_arch *arch, const struct walk *walk,
			const struct code_frame *frame, const struct row *row)
{
	uint64_t word;
	uint64_t target;

	if (!find_return_address(arch, walk, frame, row, &word))
		return PROOF_NONE;
	if (!word)
		return PROOF_ZERO;
	switch (call_before(arch, walk, word, &target)) {
	case ROW_CALL_NONE:
		break;
	case ROW_CALL_UNSURE:
		return PROOF_CODE;
	case ROW_CALL_DIRECT:
	case ROW_CALL_INDIRECT:
		return PROOF_CALL;
	}
	return PROOF_NONE;
}

bool code_walk_is_behind_call(const struct unwind_arch *arch, const struct walk *walk, uint64_t pc)
{
	uint64_t target;

	return call_before(arch, walk, pc, &target) != ROW_CALL_NONE;
}

bool code_walk_calls(const struct unwind_arch *arch, const struct walk *walk,
		     uint64_t return_address, uint64_t callee)
{
	uint64_t target;

	return call_before(arch, walk, return_address, &target) == ROW_CALL_DIRECT &&
	       target == callee;
}

/*
 * Search the stack for the return address of a direct call to a function that reaches pc with a
 * frame of the size that the word's position implies.
 */
struct row code_walk_called(const struct unwind_arch *arch, const struct walk *walk,
			    const struct code_frame *frame)
{
	uint64_t sp, word;

	if (!regs_get(frame->regs, arch->regs->sp, &sp))
		return row_of_kind(ROW_NO_CFI);
	for (uint64_t slot = sp; slot < sp + 8 * WORDS_SEARCHED && walk_read(walk, slot, &word);
	     slot += 8) {
		uint64_t target = 0;
		uint64_t found;
		struct row row;

		if (call_before(arch, walk, word & arch->code_mask, &target) != ROW_CALL_DIRECT ||
		    target > frame->pc || frame->pc - target > FUNCTION_BYTES_MAX ||
		    target < frame->mapping->start)
			continue;
		walk_work_add(walk, WALK_WORK_OF_CODE);
		row = arch->code->row_from_entry(frame->image, target - frame->mapping->bias,
						 frame->pc - frame->mapping->bias, false);
		if (slot_of(frame, &row, &found) && found == slot)
			return row;
	}
	return row_of_kind(ROW_NO_CFI);
}

/* For a caller, the entry of the call's function and not of the instruction after it. */
struct row code_walk_entered(const struct unwind_arch *arch, const struct walk *walk,
			     const struct code_frame *frame)
{
	uint64_t pc = frame->pc - frame->mapping->bias;
	uint64_t entry, end;

	walk_work_add(walk, WALK_WORK_OF_CODE);
	if (!elf_image_function(frame->image, pc - !frame->is_exact, &entry, &end))
		return row_of_kind(ROW_NO_CFI);
	return arch->code->row_from_entry(frame->image, entry, pc, false);
}

/* Bound on the entries tried before pc: most are of other functions, which do not reach pc. */
#define ENTRIES_TRIED 8

/*
 * A function that never returns and was not called directly (main() that calls exit(), or musl's
 * code before it, which is jumped to): its entry is where code takes an address.
 */
struct row code_walk_referenced(const struct unwind_arch *arch, const struct walk *walk,
				const struct code_frame *frame)
{
	uint64_t pc = frame->pc - frame->mapping->bias;
	uint64_t entry = pc;

	for (int i = 0; i < ENTRIES_TRIED && frame->entries; i++) {
		struct row row;

		if (!code_entries_before(frame->entries, arch->code, frame->image, &entry) ||
		    pc - entry > FUNCTION_BYTES_MAX)
			break;
		walk_work_add(walk, WALK_WORK_OF_CODE);
		row = arch->code->row_from_entry(frame->image, entry, pc, false);
		if (prove(arch, walk, frame, &row) == PROOF_CALL)
			return row;
		entry--;
	}
	return row_of_kind(ROW_NO_CFI);
}

struct row code_walk_row_from_entry(const struct unwind_arch *arch, const struct walk *walk,
				    const struct code_frame *frame, uint64_t entry, bool by_sp)
{
	struct row row = arch->code->row_from_entry(frame->image, entry,
						    frame->pc - frame->mapping->bias, by_sp);

	walk_work_add(walk, WALK_WORK_OF_CODE);
	return prove(arch, walk, frame, &row) == PROOF_CALL ? row : row_of_kind(ROW_NO_CFI);
}

bool code_walk_proves(const struct unwind_arch *arch, const struct walk *walk,
		      const struct code_frame *frame, const struct row *row)
{
	return prove(arch, walk, frame, row) == PROOF_CALL;
}

bool code_walk_leads_to_zero(const struct unwind_arch *arch, const struct walk *walk,
			     const struct code_frame *frame, const struct row *row)
{
	return prove(arch, walk, frame, row) == PROOF_ZERO;
}

bool code_walk_disproves(const struct unwind_arch *arch, const struct walk *walk,
			 const struct code_frame *frame, const struct row *row)
{
	uint64_t word;

	return find_return_address(arch, walk, frame, row, &word) &&
	       !code_walk_proves(arch, walk, frame, row);
}

/* As above for code that may have been entered without a call. */
static bool proves_in_jit(const struct unwind_arch *arch, const struct walk *walk,
			  const struct code_frame *frame, const struct row *row)
{
	const struct mapping *mapping;
	uint64_t word;

	if (!find_return_address(arch, walk, frame, row, &word))
		return false;
	mapping = space_find(walk->space, word);
	if (mapping && mapping->executable && !space_image(walk->space, mapping))
		return true; /* JIT-compiled code, which is not checked here */
	return prove(arch, walk, frame, row) >= PROOF_CODE;
}

bool code_walk_may_hold(const struct unwind_arch *arch, const struct walk *walk,
			const struct code_frame *frame, const struct row *row)
{
	return prove(arch, walk, frame, row) != PROOF_NONE;
}

bool code_walk_contradicts(const struct walk *walk, const struct code_frame *frame,
			   const struct row *row)
{
	const struct mapping *mapping;
	uint64_t slot;
	uint64_t word;

	if (row->ra != ROW_RA_AT_CFA || !slot_of(frame, row, &slot))
		return false;
	if (!walk_read(walk, slot, &word))
		return true;
	mapping = space_find(walk->space, word - 1);
	return word && !(mapping && mapping->executable);
}

/* Methods of one compiler jump into each other, and to shared exit code far away. */
static size_t read_jit(const void *context, uint64_t address, void *out, size_t nr_bytes)
{
	const struct walk *walk = context;
	const struct mapping *mapping = space_find(walk->space, address);

	if (!mapping || !mapping->executable ||
	    space_module(walk->space, mapping)->kind != MODULE_KIND_JIT)
		return 0;
	if (nr_bytes > mapping->end - address)
		nr_bytes = mapping->end - address;
	return space_read_memory(walk->space, address, out, nr_bytes) ? nr_bytes : 0;
}

static bool is_behind_call_in_jit(const struct unwind_arch *arch, const struct walk *walk,
				  uint64_t address)
{
	struct elf_image *image = elf_image_of_reader(read_jit, walk);
	uint64_t target;
	enum row_call call = arch->code->call_before(image, address, &target);

	elf_image_free(image);
	return call != ROW_CALL_NONE;
}

/* Frame size of such a host: LuaJIT's has 80 bytes plus spills of the trace, QEMU's over 1,200. */
#define HOST_WORDS_SEARCHED 512

static bool is_host(const struct unwind_arch *arch, const struct walk *walk, uint64_t word,
		    struct code_host *host)
{
	const struct mapping *mapping = space_find(walk->space, word);

	host->target = 0;
	if (!mapping || !mapping->executable)
		return false;
	if (host->wanted)
		return call_before(arch, walk, word, &host->target) == ROW_CALL_DIRECT &&
		       host->target == host->wanted;
	if (space_image(walk->space, mapping))
		return call_before(arch, walk, word, &host->target) != ROW_CALL_NONE;
	/* A return address in other JIT-compiled code ends the search. */
	if (is_behind_call_in_jit(arch, walk, word))
		host->nr_searched = HOST_WORDS_SEARCHED;
	return false;
}

bool code_walk_next_host(const struct unwind_arch *arch, const struct walk *walk,
			 const struct code_frame *frame, struct code_host *host)
{
	uint64_t sp;

	if (!regs_get(frame->regs, arch->regs->sp, &sp))
		return false;
	while (host->nr_searched < HOST_WORDS_SEARCHED) {
		uint64_t offset = 8 * (uint64_t)host->nr_searched++;
		uint64_t word;

		if (!walk_read(walk, sp + offset, &word))
			return false;
		if (!is_host(arch, walk, word, host))
			continue;
		host->return_address = word;
		host->cfa = sp + offset + 8;
		host->row = (struct row){.kind = ROW_STEP,
					 .cfa_reg = (uint8_t)arch->regs->sp,
					 .cfa_offset = (int32_t)offset + 8,
					 .ra_offset = -8,
					 .fp = ROW_FP_LOST,
					 .is_from_code = true};
		return true;
	}
	return false;
}

/* A method's entry is at most this far before a frame in it. */
#define JIT_BYTES_BEFORE (16 * 1024)

struct row code_walk_jit_row(const struct unwind_arch *arch, const struct walk *walk,
			     const struct code_frame *frame)
{
	const struct mapping *mapping = frame->mapping;
	uint64_t lowest = frame->pc - mapping->start > JIT_BYTES_BEFORE
				  ? frame->pc - JIT_BYTES_BEFORE
				  : mapping->start;
	struct elf_image *image = elf_image_of_reader(read_jit, walk);
	const struct code_at at = {.pc = frame->pc, .is_exact = frame->is_exact};
	struct row row = arch->code->row(image, &at);
	uint64_t entry;

	walk_work_add(walk, WALK_WORK_OF_CODE);
	/* A method without a reachable end may have none: it would return to the interpreter. */
	if (!proves_in_jit(arch, walk, frame, &row) &&
	    arch->code->entry_before(image, frame->pc, lowest, &entry))
		row = arch->code->row_from_entry(image, entry, frame->pc, false);
	elf_image_free(image);
	return proves_in_jit(arch, walk, frame, &row) ? row : row_of_kind(ROW_NO_CFI);
}

bool code_walk_proves_jit_row(const struct unwind_arch *arch, const struct walk *walk,
			      const struct code_frame *frame, const struct row *row)
{
	return proves_in_jit(arch, walk, frame, row);
}

struct code_at code_walk_at(const struct code_frame *frame)
{
	uint64_t pc = frame->pc - frame->mapping->bias;
	struct code_at at = {.pc = pc, .is_exact = frame->is_exact};
	uint64_t start;

	if (!frame->image ||
	    !elf_image_function(frame->image, pc - !frame->is_exact, &start, &at.function_end))
		at.function_end = 0;
	return at;
}

/* int3, which Go's linker and LLD put between functions; such code is never run. */
#define PADDING	       0xcc
#define ENTRY_ALIGN    UINT64_C(16)
#define SHORT_FUNCTION 512 /* functions that switch stacks are shorter */

/* The nearest aligned address after padding, at or before pc. */
static bool entry_by_padding(const struct elf_image *image, uint64_t pc, uint64_t *entry)
{
	uint64_t lowest = pc > SHORT_FUNCTION ? pc - SHORT_FUNCTION : 0;
	uint8_t before;

	for (*entry = pc - pc % ENTRY_ALIGN; *entry > lowest; *entry -= ENTRY_ALIGN) {
		if (elf_image_read(image, *entry - 1, &before, 1) == 1 && before == PADDING)
			return true;
	}
	return false;
}

bool code_walk_is_on_other_stack(const struct unwind_arch *arch, const struct code_frame *frame)
{
	uint64_t pc = frame->pc - frame->mapping->bias;
	uint64_t entry;

	return !frame->is_exact && arch->code->switched_stack &&
	       entry_by_padding(frame->image, pc, &entry) &&
	       arch->code->switched_stack(frame->image, entry, pc);
}
