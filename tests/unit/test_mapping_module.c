// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <unistd.h>

#include "mapping/module.h"
#include "tests/unit/unit.h"

static char libc_path[] = "/usr/lib/libc.so.6";
static char jit_path[] = "[jit]";
static char probes_path[] = "/memfd:profc-probes-7-8-9";

TEST(module, zero_is_unknown)
{
	struct module_table *table = module_table_new();
	const struct module *unknown = module_table_get(table, MODULE_UNKNOWN);

	assert_int_equal(module_table_nr(table), 1);
	assert_int_equal(unknown->kind, MODULE_KIND_UNKNOWN);
	assert_string_equal(unknown->path, "[unknown]");
	assert_int_equal(unknown->fd, -1);
	module_table_free(table);
}

TEST(module, equal_files_share_an_id)
{
	struct module_table *table = module_table_new();
	struct module libc = {.kind = MODULE_KIND_FILE,
			      .path = libc_path,
			      .dev = 1,
			      .inode = 77,
			      .build_id = {0xab, 0xcd},
			      .nr_build_id_bytes = 2,
			      .fd = -1};
	struct module_id first = module_table_intern(table, &libc);

	assert_int_equal(first.v, 1);
	assert_int_equal(module_table_intern(table, &libc).v, 1);
	libc.build_id[1] = 0xce; /* rebuilt in place */
	assert_int_equal(module_table_intern(table, &libc).v, 2);
	libc.inode = 78;
	assert_int_equal(module_table_intern(table, &libc).v, 3);
	assert_int_equal(module_table_nr(table), 4);
	module_table_free(table);
}

/* Without a build-id it is told by when it was written, and by what is in it. */
TEST(module, files_without_build_id_are_told_apart)
{
	struct module_table *table = module_table_new();
	struct module libc = {.kind = MODULE_KIND_FILE,
			      .path = libc_path,
			      .inode = 77,
			      .file_bytes = 16384,
			      .modified_ns = 5,
			      .fingerprint = 99,
			      .fd = -1};

	assert_int_equal(module_table_intern(table, &libc).v, 1);
	libc.modified_ns = 6;
	assert_int_equal(module_table_intern(table, &libc).v, 2);
	libc.fingerprint = 98;
	assert_int_equal(module_table_intern(table, &libc).v, 3);
	libc.image_offset = 4096;
	assert_int_equal(module_table_intern(table, &libc).v, 4);
	libc.nr_build_id_bytes = 2;
	assert_int_equal(module_table_intern(table, &libc).v, 5);
	libc.modified_ns = 7; /* built anew, the same */
	assert_int_equal(module_table_intern(table, &libc).v, 5);
	module_table_free(table);
}

TEST(module, jit_memory_belongs_to_one_process)
{
	struct module_table *table = module_table_new();
	struct module jit = {.kind = MODULE_KIND_JIT, .path = jit_path, .owner_pid = 10, .fd = -1};
	struct module_id first = module_table_intern(table, &jit);

	jit.owner_pid = 11;
	assert_int_not_equal(module_table_intern(table, &jit).v, first.v);
	module_table_free(table);
}

TEST(module, takes_the_descriptor_over)
{
	struct module_table *table = module_table_new();
	struct module libc = {.kind = MODULE_KIND_FILE, .path = libc_path};
	int kept = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int surplus = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct module_id id;

	libc.fd = kept;
	id = module_table_intern(table, &libc);
	libc.fd = surplus;
	module_table_intern(table, &libc);
	assert_int_equal(module_table_get(table, id)->fd, kept);
	assert_int_equal(fcntl(surplus, F_GETFD), -1);
	assert_int_not_equal(fcntl(kept, F_GETFD), -1);
	module_table_free(table);
	assert_int_equal(fcntl(kept, F_GETFD), -1);
}

TEST(module, short_name)
{
	struct module file = {.path = libc_path};
	struct module pseudo = {.path = jit_path};
	struct module probes = {.path = probes_path};

	assert_string_equal(module_short_name(&probes), "[profc-probes]");
	assert_true(module_is_of_probes(&probes) && !module_is_of_probes(&file));
	assert_string_equal(module_short_name(&file), "libc.so.6");
	assert_string_equal(module_short_name(&pseudo), "[jit]");
}

TEST(module, jit_memory_has_numbers)
{
	struct module_table *table = module_table_new();
	const struct module jit = {
		.kind = MODULE_KIND_JIT, .path = jit_path, .owner_pid = 10, .fd = -1};
	struct module_id first = module_table_intern(table, &jit);
	struct module_id second = module_table_numbered(table, first, 1);

	assert_int_not_equal(second.v, first.v);
	assert_int_equal(module_table_numbered(table, second, 1).v, second.v);
	assert_int_not_equal(module_table_numbered(table, second, 2).v, second.v);
	assert_int_equal(module_table_first(table, second).v, first.v);
	assert_int_equal(module_table_first(table, first).v, first.v);
	assert_int_equal(module_table_first(table, MODULE_UNKNOWN).v, MODULE_UNKNOWN.v);
	module_table_free(table);
}

TEST(module, jitdumps_are_known_by_their_name)
{
	static char good[] = "/x/jit-123.dump", no_number[] = "/x/jit-.dump",
		    other[] = "/x/jit-12.dump.old";
	struct module module = {.kind = MODULE_KIND_JIT, .path = good};

	assert_true(module_is_jitdump(&module));
	module.kind = MODULE_KIND_FILE;
	assert_false(module_is_jitdump(&module));
	module = (struct module){.kind = MODULE_KIND_JIT, .path = no_number};
	assert_false(module_is_jitdump(&module));
	module.path = other;
	assert_false(module_is_jitdump(&module));
}
