// SPDX-License-Identifier: GPL-2.0-or-later
/* What waits for an agent: bounds, losses, and a pipe that is full or closed. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "agent/stream_priv.h"
#include "base/buf.h"
#include "tests/unit/unit.h"

static bool put_text(struct agent_stream *stream, const char *text)
{
	struct buf lines = {0};
	bool is_taken;

	buf_append_str(&lines, text);
	is_taken = agent_stream_put(stream, &lines, true);
	buf_release(&lines);
	if (!is_taken)
		agent_stream_lose(stream);
	return is_taken;
}

static void open_pipe(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
}

static void assert_read(int fd, const char *expected)
{
	char text[256] = "";
	ssize_t nr = read(fd, text, sizeof(text) - 1);

	assert_int_equal(nr, (ssize_t)strlen(expected));
	assert_string_equal(text, expected);
}

TEST(agent_stream, losses_are_told_where_they_were)
{
	struct agent_stream stream;
	struct buf last = {0};
	bool has_moved;
	int ends[2];

	open_pipe(ends);
	agent_stream_init(&stream, 10);
	assert_true(put_text(&stream, "one\n"));
	assert_true(put_text(&stream, "two\n"));
	assert_false(put_text(&stream, "three\n"));
	/* This one would fit: but what follows a loss waits until half is free. */
	assert_false(put_text(&stream, "4\n"));
	assert_true(agent_stream_is_full(&stream));
	assert_int_equal(agent_stream_write(&stream, ends[1], &has_moved), STREAM_EMPTY);
	assert_true(has_moved);
	assert_false(agent_stream_is_full(&stream));
	assert_read(ends[0], "one\ntwo\n");
	assert_true(put_text(&stream, "five\n"));
	buf_append_str(&last, "the last, longer than there is room\n");
	agent_stream_put_last(&stream, &last);
	assert_int_equal(agent_stream_write(&stream, ends[1], &has_moved), STREAM_EMPTY);
	assert_read(ends[0], "{\"type\":\"lost\",\"n\":2}\nfive\n"
			     "the last, longer than there is room\n");
	assert_int_equal(agent_stream_nr_lost(&stream), 2);
	assert_int_equal(agent_stream_write(&stream, ends[1], &has_moved), STREAM_EMPTY);
	assert_false(has_moved);
	buf_release(&last);
	agent_stream_release(&stream);
	close(ends[0]);
	close(ends[1]);
}

TEST(agent_stream, a_line_that_never_fits_does_not_stop_others)
{
	struct agent_stream stream;

	agent_stream_init(&stream, 10);
	assert_false(put_text(&stream, "longer than the whole\n"));
	assert_true(put_text(&stream, "short\n"));
	agent_stream_release(&stream);
}

TEST(agent_stream, what_a_full_pipe_does_not_take_waits)
{
	static char line[4096];
	struct agent_stream stream;
	size_t nr_put = 0, nr_read = 0;
	bool has_moved;
	int ends[2];
	ssize_t nr;
	char bytes[8192];

	open_pipe(ends);
	memset(line, 'x', sizeof(line) - 2);
	line[sizeof(line) - 2] = '\n';
	agent_stream_init(&stream, 1024 * 1024);
	while (put_text(&stream, line))
		nr_put += strlen(line);
	assert_int_equal(agent_stream_write(&stream, ends[1], &has_moved), STREAM_WAITS);
	while ((nr = read(ends[0], bytes, sizeof(bytes))) > 0) {
		nr_read += (size_t)nr;
		agent_stream_write(&stream, ends[1], &has_moved);
	}
	assert_int_equal(nr_read, nr_put);
	assert_int_equal(agent_stream_nr_lost(&stream), 1);
	agent_stream_release(&stream);
	close(ends[0]);
	close(ends[1]);
}

TEST(agent_stream, what_nobody_reads_is_lost)
{
	struct agent_stream stream;
	bool has_moved;
	int ends[2];

	open_pipe(ends);
	signal(SIGPIPE, SIG_IGN);
	agent_stream_init(&stream, 100);
	assert_true(put_text(&stream, "one\n"));
	assert_true(put_text(&stream, "two\n"));
	close(ends[0]);
	assert_int_equal(agent_stream_write(&stream, ends[1], &has_moved), STREAM_CLOSED);
	assert_false(has_moved);
	agent_stream_close(&stream);
	assert_int_equal(agent_stream_nr_lost(&stream), 2);
	assert_true(agent_stream_is_full(&stream));
	assert_false(put_text(&stream, "three\n"));
	assert_int_equal(agent_stream_nr_lost(&stream), 3);
	agent_stream_release(&stream);
	close(ends[1]);
}
