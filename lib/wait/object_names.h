/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_WAIT_OBJECT_NAMES_H
#define PROFC_WAIT_OBJECT_NAMES_H

#include <stdbool.h>
#include <sys/types.h>

struct buf;

/* The other ends of descriptors, which their own links in /proc do not show. */
struct object_names;

struct object_names *object_names_new(void);
void object_names_free(struct object_names *names); /* may be NULL */

/* Is it a socket or a pipe, according to its link? */
bool object_has_peer(const char *object);

struct object_name {
	struct buf *text; /* borrowed; the name is appended */
	pid_t peer;	  /* a process that the name has as the other end; 0: none */
	bool may_change;  /* a process has both ends, and may be about to close one: ask again */
};

/*
 * Name the object of a descriptor of a process: "socket 10.0.0.1:5432", "socket listening on
 * /run/x", "socket to 77 Xorg", "pipe from 77 gzip, 78 zcat", "pipe within the process". False if
 * it is not found, or not looked for because that has taken too much time lately: then call again
 * later.
 */
bool object_names_find(struct object_names *names, pid_t pid, int fd, const char *object,
		       struct object_name *name);
/* Call this when a process has ended or may have closed an end: the next question searches all. */
void object_names_forget_ends(struct object_names *names);

#endif
