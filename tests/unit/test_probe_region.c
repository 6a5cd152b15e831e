// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of probes, as it is here while the process writes to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "probe/region.h"

#define NR_COUNTERS 3

struct fixture {
	struct region_plan plan;
	struct region region;
};

static int begin(void **state)
{
	static struct fixture fixture;
	struct region_plan *plan = &fixture.plan;
	struct region *region = &fixture.region;

	*plan = (struct region_plan){.nr_patches = 2,
				     .nr_parts = 1,
				     .counters = region_counters_for(NR_COUNTERS, false),
				     .parts = {{.code_bytes = 4096}},
				     .has_heap = true};
	region_plan_data(plan);
	*region = (struct region){.header = {.nr_parts = 1,
					     .patches_offset = plan->patches_offset,
					     .counters_offset = plan->counters_offset,
					     .heap_offset = plan->heap_offset,
					     .data_bytes = plan->data_bytes,
					     .parts = {plan->parts[0]}},
				  .nr_bytes = plan->data_bytes + 4096};
	region->bytes = xmalloc(region->nr_bytes);
	memset(region->bytes, 0, region->nr_bytes);
	*state = &fixture;
	return 0;
}

static int end(void **state)
{
	struct fixture *fixture = *state;

	free(fixture->region.bytes);
	return 0;
}

static void test_region__patches_are_told_of(void **state)
{
	struct fixture *fixture = *state;
	struct region *region = &fixture->region;
	const struct patch patches[2] = {{.address = 0x1000, .nr_bytes = 5},
					 {.address = 0x2000, .nr_bytes = 6}};
	struct region_header told;

	region_share_patches(region, patches, 2);
	memcpy(&told, region->bytes, sizeof(told));
	assert_memory_equal(&told, &region->header, sizeof(told));
	assert_int_equal(told.nr_patches, 2);
	assert_memory_equal(region->bytes + told.patches_offset, patches, sizeof(patches));
}

/* A stray write of the program changes what it says there, and not where we read. */
static void test_region__what_the_process_writes_to_the_header_leads_nowhere(void **state)
{
	struct fixture *fixture = *state;
	struct region *region = &fixture->region;
	uint64_t *counters = (uint64_t *)(void *)(region->bytes + fixture->plan.counters_offset);
	uint8_t *heap = region->bytes + fixture->plan.heap_offset;
	uint8_t *code = region->bytes + fixture->plan.data_bytes;

	memset(region->bytes, 0xff, sizeof(struct region_header));
	counters[2] = 7;
	assert_int_equal(region_counter(region, &fixture->plan.counters, 2), 7);
	assert_ptr_equal(region_heap(region), heap);
	assert_ptr_equal(region_code(region, 0), code);
}

#define WITH_REGION(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_REGION(test_region__patches_are_told_of),
		WITH_REGION(test_region__what_the_process_writes_to_the_header_leads_nowhere),
	};

	return cmocka_run_group_tests_name("probe region", tests, NULL, NULL);
}
