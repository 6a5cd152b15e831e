// SPDX-License-Identifier: GPL-2.0-or-later
/* Function entries of an image, from its calls and its pointers into code. */
#include "unwind/code_entries.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "elf/elf_image.h"
#include "unwind/row.h"

/* Bounds on the searched bytes of a segment, and on the bytes of code that may have entries. */
#define BYTES_MAX      (UINT64_C(64) << 20)
#define CODE_BYTES_MAX (UINT64_C(1) << 30)
#define WINDOW_BYTES   (64 * 1024)
#define WORD_BITS      64

/* For each byte from the first of an image's code to the last: is it an entry? */
struct marks {
	uint64_t start, nr_bytes;
	uint64_t *words; /* owned */
};

void code_entries_release(struct code_entries *entries)
{
	free(entries->at);
	*entries = (struct code_entries){0};
}

/* Bytes between two segments of code are marked, too, which does no harm: nothing runs there. */
static bool cover_code(struct marks *marks, const struct elf_image *image)
{
	uint64_t end = 0;

	marks->start = UINT64_MAX;
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);

		if (!segment->executable)
			continue;
		marks->start = min_u64(marks->start, segment->vaddr);
		end = max_u64(end, segment->vaddr + segment->file_bytes);
	}
	if (end <= marks->start)
		return false;
	marks->nr_bytes = min_u64(end - marks->start, CODE_BYTES_MAX);
	marks->words = xcalloc(marks->nr_bytes / WORD_BITS + 1, sizeof(*marks->words));
	return true;
}

static void mark(struct marks *marks, uint64_t address)
{
	uint64_t offset = address - marks->start;

	if (offset < marks->nr_bytes)
		marks->words[offset / WORD_BITS] |= UINT64_C(1) << offset % WORD_BITS;
}

static void mark_named(struct marks *marks, const struct code_reader *reader,
		       const struct elf_bytes *code)
{
	size_t at = 0;
	uint64_t target;

	while (reader->next_named(code, &at, &target))
		mark(marks, target);
}

/* Tables of functions, symbol values and relocation addends are all words. */
static void mark_words(struct marks *marks, const struct elf_bytes *data)
{
	uint64_t word;

	for (size_t i = 0; i + sizeof(word) <= data->nr_bytes; i += sizeof(word)) {
		memcpy(&word, data->bytes + i, sizeof(word));
		if (word)
			mark(marks, word);
	}
}

static void go_through(struct marks *marks, const struct code_reader *reader,
		       const struct elf_image *image, const struct elf_segment *segment)
{
	uint64_t nr_bytes = min_u64(segment->file_bytes, BYTES_MAX);
	/* Words are aligned in memory. */
	uint64_t first = segment->executable ? segment->vaddr : (segment->vaddr + 7) & ~UINT64_C(7);
	cleanup_free uint8_t *window = xmalloc(WINDOW_BYTES);

	/* An instruction across two windows is ignored. */
	for (uint64_t done = 0; done < nr_bytes; done += WINDOW_BYTES) {
		size_t wanted = min_u64(nr_bytes - done, WINDOW_BYTES);
		const struct elf_bytes read = {
			.bytes = window,
			.nr_bytes = elf_image_read(image, first + done, window, wanted),
			.vaddr = first + done,
		};

		if (segment->executable)
			mark_named(marks, reader, &read);
		else
			mark_words(marks, &read);
		if (read.nr_bytes < wanted)
			return;
	}
}

/* The marked addresses, which are in order. */
static void collect(struct code_entries *entries, const struct marks *marks)
{
	size_t nr_words = marks->nr_bytes / WORD_BITS + 1;
	size_t nr = 0;

	for (size_t i = 0; i < nr_words; i++)
		nr += (size_t)__builtin_popcountll(marks->words[i]);
	entries->at = xcalloc(nr, sizeof(*entries->at));
	for (size_t i = 0; i < nr_words; i++) {
		for (uint64_t word = marks->words[i]; word; word &= word - 1)
			entries->at[entries->nr++] =
				marks->start + i * WORD_BITS + (uint64_t)__builtin_ctzll(word);
	}
}

static void build(struct code_entries *entries, const struct code_reader *reader,
		  const struct elf_image *image)
{
	struct marks marks;

	entries->is_built = true;
	if (!cover_code(&marks, image))
		return;
	for (size_t i = 0; i < elf_image_nr_segments(image); i++)
		go_through(&marks, reader, image, elf_image_segment(image, i));
	collect(entries, &marks);
	free(marks.words);
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
