/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_PLT_H
#define PROFC_SYMBOL_PLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/dwarf_bytes.h"

struct symbol_object;

/*
 * The stubs of a procedure linkage table have no symbols. A stub reads a slot of the global offset
 * table, and the relocation for that slot names the target.
 */
struct plt_slot {
	uint64_t slot;	  /* address of the slot */
	const char *name; /* of the symbol, borrowed from the object; or NULL */
	/* Without a name: the function that chooses the target (R_…_IRELATIVE), or 0. */
	uint64_t resolver;
};

struct plt {
	const struct symbol_object *object;
	struct plt_slot *slots; /* by address */
	size_t nr, cap;
	struct plt_slot *jumps; /* those of .rela.plt, in its order */
	size_t nr_jumps, cap_jumps;
};

void plt_init(struct plt *plt, const struct symbol_object *object);
void plt_release(struct plt *plt);

/* The slot of the stub that holds an address; NULL: unknown. */
const struct plt_slot *plt_find(const struct plt *plt, uint64_t address);

/* Is an address in a section of stubs? Some linkers give stubs symbols of their own. */
bool plt_holds(const struct plt *plt, uint64_t address);

/* A decoded stub: the slot that its instructions read. */
struct plt_stub {
	enum plt_stub_kind {
		PLT_STUB_NONE,
		PLT_STUB_SLOT,	/* `value`: the address of its slot */
		PLT_STUB_INDEX, /* `value`: the number of its relocation in .rela.plt */
	} kind;
	uint64_t value;
};

/*
 * Decode the stub at the start of `code`, whose address is `address`. There is a decoder for each
 * processor, whatever the processor of profc.
 */
struct plt_stub plt_decode_x86_64(struct dwarf_bytes code, uint64_t address);
struct plt_stub plt_decode_aarch64(struct dwarf_bytes code, uint64_t address);

#endif
