// SPDX-License-Identifier: GPL-2.0-or-later
#include "inject/patched_bytes.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "patch/patch_table.h"
#include "proc/target_memory.h"

#define BLOCK_BYTES 4096
#define BLOCKS_MAX  16

struct patched_bytes {
	const struct patch_table *patches;
	struct target_memory *memory;
	bool is_stopped;
	/* Blocks that were read, and the end of a patch that extends into the next one. */
	uint64_t address;
	size_t nr_blocks, nr_bytes; /* nr_bytes: that could be read */
	uint8_t bytes[BLOCKS_MAX * BLOCK_BYTES + PATCH_MAX_BYTES];
};

struct patched_bytes *patched_bytes_new(const struct patch_table *patches,
					struct target_memory *memory, bool is_stopped)
{
	struct patched_bytes *bytes = xmalloc(sizeof(*bytes));

	bytes->patches = patches;
	bytes->memory = memory;
	bytes->is_stopped = is_stopped;
	bytes->nr_blocks = bytes->nr_bytes = 0;
	return bytes;
}

void patched_bytes_free(struct patched_bytes *bytes)
{
	free(bytes);
}

/* Code may be executable only, and then is not read so. */
static size_t read_memory(struct patched_bytes *bytes, uint64_t address, size_t nr_bytes)
{
	if (bytes->is_stopped &&
	    target_memory_read_at_once(bytes->memory, address, bytes->bytes, nr_bytes) == nr_bytes)
		return nr_bytes;
	return target_memory_read(bytes->memory, address, bytes->bytes, nr_bytes);
}

/* Blocks in a row that have a patch each, from one on: up to the end of the last patch. */
static void read_blocks(struct patched_bytes *bytes, size_t first, uint64_t address)
{
	uint64_t end = address;

	bytes->address = address;
	bytes->nr_blocks = 1;
	for (size_t i = first; i < bytes->patches->nr; i++) {
		const struct patch_window patch = patch_table_window(bytes->patches, i);
		uint64_t block = (patch.address - address) / BLOCK_BYTES;

		if (block > bytes->nr_blocks || block == BLOCKS_MAX)
			break;
		if (block == bytes->nr_blocks)
			bytes->nr_blocks++;
		end = patch.address + patch.nr_known;
	}
	bytes->nr_bytes = read_memory(bytes, address, (size_t)(end - address));
}

void patched_bytes_forget(struct patched_bytes *bytes)
{
	bytes->nr_blocks = bytes->nr_bytes = 0;
}

const uint8_t *patched_bytes_run(struct patched_bytes *bytes, size_t index, size_t nr_bytes)
{
	const uint64_t address = patch_table_address(bytes->patches, index);
	uint64_t block = address & -(uint64_t)BLOCK_BYTES;
	uint64_t at = address - bytes->address;

	/* After bytes that cannot be read, each block is tried by itself. */
	if (address < bytes->address || at / BLOCK_BYTES >= bytes->nr_blocks ||
	    (at + nr_bytes > bytes->nr_bytes && block != bytes->address)) {
		read_blocks(bytes, index, block);
		at = address - block;
	}
	return at + nr_bytes <= bytes->nr_bytes ? bytes->bytes + at : NULL;
}

const uint8_t *patched_bytes_at(struct patched_bytes *bytes, size_t index)
{
	return patched_bytes_run(bytes, index, patch_table_window(bytes->patches, index).nr_known);
}

bool patched_bytes_lead_to(struct patched_bytes *bytes, size_t index)
{
	const struct patch_window patch = patch_table_window(bytes->patches, index);
	uint64_t at = patch.address - bytes->address;
	uint8_t there[PATCH_MAX_BEFORE];

	if (!patch.nr_before)
		return true;
	if (at >= patch.nr_before)
		return patch_is_reached(patch.before, patch.nr_before,
					bytes->bytes + at - patch.nr_before);
	/* They begin in the page before. */
	return !target_memory_get(bytes->memory, patch.address - patch.nr_before, there,
				  patch.nr_before) ||
	       patch_is_reached(patch.before, patch.nr_before, there);
}
