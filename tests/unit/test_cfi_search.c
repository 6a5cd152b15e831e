// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "cfi/cfi.h"
#include "tests/unit/unit.h"

/* Addresses of the two sections in a made-up file. */
#define HDR_ADDRESS    0x2000
#define FRAMES_ADDRESS 0x3000

/*
 * An .eh_frame with one CIE ("zPLR", pointers as 4 bytes relative to their place)
 * and two FDEs: 0x1000 … 0x1040 and 0x1080 … 0x1090.
 */
static const uint8_t frames[] = {
	/* 00: CIE */
	0x1c,
	0,
	0,
	0, /* length */
	0,
	0,
	0,
	0, /* id */
	1,
	'z',
	'P',
	'L',
	'R',
	0, /* version, augmentation */
	1,
	0x78,
	16, /* alignments, return address */
	7,  /* length of the augmentation's data */
	0x9b,
	1,
	2,
	3,
	4, /* P: encoding, pointer of 4 bytes */
	0x1b,
	0x1b, /* L, R */
	0,
	0,
	0,
	0,
	0,
	0,
	0, /* instructions */
	/* 20: FDE */
	0x10,
	0,
	0,
	0, /* length */
	0x24,
	0,
	0,
	0, /* back to the CIE */
	0xd8,
	0xdf,
	0xff,
	0xff, /* 0x1000 - 0x3028 */
	0x40,
	0,
	0,
	0, /* bytes of code */
	0,
	0,
	0,
	0,
	/* 34: FDE */
	0x10,
	0,
	0,
	0,
	0x38,
	0,
	0,
	0,
	0x44,
	0xe0,
	0xff,
	0xff, /* 0x1080 - 0x303c */
	0x10,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
};

static struct cfi_search index_over(struct buf *hdr, uint32_t nr_rows)
{
	static const int32_t rows[][2] = {
		{0x1000 - HDR_ADDRESS, FRAMES_ADDRESS + 0x20 - HDR_ADDRESS},
		{0x1080 - HDR_ADDRESS, FRAMES_ADDRESS + 0x34 - HDR_ADDRESS}};
	static const uint8_t encodings[] = {1, 0x1b, 0x03, 0x3b};

	buf_append(hdr, encodings, sizeof(encodings));
	buf_append_u32(hdr, FRAMES_ADDRESS - HDR_ADDRESS - 4);
	buf_append_u32(hdr, nr_rows);
	buf_append(hdr, rows, sizeof(rows));
	return (struct cfi_search){
		.hdr = {.bytes = hdr->bytes, .nr_bytes = hdr->nr_bytes, .vaddr = HDR_ADDRESS},
		.frames = {.bytes = frames, .nr_bytes = sizeof(frames), .vaddr = FRAMES_ADDRESS},
	};
}

TEST(cfi_search, of_addresses_inside_functions)
{
	static const struct {
		uint64_t address, start, end; /* start 0: none */
	} cases[] = {
		{0x0fff, 0, 0},		  {0x1000, 0x1000, 0x1040}, {0x103f, 0x1000, 0x1040},
		{0x1040, 0, 0},		  {0x107f, 0, 0},	    {0x1080, 0x1080, 0x1090},
		{0x108f, 0x1080, 0x1090}, {0x1090, 0, 0},	    {UINT64_MAX, 0, 0},
	};
	struct buf hdr = {0};
	struct cfi_search index = index_over(&hdr, 2);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t start = 0, end = 0;

		assert_int_equal(cfi_search_function(&index, cases[i].address, &start, &end),
				 cases[i].start != 0);
		assert_int_equal(start, cases[i].start);
		assert_int_equal(end, cases[i].end);
	}
	buf_release(&hdr);
}

/* Sizes that lie, and sections that are cut anywhere: nothing is found, nothing is read beyond. */
TEST(cfi_search, of_damaged_sections)
{
	struct buf hdr = {0}, lying = {0};
	struct cfi_search index = index_over(&hdr, 2), liar = index_over(&lying, 3);
	uint64_t start, end;

	assert_false(cfi_search_function(&liar, 0x1000, &start, &end));
	for (size_t nr = 0; nr < sizeof(frames); nr++) {
		uint8_t *cut = malloc(nr ? nr : 1); /* of exactly this size, for valgrind */

		memcpy(cut, frames, nr);
		index.frames.bytes = cut;
		index.frames.nr_bytes = nr;
		assert_false(cfi_search_function(&index, 0x1085, &start, &end));
		assert_int_equal(cfi_search_function(&index, 0x1005, &start, &end), nr >= 0x34);
		free(cut);
	}
	index.frames.bytes = NULL;
	index.frames.nr_bytes = 0;
	assert_false(cfi_search_function(&index, 0x1000, &start, &end));
	index.hdr.nr_bytes = 11;
	assert_false(cfi_search_function(&index, 0x1000, &start, &end));
	buf_release(&hdr);
	buf_release(&lying);
}

TEST(cfi_search, of_where_functions_begin)
{
	struct buf hdr = {0};
	struct cfi_search index = index_over(&hdr, 2);
	uint64_t *starts;
	int32_t below = 0x0fff - HDR_ADDRESS;
	size_t nr = 0;

	starts = cfi_hdr_starts(&index.hdr, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(starts[0], 0x1000);
	assert_int_equal(starts[1], 0x1080);
	free(starts);
	memcpy(hdr.bytes + 20, &below, sizeof(below)); /* of the second row */
	assert_null(cfi_hdr_starts(&index.hdr, &nr));
	buf_release(&hdr);
}
