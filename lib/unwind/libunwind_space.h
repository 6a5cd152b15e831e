/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_LIBUNWIND_SPACE_H
#define PROFC_UNWIND_LIBUNWIND_SPACE_H

#include <libunwind.h>

#include "unwind/unwind_priv.h"

struct known_space;

/*
 * libunwind's view of a target: registers and stack from the snapshot, code and unwind information
 * from the files. The argument of all its accessors; the target may run.
 */
struct access {
	const struct walk *walk;
	struct known_space *known; /* borrowed of the libunwind_spaces; set by access_begin() */
	bool has_info;		   /* the last pc it asked about has unwind information */
	uint64_t missing_address;  /* the last word that could not be read */
};

/*
 * A cursor at the leaf of access->walk, valid for as long as `access` is not moved. libunwind's
 * cache for the space is dropped if its mappings have changed. False if libunwind refuses.
 */
bool access_begin(struct access *access, struct libunwind_spaces *spaces, unw_cursor_t *cursor);

/*
 * The 8 bytes of code at an address; false where no code is mapped. JIT-compiled code reads as 0:
 * libunwind checks for code at the pc before it trusts a frame pointer, and takes an error for a
 * jump to an invalid address.
 */
bool access_code(const struct access *access, uint64_t address, unw_word_t *value);

#endif
