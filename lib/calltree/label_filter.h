/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_LABEL_FILTER_H
#define PROFC_CALLTREE_LABEL_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strtab.h"

struct err;
struct label_key;
struct profile;

/* The labels of samples (profile/labels.h), as users name them. */

/* Find the text of a key. ERR_NOT_FOUND names those that the recording has. */
int label_filter_find_key(const struct profile *profile, const struct label_key *key,
			  struct str_id *text, struct err *err);
/*
 * By number, with that of 0: does the set have, of each key, one of the values that texts such as
 * "KEY=VALUE" name, or with "KEY" any? NULL: there are no texts. To be freed.
 */
int label_filter_select(const struct profile *profile, const char *const *texts, size_t nr_texts,
			bool **sets, struct err *err);

#endif
