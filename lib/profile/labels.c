// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of labels of samples. */
#include "profile/labels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void profile_labels_release(struct profile_labels *labels)
{
	index_set_release(&labels->set);
	free(labels->rows);
	*labels = (struct profile_labels){.nr = 0};
}

static bool same_label(const void *owner, uint32_t index, const void *key)
{
	const struct profile_labels *labels = owner;
	const struct profile_label *row = &labels->rows[index], *wanted = key;

	return row->outer == wanted->outer && row->key.v == wanted->key.v &&
	       row->value.v == wanted->value.v;
}

uint32_t profile_labels_intern(struct profile_labels *labels, const struct profile_label *row)
{
	uint64_t hash = hash_mix((uint64_t)row->outer << 32 | row->key.v, row->value.v);
	uint32_t found = index_set_find(&labels->set, hash, same_label, labels, row);

	assert(row->outer <= labels->nr);
	if (found != INDEX_NONE)
		return found + 1;
	if (labels->nr >= LABEL_ROWS_MAX)
		return 0;
	ARRAY_GROW(labels->rows, labels->nr, labels->cap);
	labels->rows[labels->nr] = *row;
	index_set_add(&labels->set, hash, (uint32_t)labels->nr);
	return (uint32_t)++labels->nr;
}

uint32_t profile_labels_add(struct profile_labels *labels, struct strtab *strings, uint32_t outer,
			    const char *key, const char *value)
{
	struct profile_label row = {.outer = outer};

	if (labels->nr < LABEL_ROWS_MAX) {
		row.key = strtab_intern(strings, key);
		row.value = strtab_intern(strings, value);
	} else if (!strtab_find(strings, key, &row.key) ||
		   !strtab_find(strings, value, &row.value)) {
		return 0;
	}
	return profile_labels_intern(labels, &row);
}

bool profile_labels_find_key(const struct profile_labels *labels, const struct strtab *strings,
			     const struct label_key *key, struct str_id *text)
{
	for (size_t i = 0; i < labels->nr; i++) {
		const char *found = strtab_get(strings, labels->rows[i].key);

		if (strncmp(found, key->text, key->nr_bytes) != 0 || found[key->nr_bytes])
			continue;
		*text = labels->rows[i].key;
		return true;
	}
	return false;
}

uint32_t *profile_labels_values(const struct profile_labels *labels, struct str_id key)
{
	uint32_t *values = xcalloc(labels->nr + 1, sizeof(*values));

	for (size_t i = 0; i < labels->nr; i++) {
		const struct profile_label *row = &labels->rows[i];

		values[i + 1] = row->key.v == key.v ? row->value.v + 1 : values[row->outer];
	}
	return values;
}
