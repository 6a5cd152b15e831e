/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads one perf map or jitdump, piece by piece. */
#ifndef PROFC_JIT_JIT_READER_H
#define PROFC_JIT_JIT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "jit/jit_code.h"
#include "jit/jit_file.h"
#include "jit/jitdump.h"
#include "profile/symbol_source.h"

/* A perf map or jitdump of a process, and the code read from it so far. */
struct jit_input {
	struct jit_file file;
	struct jit_code code;
	size_t nr_seen; /* ranges that the caller has processed; set by the caller */
	char *path;	/* as the program sees it; owned; NULL: there is no such file */
	bool is_over;	/* no more of it is read */
};

/*
 * Finds and reads the names that one process publishes: /tmp/perf-PID.map, in its own /tmp and by
 * its own pid, and the jitdump that it has mapped. A map must be a regular file, no link, of the
 * user of the process: a file of root's may be root's secret, which a user has mounted there in a
 * namespace of the user's own.
 */
struct jit_reader {
	pid_t pid, own_pid; /* in our PID namespace, and in its own */
	uid_t owner;
	uint64_t started_realtime_ns;
	int tmp_fd;	/* its /tmp, kept open so that it outlives the process; or -1 */
	bool is_silent; /* that did not answer, and is not asked again */
	struct jit_input map, dump;
	struct stat found_map; /* the file that `map` is of, */
	bool is_copy;	       /* as a copy (base/served_file.h) */
	struct jitdump dump_state;
	struct buf bytes; /* scratch */
	char *problem;	  /* why a file was not read to its end, or NULL; owned */
};

/* `asks`: its /tmp may be looked into, as its file system answers, or may do so. */
void jit_reader_init(struct jit_reader *reader, pid_t pid, uint64_t started_realtime_ns, bool asks);
void jit_reader_release(struct jit_reader *reader);

/* It has a jitdump: `fd`, borrowed, stays open on it while the reader is used. */
void jit_reader_set_dump(struct jit_reader *reader, const char *path, int fd);
/*
 * Read new entries, a part of a long file at a time: true if there is more to be read at once. With
 * `last_bytes`, for the last time: as many bytes at most, including an incomplete last line; it is
 * counted down, and what was not read for it is a problem.
 */
bool jit_reader_read(struct jit_reader *reader, uint64_t *last_bytes);

/* The input to use: the jitdump, which has more information, or the map. */
struct jit_input *jit_reader_input(struct jit_reader *reader);
enum symbol_source jit_reader_source(const struct jit_reader *reader);

#endif
