// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * io_heavy DIRECTORY [MS]: writes, syncs and reads back a file of 8 MiB in
 * DIRECTORY and moves bytes through a pipe to a child, checking every count and
 * every byte. Prints {"rounds", "errors"}: errors are short or failed
 * calls and wrong bytes.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define FILE_BYTES (8u << 20)
#define PIPE_BYTES (1u << 20)

static unsigned char buffer[FILE_BYTES], back[FILE_BYTES];
static unsigned errors;

static void check_count(ssize_t got, size_t wanted)
{
	if (got != (ssize_t)wanted)
		errors++;
}

NOINLINE static void write_file(int fd)
{
	check_count(pwrite(fd, buffer, FILE_BYTES, 0), FILE_BYTES);
	if (fdatasync(fd))
		errors++;
}

NOINLINE static void read_file(int fd)
{
	check_count(pread(fd, back, FILE_BYTES, 0), FILE_BYTES);
	if (memcmp(buffer, back, FILE_BYTES) != 0)
		errors++;
}

NOINLINE static void write_pipe(int fd)
{
	check_count(write(fd, buffer, PIPE_BYTES), PIPE_BYTES);
}

/* The child: counts what comes through the pipe, ends at its end. */
static void count_pipe(int fd)
{
	ssize_t got;

	while ((got = read(fd, back, 50000)) > 0)
		usleep(100);
	_exit(got < 0 ? 1 : 0);
}

int main(int argc, char **argv)
{
	uint64_t until_ns = monotonic_ns() + number_argument(argc, argv, 2, 1500) * MS;
	unsigned rounds = 0;
	char path[4096];
	int ends[2], fd, status;
	pid_t child;

	snprintf(path, sizeof(path), "%s/io_heavy.bytes", argc > 1 ? argv[1] : ".");
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || pipe(ends))
		return 2;
	child = fork();
	if (child == 0) {
		close(ends[1]);
		count_pipe(ends[0]);
	}
	close(ends[0]);
	while (monotonic_ns() < until_ns) {
		memset(buffer, (int)(rounds++ & 0xFF), FILE_BYTES);
		write_file(fd);
		read_file(fd);
		write_pipe(ends[1]);
	}
	close(ends[1]);
	if (waitpid(child, &status, 0) != child || status != 0)
		errors++;
	unlink(path);
	printf("{\"rounds\": %u, \"errors\": %u}\n", rounds, errors);
	return 0;
}
