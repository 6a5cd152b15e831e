// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
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

static _Atomic bool goes_on;

/* As a thread does that gets no CPU at first. */
static bool hurry_late(void)
{
	while (!atomic_load(&goes_on))
		usleep(1000);
	return false;
}

static bool is_bound(pid_t tid)
{
	cpu_set_t cpus;

	return sched_getaffinity(tid, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1;
}

static bool has_bound_thread(void)
{
	DIR *tasks = opendir("/proc/self/task");
	bool found = false;

	for (struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks))
		found = found || (entry->d_name[0] != '.' && is_bound(atoi(entry->d_name)));
	closedir(tasks);
	return found;
}

/* On a CPU that a thread of higher priority has it would never end, nor would we. */
TEST(calibration, is_bound_to_no_cpu_once_it_is_given_up)
{
	struct stop_overhead overhead;
	bool found = false;

	if (is_bound(0))
		skip(); /* to the only one */
	calibration_run(&overhead, hurry_late);
	assert_int_equal(overhead.beside_ns, 0);
	atomic_store(&goes_on, true);
	for (int i = 0; i < 100 && !found; i++) {
		found = has_bound_thread();
		usleep(1000);
	}
	assert_false(found);
}

#define LOOPS_PER_CPU 3
#define LOOPS_MOST    64
#define MEASUREMENTS  9
#define TIMES	      8 /* a turn of others takes some milliseconds, a stop some hundredths of one */

static int by_size(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* The medians of some measurements; false: none got a CPU in time. */
static bool measure(struct stop_overhead *median)
{
	uint64_t beside_ns[MEASUREMENTS], away_ns[MEASUREMENTS];
	size_t nr = 0;

	for (size_t i = 0; i < MEASUREMENTS; i++) {
		struct stop_overhead overhead;

		calibration_run(&overhead, do_not_hurry);
		if (!overhead.beside_ns || !overhead.away_ns)
			continue;
		beside_ns[nr] = overhead.beside_ns;
		away_ns[nr++] = overhead.away_ns;
	}
	if (!nr)
		return false;
	qsort(beside_ns, nr, sizeof(*beside_ns), by_size);
	qsort(away_ns, nr, sizeof(*away_ns), by_size);
	*median =
		(struct stop_overhead){.beside_ns = beside_ns[nr / 2], .away_ns = away_ns[nr / 2]};
	return true;
}

static long start_loops(pid_t *loops)
{
	long nr = LOOPS_PER_CPU * sysconf(_SC_NPROCESSORS_ONLN);

	if (nr > LOOPS_MOST)
		nr = LOOPS_MOST;
	for (long i = 0; i < nr; i++) {
		loops[i] = fork();
		if (loops[i] == 0) {
			alarm(60);
			for (volatile unsigned long turns = 0;; turns++)
				;
		}
	}
	return nr;
}

/*
 * Where others have their share of the CPUs a stop takes no more from its thread: in turns of some
 * milliseconds they would be counted as its cost, and make stops as rare as if each took so long.
 */
TEST(calibration, what_others_run_is_no_cost_of_a_stop)
{
	struct stop_overhead alone, busy;
	pid_t loops[LOOPS_MOST];
	bool is_known = measure(&alone);
	long nr = start_loops(loops);

	is_known = measure(&busy) && is_known;
	for (long i = 0; i < nr; i++) {
		if (loops[i] > 0) {
			kill(loops[i], SIGKILL);
			waitpid(loops[i], NULL, 0);
		}
	}
	if (!is_known)
		skip();
	assert_in_range(busy.beside_ns, 1, TIMES * alone.beside_ns);
	assert_in_range(busy.away_ns, 1, TIMES * alone.away_ns);
}
