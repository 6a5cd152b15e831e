// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "overhead/calibration.h"
#include "tests/unit/unit.h"

#define CALIBRATIONS 50

static bool do_not_hurry(void)
{
	return false;
}

struct runner {
	pthread_t thread;
	_Atomic bool is_over;
};

static void *run(void *context)
{
	struct runner *runner = context;
	struct stop_overhead overhead;

	calibration_run(&overhead, do_not_hurry);
	atomic_store(&runner->is_over, true);
	return NULL;
}

/* -1: there is no such directory. */
static int nr_entries(const char *path)
{
	DIR *directory = opendir(path);
	int nr = -2; /* . and .. */

	if (!directory)
		return -1;
	while (readdir(directory))
		nr++;
	closedir(directory);
	return nr;
}

static bool runs(int pid)
{
	char path[64], text[256], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fgets(text, sizeof(text), file) && strrchr(text, ')'))
		state = strrchr(text, ')')[2];
	fclose(file);
	return state && strchr("RtS", state);
}

static bool has_child_without_files(const char *tid)
{
	char path[300];
	bool found = false;
	int child;
	FILE *children;

	snprintf(path, sizeof(path), "/proc/self/task/%s/children", tid);
	children = fopen(path, "r");
	while (children && fscanf(children, "%d", &child) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/fd", child);
		/* Those of a dead process are closed as well. */
		found = found || (nr_entries(path) == 0 && runs(child));
	}
	if (children)
		fclose(children);
	return found;
}

static bool has_spinner_without_files(void)
{
	DIR *tasks = opendir("/proc/self/task");
	bool found = false;

	for (struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks))
		found = found ||
			(entry->d_name[0] != '.' && has_child_without_files(entry->d_name));
	closedir(tasks);
	return found;
}

/* A recording that ended while it was measured was locked, for the next one, until that had died.
 */
TEST(calibration, has_no_file_of_ours_open)
{
	bool found = false;

	for (int i = 0; i < CALIBRATIONS && !found; i++) {
		struct runner runner = {.is_over = false};

		assert_int_equal(pthread_create(&runner.thread, NULL, run, &runner), 0);
		while (!atomic_load(&runner.is_over) && !found)
			found = has_spinner_without_files();
		pthread_join(runner.thread, NULL);
	}
	assert_true(found);
}
