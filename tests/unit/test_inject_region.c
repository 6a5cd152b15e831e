// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of probes, as profc sees it while the process writes to it. */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "inject/region.h"
#include "patch/patch_machine.h"
#include "tests/unit/unit.h"

#define NR_COUNTERS 3

struct fixture {
	struct region_plan plan;
	struct region region;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct region_plan *plan = &fixture.plan;
	struct region *region = &fixture.region;

	*plan = (struct region_plan){.nr_patches = 2,
				     .nr_parts = 1,
				     .counters = region_counters_for(NR_COUNTERS, false, false, 0),
				     .parts = {{.code_bytes = 4096}},
				     .has_heap = true};
	region_plan_data(plan);
	*region = (struct region){.header = {.nr_parts = 1,
					     .patches_offset = plan->patches_offset,
					     .head_bytes = plan->head_bytes,
					     .heap_offset = plan->heap_offset,
					     .data_bytes = plan->data_bytes,
					     .parts = {plan->parts[0]}}};
	region->data = xcalloc(plan->data_bytes, 1);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	free(fixture->region.data);
	return 0;
}

/* All code of a part reaches it, and it begins after the written memory. */
TEST_WITH(const struct fixture *fixture, region, parts_are_header_then_data_then_code)
{
	struct region_plan plan = fixture->plan;
	uint64_t page = 4096;

	plan.parts[0].address = 0x10000000;
	plan.parts[0].data_address = 0x10000000 + plan.head_bytes;
	assert_true(plan.head_bytes >= plan.patches_offset + patch_table_max_size(plan.nr_patches));
	assert_int_equal(plan.head_bytes % page, 0);
	assert_int_equal(plan.data_bytes % page, 0);
	assert_int_equal(region_plan_counters(&plan, 0), 0x10000000 + plan.head_bytes);
	assert_int_equal(region_plan_code(&plan, 0),
			 0x10000000 + plan.head_bytes + plan.data_bytes);
	assert_int_equal(region_plan_gate(&plan), region_plan_code(&plan, 0) + page);
	assert_int_equal(region_plan_bytes(&plan, 0, true),
			 region_plan_gate(&plan) + plan.gate_bytes - 0x10000000);
	/* Where one call maps both, code is as far from the header in the file. */
	assert_int_equal(plan.parts[0].file_offset,
			 PATCH_DATA_REACH_BYTES ? plan.head_bytes
						: region_plan_code(&plan, 0) - 0x10000000);
}

TEST_WITH(const struct fixture *fixture, region, data_may_be_elsewhere)
{
	struct region_plan plan = fixture->plan;
	struct region_header header = fixture->region.header;
	uint64_t page = 4096;

	plan.gate_bytes = page;
	plan.parts[0].address = header.parts[0].address = 0x10000000;
	plan.parts[0].data_address = header.parts[0].data_address = 0x90000000;
	assert_int_equal(region_plan_code(&plan, 0), 0x10000000 + plan.head_bytes);
	assert_int_equal(region_code(&header, 0), 0x10000000 + plan.head_bytes);
	assert_int_equal(region_plan_gate(&plan), 0x10000000 + plan.head_bytes + page);
	assert_int_equal(region_plan_counters(&plan, 0), 0x90000000);
	assert_int_equal(region_plan_heap(&plan, 0), 0x90000000 + plan.heap_offset);
	assert_int_equal(region_plan_bytes(&plan, 0, false), plan.head_bytes + 2 * page);
}

/* Copies are a multiple of two cache lines apart, and few where they are large. */
TEST(region, copies_with_an_owner_take_bounded_memory)
{
	const struct region_counters few = region_counters_for(3, true, true, 0);
	const struct region_counters many = region_counters_for(100000, true, true, 0);
	const struct region_counters most = region_counters_for(20000000, true, true, 0);

	assert_int_equal(few.nr_own, PATCH_OWN_COPIES_MAX);
	assert_int_equal(few.shard_log2, 7);
	assert_int_equal(many.shard_log2, 20);
	assert_int_equal(many.nr_own, 64);
	assert_int_equal(most.nr_own, 0);
	assert_int_equal(region_counters_for(3, true, false, false).nr_own, 0);
	assert_int_equal(region_counters_for(3, false, true, false).nr_own, 0);
}

/* However many the process says: a copy beyond the last one would be in other memory. */
TEST(region, counts_of_claimed_copies_are_summed)
{
	struct region_plan plan = {.nr_parts = 1,
				   .counters = region_counters_for(3, true, true, 0),
				   .parts = {{.code_bytes = 4096}}};
	struct region region = {.header = {.nr_parts = 1}};
	const struct region_counters *counters = &plan.counters;
	uint64_t *claimed, *words;

	region_plan_data(&plan);
	region.data = xcalloc(plan.data_bytes, 1);
	words = (uint64_t *)(void *)region.data;
	claimed = &words[region_counter_index(counters, REGION_CLAIMED)];
	for (uint32_t i = 0; i < counters->nr_shards + counters->nr_own; i++)
		words[((uint64_t)i << counters->shard_log2) / sizeof(uint64_t) + 2] = 1;
	assert_int_equal(region_counter(&region, counters, 2), counters->nr_shards);
	*claimed = 5;
	assert_int_equal(region_counter(&region, counters, 2), counters->nr_shards + 5);
	*claimed = UINT64_MAX;
	assert_int_equal(region_counter(&region, counters, 2),
			 counters->nr_shards + counters->nr_own);
	free(region.data);
}

static blkcnt_t nr_blocks(const struct region *region)
{
	struct stat found;

	assert_int_equal(fstat(region->file, &found), 0);
	return found.st_blocks;
}

#define NR_MANY 20000

TEST(region, counters_are_read_at_once_and_take_no_memory_for_it)
{
	struct region_plan plan = {.nr_parts = 1,
				   .counters = region_counters_for(NR_MANY, true, true, 0),
				   .parts = {{.code_bytes = 4096}}};
	struct region region = {.header = {.nr_parts = 1}, .has_file = true};
	const struct region_counters *counters = &plan.counters;
	uint64_t *sums = xcalloc(NR_MANY, sizeof(*sums));
	blkcnt_t nr_before;

	region_plan_data(&plan);
	region.header.data_bytes = plan.data_bytes;
	region.file = memfd_create("counters", MFD_CLOEXEC);
	assert_int_equal(ftruncate(region.file, (off_t)plan.data_bytes), 0);
	region.data =
		mmap(NULL, plan.data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region.file, 0);
	assert_ptr_not_equal(region.data, MAP_FAILED);
	region_set_counter(&region, counters, REGION_CLAIMED, 3);
	for (uint64_t copy = 0; copy < counters->nr_shards + UINT64_C(4); copy += 3) {
		uint64_t *words =
			(uint64_t *)(void *)(region.data + (copy << counters->shard_log2));

		words[0] += 1;
		words[511] += 2;
		words[512] += 3;
		words[copy * 1000] += 4;
		words[NR_MANY - 1] += 5;
	}
	nr_before = nr_blocks(&region);
	region_read_counters(&region, counters, sums);
	assert_int_equal(nr_blocks(&region), nr_before);
	for (uint64_t i = 0; i < NR_MANY; i++)
		assert_int_equal(sums[i], region_counter(&region, counters, i));
	assert_true(sums[0] && sums[511] && sums[512] && sums[3000] && sums[NR_MANY - 1]);
	assert_true(nr_blocks(&region) > nr_before);
	free(sums);
	region_close(&region);
}

TEST_WITH(struct fixture *fixture, region, what_the_process_writes_leads_nowhere)
{
	struct region *region = &fixture->region;
	uint64_t *counters = (uint64_t *)(void *)region->data;

	memset(region->data, 0xff, fixture->plan.data_bytes);
	counters[2] = 7;
	assert_int_equal(region_counter(region, &fixture->plan.counters, 2), 7);
	assert_ptr_equal(region_heap(region), region->data + fixture->plan.heap_offset);
}
