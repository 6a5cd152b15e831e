// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the call with a return address that a landing pad has overwritten. */
#include "mapping/space.h"
#include "unwind/rows.h"

/*
 * The bytes below the stack pointer that not even a signal overwrites (psABI 3.2.2): all that is
 * certain about a frame that is gone.
 */
#define RED_ZONE_BYTES 128

/* Code of a file in the target, at an address of the target's. */
struct place {
	const struct mapping *mapping;
	struct elf_image *image;
	struct module_cfi *cfi;
	uint64_t address; /* of the image */
};

static bool find_place(struct rows *rows, const struct walk *walk, uint64_t address,
		       struct place *place)
{
	place->mapping = space_find(walk->space, address);
	place->image = place->mapping ? space_image(walk->space, place->mapping) : NULL;
	if (!place->image)
		return false;
	place->cfi = rows_cfi(rows, place->mapping->module, place->image);
	place->address = address - place->mapping->bias;
	return true;
}

static bool has_call_before(const struct row_query *query, const struct place *place)
{
	uint64_t target;

	return query->arch->code->call_before(place->image, place->address, &target) !=
	       ROW_CALL_NONE;
}

static enum eh_landing_calls find_call(const struct row_query *query, const struct place *landing,
				       const struct place *callee, uint64_t *return_address)
{
	const struct eh_landing where = {
		.cfi = landing->cfi,
		.code = query->arch->code,
		.pc = landing->address,
		.callee_is_elsewhere = callee && callee->cfi != landing->cfi,
		.callee_pc = callee && callee->cfi == landing->cfi ? callee->address : 0,
	};
	enum eh_landing_calls calls = eh_landing_call(&where, return_address);

	if (calls == EH_LANDING_ONE)
		*return_address += landing->mapping->bias;
	return calls;
}

/*
 * May the word at `at`, below the CFA of the frame that is gone, be the return address that
 * identified that frame? By its row the frame ends at the CFA; if the CFA is relative to the frame
 * pointer, the frame must at least have saved the frame pointer that its caller has now.
 */
static bool is_of_gone_frame(struct rows *rows, const struct row_query *query,
			     const struct rows_landing *landing, uint64_t at, struct place *callee)
{
	const struct arch_regs *arch = query->arch->regs;
	uint64_t word;
	uint64_t saved;
	uint64_t fp;
	struct row row;

	if (!walk_read(query->walk, at, &word) || !word ||
	    !find_place(rows, query->walk, word, callee) || !has_call_before(query, callee))
		return false;
	callee->address--; /* of the call */
	row = module_cfi_row(callee->cfi, query->arch, callee->address, callee->address + 1);
	if (row.kind != ROW_STEP)
		return false;
	if (row.cfa_reg == arch->sp)
		return at + sizeof(word) + (uint64_t)(int64_t)row.cfa_offset == landing->cfa;
	return row.cfa_reg == arch->fp && row.fp == ROW_FP_AT_CFA &&
	       regs_get(query->regs, arch->fp, &fp) &&
	       walk_read(query->walk, landing->cfa + (uint64_t)(int64_t)row.fp_offset, &saved) &&
	       saved == fp;
}

/* The call that all possible remains of the callee agree on. */
static enum eh_landing_calls find_call_of_gone(struct rows *rows, const struct row_query *query,
					       const struct rows_landing *landing,
					       const struct place *place, uint64_t *return_address)
{
	enum eh_landing_calls calls = EH_LANDING_SEVERAL;
	struct place callee;
	uint64_t found;

	for (uint64_t at = landing->cfa - RED_ZONE_BYTES; at < landing->cfa - sizeof(found);
	     at += sizeof(found)) {
		if (!is_of_gone_frame(rows, query, landing, at, &callee) ||
		    find_call(query, place, &callee, &found) != EH_LANDING_ONE)
			continue;
		if (calls == EH_LANDING_ONE && found != *return_address)
			return EH_LANDING_SEVERAL;
		calls = EH_LANDING_ONE;
		*return_address = found;
	}
	return calls;
}

enum eh_landing_calls rows_find_before_landing(struct rows *rows, const struct row_query *query,
					       const struct rows_landing *landing,
					       uint64_t *return_address)
{
	enum eh_landing_calls calls;
	struct place place;
	struct place callee;
	bool has_callee =
		!landing->is_gone &&
		find_place(rows, query->walk, query->frame->pc - !query->frame->is_exact, &callee);
	uint64_t found = 0;

	if (!query->arch->code || !query->arch->code->next_call ||
	    !find_place(rows, query->walk, landing->pc, &place) ||
	    (landing->is_doubtful && has_call_before(query, &place)))
		return EH_LANDING_NONE;
	calls = find_call(query, &place, has_callee ? &callee : NULL, &found);
	if (calls == EH_LANDING_SEVERAL && landing->is_gone)
		calls = find_call_of_gone(rows, query, landing, &place, &found);
	if (calls == EH_LANDING_ONE)
		*return_address = found;
	return calls;
}
