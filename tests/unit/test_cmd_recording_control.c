// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/recording_control.h"
#include "tests/unit/unit.h"

struct fixture {
	char directory[64];
	int writer;
	char path[128];
	struct control control;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->directory, "/tmp/profc-control-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->path, sizeof(fixture->path), "%s/control", fixture->directory);
	assert_int_equal(control_open(&fixture->control, fixture->path, NULL), 0);
	fixture->writer = open(fixture->path, O_WRONLY);
	assert_true(fixture->writer >= 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->writer >= 0)
		close(fixture->writer);
	control_close(&fixture->control);
	/* Fails if control_close() has left the FIFO it made. */
	assert_int_equal(rmdir(fixture->directory), 0);
	free(fixture);
	return 0;
}

static void say(const struct fixture *fixture, const char *text)
{
	assert_int_equal(write(fixture->writer, text, strlen(text)), strlen(text));
}

static void expect(struct control *control, enum control_word word, const char *argument)
{
	enum control_word got_word;
	const char *got_argument;

	assert_int_equal(control_read(control, &got_word, &got_argument, NULL), 1);
	assert_int_equal(got_word, word);
	assert_string_equal(got_argument, argument);
}

static int read_status(struct control *control)
{
	enum control_word word;
	const char *argument;

	return control_read(control, &word, &argument, NULL);
}

TEST_WITH(struct fixture *fixture, recording_control, obeys_lines_in_order)
{
	struct control *control = &fixture->control;

	say(fixture, "pause\nmark two words\n\nresume\nsnapshot  /tmp/x y\nstop\n");
	expect(control, CONTROL_PAUSE, "");
	expect(control, CONTROL_MARK, "two words");
	expect(control, CONTROL_RESUME, "");
	expect(control, CONTROL_SNAPSHOT, "/tmp/x y");
	expect(control, CONTROL_STOP, "");
	assert_int_equal(read_status(control), 0);
}

TEST_WITH(struct fixture *fixture, recording_control, takes_words_of_two_parts)
{
	struct control *control = &fixture->control;

	say(fixture, "mem start \nmem stopmem discardstop\nmem\nmem stops\nmark mem stop\n"
		     "mem search\nmem search two words\n");
	expect(control, CONTROL_MEM_START, "");
	expect(control, CONTROL_MEM_STOP, "");
	expect(control, CONTROL_MEM_DISCARD, "");
	expect(control, CONTROL_STOP, "");
	assert_int_equal(read_status(control), ERR_INVALID);
	assert_int_equal(read_status(control), ERR_INVALID);
	expect(control, CONTROL_MARK, "mem stop");
	assert_int_equal(read_status(control), ERR_INVALID);
	expect(control, CONTROL_MEM_SEARCH, "two words");
	assert_int_equal(read_status(control), 0);
}

TEST_WITH(struct fixture *fixture, recording_control, waits_for_the_end_of_a_line)
{
	struct control *control = &fixture->control;

	say(fixture, "mark ha");
	assert_int_equal(read_status(control), 0);
	say(fixture, "lf\n");
	expect(control, CONTROL_MARK, "half");
}

static short events(const struct control *control)
{
	struct pollfd fd = {.fd = control->fd, .events = POLLIN};

	poll(&fd, 1, 0);
	return fd.revents;
}

TEST_WITH(struct fixture *fixture, recording_control, a_line_ends_with_its_last_writer)
{
	struct control *control = &fixture->control;

	say(fixture, "pause\nmark half");
	close(fixture->writer);
	expect(control, CONTROL_PAUSE, "");
	expect(control, CONTROL_MARK, "half");
	assert_int_equal(read_status(control), 0);
	assert_int_equal(events(control), 0);
	fixture->writer = open(fixture->path, O_WRONLY);
	assert_int_equal(events(control), 0);
	say(fixture, "stop");
	assert_int_equal(read_status(control), 0);
	close(fixture->writer);
	fixture->writer = -1;
	assert_int_equal(events(control), POLLHUP);
	expect(control, CONTROL_STOP, "");
	assert_int_equal(read_status(control), 0);
	assert_int_equal(events(control), 0);
}

TEST_WITH(struct fixture *fixture, recording_control, refuses_nonsense_and_goes_on)
{
	struct control *control = &fixture->control;
	char overlong[6000];

	say(fixture, "halt\nmark\npause now\n");
	for (int i = 0; i < 3; i++)
		assert_int_equal(read_status(control), ERR_INVALID);
	memset(overlong, 'x', sizeof(overlong));
	overlong[sizeof(overlong) - 1] = '\0';
	say(fixture, overlong);
	say(fixture, "\nstop\n");
	assert_int_equal(read_status(control), ERR_INVALID);
	expect(control, CONTROL_STOP, "");
}

/* What came before it was obeyed, and a mark cut there. */
TEST_WITH(struct fixture *fixture, recording_control, a_null_byte_is_refused)
{
	static const char lines[] = "mark a\0b\npause\0\n\0\nmark c\n\0stop\n";
	struct control *control = &fixture->control;

	assert_int_equal(write(fixture->writer, lines, sizeof(lines)), sizeof(lines));
	for (int i = 0; i < 3; i++)
		assert_int_equal(read_status(control), ERR_INVALID);
	expect(control, CONTROL_MARK, "c");
	assert_int_equal(read_status(control), ERR_INVALID);
	assert_int_equal(read_status(control), 0);
	/* The one after the last newline begins a line of its own. */
	say(fixture, "stop\n");
	assert_int_equal(read_status(control), ERR_INVALID);
}

TEST(recording_control, refuses_what_is_no_fifo)
{
	struct control control;

	assert_int_equal(control_open(&control, "/dev/null", NULL), ERR_INVALID);
}

TEST(recording_control, path_is_behind_its_scheme)
{
	struct err err = ERR_INIT;

	assert_string_equal(control_path("fifo:a:b", NULL), "a:b");
	assert_null(control_path("fifo:", &err));
	assert_null(control_path("fifo", &err));
	assert_null(control_path("/tmp/x", &err));
	assert_string_equal(err.what, "--control needs fifo:PATH, not '/tmp/x'");
}

/* Of several writers none of which ends its line. */
TEST_WITH(struct fixture *fixture, recording_control, words_without_an_end_are_told_apart)
{
	struct control *control = &fixture->control;

	say(fixture, "pausestop\nresumepausemark two words\nresumestop ");
	expect(control, CONTROL_PAUSE, "");
	expect(control, CONTROL_STOP, "");
	expect(control, CONTROL_RESUME, "");
	expect(control, CONTROL_PAUSE, "");
	expect(control, CONTROL_MARK, "two words");
	assert_int_equal(read_status(control), 0);
	close(fixture->writer);
	fixture->writer = -1;
	expect(control, CONTROL_RESUME, "");
	expect(control, CONTROL_STOP, "");
	assert_int_equal(read_status(control), 0);
}

/* None of their words is obeyed, and none of them twice. */
TEST_WITH(struct fixture *fixture, recording_control, glued_nonsense_is_one_line)
{
	struct control *control = &fixture->control;
	static const char *const lines[] = {"pausestop now\n", "stopmark\n",	"pausemark \n",
					    "pausehalt\n",     "stopmarks x\n", "pausepaus\n"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		say(fixture, lines[i]);
		assert_int_equal(read_status(control), ERR_INVALID);
		assert_int_equal(read_status(control), 0);
	}
	say(fixture, "mark astop\n");
	expect(control, CONTROL_MARK, "astop");
	assert_int_equal(read_status(control), 0);
}
