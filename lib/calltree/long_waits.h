/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocked time by what threads waited for: a lock, a descriptor, or else a system call. */
#ifndef PROFC_CALLTREE_LONG_WAITS_H
#define PROFC_CALLTREE_LONG_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"

struct blame;
struct selection;

enum long_wait_kind {
	LONG_WAIT_LOCK,	      /* a lock or the like; `number` is that of long_waits.locks */
	LONG_WAIT_DESCRIPTOR, /* a descriptor, or several; `number` is that of
				 long_waits.descriptors */
	LONG_WAIT_CALL,	      /* no object is known; `number` is that of the system call */
};

#define LONG_WAIT_NO_CALL (-1)

struct long_wait {
	enum long_wait_kind kind;
	uint32_t number;
	struct tally tally; /* of METRIC_BLOCKED */
	int syscall_nr;	    /* the call of most of this time, or LONG_WAIT_NO_CALL */
	/* The label of the wait function (wait_function.h) of most of it, or WAIT_FUNCTION_NONE. */
	uint32_t function;
};

struct long_waits {
	const struct selection *selection; /* borrowed */
	struct tally total;		   /* of all blocked time, also that without a sample */
	struct long_wait *rows;		   /* owned; the longest first */
	size_t nr;
	struct blame *locks, *descriptors; /* owned; NULL: the recording does not have them */
};

/* Sum up the selected blocked time. The selection is borrowed until long_waits_free(). */
struct long_waits *long_waits_new(const struct selection *selection);
void long_waits_free(struct long_waits *waits); /* may be NULL */

#endif
