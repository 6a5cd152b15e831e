// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds what PHP's loop has in its registers, from native frame to native frame. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/key_map.h"
#include "base/minmax.h"
#include "cfi/cfi.h"
#include "code/code_x86_64.h"
#include "elf/elf_image.h"
#include "script/evaluator.h"
#include "script/php.h"
#include "script/php_registers.h"
#include "script/script_walk.h"
#include "snapshot/snapshot.h"

/* DWARF's numbers. The frame is in r14, the instruction in r15. */
#define REG_SP	   7
#define REG_FRAME  14
#define REG_OPLINE 15
#define REG_RA	   16

/* The columns of the frame pointer and of exceptions are used for these two. */
#define TRACKED_FRAME  CFI_TRACKED_FP
#define TRACKED_OPLINE CFI_TRACKED_EH

static const uint64_t columns[CFI_TRACKED_COUNT] = {[CFI_TRACKED_SP] = REG_SP,
						    [TRACKED_FRAME] = REG_FRAME,
						    [CFI_TRACKED_RA] = REG_RA,
						    [TRACKED_OPLINE] = REG_OPLINE};

/* Where the caller's value of a register is. */
struct saved {
	enum cfi_rule_kind kind; /* SAME or OFFSET; UNDEFINED: it is not known */
	int64_t offset;		 /* from the CFA */
};

/* The code at an address. */
struct place {
	const struct elf_image *image;
	uint64_t entry; /* of its function, in the file; 0: not known */
	struct saved frame, opline;
};

/* Beyond that, all are looked up again. */
#define PLACES_MAX (1 << 16)

struct php_registers {
	struct script_code_range loop[2];
	struct saved of_caller_frame, of_caller_opline; /* in the loop */
	uint64_t saved_from;				/* both are saved from there on */
	struct place *places;				/* owned */
	size_t nr_places, cap_places;
	struct key_map place_at;  /* rows, by image and address */
	struct php_native *found; /* owned */
	size_t cap_found;
};

/* --- call frame information --- */

static struct saved saved_by(const struct cfi_rule *rule)
{
	bool is_known = rule->kind == CFI_RULE_SAME || rule->kind == CFI_RULE_OFFSET;

	return (struct saved){.kind = is_known ? rule->kind : CFI_RULE_UNDEFINED,
			      .offset = rule->offset};
}

static bool find_rules(struct elf_image *image, uint64_t address, struct cfi_fde *fde,
		       struct cfi_rules *rules)
{
	const struct elf_cfi *sections = elf_image_cfi(image);
	const struct cfi_section section = {.bytes = sections->eh_frame,
					    .hdr_vaddr = sections->eh_frame_hdr.vaddr};
	uint64_t offset;

	return sections->eh_frame.bytes && cfi_hdr_is_usable(&sections->eh_frame_hdr) &&
	       cfi_hdr_find(&sections->eh_frame_hdr, &sections->eh_frame, address, &offset) &&
	       cfi_fde_at(&section, offset, fde) && address >= fde->start && address < fde->end &&
	       cfi_rules_at(&section, fde, columns, address, rules);
}

static struct place look_up(struct elf_image *image, uint64_t address)
{
	struct place place = {.image = image,
			      .frame.kind = CFI_RULE_UNDEFINED,
			      .opline.kind = CFI_RULE_UNDEFINED};
	struct cfi_rules rules;
	struct cfi_fde fde;

	if (elf_image_machine(image) != ELF_MACHINE_X86_64 ||
	    !find_rules(image, address, &fde, &rules) || fde.is_signal_frame)
		return place;
	place.entry = fde.start;
	place.frame = saved_by(&rules.tracked[TRACKED_FRAME]);
	place.opline = saved_by(&rules.tracked[TRACKED_OPLINE]);
	return place;
}

static uint32_t owner_of(const struct elf_image *image)
{
	return (uint32_t)((uintptr_t)image >> 4);
}

/* Valid until the next call. */
static const struct place *place_of(struct php_registers *registers, struct elf_image *image,
				    uint64_t address)
{
	uint32_t row, owner = owner_of(image);

	if (key_map_find(&registers->place_at, owner, address + 1, &row) &&
	    registers->places[row].image == image)
		return &registers->places[row];
	if (registers->nr_places == PLACES_MAX) {
		key_map_release(&registers->place_at);
		registers->nr_places = 0;
	}
	row = (uint32_t)registers->nr_places;
	ARRAY_GROW(registers->places, registers->nr_places, registers->cap_places);
	registers->places[registers->nr_places++] = look_up(image, address);
	key_map_put(&registers->place_at, owner, address + 1, row);
	return &registers->places[row];
}

/* --- the loop's code --- */

#define PROLOGUE_BYTES 128

/* "mov %r14, N(%rsp)", and likewise r15: where a caller's values are, from the CFA. */
static bool saves(const uint8_t *code, size_t nr_bytes, uint8_t modrm, int32_t *offset)
{
	/* With a displacement of a byte, or of four. */
	if (nr_bytes >= 5 && code[0] == 0x4c && code[1] == 0x89 && code[2] == (0x44 | modrm) &&
	    code[3] == 0x24) {
		*offset = code[4] - (code[4] & 0x80 ? 0x100 : 0);
		return true;
	}
	if (nr_bytes < 8 || code[0] != 0x4c || code[1] != 0x89 || code[2] != (0x84 | modrm) ||
	    code[3] != 0x24)
		return false;
	memcpy(offset, code + 4, sizeof(*offset));
	return true;
}

/* *end is the end of the code that saves it. */
static bool find_saved(struct elf_image *image, uint64_t loop, unsigned int reg,
		       struct saved *saved, uint64_t *end)
{
	uint8_t code[PROLOGUE_BYTES];
	size_t nr = elf_image_read(image, loop, code, sizeof(code)), at = 0;

	while (at < nr) {
		struct code_instruction instruction;
		struct cfi_rules rules;
		struct cfi_fde fde;
		int32_t offset;

		if (!code_decode(code + at, nr - at, loop + at, &instruction))
			return false;
		if (saves(code + at, instruction.nr_bytes, (uint8_t)((reg & 7) << 3), &offset)) {
			if (!find_rules(image, loop + at, &fde, &rules) ||
			    rules.cfa.kind != CFI_RULE_REGISTER || rules.cfa.reg != REG_SP)
				return false;
			*saved = (struct saved){.kind = CFI_RULE_OFFSET,
						.offset = offset - rules.cfa.offset};
			*end = loop + at + instruction.nr_bytes;
			return true;
		}
		at += instruction.nr_bytes;
	}
	return false;
}

struct php_registers *php_registers_new(struct elf_image *image, uint64_t loop)
{
	struct php_registers *registers = xcalloc(1, sizeof(*registers));
	uint64_t frame_end = 0, opline_end = 0;

	if (elf_image_machine(image) == ELF_MACHINE_X86_64 &&
	    evaluator_find(image, loop, registers->loop) &&
	    find_saved(image, loop, REG_FRAME, &registers->of_caller_frame, &frame_end) &&
	    find_saved(image, loop, REG_OPLINE, &registers->of_caller_opline, &opline_end)) {
		registers->saved_from = max_u64(frame_end, opline_end);
		return registers;
	}
	free(registers);
	return NULL;
}

void php_registers_free(struct php_registers *registers)
{
	key_map_release(&registers->place_at);
	free(registers->places);
	free(registers->found);
	free(registers);
}

/* --- from frame to frame --- */

bool php_registers_opline(const struct snapshot *snapshot, uint64_t *opline)
{
	return snapshot->arch == ARCH_X86_64 && regs_get(&snapshot->regs, REG_OPLINE, opline);
}

static bool is_loop(const struct php_registers *registers, const struct script_native *native)
{
	for (size_t i = 0; native->is_interpreter && i < ARRAY_SIZE(registers->loop); i++) {
		if (native->address >= registers->loop[i].start &&
		    native->address < registers->loop[i].end)
			return true;
	}
	return false;
}

/* Go on to the caller, with the stack pointer `cfa`. */
static void restore(const struct snapshot *snapshot, const struct saved *saved, uint64_t cfa,
		    uint64_t *value, bool *is_known)
{
	if (saved->kind == CFI_RULE_SAME)
		return;
	*is_known = saved->kind == CFI_RULE_OFFSET && cfa &&
		    snapshot_read(snapshot, cfa + (uint64_t)saved->offset, value, sizeof(*value));
}

/*
 * Go on to the caller. A leaf at the beginning of the loop has not saved its caller's values so
 * far, and has them still.
 */
static void step(const struct php_registers *registers, const struct snapshot *snapshot,
		 bool is_leaf, const struct script_native *native, const struct place *place,
		 uint64_t cfa, struct php_native *at)
{
	static const struct saved unknown = {.kind = CFI_RULE_UNDEFINED};
	const struct saved *frame = place ? &place->frame : &unknown;
	const struct saved *opline = place ? &place->opline : &unknown;

	if (at->is_loop && is_leaf && native->address >= registers->loop[0].start &&
	    native->address < registers->saved_from)
		return;
	if (at->is_loop) {
		frame = &registers->of_caller_frame;
		opline = &registers->of_caller_opline;
	}
	restore(snapshot, frame, cfa, &at->frame, &at->has_frame);
	restore(snapshot, opline, cfa, &at->opline, &at->has_opline);
}

const struct php_native *php_registers_find(struct php_registers *registers,
					    const struct snapshot *snapshot,
					    const struct script_native *natives, size_t nr_natives)
{
	struct php_native at = {.is_loop = false};

	ARRAY_RESERVE(registers->found, nr_natives, registers->cap_found);
	at.has_frame = regs_get(&snapshot->regs, REG_FRAME, &at.frame);
	at.has_opline = php_registers_opline(snapshot, &at.opline);
	for (size_t i = 0; i < nr_natives; i++) {
		const struct script_native *native = &natives[i];
		const struct place *place =
			native->image ? place_of(registers, native->image, native->address) : NULL;
		uint64_t cfa = i + 1 < nr_natives ? natives[i + 1].sp : 0;

		at.is_loop = is_loop(registers, native);
		at.entry = place && place->entry ? place->entry + native->bias : 0;
		registers->found[i] = at;
		step(registers, snapshot, !i, native, place, cfa, &at);
	}
	return registers->found;
}
