// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "snapshot/snapshot.h"
#include "snapshot/snapshot_save.h"
#include "snapshot/wanted.h"
#include "tests/unit/unit.h"

static void add(struct snapshot *snapshot, uint64_t start, const char *text)
{
	uint8_t *room = snapshot_add_region(snapshot, start, strlen(text));

	assert_non_null(room);
	memcpy(room, text, strlen(text));
}

TEST(snapshot, read_stays_inside_one_region)
{
	struct snapshot snapshot = {0};
	char out[8] = "";

	snapshot_clear(&snapshot);
	add(&snapshot, 0x1000, "abcd");
	add(&snapshot, 0x2000, "wxyz");
	assert_int_equal(snapshot.nr_regions, 2);
	assert_true(snapshot_read(&snapshot, 0x2001, out, 3));
	assert_memory_equal(out, "xyz", 3);
	assert_false(snapshot_read(&snapshot, 0x2001, out, 4));
	assert_false(snapshot_read(&snapshot, 0xfff, out, 2));
	assert_false(snapshot_read(&snapshot, UINT64_MAX, out, 2));
	snapshot_release(&snapshot);
}

TEST(snapshot, continued_region_is_one)
{
	struct snapshot snapshot = {0};
	char out[8] = "";

	snapshot_clear(&snapshot);
	add(&snapshot, 0x1000, "abcd");
	add(&snapshot, 0x1004, "efgh");
	assert_int_equal(snapshot.nr_regions, 1);
	assert_true(snapshot_read(&snapshot, 0x1002, out, 4));
	assert_memory_equal(out, "cdef", 4);
	snapshot_release(&snapshot);
}

TEST(snapshot, trim_gives_back_the_tail)
{
	struct snapshot snapshot = {0};
	char out[8] = "";

	snapshot_clear(&snapshot);
	add(&snapshot, 0x1000, "abcd");
	add(&snapshot, 0x2000, "wxyz");
	snapshot_trim_region(&snapshot, 3);
	assert_true(snapshot_read(&snapshot, 0x2000, out, 1));
	assert_false(snapshot_read(&snapshot, 0x2000, out, 2));
	snapshot_trim_region(&snapshot, 1);
	assert_int_equal(snapshot.nr_regions, 1);
	assert_int_equal(snapshot.nr_bytes, 4);
	snapshot_release(&snapshot);
}

TEST(snapshot, regions_are_bounded)
{
	struct snapshot snapshot = {0};

	snapshot_clear(&snapshot);
	for (uint64_t i = 0; i < SNAPSHOT_REGIONS_MAX; i++)
		add(&snapshot, 0x1000 * (i + 1), "a");
	assert_null(snapshot_add_region(&snapshot, 0x90000, 1));
	assert_null(snapshot_add_region(&snapshot, 0x4001, SIZE_MAX));
	snapshot_release(&snapshot);
}

TEST(snapshot, other_memory_is_no_stack)
{
	struct snapshot snapshot = {0};
	char out[8] = "";
	uint8_t *room;

	snapshot_clear(&snapshot);
	add(&snapshot, 0x1000, "abcd");
	room = snapshot_add_wanted(&snapshot, 0x1004, 4);
	memcpy(room, "efgh", 4);
	assert_int_equal(snapshot.nr_regions, 2);
	assert_false(snapshot_read(&snapshot, 0x1004, out, 4));
	assert_true(snapshot_read_any(&snapshot, 0x1004, out, 4));
	assert_memory_equal(out, "efgh", 4);
	assert_true(snapshot_read_any(&snapshot, 0x1000, out, 4));
	assert_false(snapshot_read_any(&snapshot, 0x1002, out, 4));
	assert_non_null(snapshot_add_wanted(&snapshot, 0x1008, 4));
	assert_int_equal(snapshot.nr_regions, 2);
	snapshot_release(&snapshot);
}

/* Each has 16 bytes of 64; in between are others, of the stop. */
static void check_late(const struct snapshot *snapshot, uint64_t nr)
{
	for (uint64_t i = 1; i <= nr; i++) {
		assert_true(snapshot_is_late(snapshot, 0x1000 + 64 * i, 16));
		assert_true(snapshot_is_late(snapshot, 0x1000 + 64 * i + 8, 8));
		assert_false(snapshot_is_late(snapshot, 0x1000 + 64 * i, 17));
		assert_false(snapshot_is_late(snapshot, 0x1000 + 64 * i - 1, 8));
		assert_false(snapshot_is_late(snapshot, 0x1000 + 64 * i + 32, 8));
	}
	assert_false(snapshot_is_late(snapshot, 0x1000, 8));
	assert_false(snapshot_is_late(snapshot, UINT64_MAX, 8));
}

TEST(snapshot, knows_what_is_to_be_copied_after_the_stop)
{
	struct snapshot snapshot = {0};

	snapshot_clear(&snapshot);
	assert_false(snapshot_is_late(&snapshot, 0, 1));
	add(&snapshot, 0x1000, "abcdefgh");
	for (uint64_t i = 1; i <= 20; i++) {
		snapshot_add_due(&snapshot, 0x1000 + 64 * i, 16);
		check_late(&snapshot, i);
	}
	/* Others after that, and one that comes before. */
	snapshot_add_wanted(&snapshot, 0x1000 + 64 + 32, 8);
	check_late(&snapshot, 20);
	snapshot_add_due(&snapshot, 0x1000 + 64 * 22, 16);
	snapshot_add_due(&snapshot, 0x1000 + 64 * 21, 16);
	check_late(&snapshot, 22);
	snapshot_drop_regions(&snapshot);
	assert_false(snapshot_is_late(&snapshot, 0x1000 + 64, 16));
	snapshot_release(&snapshot);
}

TEST(snapshot, appends_regions_of_another)
{
	struct snapshot from = {0}, to = {0};
	char out[8];

	snapshot_clear(&from);
	snapshot_clear(&to);
	add(&from, 0x1000, "stack");
	memcpy(snapshot_add_wanted(&from, 0x2000, 4), "abcd", 4);
	for (uint64_t i = 1; i <= 20; i++)
		snapshot_add_due(&from, 0x1000 + 64 * i, 16);
	add(&to, 0x3000, "its own");
	snapshot_append(&to, &from, 22);
	assert_int_equal(to.nr_regions, 1);
	snapshot_append(&to, &from, 1);
	assert_int_equal(to.nr_regions, 22);
	assert_true(snapshot_read_any(&to, 0x2000, out, 4));
	assert_memory_equal(out, "abcd", 4);
	assert_true(snapshot_read(&to, 0x3000, out, 7));
	assert_memory_equal(out, "its own", 7);
	assert_false(snapshot_read(&to, 0x1000, out, 5));
	check_late(&to, 20);
	assert_false(snapshot_read_late(&to, 0x1000 + 64, out, 8));
	memcpy(to.bytes + to.regions[5].offset, "is late", 8);
	to.regions[5].kind = REGION_LATE;
	assert_true(snapshot_read_late(&to, to.regions[5].start, out, 8));
	assert_string_equal(out, "is late");
	/* The others are not in one row any more. */
	snapshot_append(&to, &from, 2);
	check_late(&to, 20);
	for (int i = 0; i < 100; i++)
		snapshot_append(&to, &from, 0);
	assert_in_range(to.nr_regions, 300, SNAPSHOT_REGIONS_MAX);
	snapshot_release(&from);
	snapshot_release(&to);
}

TEST(snapshot, large_room_stays_where_it_is)
{
	struct snapshot from = {0}, to = {0};
	const size_t nr_large = 1 << 20;
	uint8_t out[8];

	memset(snapshot_add_region(&to, 0x100000, nr_large), 1, nr_large);
	snapshot_drop_regions(&to);
	add(&from, 0x2000, "abcdefgh");
	snapshot_take_regions(&to, &from);
	assert_true(snapshot_read(&to, 0x2000, out, 8));
	assert_memory_equal(out, "abcdefgh", 8);
	assert_true(to.cap_bytes >= nr_large);
	assert_true(from.cap_bytes < nr_large);
	assert_int_equal(from.nr_regions, 0);
	snapshot_release(&from);
	snapshot_release(&to);
}

/* All but the first region stay as they are; the room of both is exchanged. */
TEST(snapshot, regions_are_taken_over)
{
	struct snapshot from = {0}, to = {0};
	uint8_t out[8] = {0};

	add(&from, 0x2000, "abcdefgh");
	memcpy(snapshot_add_wanted(&from, 0x4000, 4), "word", 4);
	snapshot_add_due(&from, 0x5000, 16);
	snapshot_take_regions(&to, &from);
	assert_int_equal(from.nr_regions, 0);
	assert_int_equal(from.nr_bytes, 0);
	assert_int_equal(to.nr_regions, 3);
	assert_true(snapshot_is_late(&to, 0x5000, 16));
	assert_false(snapshot_set_first(&to, 0x1fff, 4));
	assert_false(snapshot_set_first(&to, 0x2002, 7));
	assert_false(snapshot_set_first(&to, 0x2008, 1));
	assert_false(snapshot_set_first(&to, 0x2002, 0));
	assert_true(snapshot_set_first(&to, 0x2004, 3));
	assert_true(snapshot_read(&to, 0x2004, out, 3));
	assert_string_equal(out, "efg");
	assert_false(snapshot_read(&to, 0x2003, out, 1));
	assert_false(snapshot_read(&to, 0x2007, out, 1));
	assert_true(snapshot_read_any(&to, 0x4000, out, 4));
	assert_memory_equal(out, "word", 4);
	/* Down to where its room begins. */
	assert_false(snapshot_set_first(&to, 0x1fff, 4));
	assert_true(snapshot_set_first(&to, 0x2000, 7));
	assert_true(snapshot_read(&to, 0x2000, out, 7));
	assert_string_equal(out, "abcdefg");
	snapshot_clear(&from);
	add(&from, 0x6000, "other");
	snapshot_set_first(&from, 0x6000, 2);
	add(&from, 0x6002, "xy");
	assert_true(snapshot_read(&from, 0x6000, out, 4));
	assert_memory_equal(out, "otxy", 4);
	snapshot_release(&from);
	snapshot_release(&to);
}

TEST(snapshot, wanted_memory_is_bounded)
{
	struct wanted_memory wanted = {.nr = 0};

	for (uint64_t i = 0; i < SNAPSHOT_WANTED_MAX; i++)
		assert_true(wanted_memory_add(&wanted, 0x1000 + i * 0x100, 0x10));
	assert_false(wanted_memory_add(&wanted, 0x100000, 0x10));
	assert_true(wanted_memory_add(&wanted, 0x1000, 0x20));
	assert_int_equal(wanted.nr_bytes, SNAPSHOT_WANTED_MAX * 0x10 + 0x10);
	wanted = (struct wanted_memory){.nr = 0};
	assert_false(wanted_memory_add(&wanted, 0x1000, WANTED_BYTES_MAX + UINT64_C(1)));
	assert_false(wanted_memory_add(&wanted, UINT64_MAX - 8, 16));
	assert_true(wanted_memory_add(&wanted, 0x1000, WANTED_BYTES_MAX));
	assert_false(wanted_memory_add(&wanted, 0x800, 0x800));
	assert_int_equal(wanted.nr, 1);
}

TEST(snapshot, unset_registers_have_no_value)
{
	struct regs regs = {0};
	uint64_t value = 42;

	regs_set(&regs, 7, 0x1234);
	assert_true(regs_get(&regs, 7, &value));
	assert_int_equal(value, 0x1234);
	assert_false(regs_get(&regs, 6, &value));
	assert_false(regs_get(&regs, REGS_MAX, &value));
}

TEST(snapshot, save_and_load_keep_everything)
{
	struct snapshot saved = {0};
	struct snapshot loaded = {0};
	struct buf bytes = {0};
	struct cursor in;
	char out[4];

	snapshot_clear(&saved);
	saved.arch = ARCH_AARCH64;
	saved.state = THREAD_STATE_SLEEPING;
	saved.tgid = 7;
	saved.tid = 8;
	saved.syscall_nr = 232;
	saved.time_ns = UINT64_C(1) << 60;
	saved.pcount = 99;
	regs_set(&saved.regs, 31, 0x7ffe0000);
	regs_set(&saved.regs, 32, 0x401000);
	add(&saved, 0x7ffe0000, "stack");
	add(&saved, 0x10000, "alt");
	snapshot_save(&saved, &bytes);
	in = cursor_over(bytes.bytes, bytes.nr_bytes);
	assert_int_equal(snapshot_load(&loaded, &in, NULL), 0);
	assert_int_equal(cursor_left(&in), 0);
	assert_int_equal(loaded.arch, ARCH_AARCH64);
	assert_int_equal(loaded.state, THREAD_STATE_SLEEPING);
	assert_int_equal(loaded.tgid, 7);
	assert_int_equal(loaded.tid, 8);
	assert_int_equal(loaded.syscall_nr, 232);
	assert_int_equal(loaded.time_ns, UINT64_C(1) << 60);
	assert_int_equal(loaded.pcount, 99);
	assert_memory_equal(&loaded.regs, &saved.regs, sizeof(saved.regs));
	assert_true(snapshot_read(&loaded, 0x10000, out, 3));
	assert_memory_equal(out, "alt", 3);
	snapshot_release(&saved);
	snapshot_release(&loaded);
	buf_release(&bytes);
}

TEST(snapshot, cut_off_bytes_are_an_error)
{
	struct snapshot saved = {0};
	struct snapshot loaded = {0};
	struct buf bytes = {0};

	snapshot_clear(&saved);
	regs_set(&saved.regs, 16, 0x401000);
	add(&saved, 0x7ffe0000, "stack");
	snapshot_save(&saved, &bytes);
	for (size_t nr_bytes = 0; nr_bytes < bytes.nr_bytes; nr_bytes++) {
		struct cursor in = cursor_over(bytes.bytes, nr_bytes);

		assert_int_not_equal(snapshot_load(&loaded, &in, NULL), 0);
	}
	snapshot_release(&saved);
	snapshot_release(&loaded);
	buf_release(&bytes);
}

TEST(snapshot, other_bytes_are_refused)
{
	struct snapshot loaded = {0};
	struct err err = ERR_INIT;
	struct cursor in = cursor_over("PSN2 and then some more bytes", 29);

	assert_int_equal(snapshot_load(&loaded, &in, &err), ERR_CORRUPT);
	assert_string_equal(err.what, "not a saved snapshot");
	snapshot_release(&loaded);
}
