// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/sites.h"

#if defined(__x86_64__)

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "code/code_x86_64.h"

#define JUMP_BYTES     5
#define OPCODE_NOP     0x90
#define OPCODE_LEA     0x8d
#define TABLE_ROWS_MAX 4096
#define ROWS_AT_ONCE   64
#define WORDS_AT_ONCE  ((size_t)1 << 20)
#define CODE_BYTES_MAX ((size_t)1 << 28)
#define DISTANCES_MAX  256
/* Less than a second. Of the largest programs there are some millions. */
#define STEPS_MAX    (UINT64_C(1) << 28)
#define WINDOW_BYTES (JUMP_BYTES + CODE_INSTRUCTION_MAX_BYTES)

struct judging {
	const struct site_file *file;
	struct site *sites;
	uint64_t *ends; /* owned: of the bytes that each replaces */
	size_t nr;
	uint64_t first, end; /* of all of these bytes */
	uint64_t nr_steps;   /* that it has taken: a file can be made to take any number */
};

/* What the code between two known starts refers to: of a stripped file that is many functions. */
struct references {
	uint64_t *labels; /* owned: in itself */
	size_t nr_labels, cap_labels;
	uint64_t *tables; /* owned: perhaps, what is in data */
	size_t nr_tables, cap_tables;
};

static bool is_code(const struct site_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct site_segment *segment = &file->segments[i];

		if (segment->is_code && address >= segment->start && address < segment->end)
			return true;
	}
	return false;
}

/* Something leads there. */
static void note_target(struct judging *judging, uint64_t target)
{
	judging->nr_steps++;
	if (target < judging->first || target >= judging->end)
		return;
	judging->nr_steps += judging->nr;
	for (size_t i = 0; i < judging->nr; i++) {
		struct site *site = &judging->sites[i];

		if (target > site->address && target < judging->ends[i])
			site->why = "a jump through a table leads to right after it";
	}
}

/* The bytes that a probe replaces; 0: it cannot. */
static uint64_t end_of_window(const struct judging *judging, struct site *site)
{
	uint8_t bytes[WINDOW_BYTES];
	size_t nr =
		judging->file->read(judging->file->context, site->address, bytes, sizeof(bytes));
	struct code_instruction code;
	size_t at = 0;

	site->why = NULL;
	if (nr == 0 || bytes[0] != OPCODE_NOP)
		site->why = "there is another instruction than a nop";
	while (!site->why && at < JUMP_BYTES) {
		if (!code_decode(bytes + at, nr - at, site->address + at, &code))
			site->why = "an instruction after it is unknown";
		at += code.nr_bytes;
	}
	return site->address + at;
}

static size_t read_rows(struct judging *judging, uint64_t address, int32_t rows[ROWS_AT_ONCE])
{
	size_t nr_bytes = ROWS_AT_ONCE * sizeof(*rows);

	judging->nr_steps += ROWS_AT_ONCE;
	return judging->file->read(judging->file->context, address, rows, nr_bytes) / sizeof(*rows);
}

/* Distances from the table itself. It ends where one leads out of all code. */
static void read_table(struct judging *judging, uint64_t table)
{
	int32_t rows[ROWS_AT_ONCE];
	size_t nr = ROWS_AT_ONCE;

	for (size_t done = 0;
	     done < TABLE_ROWS_MAX && nr == ROWS_AT_ONCE && judging->nr_steps < STEPS_MAX;
	     done += nr) {
		nr = read_rows(judging, table + done * sizeof(*rows), rows);
		for (size_t i = 0; i < nr; i++) {
			uint64_t target = table + (uint64_t)(int64_t)rows[i];

			if (!is_code(judging->file, target))
				return;
			note_target(judging, target);
		}
	}
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Is there a label from which this distance leads to right after one of the sites? */
static void judge_distance(struct judging *judging, const struct references *references,
			   int64_t distance)
{
	for (size_t i = 0; i < judging->nr; i++) {
		uint64_t from = judging->sites[i].address + 1 - (uint64_t)distance;
		uint64_t end = judging->ends[i] - (uint64_t)distance;
		size_t low = 0, high = references->nr_labels;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (references->labels[middle] < from)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < references->nr_labels && references->labels[low] < end)
			note_target(judging, references->labels[low] + (uint64_t)distance);
	}
	judging->nr_steps += judging->nr;
}

/* Distances from a label, as computed gotos may have them: where they end is not known. */
static void read_distances(struct judging *judging, const struct references *references,
			   uint64_t table)
{
	int32_t rows[ROWS_AT_ONCE];
	size_t nr = ROWS_AT_ONCE;

	for (size_t done = 0;
	     done < DISTANCES_MAX && nr == ROWS_AT_ONCE && judging->nr_steps < STEPS_MAX;
	     done += nr) {
		nr = read_rows(judging, table + done * sizeof(*rows), rows);
		for (size_t i = 0; i < nr; i++)
			judge_distance(judging, references, rows[i]);
	}
}

static size_t sort_out(uint64_t *addresses, size_t nr_all)
{
	size_t nr = 0;

	if (nr_all)
		qsort(addresses, nr_all, sizeof(*addresses), compare_addresses);
	for (size_t i = 0; i < nr_all; i++) {
		if (nr == 0 || addresses[nr - 1] != addresses[i])
			addresses[nr++] = addresses[i];
	}
	return nr;
}

static void end_function(struct judging *judging, struct references *references)
{
	references->nr_tables = sort_out(references->tables, references->nr_tables);
	references->nr_labels = sort_out(references->labels, references->nr_labels);
	for (size_t i = 0; i < references->nr_tables; i++) {
		read_table(judging, references->tables[i]);
		if (references->nr_labels)
			read_distances(judging, references, references->tables[i]);
	}
	references->nr_tables = references->nr_labels = 0;
}

/* The address of a label may itself be jumped to. */
static void note_reference(struct judging *judging, struct references *references, uint64_t operand,
			   uint64_t start, uint64_t next_start)
{
	note_target(judging, operand);
	if (!is_code(judging->file, operand)) {
		if (operand % sizeof(int32_t))
			return; /* a text */
		ARRAY_GROW(references->tables, references->nr_tables, references->cap_tables);
		references->tables[references->nr_tables++] = operand;
	} else if (operand > start && operand < next_start) {
		ARRAY_GROW(references->labels, references->nr_labels, references->cap_labels);
		references->labels[references->nr_labels++] = operand;
	}
}

/* The index of the first start after the address. */
static size_t start_after(const struct site_file *file, uint64_t address)
{
	size_t low = 0, high = file->nr_starts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->starts[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A decoder that is out of step, as after data, is in step again with the next function. */
static void read_code(struct judging *judging, const uint8_t *bytes, size_t nr_bytes,
		      uint64_t address)
{
	const struct site_file *file = judging->file;
	size_t next = start_after(file, address);
	struct references references = {.nr_tables = 0};
	uint64_t start = address;

	for (size_t at = 0; at < nr_bytes;) {
		uint64_t next_start = next < file->nr_starts ? file->starts[next] : UINT64_MAX;
		struct code_instruction code;

		if (address + at >= next_start) {
			end_function(judging, &references);
			at = (size_t)(next_start - address);
			start = next_start;
			next++;
			continue;
		}
		if (!code_decode(bytes + at, nr_bytes - at, address + at, &code)) {
			at++;
			continue;
		}
		if (code.disp_at && bytes[at + code.opcode_at] == OPCODE_LEA)
			note_reference(judging, &references, code.operand, start, next_start);
		at += code.nr_bytes;
	}
	end_function(judging, &references);
	free(references.tables);
	free(references.labels);
}

/* In a program at a fixed place an instruction may have the address of a label as a number. */
static void read_numbers(struct judging *judging, const uint8_t *bytes, size_t nr_bytes)
{
	uint32_t number;

	for (size_t i = 0; i < judging->file->nr_segments; i++) {
		if (judging->file->segments[i].start == 0)
			return;
	}
	for (size_t at = 0; at + sizeof(number) <= nr_bytes; at++) {
		memcpy(&number, bytes + at, sizeof(number));
		if (number > judging->first && number < judging->end)
			note_target(judging, number);
	}
}

static bool read_code_of(struct judging *judging, const struct site_segment *segment)
{
	size_t nr_bytes = (size_t)(segment->end - segment->start);
	cleanup_free uint8_t *bytes =
		nr_bytes <= CODE_BYTES_MAX ? alloc_bounded(nr_bytes, 1, CODE_BYTES_MAX) : NULL;

	if (!bytes || judging->file->read(judging->file->context, segment->start, bytes,
					  nr_bytes) != nr_bytes)
		return false;
	read_code(judging, bytes, nr_bytes, segment->start);
	read_numbers(judging, bytes, nr_bytes);
	return judging->nr_steps < STEPS_MAX;
}

/* Tables of addresses, wherever they are. */
static bool read_data_of(struct judging *judging, const struct site_segment *segment)
{
	uint64_t at = (segment->start + 7) & ~UINT64_C(7);
	cleanup_free uint64_t *words = xcalloc(WORDS_AT_ONCE, sizeof(*words));

	while (at + sizeof(*words) <= segment->end && judging->nr_steps < STEPS_MAX) {
		size_t wanted =
			(size_t)min_u64((segment->end - at) / sizeof(*words), WORDS_AT_ONCE);

		if (judging->file->words(judging->file->context, at, words, wanted) != wanted)
			return false;
		for (size_t i = 0; i < wanted; i++)
			note_target(judging, words[i]);
		at += wanted * sizeof(*words);
	}
	return judging->nr_steps < STEPS_MAX;
}

void sites_judge(const struct site_file *file, struct site *sites, size_t nr)
{
	struct judging judging = {.file = file,
				  .sites = sites,
				  .ends = xcalloc(nr + 1, sizeof(*judging.ends)),
				  .nr = nr,
				  .first = UINT64_MAX};
	bool is_complete = true;

	for (size_t i = 0; i < nr; i++)
		judging.ends[i] = end_of_window(&judging, &sites[i]);
	for (size_t i = 0; i < nr; i++) {
		judging.first = min_u64(judging.first, sites[i].address);
		judging.end = max_u64(judging.end, judging.ends[i]);
	}
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct site_segment *segment = &file->segments[i];

		if (segment->is_code)
			is_complete &= read_code_of(&judging, segment);
		else
			is_complete &= read_data_of(&judging, segment);
	}
	for (size_t i = 0; i < nr && !is_complete; i++)
		sites[i].why = "not all of its file could be searched for jumps to it";
	free(judging.ends);
}

#endif
