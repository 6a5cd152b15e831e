/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies a snapshot to a file or FIFO that may block. */
#ifndef PROFC_BASE_PATIENT_COPY_H
#define PROFC_BASE_PATIENT_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct err;

/*
 * How long a thread waits for the reader of its output: until another thread ends the wait. That
 * thread can see whether the first one waits, and whether anything has been read.
 */
struct patience {
	int end_fd; /* an eventfd, readable once waiting is to end; -1: there is none */
	atomic_bool is_tried, is_over;
	bool is_tired; /* the last copy was given up: the next needs a reader from the start */
	_Atomic uint64_t nr_copies; /* begun so far */
	_Atomic uint64_t nr_bytes;  /* taken so far, of all copies */
};

/* Without patience if no eventfd can be created. */
void patience_init(struct patience *patience);
void patience_release(struct patience *patience);
/* End all waiting. Any thread. */
void patience_end(struct patience *patience);
/* End the wait of the current copy only; the next may have a reader. Any thread. */
void patience_give_up(struct patience *patience);

/* A FIFO or a device may block its writer; a file never does for long. */
bool patience_is_needed(const char *path);
/* Copy an open file to such a path, as long as patience lasts. ERR_LIMIT if that ended first. */
int patient_copy(struct patience *patience, int from_fd, const char *path, struct err *err);

#endif
