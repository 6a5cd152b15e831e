// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions as they are in their file. */
#include "probe/known_code.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "code/plt_entry.h"
#include "elf/elf_image.h"
#include "heap/patch_heap.h"

/* Bytes of a function in which calls are searched: functions of allocators are shorter. */
#define FUNCTION_BYTES_MAX 8192

/* The word that an entry of a PLT jumps through; 0: there is no such entry. */
static uint64_t word_of_plt(const struct elf_image *image, uint64_t address)
{
	uint8_t bytes[PLT_ENTRY_BYTES];

	return elf_image_read(image, address, bytes, sizeof(bytes)) == sizeof(bytes)
		       ? plt_entry_word(bytes, sizeof(bytes), address)
		       : 0;
}

static void find_callees(struct known_code *code, const struct elf_image *image, uint64_t address,
			 uint64_t nr_bytes)
{
	cleanup_free uint8_t *bytes = xmalloc(FUNCTION_BYTES_MAX);
	struct patch_heap_leads leads = {.address = address, .bytes = bytes};
	struct probe_callee callee;
	size_t cap = 0;

	leads.nr_bytes =
		elf_image_read(image, address, bytes, min_u64(nr_bytes, FUNCTION_BYTES_MAX));
	while (patch_heap_leads_next(&leads, &callee.at, &callee.is_word)) {
		uint64_t word = callee.is_word ? 0 : word_of_plt(image, callee.at);

		if (!callee.is_word && callee.at - address < nr_bytes)
			continue; /* inside of this function */
		if (word)
			callee = (struct probe_callee){.at = word, .is_word = true};
		ARRAY_GROW(code->callees, code->nr_callees, cap);
		code->callees[code->nr_callees++] = callee;
	}
}

struct known_code *known_code_read(const struct elf_image *image, uint64_t address,
				   uint64_t nr_bytes)
{
	struct known_code *code = xcalloc(1, sizeof(*code));

	code->nr_bytes = elf_image_read(image, address, code->bytes, sizeof(code->bytes));
	find_callees(code, image, address, nr_bytes);
	return code;
}

void known_code_free(struct known_code *code)
{
	if (!code)
		return;
	free(code->callees);
	free(code);
}

bool known_code_is_unbound(const struct elf_image *image, uint64_t address, uint64_t bias,
			   uint64_t word)
{
	uint64_t in_file;

	return elf_image_read(image, address, &in_file, sizeof(in_file)) == sizeof(in_file) &&
	       (word == in_file || word == in_file + bias);
}
