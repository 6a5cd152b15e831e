/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The patterns of filters, compiled. */
#ifndef PROFC_CALLTREE_PATTERNS_PRIV_H
#define PROFC_CALLTREE_PATTERNS_PRIV_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct expansion;
struct pattern;

/* An "any of" list, compiled. Zero-initialised has none, and matches nothing. */
struct patterns {
	struct pattern *patterns; /* owned */
	size_t nr;
};

/*
 * With `ids`, a pattern of digits only is an id. ERR_INVALID on a bad expression; release it then,
 * too.
 */
int patterns_compile(struct patterns *out, const char *const *texts, size_t nr, bool ids,
		     struct err *err);
void patterns_release(struct patterns *patterns);
bool patterns_match_text(const struct patterns *patterns, const char *text);
bool patterns_match_id(const struct patterns *patterns, long id);
/* By label: does its name match, in full or shortened? The caller frees the array. */
bool *patterns_match_labels(const struct patterns *patterns, const struct expansion *expansion);

#endif
