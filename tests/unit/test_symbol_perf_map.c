// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "symbol/builder.h"
#include "symbol/perf_map.h"

static const uint64_t addresses[] = {0x1000, 0x100f, 0x1010, 0x2008};

static struct symbol_result *parse(const char *text)
{
	struct result_builder builder;

	result_builder_init(&builder, ARRAY_SIZE(addresses));
	perf_map_parse(text, strlen(text), addresses, ARRAY_SIZE(addresses), &builder);
	return result_builder_finish(&builder);
}

static const char *name_at(const struct symbol_result *result, size_t index)
{
	const struct symbol_chain *chain = &result->chains[index];

	return chain->nr ? result->locations[chain->first].name : "";
}

static void test_symbol_perf_map__lines_name_their_ranges(void **state)
{
	struct symbol_result *result = parse("1000 10 LazyCompile:*fib /tmp/a b.js:1\n"
					     "0x2000 0x10 py::<module>:/x.py\n");

	(void)state;
	assert_string_equal(name_at(result, 0), "LazyCompile:*fib /tmp/a b.js:1");
	assert_string_equal(name_at(result, 1), "LazyCompile:*fib /tmp/a b.js:1");
	assert_string_equal(name_at(result, 2), "");
	assert_string_equal(name_at(result, 3), "py::<module>:/x.py");
	symbol_result_free(result);
}

static void test_symbol_perf_map__the_last_of_overlapping_lines_counts(void **state)
{
	struct symbol_result *result = parse("1000 2000 old\n1008 8 new\n");

	(void)state;
	assert_string_equal(name_at(result, 0), "old");
	assert_string_equal(name_at(result, 1), "new");
	assert_string_equal(name_at(result, 2), "old");
	symbol_result_free(result);
}

static void test_symbol_perf_map__damaged_lines_are_passed_over(void **state)
{
	struct symbol_result *result =
		parse("\n1000\n1000 10\n1000 10 \nzz 10 name\n1000 zz name\n"
		      "ffffffffffffffff 10 wraps\n1010 1 good\n2000 10 half");

	(void)state;
	assert_string_equal(name_at(result, 0), "");
	assert_string_equal(name_at(result, 2), "good");
	assert_string_equal(name_at(result, 3), ""); /* its line has no end yet */
	symbol_result_free(result);
}

/* The map of this very process, as something else than a file. */
struct own_map {
	char path[64];
	struct perf_map_request request;
	struct symbol_result *result;
	struct err err;
};

static int set_up(void **state)
{
	struct own_map *map = xcalloc(1, sizeof(*map));

	snprintf(map->path, sizeof(map->path), "/tmp/perf-%d.map", (int)getpid());
	map->request = (struct perf_map_request){
		.pid = getpid(),
		.addresses = addresses,
		.nr_addresses = ARRAY_SIZE(addresses),
	};
	*state = map;
	return 0;
}

static int tear_down(void **state)
{
	struct own_map *map = *state;

	unlink(map->path);
	symbol_result_free(map->result);
	free(map);
	return 0;
}

static void write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void test_symbol_perf_map__own_file_is_read(void **state)
{
	struct own_map *map = *state;

	write_map(map->path, "1000 10 jitted\n");
	assert_int_equal(perf_map_resolve(&map->request, &map->result, &map->err), 0);
	assert_string_equal(name_at(map->result, 0), "jitted");
	assert_int_equal(map->result->source, SYMBOL_SOURCE_PERF_MAP);
}

static void test_symbol_perf_map__no_file_is_said(void **state)
{
	struct own_map *map = *state;

	assert_int_equal(perf_map_resolve(&map->request, &map->result, &map->err), ERR_NOT_FOUND);
	assert_non_null(strstr(map->err.what, "--perf-basic-prof"));
}

static void test_symbol_perf_map__links_are_refused(void **state)
{
	struct own_map *map = *state;

	assert_int_equal(symlink("/etc/passwd", map->path), 0);
	assert_int_equal(perf_map_resolve(&map->request, &map->result, &map->err), ERR_SYS);
}

static void test_symbol_perf_map__fifos_are_refused_at_once(void **state)
{
	struct own_map *map = *state;

	assert_int_equal(mkfifo(map->path, 0644), 0);
	assert_int_equal(perf_map_resolve(&map->request, &map->result, &map->err), ERR_INVALID);
}

static void test_symbol_perf_map__files_older_than_the_process_are_refused(void **state)
{
	struct own_map *map = *state;

	write_map(map->path, "1000 10 jitted\n");
	map->request.started_realtime_ns = clock_realtime_ns() + 60 * NS_PER_SEC;
	assert_int_equal(perf_map_resolve(&map->request, &map->result, &map->err), ERR_INVALID);
}

static void test_symbol_perf_map__other_users_files_are_refused(void **state)
{
	struct own_map *map = *state;

	if (geteuid() != 0)
		skip(); /* only root can give a file away */
	write_map(map->path, "1000 10 jitted\n");
	assert_int_equal(chown(map->path, 12345, 12345), 0);
	assert_int_equal(perf_map_resolve(&map->request, &map->result, &map->err), ERR_PERMISSION);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbol_perf_map__lines_name_their_ranges),
		cmocka_unit_test(test_symbol_perf_map__the_last_of_overlapping_lines_counts),
		cmocka_unit_test(test_symbol_perf_map__damaged_lines_are_passed_over),
		WITH_FILE(test_symbol_perf_map__own_file_is_read),
		WITH_FILE(test_symbol_perf_map__no_file_is_said),
		WITH_FILE(test_symbol_perf_map__links_are_refused),
		WITH_FILE(test_symbol_perf_map__fifos_are_refused_at_once),
		WITH_FILE(test_symbol_perf_map__files_older_than_the_process_are_refused),
		WITH_FILE(test_symbol_perf_map__other_users_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
