/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies a snapshot to a file or FIFO that may block. */
#ifndef PROFC_CMD_PATIENT_COPY_H
#define PROFC_CMD_PATIENT_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct err;

/*
 * How long one thread is to wait for whoever reads what it writes: until another says that it is
 * enough. That one sees whether it waits, and whether anything is taken.
 */
struct patience {
	int end_fd; /* an eventfd, readable once there is to be no more waiting; -1: there is none
		     */
	atomic_bool is_tried, is_over;
	bool is_tired; /* one copy was given up: the next needs a reader from the start */
	_Atomic uint64_t nr_copies; /* begun so far */
	_Atomic uint64_t nr_bytes;  /* taken so far, of all copies */
};

/* Without any, where the system has no descriptor for it. */
void patience_init(struct patience *patience);
void patience_release(struct patience *patience);
/* Enough, for all copies. Any thread. */
void patience_end(struct patience *patience);
/* Enough for the present copy; the next may have one who reads it. Any thread. */
void patience_give_up(struct patience *patience);

/* A FIFO or a device, which may keep who writes it waiting; a file never does for long. */
bool patience_is_needed(const char *path);
/*
 * Write the whole of an open file into what such a path names, for as long as there is patience.
 * ERR_LIMIT when that has ended first.
 */
int patient_copy(struct patience *patience, int from_fd, const char *path, struct err *err);

#endif
