/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_STORE_H
#define PROFC_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct profile;
struct store_writer;

/*
 * Profile to bytes and back: profc.data, specified in man/profc-data.5. The file is a skippable
 * zstd frame with magic and version followed by zstd frames, each a self-contained batch of typed
 * records; every whole frame can be read.
 */

/* Starts a file on fd (borrowed; need not be seekable). Writes the header. */
int store_writer_new(int fd, struct store_writer **writer, struct err *err);
void store_writer_free(struct store_writer *writer);

/*
 * Write all table rows added since the last flush, the changes in updatable rows, and all of
 * profile->samples, as one frame. The caller then empties the samples (profile_drop_samples()).
 * Call about once a second.
 */
int store_writer_flush(struct store_writer *writer, const struct profile *profile, struct err *err);

/* A last flush, then symbols, counters, the final meta and the end mark. */
int store_writer_finish(struct store_writer *writer, const struct profile *profile,
			struct err *err);

uint64_t store_writer_nr_bytes(const struct store_writer *writer);

/* A reader's report about an incomplete file. */
struct store_salvage {
	/* the file is truncated or damaged; everything before that is read */
	bool salvaged;
	uint64_t nr_bytes_lost; /* from the first byte that could not be used */
	char why[160];
};

/*
 * Read a whole profile. Of a file without its end the intact part is read, and *salvage (may be
 * NULL) reports that; a file with nothing usable is an error. The caller owns *profile.
 */
int store_read(int fd, struct profile **profile, struct store_salvage *salvage, struct err *err);

/* Open by path, refusing anything but a regular file or pipe, then store_read(). "-" is stdin. */
int store_read_path(const char *path, struct profile **profile, struct store_salvage *salvage,
		    struct err *err);

/*
 * Read things with names only: no stacks, samples, counts or memory; as far as the file is whole.
 * For callers that cannot wait for the rest of a large file.
 */
int store_read_names(const char *path, struct profile **profile, struct err *err);

/* Does a regular file begin like a profile? False if it cannot be read. */
bool store_is_profile(const char *path);

/*
 * As store_read_path() for the first nr_bytes of a file, which end with a flush: the profile at
 * that time, though more has been written since.
 */
int store_read_path_start(const char *path, uint64_t nr_bytes, struct profile **profile,
			  struct err *err);

#endif
