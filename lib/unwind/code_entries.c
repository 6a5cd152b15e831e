// SPDX-License-Identifier: GPL-2.0-or-later
/* Function entries of an image, from its calls and its pointers into code. */
#include "unwind/code_entries.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "unwind/row.h"

/* Bound on the searched bytes of a segment. */
#define BYTES_MAX    (UINT64_C(64) << 20)
#define WINDOW_BYTES (64 * 1024)

void code_entries_release(struct code_entries *entries)
{
	free(entries->at);
	*entries = (struct code_entries){0};
}

static bool is_code(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);

		if (segment->executable && address >= segment->vaddr &&
		    address - segment->vaddr < segment->file_bytes)
			return true;
	}
	return false;
}

static void add(struct code_entries *entries, uint64_t address)
{
	ARRAY_GROW(entries->at, entries->nr, entries->cap);
	entries->at[entries->nr++] = address;
}

static void add_named(struct code_entries *entries, const struct code_reader *reader,
		      const struct elf_image *image, const uint8_t *bytes, size_t nr_bytes,
		      uint64_t address)
{
	for (size_t i = 0; i < nr_bytes; i++) {
		uint64_t target;

		if (!reader->names_code(bytes + i, nr_bytes - i, address + i, &target) ||
		    !is_code(image, target))
			continue;
		add(entries, target);
	}
}

/* Tables of functions, symbol values and relocation addends are all words. */
static void add_words(struct code_entries *entries, const struct elf_image *image,
		      const uint8_t *bytes, size_t nr_bytes)
{
	for (size_t i = 0; i + sizeof(uint64_t) <= nr_bytes; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes + i, sizeof(word));
		if (word && is_code(image, word))
			add(entries, word);
	}
}

static void go_through(struct code_entries *entries, const struct code_reader *reader,
		       const struct elf_image *image, const struct elf_segment *segment)
{
	uint64_t nr_bytes = segment->file_bytes < BYTES_MAX ? segment->file_bytes : BYTES_MAX;
	/* Words are aligned in memory. */
	uint64_t first = segment->executable ? segment->vaddr : (segment->vaddr + 7) & ~UINT64_C(7);
	cleanup_free uint8_t *window = xmalloc(WINDOW_BYTES);

	/* An instruction across two windows is ignored. */
	for (uint64_t done = 0; done < nr_bytes; done += WINDOW_BYTES) {
		uint64_t address = first + done;
		size_t wanted = nr_bytes - done < WINDOW_BYTES ? nr_bytes - done : WINDOW_BYTES;
		size_t got = elf_image_read(image, address, window, wanted);

		if (segment->executable)
			add_named(entries, reader, image, window, got, address);
		else
			add_words(entries, image, window, got);
		if (got < wanted)
			return;
	}
}

static int by_address(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void build(struct code_entries *entries, const struct code_reader *reader,
		  const struct elf_image *image)
{
	size_t nr = 0;

	for (size_t i = 0; i < elf_image_nr_segments(image); i++)
		go_through(entries, reader, image, elf_image_segment(image, i));
	if (entries->nr)
		qsort(entries->at, entries->nr, sizeof(*entries->at), by_address);
	for (size_t i = 0; i < entries->nr; i++) {
		if (!nr || entries->at[nr - 1] != entries->at[i])
			entries->at[nr++] = entries->at[i];
	}
	entries->nr = nr;
	entries->is_built = true;
}

bool code_entries_before(struct code_entries *entries, const struct code_reader *reader,
			 const struct elf_image *image, uint64_t *address)
{
	size_t low = 0;
	size_t high;

	if (!entries->is_built)
		build(entries, reader, image);
	high = entries->nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entries->at[middle] <= *address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	*address = entries->at[low - 1];
	return true;
}
