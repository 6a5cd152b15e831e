// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of probes may be hit by any stray write of the program before it is read. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "inject/access.h"
#include "inject/region.h"
#include "inject/removal.h"
#include "inject/willing.h"
#include "patch/patch_table.h"
#include "proc/target_memory.h"
#include "tests/unit/unit.h"

#define DATA_BYTES     8192
#define PATCHES_OFFSET 4096
#define NR_PATCHES     3
#define ROW_BYTES      10

/* The region of this process, which nothing can stop. */
struct fixture {
	struct probe_access access;
	uint8_t *data;
	struct region_header *header;
	struct patch_row *rows;
	struct patch *shape;
};

static struct fixture *begin(const struct region_owner *owner)
{
	static const struct own_filters no_filters = {.seccomp = 0};
	static struct fixture fixture;
	char name[64];
	int fd;

	snprintf(name, sizeof(name), REGION_NAME "-%d-%llu-%llu", (int)owner->pid,
		 (unsigned long long)owner->start_ticks, (unsigned long long)owner->pid_namespace);
	fd = memfd_create(name, MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, DATA_BYTES), 0);
	fixture = (struct fixture){
		.access = {.pid = getpid(),
			   .memory = target_memory_open(getpid(), NULL),
			   .patience_ns = NS_PER_SEC,
			   .own_filters = &no_filters},
		.data = mmap(NULL, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)};
	assert_ptr_not_equal(fixture.data, MAP_FAILED);
	close(fd);
	fixture.header = (struct region_header *)(void *)fixture.data;
	fixture.rows = (struct patch_row *)(void *)(fixture.data + PATCHES_OFFSET);
	fixture.shape = (struct patch *)(void *)(fixture.rows + NR_PATCHES);
	*fixture.header = (struct region_header){.owner = *owner,
						 .nr_parts = 1,
						 .nr_patches = NR_PATCHES,
						 .nr_shapes = 1,
						 .nr_patch_bytes = NR_PATCHES * ROW_BYTES,
						 .patches_offset = PATCHES_OFFSET,
						 .head_bytes = DATA_BYTES,
						 .data_bytes = DATA_BYTES};
	memcpy(fixture.header->magic, REGION_MAGIC, sizeof(fixture.header->magic));
	*fixture.shape = (struct patch){.nr_bytes = 5, .nr_steps = 1};
	for (uint32_t i = 0; i < NR_PATCHES; i++)
		fixture.rows[i] = (struct patch_row){
			.address = 0x1000 + 5 * i, .thunk = 0x9000, .bytes_at = i * ROW_BYTES};
	return &fixture;
}

static int set_up(void **state)
{
	const struct region_owner owner = region_own_identity();

	*state = begin(&owner);
	return 0;
}

static void end(const struct fixture *fixture)
{
	munmap(fixture->data, DATA_BYTES);
	target_memory_close(fixture->access.memory);
}

static int tear_down(void **state)
{
	end(*state);
	return 0;
}

static int remove_all(const struct fixture *fixture)
{
	struct probe_cost cost = {0};
	struct err err = ERR_INIT;
	bool is_kept;

	return probes_remove(&fixture->access, NULL, &cost, &is_kept, &err);
}

static void assert_damaged(const struct fixture *fixture)
{
	pid_t owner;

	assert_int_equal(remove_all(fixture), ERR_CORRUPT);
	/* It still has probes, and must not count as a process without. */
	assert_int_equal(probes_find(getpid(), &owner), PROBES_OURS);
}

/* A process cannot stop itself: removal from sound memory comes that far. */
TEST_WITH(const struct fixture *fixture, removal, sound_header_is_believed)
{
	int status = remove_all(fixture);

	assert_true(status < 0);
	assert_int_not_equal(status, ERR_CORRUPT);
}

TEST(removal, another_version_is_left_alone)
{
	struct region_owner left_behind = region_own_identity();
	const struct fixture *fixture;
	pid_t owner;

	left_behind.pid = INT32_MAX; /* no process has this id */
	fixture = begin(&left_behind);
	fixture->header->magic[6] ^= 1;
	fixture->header->nr_parts = UINT64_MAX;
	assert_int_equal(remove_all(fixture), 0);
	assert_int_equal(probes_find(getpid(), &owner), PROBES_NONE);
	end(fixture);
}

/* The file's name cannot be written to, and names the owner. */
TEST_WITH(const struct fixture *fixture, removal, destroyed_header_is_reported)
{
	fixture->header->owner.pid = 1;
	fixture->header->owner.start_ticks = 0;
	fixture->header->nr_parts = 0;
	assert_damaged(fixture);
	memset(fixture->data, 0xff, DATA_BYTES);
	assert_damaged(fixture);
}

TEST_WITH(const struct fixture *fixture, removal, damaged_sizes_are_refused)
{
	struct region_header *header = fixture->header;
	const struct region_header whole = *header;
	const struct {
		uint64_t *field;
		uint64_t value;
	} damages[] = {
		{&header->nr_parts, 0},
		{&header->nr_parts, REGION_PARTS_MAX + 1},
		{&header->nr_patches, UINT64_MAX},
		{&header->nr_patches, (DATA_BYTES - PATCHES_OFFSET) / sizeof(struct patch_row) + 1},
		{&header->nr_shapes, 0},
		{&header->nr_shapes, UINT64_MAX},
		{&header->nr_shapes, PATCH_SHAPES_MAX},
		{&header->nr_patch_bytes, NR_PATCHES * ROW_BYTES - 1},
		{&header->nr_patch_bytes, DATA_BYTES},
		{&header->nr_patch_bytes, UINT64_MAX},
		/* Its sum with the bytes of three patches is small. */
		{&header->patches_offset, UINT64_MAX - 2 * sizeof(struct patch_row)},
		{&header->patches_offset, DATA_BYTES + 1},
		{&header->patches_offset, 0},
		{&header->data_bytes, UINT64_MAX},
		{&header->head_bytes, UINT64_MAX},
		{&header->head_bytes, 0},
		{&header->blob_bytes, UINT64_MAX},
		{&header->heap_offset, DATA_BYTES + 1},
		{&header->private_bytes, UINT64_MAX},
		{&header->private_bytes, 4096},
		{&header->owners_bytes, UINT64_MAX},
		{&header->owners_bytes, 2 * PATCH_OWNERS_BYTES},
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		*damages[i].field = damages[i].value;
		assert_damaged(fixture);
		*header = whole;
	}
}

TEST_WITH(const struct fixture *fixture, removal, damaged_patches_are_refused)
{
	struct patch_row *row = &fixture->rows[1];
	const struct patch_row whole = *row;
	const struct patch_row damages[] = {
		{.address = 0x1004, .bytes_at = ROW_BYTES}, /* within the first */
		{.address = 0x0ff8, .bytes_at = ROW_BYTES}, /* before it */
		{.address = 0x1006, .bytes_at = ROW_BYTES}, /* into the third */
		{.address = 0x2000, .bytes_at = ROW_BYTES}, /* after the third */
		{.address = 0x1005, .bytes_at = NR_PATCHES * ROW_BYTES - 9},
		{.address = 0x1005, .bytes_at = UINT32_MAX},
		{.address = 0x1005, .bytes_at = ROW_BYTES, .shape = 1},
		{.address = 0x1005, .bytes_at = ROW_BYTES, .shape = UINT16_MAX},
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		*row = damages[i];
		assert_damaged(fixture);
	}
	*row = whole;
}

TEST_WITH(const struct fixture *fixture, removal, damaged_shapes_are_refused)
{
	const struct patch damages[] = {
		{.nr_bytes = 0, .nr_steps = 1},
		{.nr_bytes = PATCH_MAX_BYTES + 1, .nr_steps = 1},
		{.nr_bytes = 255, .nr_steps = 1},
		{.nr_bytes = 5, .nr_steps = PATCH_MAX_STEPS + 1},
		{.nr_bytes = 5, .nr_before = PATCH_MAX_BEFORE + 1, .nr_steps = 1},
		{.nr_bytes = 5, .nr_before = 1, .nr_steps = 1},	     /* too few bytes */
		{.nr_bytes = 5, .callee_kind = PATCH_CALLEE_DIRECT}, /* likewise */
		{.nr_bytes = 6, .nr_steps = 1},			     /* into the next one */
		{.address = UINT64_MAX - 0x1003, .nr_bytes = 5, .nr_steps = 1}, /* it wraps */
		{.address = UINT64_MAX - 0x100d, .nr_bytes = 5, .nr_steps = 1}, /* its end does */
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		*fixture->shape = damages[i];
		assert_damaged(fixture);
	}
}
