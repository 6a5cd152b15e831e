/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_SPAN_LIMIT_H
#define PROFC_PROFILE_SPAN_LIMIT_H

#include <stdint.h>

struct err;

/* Calls of a function, and which of them are slow, as users write it: "FUNC>10ms", "FUNC>p99". */
struct span_limit {
	char *function;	   /* owned; may be empty */
	uint64_t least_ns; /* those that take as long; 0: not given */
	double percent;	   /* or those that so many do not exceed; 0: not given */
};

/* Without a limit the text is a function. ERR_INVALID: what follows the last > is no limit. */
int span_limit_parse(const char *text, struct span_limit *limit, struct err *err);
void span_limit_release(struct span_limit *limit);

#endif
