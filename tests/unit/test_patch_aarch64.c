// SPDX-License-Identifier: GPL-2.0-or-later
/* The probes of aarch64, for code in this file: their words, and what they do when they run. */
#include "patch/branches.h"
#include "patch/patch.h"
#include "tests/unit/unit.h"

#if defined(__aarch64__)

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define FUNCTION  UINT64_C(0x401000)
#define AREA	  UINT64_C(0x402000)
#define COUNTER	  UINT64_C(0x403008)
#define MAX_WORDS 64

#define NOP    0xd503201f
#define BTI_C  0xd503245f
#define RET    0xd65f03c0
#define PUSH   0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */
#define MOV_FP 0x910003fd /* mov x29, sp */

struct made {
	uint32_t thunk[MAX_WORDS];
	size_t nr;
	size_t nr_count; /* words before the displaced instruction */
	struct patch patch;
	enum patch_outcome outcome;
};

static struct made entry(const uint32_t *words, size_t nr)
{
	struct made made = {.nr = 0};
	struct code_area area = {
		.address = AREA, .bytes = (uint8_t *)made.thunk, .cap_bytes = sizeof(made.thunk)};
	const struct patch_function function = {.address = FUNCTION,
						.nr_bytes = nr * 4,
						.bytes = (const uint8_t *)words,
						.nr_readable = nr * 4};
	struct branches *branches = branches_new(&function.address, 1);

	branches_add_code(branches, FUNCTION, function.bytes, nr * 4);
	branches_sort(branches);
	made.outcome = patch_entry(&made.patch, &function, branches, &area,
				   &(struct patch_counter){.address = COUNTER, .nr_shards = 1});
	made.nr = area.nr_bytes / 4;
	if (made.outcome == PATCH_OK)
		made.nr_count = made.patch.steps[1].offset / 4;
	branches_free(branches);
	return made;
}

#define ENTRY(...)                                                                                 \
	entry((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* The thunk counts, and then is these words; it is entered by a branch at an index of words. */
static void assert_displaced(const struct made *made, size_t at, const uint32_t *words, size_t nr)
{
	uint32_t branch;

	assert_int_equal(made->outcome, PATCH_OK);
	assert_int_equal(made->patch.address, FUNCTION + at * 4);
	assert_int_equal(made->patch.nr_bytes, 4);
	memcpy(&branch, made->patch.new, sizeof(branch));
	assert_int_equal(branch, 0x14000000 | (0x1000 - at * 4) / 4);
	assert_int_equal(made->nr, made->nr_count + nr);
	assert_memory_equal(made->thunk + made->nr_count, words, nr * 4);
}

#define ASSERT_DISPLACED(made, at, ...)                                                            \
	assert_displaced(&(made), (at), (const uint32_t[]){__VA_ARGS__},                           \
			 sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* A branch back, from an index of the words after the count. */
static uint32_t back(const struct made *made, size_t from, uint64_t to)
{
	int64_t distance = (int64_t)(to - (AREA + (made->nr_count + from) * 4));

	return 0x14000000 | ((uint32_t)(distance / 4) & 0x3ffffff);
}

TEST(patch_aarch64, one_instruction_is_moved)
{
	struct made made = ENTRY(PUSH, MOV_FP, RET);

	ASSERT_DISPLACED(made, 0, PUSH, back(&made, 1, FUNCTION + 4));
	assert_int_equal(made.thunk[0], 0xa9bf47f0);		     /* stp x16, x17, [sp, #-16]! */
	assert_int_equal(made.thunk[1], 0xb0000010);		     /* adrp x16, 403000 */
	assert_int_equal(made.thunk[2], 0x91002210);		     /* add x16, x16, #8 */
	assert_int_equal(made.thunk[3], 0xd2800031);		     /* mov x17, #1 */
	assert_int_equal(made.thunk[made.nr_count - 1], 0xa8c147f0); /* ldp */
}

TEST(patch_aarch64, landing_pad_stays)
{
	static const uint32_t pads[] = {BTI_C, 0xd503249f, 0xd50324df, 0xd503233f, 0xd503237f};

	for (size_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++) {
		struct made made = ENTRY(pads[i], PUSH, RET);

		ASSERT_DISPLACED(made, 1, PUSH, back(&made, 1, FUNCTION + 8));
	}
	assert_int_equal(ENTRY(BTI_C).outcome, PATCH_TOO_SHORT);
}

TEST(patch_aarch64, addresses_are_those_of_before)
{
	struct made made = ENTRY(0x10000080, RET); /* adr x0, .+16 */

	ASSERT_DISPLACED(made, 0, 0xd2820200, 0xf2a00800, back(&made, 2, FUNCTION + 4));
	made = ENTRY(0xf0ffffe1, RET); /* adrp x1, .-1 page */
	ASSERT_DISPLACED(made, 0, 0xd2800001, 0xf2a00801, back(&made, 2, FUNCTION + 4));
	made = ENTRY(0x58000042, RET); /* ldr x2, .+8 */
	ASSERT_DISPLACED(made, 0, 0xd2820102, 0xf2a00802, 0xf9400042, back(&made, 3, FUNCTION + 4));
	made = ENTRY(0x98ffffe3, RET); /* ldrsw x3, .-4 */
	ASSERT_DISPLACED(made, 0, 0xd281ff83, 0xf2a00803, 0xb9800063, back(&made, 3, FUNCTION + 4));
}

TEST(patch_aarch64, branches_lead_where_they_led)
{
	struct made made = ENTRY(0x14000010); /* b .+64 */

	ASSERT_DISPLACED(made, 0, back(&made, 0, FUNCTION + 64));
	made = ENTRY(0xb4000080, RET); /* cbz x0, .+16 */
	ASSERT_DISPLACED(made, 0, 0xb4000040, back(&made, 1, FUNCTION + 4),
			 back(&made, 2, FUNCTION + 16));
	made = ENTRY(0x37fffe01, RET); /* tbnz w1, #31, .-64 */
	ASSERT_DISPLACED(made, 0, 0x37f80041, back(&made, 1, FUNCTION + 4),
			 back(&made, 2, FUNCTION - 64));
	made = ENTRY(0x54000103, RET); /* b.lo .+32 */
	ASSERT_DISPLACED(made, 0, 0x54000043, back(&made, 1, FUNCTION + 4),
			 back(&made, 2, FUNCTION + 32));
	made = ENTRY(RET);
	ASSERT_DISPLACED(made, 0, RET);
}

TEST(patch_aarch64, what_depends_on_its_place_stays)
{
	static const uint32_t words[] = {
		0xd4000001, /* svc #0 */
		0xd4200000, /* brk #0 */
		0x94000010, /* bl */
		0xd63f0040, /* blr x2 */
		0x5c000040, /* ldr d0, .+8 */
		0xd8000040, /* prfm pldl1keep, .+8 */
		0x00000000, /* udf #0 */
		0xdac1a3fe, /* paciasppc */
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_int_equal(ENTRY(words[i], RET).outcome, PATCH_NO_FIXED_FORM);
}

TEST(patch_aarch64, loops_to_the_entry_are_seen)
{
	/* sub x0, x0, #1; cbnz x0, .-4; ret */
	assert_int_equal(ENTRY(0xd1000400, 0xb5ffffe0, RET).outcome, PATCH_LOOPS_TO_ENTRY);
	assert_int_equal(ENTRY(BTI_C, 0xd1000400, 0xb5ffffe0, RET).outcome, PATCH_LOOPS_TO_ENTRY);
	assert_int_equal(ENTRY(0x14000000).outcome, PATCH_LOOPS_TO_ENTRY); /* b . */
	assert_int_equal(ENTRY(PUSH, 0xd1000400, 0xb5ffffe0, RET).outcome, PATCH_OK);
}

TEST(patch_aarch64, sleds_are_left_alone)
{
	struct made made = ENTRY(NOP, NOP, PUSH, RET);

	ASSERT_DISPLACED(made, 2, PUSH, back(&made, 1, FUNCTION + 12));
	assert_false(made.patch.is_in_sled);
	made = ENTRY(BTI_C, 0x14000008, NOP, NOP, NOP, NOP, NOP, NOP, NOP, PUSH, RET);
	ASSERT_DISPLACED(made, 9, PUSH, back(&made, 1, FUNCTION + 40));
	made = ENTRY(NOP, 0xd4000001); /* svc */
	ASSERT_DISPLACED(made, 0, NOP, back(&made, 1, FUNCTION + 4));
	assert_true(made.patch.is_in_sled);
}

static struct made call(uint32_t word)
{
	struct made made = {.nr = 0};
	struct code_area area = {
		.address = AREA, .bytes = (uint8_t *)made.thunk, .cap_bytes = sizeof(made.thunk)};

	made.outcome =
		patch_call(&made.patch, FUNCTION, (const uint8_t *)&word, sizeof(word), &area,
			   &(struct patch_counter){.address = COUNTER, .nr_shards = 1});
	made.nr = area.nr_bytes / 4;
	return made;
}

TEST(patch_aarch64, calls_lead_to_a_thunk)
{
	struct made made = call(0x94000010); /* bl .+64 */
	uint64_t original;
	uint32_t word;

	assert_int_equal(made.outcome, PATCH_OK);
	memcpy(&word, made.patch.new, sizeof(word));
	assert_int_equal(word, 0x94000400); /* bl .+0x1000 */
	made.nr_count = made.nr - 1;
	assert_int_equal(made.thunk[made.nr - 1], back(&made, 0, FUNCTION + 64));
	assert_int_equal(patch_original_pc(&made.patch, AREA + 8, &original), PATCH_AT);
	assert_int_equal(original, FUNCTION + 64);
	assert_int_equal(call(0xd63f0040).outcome, PATCH_INDIRECT_CALL); /* blr x2 */
	assert_int_equal(call(0x14000010).outcome, PATCH_UNKNOWN_CODE);	 /* b */
}

TEST(patch_aarch64, far_places_are_refused)
{
	const uint32_t words[] = {PUSH, RET};
	uint8_t thunk[256];
	struct code_area area = {
		.address = FUNCTION + (UINT64_C(1) << 27) + 4, .bytes = thunk, .cap_bytes = 256};
	const struct patch_function function = {
		.address = FUNCTION, .bytes = (const uint8_t *)words, .nr_readable = 8};
	const struct patch_counter counter = {.address = area.address + 256, .nr_shards = 1};
	struct branches *branches = branches_new(&function.address, 1);
	struct patch patch;

	branches_sort(branches);
	assert_int_equal(patch_entry(&patch, &function, branches, &area, &counter),
			 PATCH_OUT_OF_REACH);
	assert_int_equal(area.nr_bytes, 0);
	branches_free(branches);
}

/* -- thunks that run -- */

struct bench {
	uint32_t *code; /* a page of code, then one of thunks, */
	uint64_t *data; /* then two of counters */
	struct patch patch;
};

#define SHARDS	   16
#define SHARD_LOG2 7

static void make_bench(struct bench *bench, const uint32_t *words, size_t nr)
{
	size_t page = 65536;
	uint8_t *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct code_area area = {
		.address = (uint64_t)(at + page), .bytes = at + page, .cap_bytes = page};
	const struct patch_function function = {
		.address = (uint64_t)at, .bytes = at, .nr_bytes = nr * 4, .nr_readable = nr * 4};
	struct branches *branches = branches_new(&function.address, 1);

	assert_ptr_not_equal(at, MAP_FAILED);
	memcpy(at, words, nr * 4);
	*bench = (struct bench){.code = (uint32_t *)(void *)at,
				.data = (uint64_t *)(void *)(at + 2 * page)};
	branches_add_code(branches, function.address, at, nr * 4);
	branches_sort(branches);
	assert_int_equal(patch_entry(&bench->patch, &function, branches, &area,
				     &(struct patch_counter){.address = (uint64_t)bench->data,
							     .nr_shards = SHARDS,
							     .shard_log2 = SHARD_LOG2}),
			 PATCH_OK);
	memcpy((void *)bench->patch.address, bench->patch.new, 4);
	__builtin___clear_cache((char *)at, (char *)at + 2 * page);
}

static uint64_t sum(const struct bench *bench)
{
	uint64_t all = 0;

	for (size_t i = 0; i < (SHARDS << SHARD_LOG2) / sizeof(uint64_t); i++)
		all += bench->data[i];
	return all;
}

/* Calls with x14 to x17 set; returns whether they are kept, with *result. */
static bool call_code(const void *code, uint64_t argument, uint64_t *result)
{
	register uint64_t x0 __asm__("x0") = argument;
	register const void *x9 __asm__("x9") = code;
	uint64_t kept;

	__asm__ volatile("mov x14, #14\n\tmov x15, #15\n\tmov x16, #16\n\tmov x17, #17\n\t"
			 "cmp x0, x0\n\t"
			 "blr x9\n\t"
			 "cset %1, eq\n\t"
			 "sub x14, x14, #14\n\tsub x15, x15, #15\n\t"
			 "sub x16, x16, #16\n\tsub x17, x17, #17\n\t"
			 "orr x14, x14, x15\n\torr x16, x16, x17\n\torr x14, x14, x16\n\t"
			 "cmp x14, #0\n\tcsel %1, %1, xzr, eq"
			 : "+r"(x0), "=&r"(kept), "+r"(x9)
			 :
			 : "x14", "x15", "x16", "x17", "x30", "cc", "memory");
	*result = x0;
	return kept;
}

static void check_runs(const uint32_t *words, size_t nr, uint64_t argument)
{
	struct bench bench;
	uint64_t expected, result;
	uint8_t old[4];

	make_bench(&bench, words, nr);
	for (int i = 1; i <= 3; i++) {
		assert_true(call_code(bench.code, argument, &result));
		assert_int_equal(sum(&bench), i);
	}
	memcpy(old, bench.patch.old, 4);
	memcpy((void *)bench.patch.address, old, 4);
	__builtin___clear_cache((char *)bench.code, (char *)(bench.code + nr));
	assert_true(call_code(bench.code, argument, &expected));
	assert_int_equal(result, expected);
	assert_int_equal(sum(&bench), 3);
	/* Not unmapped: QEMU 7.2 ran the translated code of a former mapping at the same address.
	 */
}

#define CHECK_RUNS(argument, ...)                                                                  \
	check_runs((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4,   \
		   argument)

TEST(patch_aarch64, thunks_do_what_the_code_did)
{
	CHECK_RUNS(7, 0x91000400, RET); /* add x0, x0, #1 */
	CHECK_RUNS(7, BTI_C, 0x91000400, RET);
	CHECK_RUNS(7, 0xd503233f, 0x91000400, 0xd50323bf, RET); /* paciasp ... autiasp */
	CHECK_RUNS(7, 0x10000080, RET);				/* adr x0, .+16 */
	CHECK_RUNS(7, 0xb0000000, RET);				/* adrp x0, .+1 page */
	CHECK_RUNS(7, 0x58000040, RET, 0x12345678, 0x9abcdef0); /* ldr x0, .+8 */
	CHECK_RUNS(7, 0x18000040, RET, 0x92345678);		/* ldr w0, .+8 */
	CHECK_RUNS(7, 0x98000040, RET, 0x92345678);		/* ldrsw x0, .+8 */
	CHECK_RUNS(7, 0x14000002, RET, 0x91000400, RET);	/* b .+8 */
	for (uint64_t i = 0; i < 2; i++) {
		CHECK_RUNS(i, 0xb4000040, RET, 0x91000400, RET); /* cbz x0, .+8 */
		CHECK_RUNS(i, 0x37000040, RET, 0x91000400, RET); /* tbnz w0, #0, .+8 */
	}
	CHECK_RUNS(7, 0x54000040, RET, 0x91000400, RET); /* b.eq .+8 */
	CHECK_RUNS(7, 0x54000041, RET, 0x91000400, RET); /* b.ne .+8 */
	CHECK_RUNS(7, RET);
}

TEST(patch_aarch64, places_in_a_thunk_are_those_of_the_code)
{
	struct made made = ENTRY(BTI_C, 0xb4000080, RET);
	uint64_t original;

	for (size_t i = 0; i < made.nr; i++) {
		unsigned int pushed = patch_nr_pushed(&made.patch, AREA + i * 4);

		assert_int_equal(patch_original_pc(&made.patch, AREA + i * 4, &original), PATCH_AT);
		assert_int_equal(original, FUNCTION + 4);
		assert_true(i > 0 && i < made.nr_count ? pushed >= 2 : pushed == 0);
	}
	made = ENTRY(PUSH, RET);
	assert_int_equal(patch_original_pc(&made.patch, AREA + (made.nr - 1) * 4, &original),
			 PATCH_AT);
	assert_int_equal(original, FUNCTION + 4);
	assert_false(patch_moved_pc(&made.patch, FUNCTION, &original));
	assert_false(patch_moved_pc(&made.patch, FUNCTION + 4, &original));
}

#else

TEST(patch_aarch64, is_for_another_processor)
{
	skip();
}

#endif
