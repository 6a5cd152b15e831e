/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_WAITS_H
#define PROFC_PROFILE_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "base/strtab.h"
#include "profile/ids.h"
#include "stack/stack.h"

/* The kinds of objects that threads wait for. Numbers are part of the file format: append only. */
enum wait_kind {
	WAIT_FUTEX = 0, /* a word of memory, by futex(2): a lock, a condition, a semaphore … */
	/*
	 * A futex where the call and the memory are those of a mutex of the GNU C library, and the
	 * word for the owner is the id of a thread of the process.
	 */
	WAIT_MUTEX = 1,
	WAIT_OWNED = 2, /* a futex that itself holds its owner's id, as for pi and robust ones */
	WAIT_THREAD =
		3,     /* a futex of the C library's that is cleared when the thread `owner` ends */
	WAIT_FILE = 4, /* a descriptor */
	WAIT_FILES = 5, /* any of several */
	WAIT_KIND_COUNT,
};

/* The number of rows for which too many different numbers exist. */
#define WAIT_NUMBER_ANY UINT64_MAX
#define WAIT_ROWS_MAX	(UINT32_C(1) << 18)

/* The name of a row that is the lock of an interpreter, which one thread has at a time. */
#define WAIT_NAME_GIL "[gil]"

#define WAIT_NO_PLACE ((struct frame_id){UINT32_MAX})

struct profile_wait {
	uint32_t process;
	uint8_t kind;	       /* enum wait_kind */
	uint64_t number;       /* the address; the descriptor; how many; or WAIT_NUMBER_ANY */
	struct frame_id place; /* of an address in the data of a module, or WAIT_NO_PLACE */
	/*
	 * The text of the descriptor's link in /proc, which several may share, or the mapped file
	 * of the memory, or WAIT_NAME_GIL; or empty.
	 */
	struct str_id name;
	/* Updated when it is found: the other end, "socket 10.0.0.1:5432"; or empty. */
	struct str_id peer;
	struct thread_id owner; /* at that time, or THREAD_NONE */
};

struct profile_waits {
	struct profile_wait *rows; /* distinct; owned */
	size_t nr, cap;
	struct index_set set;
	uint32_t *updated; /* rows, that were given a peer; owned */
	size_t nr_updated, cap_updated;
};

void profile_waits_release(struct profile_waits *waits);

static inline bool wait_is_of_memory(enum wait_kind kind)
{
	return kind < WAIT_FILE;
}

/*
 * The number that samples have for it: one more than its row. Rows that are equal but for the peer
 * get equal numbers. From WAIT_ROWS_MAX on, all further waits of a kind and process share one row
 * with the number WAIT_NUMBER_ANY.
 */
uint32_t profile_waits_intern(struct profile_waits *waits, const struct profile_wait *row);

/* The peer of a row is found. */
void profile_waits_set_peer(struct profile_waits *waits, uint32_t row, struct str_id peer);

#endif
