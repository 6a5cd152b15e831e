// SPDX-License-Identifier: GPL-2.0-or-later
/* Rejects .gnu_debugdata that would unpack to too much. */
#include "symbol/minidebug.h"

#include <dlfcn.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dwarf/dwarf_sections.h"
#include "elf/elf_section.h"

/* Twice the size of the largest programs' symbols. */
#define MAX_UNPACKED_BYTES ((size_t)64 << 20)

/* This is declared in <lzma.h>. profc needs the library for libdw, but not its headers. */
int lzma_stream_buffer_decode(uint64_t *memory_limit, uint32_t flags, const void *allocator,
			      const uint8_t *in, size_t *in_at, size_t in_bytes, uint8_t *out,
			      size_t *out_at, size_t out_bytes);
typedef __typeof__(&lzma_stream_buffer_decode) decode_fn;

static bool unpacks(decode_fn decode, struct dwarf_bytes packed)
{
	uint64_t memory_limit = UINT64_C(256) << 20;
	size_t in_at = 0, out_at = 0;
	uint8_t *out = alloc_bounded(MAX_UNPACKED_BYTES, 1, MAX_UNPACKED_BYTES);
	/* 0 is LZMA_OK; a result that is too large, or bytes after it, are an error. */
	bool result = out &&
		      decode(&memory_limit, 0, NULL, packed.at, &in_at, packed.nr, out, &out_at,
			     MAX_UNPACKED_BYTES) == 0 &&
		      packed.nr - in_at < 16;

	free(out);
	return result;
}

#ifdef PROFC_STATIC

static bool is_bounded(struct dwarf_bytes packed)
{
	return unpacks(lzma_stream_buffer_decode, packed);
}

#else

static bool is_bounded(struct dwarf_bytes packed)
{
	void *library = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
	bool result = false;
	decode_fn decode;
	void *found;

	if (!library)
		return false;
	found = dlsym(library, "lzma_stream_buffer_decode");
	memcpy(&decode, &found, sizeof(decode));
	if (found)
		result = unpacks(decode, packed);
	dlclose(library);
	return result;
}

#endif

void minidebug_check(Elf *elf)
{
	static const char name[] = ".gnu_debugdata";
	struct dwarf_bytes packed = dwarf_bytes_of(elf_section_bytes(elf, name));

	if (packed.at && !is_bounded(packed))
		elf_section_hide(elf, name);
}
