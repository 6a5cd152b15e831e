/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_LABELS_H
#define PROFC_PROFILE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "base/strtab.h"

/* The key of a label, as users name it; 0 bytes: none. */
struct label_key {
	const char *text; /* borrowed */
	size_t nr_bytes;
};

/*
 * What programs say that their threads work on (OTEP 4947): sets of keys and values. A sample has
 * the number of its last label, one more than a row; 0: it has none. A set is that label with those
 * that it follows, whose rows are earlier ones.
 */
struct profile_label {
	uint32_t outer; /* the number of the label before it in the set; 0: it is the first one */
	struct str_id key, value;
};

/* Beyond, labels are left out: programs may have a new one for each request. */
#define LABEL_ROWS_MAX (UINT32_C(1) << 18)

struct profile_labels {
	struct profile_label *rows; /* distinct; owned */
	size_t nr, cap;
	struct index_set set;
};

void profile_labels_release(struct profile_labels *labels);

/* The number of a row, a new one or an equal one; 0: there are too many. */
uint32_t profile_labels_intern(struct profile_labels *labels, const struct profile_label *row);

/*
 * The number of the set `outer` with a label more; 0: there are too many. Then its texts are not
 * kept in `strings` either: a program that has ever new ones takes no more memory.
 */
uint32_t profile_labels_add(struct profile_labels *labels, struct strtab *strings, uint32_t outer,
			    const char *key, const char *value);

/* Find the text of a key that some label has; false: none has it. */
bool profile_labels_find_key(const struct profile_labels *labels, const struct strtab *strings,
			     const struct label_key *key, struct str_id *text);
/*
 * By number, with that of 0: one more than the text of the value that a set has for this key, 0
 * where it has none. To be freed.
 */
uint32_t *profile_labels_values(const struct profile_labels *labels, struct str_id key);

#endif
