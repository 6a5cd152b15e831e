// SPDX-License-Identifier: GPL-2.0-or-later
/* Probes over whatever a program may have for code. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "patch/branches.h"
#include "patch/patch.h"

#define CODE	UINT64_C(0x401000)
#define AREA	UINT64_C(0x10402000)
#define COUNTER UINT64_C(0x10403000)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

/* A thread goes to the thunk and comes back to where it was; what is called stands alone. */
static void check_places(const struct patch *patch)
{
	uint64_t pc, back;

	for (size_t i = 0; i < patch->nr_steps; i++) {
		assert(patch->steps[i].offset < patch->nr_thunk_bytes);
		assert(i == 0 || patch->steps[i].offset > patch->steps[i - 1].offset);
		assert(patch_original_pc(patch, patch->thunk + patch->steps[i].offset, &pc));
	}
	for (uint64_t at = patch->address; at <= patch->address + patch->nr_bytes; at++) {
		if (patch_moved_pc(patch, at, &pc))
			assert(patch_original_pc(patch, pc, &back) == PATCH_AT && back == at);
	}
	assert(!patch_original_pc(patch, patch->thunk + patch->nr_thunk_bytes, &pc));
}

static void check(const struct patch *patch, const struct code_area *area, const uint8_t *bytes)
{
	int32_t distance;
	size_t end = patch->kind == PATCH_ENTRY ? 5 : patch->nr_bytes;

	assert(memcmp(patch->old, bytes + (patch->address - CODE), patch_nr_known(patch)) == 0);
	if (patch->pads) {
		assert(patch->nr_bytes == 1 && patch->new[0] == 0xe9 && patch->pads & 1);
		assert(memcmp(patch->new + 1, patch->old + 1, PATCH_SITE_BYTES - 1) == 0);
	} else {
		assert(patch->nr_bytes >= 5 && patch->nr_bytes <= PATCH_MAX_BYTES);
		memcpy(&distance, patch->new + end - sizeof(distance), sizeof(distance));
		assert(patch->address + end + (uint64_t)(int64_t)distance == patch->thunk);
	}
	assert(patch->thunk >= area->address && patch->thunk % 16 == 0);
	assert(patch->thunk + patch->nr_thunk_bytes == area->address + area->nr_bytes);
	check_places(patch);
}

static void patch_at(const uint8_t *bytes, size_t nr_bytes, size_t at,
		     const struct branches *branches)
{
	uint8_t thunks[256];
	struct code_area area = {.address = AREA, .bytes = thunks, .cap_bytes = sizeof(thunks)};
	struct patch_function function = {
		.address = CODE + at,
		.nr_bytes = at % 3 * 4, /* not known, too, and too short */
		.bytes = bytes + at,
		.nr_readable = nr_bytes - at,
	};
	const struct patch_owners owners = {.table_word = AREA - 16,
					    .end_word = AREA - 24,
					    .nr_copies = 7,
					    .stub = AREA - 256,
					    .nr_stub_bytes = 160,
					    .slow_stub = AREA - 512,
					    .nr_slow_stub_bytes = 160};
	const struct patch_counter counter = {.address = COUNTER,
					      .base_word = AREA - 8,
					      .nr_shards = at % 2 ? 16 : 1,
					      .shard_log2 = 6,
					      .owners = at % 4 == 3 ? &owners : NULL};
	struct patch_counter timed = counter;
	struct patch patch;

	timed.pass = at % 2 ? PATCH_SPAN_FROM : PATCH_SPAN_TO;
	timed.owners = &owners;
	timed.id_at = AREA - 32;
	timed.slow = COUNTER;
	if (patch_site(&patch, &function, branches, &area, &timed) == PATCH_OK)
		check(&patch, &area, bytes);
	else
		assert(area.nr_bytes == 0);
	area.nr_bytes = 0;
	if (patch_entry(&patch, &function, branches, &area, &counter) == PATCH_OK)
		check(&patch, &area, bytes);
	else
		assert(area.nr_bytes == 0);
	area.nr_bytes = 0;
	if (patch_call(&patch, CODE + at, bytes + at, nr_bytes - at, &area, &counter) == PATCH_OK)
		check(&patch, &area, bytes);
	else
		assert(area.nr_bytes == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	const uint64_t starts[] = {CODE, CODE + nr_bytes / 2};
	struct branches *branches = branches_new(starts, ARRAY_SIZE(starts));
	struct patch_calls calls = {.address = CODE, .bytes = bytes, .nr_bytes = nr_bytes};
	struct patch_call_site site;
	uint64_t behind = CODE;

	branches_add_code(branches, CODE, bytes, nr_bytes);
	branches_sort(branches);
	while (patch_calls_next(&calls, &site)) {
		assert(site.address >= behind && site.nr_bytes >= 2);
		behind = site.address + site.nr_bytes;
		assert(behind <= CODE + nr_bytes);
	}
	for (size_t at = 0; at < nr_bytes; at++)
		patch_at(bytes, nr_bytes, at, branches);
	branches_free(branches);
	return 0;
}
