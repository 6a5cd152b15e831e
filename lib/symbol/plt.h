/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_PLT_H
#define PROFC_SYMBOL_PLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/dwarf_bytes.h"

struct symbol_object;

/*
 * The stubs of a procedure linkage table have no symbols: the target of a stub
 * follows from the slot of the global offset table it reads and the relocation
 * that fills that slot.
 */
struct plt_slot {
	uint64_t slot;	  /* address of the slot */
	const char *name; /* of the symbol, borrowed from the object; or NULL, and then */
	/* The function that chooses what fills the slot (R_…_IRELATIVE), or 0. */
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

/* The slot that the stub which holds an address jumps through; NULL: unknown. */
const struct plt_slot *plt_find(const struct plt *plt, uint64_t address);

/* Is an address in a section of stubs, which some linkers give symbols of their own? */
bool plt_holds(const struct plt *plt, uint64_t address);

/* What a stub's instructions say it reads. */
struct plt_stub {
	enum plt_stub_kind {
		PLT_STUB_NONE,
		PLT_STUB_SLOT,	/* `value`: the address of its slot */
		PLT_STUB_INDEX, /* `value`: the number of its relocation in .rela.plt */
	} kind;
	uint64_t value;
};

/*
 * Decode the stub at the beginning of `code`, which stands at `address`. One
 * for each machine that a file may be for, whatever machine reads it.
 */
struct plt_stub plt_decode_x86_64(struct dwarf_bytes code, uint64_t address);
struct plt_stub plt_decode_aarch64(struct dwarf_bytes code, uint64_t address);

#endif
