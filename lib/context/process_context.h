/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CONTEXT_PROCESS_CONTEXT_H
#define PROFC_CONTEXT_PROCESS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space;

/*
 * What a process says of itself: the process context of OpenTelemetry (OTEP 4719). Here is kept
 * what the contexts of its threads need (OTEP 4947): the names of the keys of their attributes, and
 * which schema these have. All of it is the target's word; texts may hold anything but NUL.
 */

/* Keys are numbers of one byte. */
#define CONTEXT_KEYS_MAX 256

struct process_context {
	uint64_t header_at;	      /* where its header is; 0: none was found so far */
	uint64_t published_ns;	      /* the state of it that was read; 0: none was */
	char *schema;		      /* owned; NULL: it says nothing of threads */
	char *keys[CONTEXT_KEYS_MAX]; /* owned; NULL: a name that cannot be used */
	size_t nr_keys;
};

void process_context_release(struct process_context *context);

/*
 * Look for it in the memory map, which is read anew, and read it. The process goes on. False: there
 * is none, or it is just being changed.
 */
bool process_context_find(struct process_context *context, struct space *space);
/* Read it again if it has changed since. False: it is gone, or is being changed. */
bool process_context_refresh(struct process_context *context, struct space *space);

/*
 * Take the payload, a message ProcessContext of protobuf. False: it is damaged; what was taken
 * before the damage stays.
 */
bool process_context_parse(struct process_context *context, const void *payload, size_t nr_bytes);

#endif
