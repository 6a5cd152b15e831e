// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Accessors for libunwind over a snapshot. Its own accessors are not used: _UPT_find_proc_info
 * needs program headers at the offset of the mapping, which LLD's layouts lack, and reads the
 * target word by word.
 */
#include "unwind/libunwind_space.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cfi/cfi.h"
#include "cfi/cfi_copy.h"
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "snapshot/snapshot.h"

/*
 * Exported by libunwind since 1.1, but declared in none of its headers; perf and others use it like
 * this.
 */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
			       unw_proc_info_t *pi, int need_unwind_info, void *arg);

/* A module's call frame information in the target. */
struct cfi_range {
	struct elf_image *image;
	uint64_t bias;
	/*
	 * The search table of a module that has none, such as static programs: laid out as in
	 * .eh_frame_hdr, at an address that no process can have.
	 */
	struct buf table;
	uint64_t table_at;
	/* Its .debug_frame, converted to an .eh_frame with a table on first use. */
	bool has_copied;
	struct buf copy, copy_table;
	uint64_t copy_at, copy_table_at;
};

#define TABLES_AT	UINT64_C(0xffff000000000000)
#define TABLE_MAX_BYTES (UINT64_C(1) << 32)
#define COPY_ALIGNMENT	UINT64_C(4096)

/*
 * Code that libunwind has read. It does so at every pc, to recognise signal
 * trampolines by their bytes, and a read of the file each time would cost more
 * than the rest of the step.
 */
struct code_word {
	uint64_t address; /* 0: free */
	uint64_t word;
};

#define CODE_WORDS 512

/* libunwind's cache for one space. */
struct known_space {
	const struct space *space; /* the key; never followed */
	uint32_t generation;
	unw_addr_space_t handle;
	struct cfi_range *ranges; /* modules announced to libunwind */
	size_t nr_ranges, cap_ranges;
	struct code_word code[CODE_WORDS]; /* by address */
};

struct libunwind_spaces {
	struct known_space **known;
	size_t nr, cap;
	bool is_cached;
};

/* The part of [address, address + 8) that lies in `section`; false if none does. */
static bool overlay(const struct elf_bytes *section, uint64_t bias, uint64_t address, uint8_t *word)
{
	uint64_t start = section->vaddr + bias;
	bool any = false;

	if (!section->bytes || !section->vaddr)
		return false;
	for (unsigned int i = 0; i < 8; i++) {
		uint64_t offset = address + i - start;

		if (offset < section->nr_bytes) {
			word[i] = section->bytes[offset];
			any = true;
		}
	}
	return any;
}

/*
 * libunwind reads whole aligned words, which may begin before a section or end in the next one;
 * bytes of neither section read as 0.
 */
static bool read_cfi(const struct access *access, uint64_t address, unw_word_t *value)
{
	const struct known_space *known = access->known;
	uint8_t word[8] = {0};
	bool any = false;

	walk_work_add(access->walk, known->nr_ranges);
	for (size_t i = known->nr_ranges; i-- > 0 && !any;) {
		const struct cfi_range *range = &known->ranges[i];
		const struct elf_cfi *cfi = elf_image_cfi(range->image);

		const struct elf_bytes table = {.bytes = range->table.bytes,
						.nr_bytes = range->table.nr_bytes,
						.vaddr = range->table_at};

		const struct elf_bytes copy = {.bytes = range->copy.bytes,
					       .nr_bytes = range->copy.nr_bytes,
					       .vaddr = range->copy_at};
		const struct elf_bytes copy_table = {.bytes = range->copy_table.bytes,
						     .nr_bytes = range->copy_table.nr_bytes,
						     .vaddr = range->copy_table_at};

		any |= overlay(&table, 0, address, word);
		any |= overlay(&copy, 0, address, word);
		any |= overlay(&copy_table, 0, address, word);
		any |= overlay(&cfi->eh_frame_hdr, range->bias, address, word);
		any |= overlay(&cfi->eh_frame, range->bias, address, word);
	}
	memcpy(value, word, sizeof(word));
	return any;
}

static bool segment_holds(const struct elf_segment *segment, uint64_t vaddr)
{
	return vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->memory_bytes;
}

/*
 * Entries of C++ and Rust refer to their personality routine by a pointer in
 * the module's data. libunwind insists on reading it, though no caller needs
 * it here: its value in the file, before relocation, serves.
 */
static bool read_module_data(const struct known_space *known, uint64_t address, unw_word_t *value)
{
	for (size_t i = known->nr_ranges; i-- > 0;) {
		const struct cfi_range *range = &known->ranges[i];
		uint64_t vaddr = address - range->bias;

		for (size_t j = 0; j < elf_image_nr_segments(range->image); j++) {
			if (!segment_holds(elf_image_segment(range->image, j), vaddr))
				continue;
			*value = 0;
			elf_image_read(range->image, vaddr, value, sizeof(*value));
			return true;
		}
	}
	return false;
}

bool access_code(const struct access *access, uint64_t address, unw_word_t *value)
{
	struct code_word *word = &access->known->code[address % CODE_WORDS];
	const struct mapping *mapping;
	struct elf_image *image;

	if (word->address != address || !address) {
		mapping = space_find(access->walk->space, address);
		if (!mapping || !mapping->executable)
			return false;
		*word = (struct code_word){.address = address};
		image = space_image(access->walk->space, mapping);
		if (image)
			elf_image_read(image, address - mapping->bias, &word->word, 8);
	}
	*value = word->word;
	return true;
}

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
		      void *arg)
{
	struct access *access = arg;

	(void)as;
	/* An expression that loops reads itself again and again: it ends here. */
	if (write || walk_is_over(access->walk))
		return -UNW_EINVAL;
	if (walk_read(access->walk, address, value) || read_cfi(access, address, value) ||
	    access_code(access, address, value) || read_module_data(access->known, address, value))
		return 0;
	access->missing_address = address;
	return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	const struct access *access = arg;
	uint64_t known;

	(void)as;
	if (write || reg < 0 || !regs_get(&access->walk->snapshot->regs, (unsigned int)reg, &known))
		return -UNW_EBADREG;
	*value = known;
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t address, char *name, size_t cap,
			 unw_word_t *offset, void *arg)
{
	(void)as;
	(void)address;
	(void)name;
	(void)cap;
	(void)offset;
	(void)arg;
	return -UNW_ENOINFO;
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *address, void *arg)
{
	(void)as;
	(void)address;
	(void)arg;
	return -UNW_ENOINFO;
}

/* libunwind frees the allocations of search_unwind_table() itself. */
static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info, void *arg)
{
	(void)as;
	(void)info;
	(void)arg;
}

static void build_table(struct cfi_range *range)
{
	const struct elf_cfi *cfi = elf_image_cfi(range->image);
	const struct cfi_section section = {.bytes = cfi->eh_frame};
	uint64_t base = cfi->eh_frame.vaddr;
	struct elf_ranges index = {0};

	cfi_index_build(&index, &section);
	for (size_t i = 0; i < index.nr && i < TABLE_MAX_BYTES / 8; i++) {
		int64_t start = (int64_t)(index.at[i].start - base);

		if (start != (int32_t)start || index.at[i].value > INT32_MAX)
			continue;
		buf_append_u32(&range->table, (uint32_t)start);
		buf_append_u32(&range->table, (uint32_t)index.at[i].value);
	}
	elf_ranges_release(&index);
}

static uint64_t lowest_vaddr(const struct elf_image *image)
{
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		if (elf_image_segment(image, i)->vaddr < lowest)
			lowest = elf_image_segment(image, i)->vaddr;
	}
	return lowest;
}

/*
 * The values of the table have 4 bytes, so the copy must be near the code: just below the module.
 * libunwind reads none of the memory that may be mapped there.
 */
static void copy_debug_frame(struct cfi_range *range)
{
	const struct cfi_section section = {.bytes = elf_image_cfi(range->image)->debug_frame,
					    .is_debug_frame = true};
	uint64_t nr_bytes;
	uint64_t below;

	if (range->has_copied || !section.bytes.bytes)
		return;
	range->has_copied = true;
	nr_bytes = cfi_copy_max_bytes(&section);
	below = range->bias + lowest_vaddr(range->image);
	if (below < nr_bytes + COPY_ALIGNMENT)
		return;
	range->copy_at = (below - nr_bytes) & ~(COPY_ALIGNMENT - 1);
	range->copy_table_at = range->table_at + TABLE_MAX_BYTES / 2;
	cfi_copy_debug_frame(&section, range->bias, range->copy_at, &range->copy,
			     &range->copy_table);
}

/* Borrowed until the next call. */
static struct cfi_range *know_range(struct known_space *known, struct elf_image *image,
				    uint64_t bias)
{
	struct cfi_range *range;

	for (size_t i = 0; i < known->nr_ranges; i++) {
		if (known->ranges[i].image == image && known->ranges[i].bias == bias)
			return &known->ranges[i];
	}
	ARRAY_GROW(known->ranges, known->nr_ranges, known->cap_ranges);
	range = &known->ranges[known->nr_ranges];
	*range = (struct cfi_range){
		.image = image,
		.bias = bias,
		.table_at = TABLES_AT + known->nr_ranges * TABLE_MAX_BYTES,
	};
	known->nr_ranges++;
	if (!cfi_hdr_is_usable(&elf_image_cfi(image)->eh_frame_hdr))
		build_table(range);
	return range;
}

static void forget_ranges(struct known_space *known)
{
	for (size_t i = 0; i < known->nr_ranges; i++) {
		buf_release(&known->ranges[i].table);
		buf_release(&known->ranges[i].copy);
		buf_release(&known->ranges[i].copy_table);
	}
	known->nr_ranges = 0;
}

/*
 * The search table of .eh_frame_hdr (LSB 10.6.2): after 12 bytes, pairs of 4 byte values relative
 * to the header's start. Our own tables are relative to .eh_frame.
 */
static bool describe_table(const struct mapping *mapping, const struct cfi_range *range,
			   unw_dyn_info_t *info)
{
	const struct elf_cfi *cfi = elf_image_cfi(range->image);
	const struct elf_bytes *hdr = &cfi->eh_frame_hdr;
	bool is_own = cfi_hdr_is_usable(hdr);
	uint32_t nr_entries = (uint32_t)(range->table.nr_bytes / 8);

	if (is_own)
		memcpy(&nr_entries, hdr->bytes + 8, sizeof(nr_entries));
	if (!nr_entries)
		return false;
	*info = (unw_dyn_info_t){
		.start_ip = mapping->start,
		.end_ip = mapping->end,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
	};
	info->u.rti.segbase = mapping->bias + (is_own ? hdr->vaddr : cfi->eh_frame.vaddr);
	info->u.rti.table_data = is_own ? mapping->bias + hdr->vaddr + 12 : range->table_at;
	/* In words of 8 bytes, which is also the size of an entry. */
	info->u.rti.table_len = nr_entries;
	return true;
}

static bool describe_copy(const struct mapping *mapping, struct cfi_range *range,
			  unw_dyn_info_t *info)
{
	copy_debug_frame(range);
	if (!range->copy_table.nr_bytes)
		return false;
	*info = (unw_dyn_info_t){
		.start_ip = mapping->start,
		.end_ip = mapping->end,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
	};
	info->u.rti.segbase = range->copy_at;
	info->u.rti.table_data = range->copy_table_at;
	info->u.rti.table_len = range->copy_table.nr_bytes / 8;
	return true;
}

/* Exactly -UNW_ENOINFO on every failure: any other keeps libunwind from trying frame pointers. */
static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *proc_info,
			  int need_unwind_info, void *arg)
{
	struct access *access = arg;
	const struct mapping *mapping = space_find(access->walk->space, ip);
	struct elf_image *image =
		mapping && mapping->executable ? space_image(access->walk->space, mapping) : NULL;
	struct cfi_range *range = image ? know_range(access->known, image, mapping->bias) : NULL;
	unw_dyn_info_t table;

	access->has_info =
		range &&
		((describe_table(mapping, range, &table) &&
		  search_unwind_table(as, ip, &table, proc_info, need_unwind_info, arg) >= 0) ||
		 (describe_copy(mapping, range, &table) &&
		  search_unwind_table(as, ip, &table, proc_info, need_unwind_info, arg) >= 0));
	return access->has_info ? 0 : -UNW_ENOINFO;
}

static struct known_space *known_new(const struct space *space, bool is_cached)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	struct known_space *known = xcalloc(1, sizeof(*known));

	known->space = space;
	known->generation = space_generation(space);
	known->handle = unw_create_addr_space(&accessors, 0);
	if (known->handle)
		unw_set_caching_policy(known->handle,
				       is_cached ? UNW_CACHE_GLOBAL : UNW_CACHE_NONE);
	return known;
}

static void known_free(struct known_space *known)
{
	if (known->handle)
		unw_destroy_addr_space(known->handle);
	forget_ranges(known);
	free(known->ranges);
	free(known);
}

struct libunwind_spaces *libunwind_spaces_new(bool is_cached)
{
	struct libunwind_spaces *spaces = xcalloc(1, sizeof(*spaces));

	spaces->is_cached = is_cached;
	return spaces;
}

void libunwind_spaces_free(struct libunwind_spaces *spaces)
{
	if (!spaces)
		return;
	for (size_t i = 0; i < spaces->nr; i++)
		known_free(spaces->known[i]);
	free(spaces->known);
	free(spaces);
}

void libunwind_spaces_forget(struct libunwind_spaces *spaces, const struct space *space)
{
	for (size_t i = 0; i < spaces->nr; i++) {
		if (spaces->known[i]->space != space)
			continue;
		known_free(spaces->known[i]);
		spaces->known[i] = spaces->known[--spaces->nr];
		return;
	}
}

static struct known_space *known_for(struct libunwind_spaces *spaces, const struct space *space)
{
	struct known_space *known;

	for (size_t i = 0; i < spaces->nr; i++) {
		known = spaces->known[i];
		if (known->space != space)
			continue;
		if (known->generation != space_generation(space)) {
			known->generation = space_generation(space);
			forget_ranges(known);
			memset(known->code, 0, sizeof(known->code));
			unw_flush_cache(known->handle, 0, 0);
		}
		return known;
	}
	known = known_new(space, spaces->is_cached);
	ARRAY_GROW(spaces->known, spaces->nr, spaces->cap);
	spaces->known[spaces->nr++] = known;
	return known;
}

bool access_begin(struct access *access, struct libunwind_spaces *spaces, unw_cursor_t *cursor)
{
	access->known = known_for(spaces, access->walk->space);
	return access->known->handle && unw_init_remote(cursor, access->known->handle, access) == 0;
}
