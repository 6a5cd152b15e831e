/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads one perf map or jitdump, piece by piece. */
#ifndef PROFC_JIT_JIT_READER_H
#define PROFC_JIT_JIT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "jit/jit_code.h"
#include "jit/jit_file.h"
#include "jit/jitdump.h"
#include "profile/symbol_source.h"

/* One file of a program about its code, and what it has said so far. */
struct jit_told {
	struct jit_file file;
	struct jit_code code;
	size_t nr_seen; /* ranges that the caller has dealt with: it sets that */
	char *path;	/* as the program sees it; owned; NULL: there is no such file */
	bool is_over;	/* nothing more is read of it */
};

/*
 * Finds and reads what one process says of its code: /tmp/perf-PID.map, in its
 * own /tmp and by its own number, and the jitdump that it has mapped. A map must
 * be a regular file, no link, of the user of the process or root.
 */
struct jit_reader {
	pid_t pid, own_pid; /* as we see it; as it does itself */
	uid_t owner;
	uint64_t started_realtime_ns;
	int tmp_fd; /* its /tmp, open as long as this: it may outlive the process so; or -1 */
	struct jit_told map, dump;
	struct jitdump dump_state;
	struct buf bytes; /* scratch */
	char *problem;	  /* why a file was not read to its end, or NULL; owned */
};

void jit_reader_init(struct jit_reader *reader, pid_t pid, uint64_t started_realtime_ns);
void jit_reader_release(struct jit_reader *reader);

/* It has a jitdump: `fd`, borrowed, is open on it for as long as the reader is used. */
void jit_reader_set_dump(struct jit_reader *reader, const char *path, int fd);
/*
 * Read what is new, of a long file a part at a time: true when there is more to be read at once.
 * The last time all of it, and the last line though it has no end.
 */
bool jit_reader_read(struct jit_reader *reader, bool is_last);

/* What counts of what was found: the jitdump, which says more, or the map. */
struct jit_told *jit_reader_told(struct jit_reader *reader);
enum symbol_source jit_reader_source(const struct jit_reader *reader);

#endif
