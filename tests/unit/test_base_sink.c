// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sink.h"
#include "tests/unit/unit.h"

TEST(sink, memory_keeps_everything)
{
	struct sink sink = SINK_MEMORY;
	char part[1000];

	memset(part, 'p', sizeof(part));
	for (int i = 0; i < 500; i++)
		sink_write(&sink, part, sizeof(part));
	sink_printf(&sink, "%s=%d", "x", 1);
	assert_int_equal(sink_flush(&sink), 0);
	assert_int_equal(sink.pending.nr_bytes, 500003);
	sink_release(&sink);
}

TEST(sink, long_formats_are_not_cut)
{
	struct sink sink = SINK_MEMORY;
	char text[600];

	memset(text, 't', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[510] = '\0';
	sink_printf(&sink, "<%s", text); /* 511 bytes: the most that needs no allocation */
	assert_int_equal(sink.pending.nr_bytes, 511);
	buf_clear(&sink.pending);
	text[510] = 't';
	sink_printf(&sink, "<%s>", text);
	assert_int_equal(sink.pending.nr_bytes, 601);
	assert_int_equal(sink.pending.bytes[600], '>');
	sink_release(&sink);
}

TEST(sink, writes_to_a_descriptor)
{
	int fd = memfd_create("sink", MFD_CLOEXEC);
	struct stat status;
	struct sink sink;
	char part[1000] = {0};

	sink_init_fd(&sink, fd);
	sink_str(&sink, "first");
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 0); /* gathered */
	for (int i = 0; i < 300; i++)
		sink_write(&sink, part, sizeof(part));
	assert_true(sink.pending.nr_bytes < 300000); /* large amounts go out by themselves */
	assert_int_equal(sink_flush(&sink), 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_size, 300005);
	sink_release(&sink);
	close(fd);
}

TEST(sink, remembers_the_first_failure)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct sink sink;

	assert_true(fd >= 0);
	sink_init_fd(&sink, fd);
	sink_str(&sink, "lost");
	assert_int_equal(sink_flush(&sink), ENOSPC);
	sink_str(&sink, "dropped");
	assert_int_equal(sink_flush(&sink), ENOSPC);
	assert_int_equal(sink.pending.nr_bytes, 0);
	sink_release(&sink);
	close(fd);
}

TEST(sink, a_reader_that_left)
{
	struct sink sink;
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]);
	sink_init_fd(&sink, ends[1]);
	sink_str(&sink, "nobody reads this");
	assert_int_equal(sink_flush(&sink), EPIPE);
	sink_release(&sink);
	close(ends[1]);
}
