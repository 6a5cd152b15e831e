// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that copies a file, and computes a checksum of each piece.
 *
 *	copies_file FROM TO [at]
 *
 * at: by pread(2) and pwrite(2), as databases do.
 * It ends with status 9 if a read or a write came out short, or failed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES (64 * 1024)

static volatile unsigned long sum;

__attribute__((noinline)) void add_up(const unsigned char *bytes, long nr_bytes);
void add_up(const unsigned char *bytes, long nr_bytes)
{
	for (long i = 0; i < nr_bytes; i++)
		sum = sum * 31 + bytes[i];
}

int main(int argc, char **argv)
{
	static unsigned char piece[PIECE_BYTES];
	int from = argc >= 3 ? open(argv[1], O_RDONLY) : -1;
	int to = argc >= 3 ? open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
	int is_at = argc > 3;
	struct stat file;

	if (from < 0 || to < 0 || fstat(from, &file) < 0)
		return 2;
	for (off_t left = file.st_size; left > 0; left -= PIECE_BYTES) {
		long wanted = left < PIECE_BYTES ? left : PIECE_BYTES;
		off_t at = file.st_size - left;
		long got = is_at ? pread(from, piece, PIECE_BYTES, at)
				 : read(from, piece, PIECE_BYTES);

		if (got != wanted)
			return 9;
		add_up(piece, wanted);
		got = is_at ? pwrite(to, piece, (size_t)wanted, at)
			    : write(to, piece, (size_t)wanted);
		if (got != wanted)
			return 9;
	}
	return 0;
}
