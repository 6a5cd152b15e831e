/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PERL_READER_H
#define PROFC_SCRIPT_PERL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snapshot;
struct wanted_memory;

/* Reads what a walk of Perl needs from a snapshot, and notes what a snapshot should have. */
struct perl_reader {
	const struct snapshot *snapshot;
	struct wanted_memory *wanted;
	bool wants_all; /* what the snapshot has, as well */
};

/* False: the snapshot lacks it. */
bool perl_read(struct perl_reader *reader, uint64_t at, void *out, size_t nr_bytes);
/* As perl_read(); the bytes may also have been copied right after the stop. */
bool perl_read_object(struct perl_reader *reader, uint64_t at, void *out, size_t nr_bytes);
/* Note a range without reading it. */
void perl_want(struct perl_reader *reader, uint64_t at, uint64_t nr_bytes);

/* Could an object be there? */
bool perl_is_address(uint64_t address);

#endif
