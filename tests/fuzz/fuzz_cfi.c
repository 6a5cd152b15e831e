// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call frame information and tables of exception handlers that lie. The bytes are read as an
 * .eh_frame, as a .debug_frame, as a search table over themselves, and as a function's table.
 * The corpus has the sections of small programs:
 *
 *	objcopy -O binary -j .eh_frame frames_of_exceptions cpp.eh_frame
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "cfi/cfi.h"
#include "cfi/cfi_copy.h"
#include "elf/elf_ranges.h"
#include "unwind/eh_table.h"
#include "unwind/row.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

#define VADDR	  UINT64_C(0x402000)
#define FUNCTION  UINT64_C(0x401000)
#define SITES_MAX 100000

static void compile(const struct cfi_section *section, const struct cfi_fde *fde)
{
	const uint64_t addresses[] = {fde->start, fde->start + (fde->end - fde->start) / 2,
				      fde->end - 1};
	const enum arch arches[] = {ARCH_X86_64, ARCH_AARCH64};

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(arches); j++) {
			struct row row =
				row_compile(unwind_arch(arches[j]), section, fde, addresses[i]);

			assert(row.kind > ROW_EMPTY && row.kind <= ROW_FOREIGN);
		}
	}
}

static void check_copy(const struct cfi_section *section)
{
	struct buf copy = {0};
	struct buf table = {0};

	cfi_copy_debug_frame(section, 0, VADDR, &copy, &table);
	assert(copy.nr_bytes <= cfi_copy_max_bytes(section));
	for (size_t i = 0; i < table.nr_bytes / 8; i++) {
		const struct cfi_section copied = {
			.bytes = {.bytes = copy.bytes, .nr_bytes = copy.nr_bytes}};
		struct cursor at = cursor_over(table.bytes + 8 * i, 8);
		uint64_t start = VADDR + (uint64_t)(int64_t)(int32_t)cursor_u32(&at);
		struct cfi_fde fde;

		assert(cfi_fde_at(&copied, cursor_u32(&at), &fde) && fde.start == start);
	}
	buf_release(&copy);
	buf_release(&table);
}

static void read_section(const struct elf_bytes *bytes, bool is_debug_frame)
{
	const struct cfi_section section = {
		.bytes = *bytes, .is_debug_frame = is_debug_frame, .hdr_vaddr = VADDR};
	struct elf_ranges index = {0};
	struct elf_range found;
	uint64_t offset = 0;

	while (cfi_section_next(&section, &offset, &found)) {
		struct cfi_fde fde;

		assert(offset <= bytes->nr_bytes && found.start < found.end);
		assert(cfi_fde_at(&section, found.value, &fde));
		compile(&section, &fde);
	}
	cfi_index_build(&index, &section);
	elf_ranges_release(&index);
	check_copy(&section);
}

static void read_hdr(const struct elf_bytes *bytes)
{
	uint64_t offset;

	if (cfi_hdr_is_usable(bytes) && cfi_hdr_find(bytes, bytes, FUNCTION, &offset))
		assert(offset < bytes->nr_bytes);
}

static void read_table(const struct elf_bytes *bytes)
{
	struct eh_table table;
	struct eh_call_site site;
	size_t nr = 0;

	if (!eh_table_begin(&table, bytes, FUNCTION))
		return;
	while (nr < SITES_MAX && eh_table_next(&table, &site))
		nr++;
	assert(nr <= bytes->nr_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	const struct elf_bytes all = {.bytes = bytes, .nr_bytes = nr_bytes, .vaddr = VADDR};

	read_section(&all, false);
	read_section(&all, true);
	read_hdr(&all);
	read_table(&all);
	return 0;
}
