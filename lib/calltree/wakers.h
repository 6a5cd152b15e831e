/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_WAKERS_H
#define PROFC_CALLTREE_WAKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "calltree/tally.h"
#include "calltree/waited.h"

struct blame;
struct buf;
struct selection;

/* How it is known which thread or process ended a wait. */
enum waker_how {
	WAKER_WAKE,  /* that thread made the call that woke the other, as was noted */
	WAKER_OWNER, /* that thread had the lock when it was last looked at */
	WAKER_END,   /* that thread ended, or was to */
	WAKER_PEER,  /* the process at the other end of the pipe or socket */
	WAKER_CHILD, /* a child process that ended, changed its state or executed a program */
	WAKER_TIME,  /* the time that the thread wanted to sleep was up, or a timer's */
	WAKER_SIGNAL,
	WAKER_UNKNOWN,
	WAKER_HOW_COUNT,
};

/* A part of the waits for one object, by what ended them. */
struct waker {
	uint32_t wait; /* of struct wakers.waits */
	enum waker_how how;
	uint32_t thread;     /* WAKE, OWNER, END: row of profile.threads */
	uint32_t peer;	     /* PEER: row of profile.waits that has its name */
	struct str_id child; /* CHILD: the name of its process; or STR_EMPTY: not known */
	uint32_t label;	     /* a function of that thread; or WAKER_NO_LABEL */
	bool is_guess;	     /* OWNER: only the contents of memory suggest it */
	struct tally tally;
};

#define WAKER_NO_LABEL UINT32_MAX

/* All waits for one object, or in one system call where the object is not known. */
struct waker_wait {
	struct waited waited;
	struct tally tally;
	size_t first, nr; /* of struct wakers.rows */
};

/* Blocked time, by what it waited for and by what ended that. */
struct wakers {
	const struct selection *selection; /* borrowed */
	struct waited_objects objects;	   /* owned, as all here */
	struct waker_wait *waits;	   /* by weight, the heaviest first */
	size_t nr_waits, cap_waits;
	struct waker *rows; /* of each wait together, by weight; unknown ones last */
	size_t nr, cap;
	struct tally total, unknown;
};

/* Call blame_require() first: the profile has to have what was waited for. */
struct wakers *wakers_new(const struct selection *selection);
void wakers_free(struct wakers *wakers); /* may be NULL */

/* The objects that the wait is one of; NULL: it has no other name than its call. Borrowed. */
const struct blame *wakers_blame(const struct wakers *wakers, const struct waker_wait *wait);
/* The name of what was waited for: raw text of the target. */
void wakers_append_wait(struct buf *out, const struct wakers *wakers,
			const struct waker_wait *wait);

#endif
