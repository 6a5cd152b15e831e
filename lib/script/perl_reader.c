// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads memory of Perl from a snapshot. */
#include "script/perl_reader.h"

#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

#define ADDRESS_MAX (UINT64_C(1) << 56)

bool perl_is_address(uint64_t address)
{
	return address && address < ADDRESS_MAX && address % sizeof(uint64_t) == 0;
}

void perl_want(struct perl_reader *reader, uint64_t at, uint64_t nr_bytes)
{
	wanted_memory_add(reader->wanted, at, nr_bytes);
}

bool perl_read(struct perl_reader *reader, uint64_t at, void *out, size_t nr_bytes)
{
	bool is_read = snapshot_read_any(reader->snapshot, at, out, nr_bytes);

	if (!is_read || reader->wants_all)
		perl_want(reader, at, nr_bytes);
	return is_read;
}

bool perl_read_object(struct perl_reader *reader, uint64_t at, void *out, size_t nr_bytes)
{
	bool is_late = snapshot_is_late(reader->snapshot, at, nr_bytes);

	if (!is_late)
		return perl_read(reader, at, out, nr_bytes);
	if (reader->wants_all)
		perl_want(reader, at, nr_bytes);
	return snapshot_read_late(reader->snapshot, at, out, nr_bytes);
}
