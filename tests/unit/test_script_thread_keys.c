// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include "mapping/module.h"
#include "mapping/space.h"
#include "proc/read.h"
#include "script/thread_keys.h"
#include "tests/unit/made_space.h"
#include "tests/unit/unit.h"

/* Its maps have other code below this test's own. */
struct before_libc {
	struct module_table *modules;
	struct space *space;
	struct buf maps;
	uint64_t next;
	char directory[32];
};

static int set_up(void **state)
{
	struct before_libc *made = calloc(1, sizeof(*made));

	made->modules = module_table_new();
	made->space = space_new(made->modules, getpid());
	made->next = MADE_CODE;
	strcpy(made->directory, "/tmp/before-XXXXXX");
	assert_non_null(mkdtemp(made->directory));
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	struct before_libc *made = *state;

	assert_int_equal(rmdir(made->directory), 0);
	space_free(made->space);
	module_table_free(made->modules);
	buf_release(&made->maps);
	free(made);
	return 0;
}

/* An ELF file without symbols; nr_times, each time as a mapping of its own. */
static void map_file(struct before_libc *made, const char *name, int nr_times)
{
	struct buf file = {0}, nothing = {0};
	struct stat stat_of_file;
	char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", made->directory, name);
	made_file(&file, EM_X86_64, &nothing, &nothing);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(file.bytes, file.nr_bytes, 1, out), 1);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(stat(path, &stat_of_file), 0);
	for (int i = 0; i < nr_times; i++) {
		buf_printf(&made->maps, "%" PRIx64 "-%" PRIx64 " r-xp 00000000 %x:%x %ju %s\n",
			   made->next, made->next + MADE_CODE_BYTES, major(stat_of_file.st_dev),
			   minor(stat_of_file.st_dev), (uintmax_t)stat_of_file.st_ino, path);
		made->next += 2 * MADE_CODE_BYTES;
	}
	buf_release(&file);
}

static void map_files(struct before_libc *made, const char *beginning, int nr)
{
	char name[64];

	for (int i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%s%d", beginning, i);
		map_file(made, name, 1);
	}
}

/* With this test's own libc after those, as the kernel shows it. */
static bool finds_keys(struct before_libc *made)
{
	uint64_t keys = 0;
	struct buf own = {0};
	bool is_found;

	assert_true(proc_read_process_file(getpid(), "maps", &own));
	buf_append(&made->maps, own.bytes, own.nr_bytes);
	buf_release(&own);
	assert_int_equal(space_update(made->space, (const char *)made->maps.bytes,
				      made->maps.nr_bytes, NULL),
			 0);
	is_found = thread_keys_find(made->space, &keys);
	assert_true(!is_found || keys);
	return is_found;
}

static void remove_files(const struct before_libc *made, const char *beginning, int nr)
{
	char path[128];

	for (int i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s%d", made->directory, beginning, i);
		unlink(path);
	}
}

#ifdef __GLIBC__

TEST_WITH(struct before_libc *made, thread_keys, are_found_after_a_hundred_modules)
{
	map_files(made, "libmodule-", 100);
	assert_true(finds_keys(made));
	remove_files(made, "libmodule-", 100);
}

TEST_WITH(struct before_libc *made, thread_keys, are_found_after_many_mappings_of_one_module)
{
	map_file(made, "libc.so.0", 300);
	assert_true(finds_keys(made));
	remove_files(made, "libc.so.", 1);
}

/* A program that maps thousands of large files so must not hold us. */
TEST_WITH(struct before_libc *made, thread_keys, are_sought_in_few_modules)
{
	map_files(made, "libc.so.", 50);
	assert_false(finds_keys(made));
	remove_files(made, "libc.so.", 50);
}

#endif
