// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/keep_directory.h"
#include "tests/unit/unit.h"

static void make(const char *directory, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static bool is_there(const char *directory, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return access(path, F_OK) == 0;
}

/* Each but the last may go. */
static const char *const names[] = {
	"a.2026-01-01T10-00-00Z.cpu.data",    "a.2026-01-01T11-00-00Z.cpu.data",
	"a.2026-01-01T12-30-00Z.signal.data", /* of another recorder */
	"a.2031-01-01T00-00-00Z.cpu.data",    /* its clock was wrong */
	"b.2025-01-01T00-00-00Z.cpu.data",    /* of another program */
	"a.2026-01-01T12-00-00Z.cpu.data",
};

TEST(cmd_keep_directory, the_oldest_go_and_before_them_those_of_the_future)
{
	static const char order[] = {3, 0, 1, 2};
	char path[] = "/tmp/profc-keep-XXXXXX", newest[256];
	struct keep_directory directory;

	assert_non_null(mkdtemp(path));
	for (size_t i = 0; i < 6; i++)
		make(path, names[i]);
	snprintf(newest, sizeof(newest), "%s/%s", path, names[5]);
	for (size_t limit = 5; limit > 0; limit--) {
		keep_directory_init(&directory, path, "/usr/bin/a", limit);
		keep_directory_limit(&directory, newest);
		keep_directory_release(&directory);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(is_there(path, names[(size_t)order[i]]), i >= 5 - limit);
		assert_true(is_there(path, names[4]) && is_there(path, names[5]));
	}
	unlink(newest);
	snprintf(newest, sizeof(newest), "%s/%s", path, names[4]);
	unlink(newest);
	rmdir(path);
}
