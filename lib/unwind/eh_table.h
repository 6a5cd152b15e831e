/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_EH_TABLE_H
#define PROFC_UNWIND_EH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi.h"
#include "elf/elf_image.h"

/*
 * The table by which a function's exceptions find their handlers (the LSDA that its FDE points to):
 * gcc, LLVM and rustc write the same form for C++, Rust, D, Ada and Go (except.c of gcc; "Exception
 * Handling ABI for Itanium", level II). All addresses are ELF virtual addresses, and everything
 * read is bounded.
 */
struct eh_table {
	struct cfi_section bytes;
	struct cursor at;
	uint64_t function, landings; /* bases of call sites and of landing pads */
	uint8_t encoding;
};

/* Exceptions of calls in [start, end) land at `landing`; 0: nowhere. */
struct eh_call_site {
	uint64_t start, end, landing;
};

/* `bytes` begin with the table of the function at `function`. Borrowed. */
bool eh_table_begin(struct eh_table *table, const struct elf_bytes *bytes, uint64_t function);
/* The next call site; false after the last one, or where the bytes end. */
bool eh_table_next(struct eh_table *table, struct eh_call_site *site);

#endif
