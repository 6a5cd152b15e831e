// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "jit/jit_names.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"

#define PLACE UINT64_C(0x7f0000001008)

/* This very process, as one that makes code: its map, and what is recorded of it. */
struct made {
	char path[64];
	struct profile *profile;
	struct jit_names *names;
	struct module_id module;
	uint64_t now_ns;
};

static int set_up(void **state)
{
	struct made *made = xcalloc(1, sizeof(*made));
	char jit[] = "[jit]";
	const struct module module = {
		.kind = MODULE_KIND_JIT, .path = jit, .owner_pid = getpid(), .fd = -1};

	snprintf(made->path, sizeof(made->path), "/tmp/perf-%d.map", (int)getpid());
	unlink(made->path);
	made->profile = profile_new();
	made->names = jit_names_new(made->profile);
	made->module = module_table_intern(made->profile->modules, &module);
	made->now_ns = clock_monotonic_ns();
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	struct made *made = *state;

	unlink(made->path);
	jit_names_free(made->names);
	profile_free(made->profile);
	free(made);
	return 0;
}

static void write_map(const char *path, const char *text, int flags)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* A sample at the place: the frame that its stack gets. */
static struct frame_id sample(struct made *made)
{
	struct code_address where = {.module = made->module, .address = PLACE};

	return jit_names_frame(made->names, profile_intern_frame(made->profile, where));
}

/* The next time that the map may be read, whatever it took the last time. */
static void poll(struct made *made)
{
	made->now_ns += 1000 * NS_PER_SEC;
	jit_names_poll(made->names, made->now_ns);
}

static const char *name_of(const struct made *made, struct frame_id frame)
{
	const char *name = "";

	for (size_t i = 0; i < made->profile->jit.nr_names; i++) {
		if (made->profile->jit.names[i].frame.v == frame.v)
			name = profile_str(made->profile, made->profile->jit.names[i].name);
	}
	return name;
}

static const struct jit_source *last_source(const struct made *made)
{
	assert_true(made->profile->jit.nr_sources > 0);
	return &made->profile->jit.sources[made->profile->jit.nr_sources - 1];
}

static const char *problem(const struct made *made)
{
	return profile_str(made->profile, last_source(made)->problem);
}

TEST_WITH(struct made *made, jit_names, a_map_names_what_was_seen)
{
	struct frame_id frame = sample(made);

	write_map(made->path, "7f0000001000 10 f (a) <b>\n7f0000002000 10 never_seen\n", O_TRUNC);
	poll(made);
	assert_string_equal(name_of(made, frame), "f (a) <b>");
	assert_int_equal(made->profile->jit.nr_names, 1);
	assert_int_equal(last_source(made)->source, SYMBOL_SOURCE_PERF_MAP);
	assert_string_equal(profile_str(made->profile, last_source(made)->path), made->path);
	assert_string_equal(problem(made), "");
}

TEST_WITH(struct made *made, jit_names, a_name_may_come_before_and_after_the_sample)
{
	struct code_address other = {.module = made->module, .address = PLACE + 0x1000};
	struct frame_id frame = sample(made), later;

	write_map(made->path, "7f0000002000 10 first\n", O_TRUNC);
	poll(made);
	assert_string_equal(name_of(made, frame), "");
	write_map(made->path, "7f0000001000 10 second\n", O_APPEND);
	later = profile_intern_frame(made->profile, other);
	poll(made);
	assert_string_equal(name_of(made, frame), "second");
	assert_string_equal(name_of(made, later), "first");
	assert_int_equal(sample(made).v, frame.v);
}

/* Before Linux 6.13 the times of files move with the tick: within it a map of one length is
 * unchanged. */
static void await_tick(void)
{
	usleep(20000);
}

static void check_reuse(struct made *made, int flags)
{
	struct frame_id frame = sample(made), now;

	write_map(made->path, "7f0000001000 10 one\n", O_TRUNC);
	poll(made);
	await_tick();
	write_map(made->path, "7f0000001000 10 two\n", flags);
	poll(made);
	now = sample(made);
	assert_int_not_equal(now.v, frame.v);
	assert_string_equal(name_of(made, frame), "one");
	assert_string_equal(name_of(made, now), "two");
	assert_int_equal(module_table_first(made->profile->modules,
					    made->profile->frames[now.v].where.module)
				 .v,
			 made->module.v);
	/* And a third time, though that name is known. */
	await_tick();
	write_map(made->path, "7f0000001000 10 one\n", flags);
	poll(made);
	assert_int_not_equal(sample(made).v, now.v);
	assert_string_equal(name_of(made, sample(made)), "one");
}

TEST_WITH(struct made *made, jit_names, a_line_added_later_renames_no_earlier_sample)
{
	check_reuse(made, O_APPEND);
}

/* Of the same size each time: what stood there before tells. */
TEST_WITH(struct made *made, jit_names, a_map_written_anew_renames_no_earlier_sample)
{
	check_reuse(made, O_TRUNC);
}

TEST_WITH(struct made *made, jit_names, a_map_in_the_place_of_another_is_read)
{
	struct frame_id frame = sample(made);

	write_map(made->path, "7f0000001000 10 one\n", O_TRUNC);
	poll(made);
	unlink(made->path);
	write_map(made->path, "7f0000001000 10 two\n", O_TRUNC);
	poll(made);
	assert_string_equal(name_of(made, frame), "one");
	assert_string_equal(name_of(made, sample(made)), "two");
}

TEST_WITH(struct made *made, jit_names, a_map_that_is_gone_is_read_to_its_end)
{
	struct frame_id frame = sample(made);

	write_map(made->path, "7f0000002000 10 other\n", O_TRUNC);
	poll(made);
	write_map(made->path, "7f0000001000 10 no_newline", O_APPEND);
	unlink(made->path);
	poll(made);
	assert_string_equal(name_of(made, frame), "");
	jit_names_end(made->names, getpid());
	assert_string_equal(name_of(made, frame), "no_newline");
}

/* Or it could take minutes, in which no signal ends profc. */
TEST_WITH(struct made *made, jit_names, the_end_of_a_huge_map_is_left_out)
{
	struct frame_id frame = sample(made);
	char *lines = xmalloc((96 << 20) + 1);

	memset(lines, '\n', 96 << 20);
	lines[96 << 20] = 0;
	write_map(made->path, lines, O_TRUNC);
	write_map(made->path, "7f0000001000 10 f\n", O_APPEND);
	free(lines);
	jit_names_end_all(made->names);
	assert_string_equal(name_of(made, frame), "");
	assert_non_null(strstr(problem(made), "was not read to its end"));
}

TEST_WITH(struct made *made, jit_names, another_program_has_names_of_its_own)
{
	struct frame_id frame = sample(made), now;

	write_map(made->path, "7f0000001000 10 one\n", O_TRUNC);
	poll(made);
	jit_names_end(made->names, getpid());
	unlink(made->path);
	jit_names_begin(made->names, getpid());
	now = sample(made);
	assert_int_not_equal(now.v, frame.v);
	poll(made);
	assert_string_equal(name_of(made, now), "");
	write_map(made->path, "7f0000001000 10 two\n", O_TRUNC);
	poll(made);
	assert_string_equal(name_of(made, now), "two");
	assert_string_equal(name_of(made, frame), "one");
}

TEST_WITH(struct made *made, jit_names, no_file_is_no_problem_yet)
{
	sample(made);
	poll(made);
	assert_int_equal(last_source(made)->source, SYMBOL_SOURCE_NONE);
	assert_string_equal(problem(made), "");
}

TEST_WITH(struct made *made, jit_names, links_are_refused)
{
	assert_int_equal(symlink("/etc/passwd", made->path), 0);
	sample(made);
	poll(made);
	assert_non_null(strstr(problem(made), "symbolic link"));
}

TEST_WITH(struct made *made, jit_names, fifos_are_refused_at_once)
{
	assert_int_equal(mkfifo(made->path, 0644), 0);
	sample(made);
	poll(made);
	assert_non_null(strstr(problem(made), "not a regular file"));
}

TEST_WITH(struct made *made, jit_names, files_older_than_the_process_are_refused)
{
	const struct profile_process process = {
		.pid = getpid(), .parent = PROCESS_NONE, .start_ns = 60 * NS_PER_SEC};

	made->profile->meta.start_realtime_ns = clock_realtime_ns();
	profile_add_process(made->profile, &process);
	write_map(made->path, "7f0000001000 10 jitted\n", O_TRUNC);
	sample(made);
	poll(made);
	assert_non_null(strstr(problem(made), "older than the process"));
	assert_int_equal(made->profile->jit.nr_names, 0);
}

/* It may have been seen at a place a moment before both ended. */
TEST_WITH(struct made *made, jit_names, a_child_that_ends_with_its_parent_has_its_names)
{
	const pid_t child = 0x7ffffff0; /* no process has it */
	char jit[] = "[jit]";
	const struct module module = {
		.kind = MODULE_KIND_JIT, .path = jit, .owner_pid = child, .fd = -1};
	struct code_address where = {.address = PLACE};
	struct frame_id frame;

	profile_add_process(made->profile,
			    &(struct profile_process){.pid = getpid(), .parent = PROCESS_NONE});
	profile_add_process(made->profile, &(struct profile_process){.pid = child, .parent = 0});
	write_map(made->path, "7f0000001000 10 jitted\n", O_TRUNC);
	where.module = module_table_intern(made->profile->modules, &module);
	frame = profile_intern_frame(made->profile, where);
	jit_names_end(made->names, getpid());
	jit_names_end(made->names, child);
	assert_string_equal(name_of(made, frame), "jitted");
}

TEST_WITH(struct made *made, jit_names, other_users_files_are_refused)
{
	if (geteuid() != 0)
		skip(); /* only root can give a file away */
	write_map(made->path, "7f0000001000 10 jitted\n", O_TRUNC);
	assert_int_equal(chown(made->path, 12345, 12345), 0);
	sample(made);
	poll(made);
	assert_non_null(strstr(problem(made), "is owned by user"));
	assert_int_equal(made->profile->jit.nr_names, 0);
}
