// SPDX-License-Identifier: GPL-2.0-or-later
/* Code objects, made up in the memory of this process, which is the target as well. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "script/cpython.h"
#include "script/cpython_names.h"
#include "script/cpython_text.h"
#include "script/script_text.h"
#include "snapshot/snapshot.h"
#include "tests/unit/unit.h"

#define NR_WORDS 64

struct fixture {
	struct module_table *modules;
	struct space *space;
	struct cpython python;
	struct cpython_names *names;
	struct snapshot snapshot; /* without regions at first */
	uint64_t code[NR_WORDS], name[NR_WORDS], file[NR_WORDS], table[NR_WORDS];
	uint64_t type; /* its address is that of the type */
};

/* A compact text in ASCII. */
static void put_text(uint64_t *object, const char *text)
{
	const uint32_t state = 1 << 2 | 1 << 5 | 1 << 6;

	memset(object, 0, NR_WORDS * sizeof(*object));
	object[2] = strlen(text);
	memcpy((uint8_t *)object + 32, &state, sizeof(state));
	memcpy((uint8_t *)object + 48, text, strlen(text));
}

static void put_code(struct fixture *fixture)
{
	const struct cpython_code_layout *layout = &fixture->python.layout.code;
	const uint32_t first_line = 10;
	/* one unit in the first line, two in the next */
	static const uint8_t table[] = {0x80 | 10 << 3, 0, 0, 0x80 | 11 << 3 | 1, 0, 0};

	fixture->code[0] = 1;
	fixture->code[1] = (uintptr_t)&fixture->type;
	fixture->code[layout->name / 8] = (uintptr_t)fixture->name;
	fixture->code[layout->file / 8] = (uintptr_t)fixture->file;
	fixture->code[layout->line_table / 8] = (uintptr_t)fixture->table;
	memcpy((uint8_t *)fixture->code + layout->first_line, &first_line, sizeof(first_line));
	put_text(fixture->name, "Work.outer");
	put_text(fixture->file, "/srv/app.py");
	fixture->table[2] = sizeof(table);
	memcpy(&fixture->table[4], table, sizeof(table));
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));

	fixture->modules = module_table_new();
	fixture->space = space_new(fixture->modules, getpid());
	assert_int_equal(space_refresh(fixture->space, NULL), 0);
	fixture->python.layout = *cpython_layout_of(0x030b02f0);
	fixture->python.code_type = (uintptr_t)&fixture->type;
	fixture->names = cpython_names_new();
	put_code(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	cpython_names_free(fixture->names);
	snapshot_release(&fixture->snapshot);
	space_free(fixture->space);
	module_table_free(fixture->modules);
	free(fixture);
	return 0;
}

static struct script_place place_at(struct fixture *fixture, uint64_t unit)
{
	uint64_t code = (uintptr_t)fixture->code;
	const struct script_frame frame = {
		.code = code,
		.instruction = code + fixture->python.layout.code.instructions + 2 * unit};
	struct script_place place;

	cpython_names_find(fixture->names, &fixture->python, fixture->space, &fixture->snapshot,
			   &frame, 1, &place);
	return place;
}

/* Add a copy of memory as it is now to the snapshot, if there is any. */
static void copy(struct fixture *fixture, uint64_t at, size_t nr_bytes, enum region_kind kind)
{
	uint8_t *room = at < 4096 ? NULL : snapshot_add_due(&fixture->snapshot, at, nr_bytes);

	if (!room)
		return;
	memcpy(room, (const void *)(uintptr_t)at, nr_bytes);
	fixture->snapshot.regions[fixture->snapshot.nr_regions - 1].kind = kind;
}

/* A snapshot with the object of the function as it is now, at a time in milliseconds. */
static void copy_at(struct fixture *fixture, uint64_t time_ms, enum region_kind kind)
{
	const struct cpython_code_layout *layout = &fixture->python.layout.code;

	snapshot_clear(&fixture->snapshot);
	fixture->snapshot.time_ns = time_ms * 1000000;
	copy(fixture, (uintptr_t)fixture->code, layout->instructions, kind);
	if (kind != REGION_WANTED || fixture->python.layout.code.version)
		return;
	copy(fixture, fixture->code[layout->name / 8], CPYTHON_TEXT_BYTES, kind);
	copy(fixture, fixture->code[layout->file / 8], CPYTHON_TEXT_BYTES, kind);
	copy(fixture, fixture->code[layout->line_table / 8], CPYTHON_TEXT_BYTES, kind);
}

TEST_WITH(struct fixture *fixture, script_names, are_those_of_code_objects)
{
	struct script_place place = place_at(fixture, 0);

	assert_string_equal(place.name, "Work.outer");
	assert_string_equal(place.file, "/srv/app.py");
	assert_int_equal(place.first_line, 10);
	assert_int_equal(place.line, 10);
	assert_int_equal(place_at(fixture, 2).line, 11);
	assert_int_equal(place_at(fixture, 9).line, 0);
}

TEST_WITH(struct fixture *fixture, script_names, are_asked_for_again)
{
	uint64_t other[NR_WORDS];

	place_at(fixture, 0);
	put_text(other, "other");
	fixture->code[fixture->python.layout.code.name / 8] = (uintptr_t)other;
	copy_at(fixture, 1, REGION_WANTED);
	assert_string_equal(place_at(fixture, 0).name, "other");
}

/* Neither is known to have been there at the sample. */
TEST_WITH(struct fixture *fixture, script_names, are_gone_where_others_came_unseen)
{
	uint64_t other[NR_WORDS];

	place_at(fixture, 0);
	put_text(other, "other");
	fixture->code[fixture->python.layout.code.name / 8] = (uintptr_t)other;
	assert_null(place_at(fixture, 0).name);
	assert_null(place_at(fixture, 0).name);
}

TEST_WITH(struct fixture *fixture, script_names, go_with_their_objects)
{
	copy_at(fixture, 1, REGION_WANTED);
	assert_non_null(place_at(fixture, 0).name);
	fixture->code[1]++;
	copy_at(fixture, 2, REGION_WANTED);
	assert_null(place_at(fixture, 0).name);
	fixture->code[1]--;
	copy_at(fixture, 3, REGION_WANTED);
	assert_non_null(place_at(fixture, 0).name);
	fixture->code[0] = 0;
	copy_at(fixture, 4, REGION_WANTED);
	assert_null(place_at(fixture, 0).name);
	/* the next free piece of memory */
	fixture->code[0] = UINT64_C(0x7f0000001000);
	copy_at(fixture, 5, REGION_WANTED);
	assert_null(place_at(fixture, 0).name);
}

/* The object is gone by now, but was still there at the sample. */
TEST_WITH(struct fixture *fixture, script_names, are_those_at_the_sample)
{
	copy_at(fixture, 1, REGION_WANTED);
	fixture->code[1]++;
	put_text(fixture->name, "other");
	put_text(fixture->file, "/srv/other.py");
	assert_string_equal(place_at(fixture, 0).name, "Work.outer");
	assert_string_equal(place_at(fixture, 0).file, "/srv/app.py");
}

/* Another function has all that it points to where the former had it. */
TEST_WITH(struct fixture *fixture, script_names, are_of_one_object_of_several_in_one_place)
{
	uint8_t *lines;

	copy_at(fixture, 1, REGION_WANTED);
	assert_string_equal(place_at(fixture, 0).name, "Work.outer");
	put_text(fixture->name, "Work.other");
	copy_at(fixture, 2, REGION_WANTED);
	assert_string_equal(place_at(fixture, 0).name, "Work.other");
	put_text(fixture->file, "/srv/mod.py");
	copy_at(fixture, 3, REGION_WANTED);
	assert_string_equal(place_at(fixture, 0).file, "/srv/mod.py");
	lines = (uint8_t *)fixture->table + 32;
	lines[3] = (uint8_t)(lines[3] + (1 << 3)); /* two lines further */
	copy_at(fixture, 4, REGION_WANTED);
	assert_int_equal(place_at(fixture, 2).line, 12);
	/* Without its texts a copy of the object does not tell. */
	put_text(fixture->name, "Work.third");
	copy_at(fixture, 5, REGION_LATE);
	assert_null(place_at(fixture, 0).name);
}

/* No two objects have the same version, so no copies of texts are needed. */
TEST_WITH(struct fixture *fixture, script_names, are_told_apart_by_versions)
{
	uint32_t version = 1;

	fixture->python.layout.code.version = 92;
	memcpy((uint8_t *)fixture->code + 92, &version, sizeof(version));
	copy_at(fixture, 1, REGION_WANTED);
	assert_string_equal(place_at(fixture, 0).name, "Work.outer");
	copy_at(fixture, 2, REGION_WANTED);
	put_text(fixture->name, "Work.other");
	version++;
	memcpy((uint8_t *)fixture->code + 92, &version, sizeof(version));
	assert_string_equal(place_at(fixture, 0).name, "Work.outer");
	copy_at(fixture, 3, REGION_WANTED);
	assert_string_equal(place_at(fixture, 0).name, "Work.other");
	/* The object of the sample is gone. */
	copy_at(fixture, 4, REGION_WANTED);
	version++;
	memcpy((uint8_t *)fixture->snapshot.bytes + 92, &version, sizeof(version));
	assert_null(place_at(fixture, 0).name);
}

TEST_WITH(struct fixture *fixture, script_names, are_nothing_but_texts)
{
	fixture->name[2] = 0; /* empty */
	assert_null(place_at(fixture, 0).name);
	put_text(fixture->name, "not compact");
	memset((uint8_t *)fixture->name + 32, 0, 4);
	assert_null(place_at(fixture, 0).name);
	fixture->code[fixture->python.layout.code.name / 8] = 8;
	assert_null(place_at(fixture, 0).name);
}

/* The object claims more characters than there are: those that can be read are taken, a few kB. */
TEST_WITH(struct fixture *fixture, script_names, are_bounded)
{
	const char *name;

	fixture->name[2] = UINT64_MAX;
	name = place_at(fixture, 0).name;
	if (name)
		assert_in_range(strlen(name), 1, 8192);
}

TEST(script_names, are_utf_8)
{
	static const uint32_t wide[] = {'a', 0xe9, 0x438, 0x4e2d, 0x1f600, 0, 'z'};
	static const uint16_t middle[] = {0x438, 'b'};
	static const uint8_t narrow[] = {0xe9, 'c'};
	struct buf text = {0};

	script_text_append(&text, (const uint8_t *)wide, ARRAY_SIZE(wide), 4);
	assert_string_equal(buf_str(&text), "a\u00e9\u0438\u4e2d\U0001f600z");
	buf_clear(&text);
	script_text_append(&text, (const uint8_t *)middle, ARRAY_SIZE(middle), 2);
	script_text_append(&text, narrow, ARRAY_SIZE(narrow), 1);
	assert_string_equal(buf_str(&text), "\u0438b\u00e9c");
	buf_release(&text);
}

static bool is_steady(const struct fixture *fixture)
{
	return cpython_names_is_steady(fixture->names, (uintptr_t)fixture->code);
}

static void make_steady(struct fixture *fixture)
{
	assert_false(is_steady(fixture));
	for (uint64_t i = 1; i <= 6; i++) {
		copy_at(fixture, i * 1000, REGION_WANTED);
		place_at(fixture, 0);
	}
	assert_true(is_steady(fixture));
}

/* A hundred walks that have seen none replaced say as much as a long time. */
TEST_WITH(struct fixture *fixture, script_names, become_steady_after_many_walks)
{
	for (uint64_t i = 0; i < 100; i++) {
		assert_false(is_steady(fixture));
		copy_at(fixture, 1 + 6 * i, REGION_WANTED);
		place_at(fixture, 0);
	}
	assert_true(is_steady(fixture));
}

/* Snapshots of allocations come later than others of their time. */
TEST_WITH(struct fixture *fixture, script_names, become_steady_by_no_walk_of_an_earlier_time)
{
	uint64_t other[NR_WORDS];

	copy_at(fixture, 1000, REGION_WANTED);
	place_at(fixture, 0);
	put_text(other, "other");
	fixture->code[fixture->python.layout.code.name / 8] = (uintptr_t)other;
	for (uint64_t i = 0; i < 8; i++) {
		copy_at(fixture, 2000 - 10 * i, REGION_WANTED);
		assert_string_equal(place_at(fixture, 0).name, "other");
		assert_false(is_steady(fixture));
	}
}

TEST_WITH(struct fixture *fixture, script_names, become_steady_and_need_no_copy_of_the_stop)
{
	make_steady(fixture);
	copy_at(fixture, 11000, REGION_LATE);
	assert_string_equal(place_at(fixture, 0).name, "Work.outer");
	assert_true(is_steady(fixture));
}

/* The object looks the same, its texts do not. */
TEST_WITH(struct fixture *fixture, script_names, of_steady_ones_are_looked_at_again)
{
	make_steady(fixture);
	put_text(fixture->name, "Work.other");
	copy_at(fixture, 11000, REGION_LATE);
	assert_null(place_at(fixture, 0).name);
	assert_false(is_steady(fixture));
	copy_at(fixture, 11001, REGION_WANTED);
	assert_string_equal(place_at(fixture, 0).name, "Work.other");
}

/* Where another object stands right after the stop, neither name is given. */
TEST_WITH(struct fixture *fixture, script_names, are_gone_if_steady_ones_were_replaced)
{
	uint64_t other[NR_WORDS];

	make_steady(fixture);
	put_text(other, "other");
	fixture->code[fixture->python.layout.code.name / 8] = (uintptr_t)other;
	copy_at(fixture, 11000, REGION_LATE);
	assert_null(place_at(fixture, 0).name);
	assert_false(is_steady(fixture));
	copy_at(fixture, 11001, REGION_WANTED);
	assert_string_equal(place_at(fixture, 0).name, "other");
	assert_false(is_steady(fixture));
}

TEST_WITH(struct fixture *fixture, script_names, are_gone_if_no_copy_shows_what_was_replaced)
{
	uint64_t other[NR_WORDS];

	make_steady(fixture);
	put_text(other, "other");
	fixture->code[fixture->python.layout.code.name / 8] = (uintptr_t)other;
	copy_at(fixture, 11000, REGION_DUE);
	assert_null(place_at(fixture, 0).name);
	assert_false(is_steady(fixture));
	/* What was not yet steady is in the snapshot. */
	copy_at(fixture, 11001, REGION_WANTED);
	assert_string_equal(place_at(fixture, 0).name, "other");
}

/* The file's text cannot be read; the object in the next snapshot is the same. */
TEST_WITH(struct fixture *fixture, script_names, of_which_only_half_was_read_are_none)
{
	fixture->code[fixture->python.layout.code.file / 8] = 8;
	assert_null(place_at(fixture, 0).name);
	copy_at(fixture, 1, REGION_WANTED);
	assert_null(place_at(fixture, 0).name);
	assert_null(place_at(fixture, 0).file);
}
