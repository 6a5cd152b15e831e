/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_SPAN_LIMIT_H
#define PROFC_PROFILE_SPAN_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/*
 * Calls of a function, and which of them are slow, as users write it: "FUNC>10ms", "FUNC>p99". In
 * place of the function there may be a pair, "FUNC:FUNC".
 */
struct span_limit {
	char *function;	   /* owned; may be empty */
	uint64_t least_ns; /* those that take as long; 0: not given */
	double percent;	   /* or those that so many do not exceed; 0: not given */
};

/* Without a limit the text is a function. ERR_INVALID: what follows the last > is no limit. */
int span_limit_parse(const char *text, struct span_limit *limit, struct err *err);
void span_limit_release(struct span_limit *limit);

/*
 * Is it a pair of functions, from the first to the second? They are the caller's then, else NULL.
 * The :: of C++ is a part of a name.
 */
bool span_pair_read(const char *function, char **first, char **second);
bool span_is_pair(const char *function);

#endif
