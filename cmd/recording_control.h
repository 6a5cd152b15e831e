/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_CONTROL_H
#define PROFC_CMD_RECORDING_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * --control fifo:PATH: lines that steer a recording while it runs, from a script or from
 * the program itself. The FIFO is made if there is none, and then removed at the end.
 */
struct control {
	int fd;	      /* -1: none */
	char *path;   /* owned */
	bool created; /* by us */
	char line[4096];
	size_t nr_bytes;
	bool overlong;	   /* the rest of a line that is too long is skipped */
	const char *glued; /* in `line`: further words of it; or NULL */
};

enum control_word {
	CONTROL_PAUSE,
	CONTROL_RESUME,
	CONTROL_SNAPSHOT, /* with a file name */
	CONTROL_DUMP,	  /* with a label */
	CONTROL_STOP,
	CONTROL_MARK, /* with a text */
	CONTROL_MEM_START,
	CONTROL_MEM_STOP,
	CONTROL_MEM_DISCARD,
	CONTROL_MEM_SEARCH, /* with a text */
};

#define CONTROL_NONE                                                                               \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* The PATH of "fifo:PATH", borrowed; NULL when it is something else. */
const char *control_path(const char *where, struct err *err);
/*
 * ERR_INVALID when there is something at `path` that is no FIFO. ERR_PERMISSION: one that another
 * user owns or may write to; root may own it, and let a group write to it.
 */
int control_open(struct control *control, const char *path, struct err *err);
void control_close(struct control *control);

/*
 * The next whole line that has come; its end is the end of its last writer, too. Words without an
 * argument, of writers that did not end their lines, may stand before it. To be called when
 * `fd`, which stays the same, is readable or poll(2) tells of POLLHUP, until it returns 0. 1: *word
 * and *argument (borrowed until the next call,
 * "" if there is none). 0: none yet. ERR_INVALID: a line that makes no sense; go on.
 */
int control_read(struct control *control, enum control_word *word, const char **argument,
		 struct err *err);

#endif
