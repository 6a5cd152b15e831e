/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_REACH_SEARCH_H
#define PROFC_PROBE_REACH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct reach;

/* As members of struct memory_search; is_last: for the last time. */
struct reach_request {
	pid_t pid, command;
	bool is_last;
	bool (*is_ended)(const void *context);
	const void *context;
};

/*
 * Search a process that is due (reach_is_due()). A thread of our own, which traces nothing else,
 * stops it meanwhile. reach_take() gets the result.
 */
void reach_search(struct reach *reach, uint32_t process, const struct reach_request *request);

#endif
