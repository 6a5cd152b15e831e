// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds what glibc keeps of its threads, as it tells debuggers. */
#include "script/thread_keys.h"

#include <string.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "snapshot/snapshot.h"

/*
 * It says how large its record of a thread is, and where members of that are: how many bits, how
 * many there are, the offset.
 */
#define KEY_TABLE      "_thread_db_pthread_specific"
#define KEY_TABLE_BITS (32 * 64)
#define THREAD_ID      "_thread_db_pthread_tid"
#define THREAD_ID_BITS 32
#define RECORD_BYTES   "_thread_db_sizeof_pthread"
#define OFFSET_MAX     65536

/* Programs have one, or two with libpthread; a few more if libc was replaced while they ran. */
#define LIBRARIES_MAX 8

struct libraries {
	uint32_t modules[LIBRARIES_MAX];
	size_t nr;
};

/* Is it the first mapping of a module that may have the symbols? Each is looked at once. */
static bool is_next_library(struct libraries *seen, struct space *space,
			    const struct mapping *mapping, const char *const *beginnings)
{
	const struct module *module = space_module(space, mapping);
	const char *name = module_short_name(module);
	bool is_named = false;

	for (; *beginnings && !is_named; beginnings++)
		is_named = strncmp(name, *beginnings, strlen(*beginnings)) == 0;
	if (!mapping->executable || module->kind != MODULE_KIND_FILE || !is_named)
		return false;
	for (size_t i = 0; i < seen->nr; i++) {
		if (seen->modules[i] == mapping->module.v)
			return false;
	}
	seen->modules[seen->nr++] = mapping->module.v;
	return true;
}

/* Other modules have no such symbols, and a program may have mapped thousands of large ones. */
const char *const glibc_libraries[] = {"libc.so", "libc-", "libpthread", NULL};
const char *const glibc_loaders[] = {"ld-", "ld.so", NULL};

bool glibc_exports_find(struct space *space, const char *const *beginnings,
			const char *const *names, size_t nr, uint64_t *addresses)
{
	struct libraries seen = {.nr = 0};

	for (size_t i = 0; i < space_nr_mappings(space) && seen.nr < LIBRARIES_MAX; i++) {
		const struct mapping *mapping = space_mapping_at(space, i);
		struct elf_image *image;

		if (!is_next_library(&seen, space, mapping, beginnings))
			continue;
		image = space_image(space, mapping);
		if (!image || elf_image_exports(image, names, nr, addresses) != nr)
			continue;
		for (size_t n = 0; n < nr; n++)
			addresses[n] += mapping->bias;
		return true;
	}
	return false;
}

static bool find_member(struct space *space, const char *name, uint32_t nr_bits, uint32_t *offset,
			uint32_t *nr_record_bytes)
{
	const char *const names[] = {name, RECORD_BYTES};
	uint64_t at[ARRAY_SIZE(names)];
	uint32_t said[3];

	if (!glibc_exports_find(space, glibc_libraries, names, ARRAY_SIZE(names), at) ||
	    !space_read_memory(space, at[0], said, sizeof(said)) ||
	    !space_read_memory(space, at[1], nr_record_bytes, sizeof(*nr_record_bytes)))
		return false;
	*offset = said[2];
	return said[0] == nr_bits && said[2] < *nr_record_bytes && *nr_record_bytes < OFFSET_MAX;
}

bool thread_keys_find(struct space *space, uint64_t *offset)
{
	uint32_t in_record, nr_bytes;

	if (!find_member(space, KEY_TABLE, KEY_TABLE_BITS, &in_record, &nr_bytes))
		return false;
	*offset = in_record;
	if (arch_regs(arch_native())->ends_data)
		*offset -= nr_bytes;
	return true;
}

bool thread_keys_find_id(struct space *space, uint32_t *offset)
{
	uint32_t nr_bytes;

	return find_member(space, THREAD_ID, THREAD_ID_BITS, offset, &nr_bytes) && *offset;
}
