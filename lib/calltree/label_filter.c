// SPDX-License-Identifier: GPL-2.0-or-later
/* Selects samples by their labels. */
#include "calltree/label_filter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"

static bool is_in(const struct profile *profile, struct str_id key, size_t nr_rows)
{
	for (size_t i = 0; i < nr_rows; i++) {
		if (profile_labels(profile)->rows[i].key.v == key.v)
			return true;
	}
	return false;
}

/* Recordings have a few; hostile ones may have many. */
#define NAMED_MAX 16

static void name_keys(const struct profile *profile, struct err *err)
{
	const struct profile_labels *labels = profile_labels(profile);
	struct buf all = {0};
	size_t nr = 0;

	for (size_t i = 0; i < labels->nr && nr < NAMED_MAX; i++) {
		if (!is_in(profile, labels->rows[i].key, i))
			buf_printf(&all, "%s%s", nr++ ? ", " : "",
				   profile_str(profile, labels->rows[i].key));
	}
	err_hint(err, "it has: %s", buf_str(&all));
	buf_release(&all);
}

int label_filter_find_key(const struct profile *profile, const struct label_key *key,
			  struct str_id *text, struct err *err)
{
	if (profile_labels_find_key(profile_labels(profile), profile->strings, key, text))
		return 0;
	if (profile_labels(profile)->nr) {
		err_set(err, ERR_NOT_FOUND, "no label '%.*s' in the recording", (int)key->nr_bytes,
			key->text);
		name_keys(profile, err);
		return ERR_NOT_FOUND;
	}
	err_set(err, ERR_NOT_FOUND, "no labels in the recording");
	err_hint(err,
		 "programs label their threads by the OpenTelemetry thread context: see Labels "
		 "in profc-record(1)");
	return ERR_NOT_FOUND;
}

static size_t key_bytes(const char *text)
{
	return strcspn(text, "=");
}

static bool fits(const struct profile *profile, const char *text, uint32_t value)
{
	const char *wanted = text + key_bytes(text);

	return value && (!*wanted ||
			 strcmp(profile_str(profile, (struct str_id){value - 1}), wanted + 1) == 0);
}

/* The sets that have one of the values for the key. */
static bool *sets_with(const struct profile *profile, const char *const *texts, size_t nr_texts,
		       struct str_id key)
{
	size_t nr = profile_labels(profile)->nr + 1;
	cleanup_free uint32_t *values = profile_labels_values(profile_labels(profile), key);
	const char *name = profile_str(profile, key);
	bool *sets = xcalloc(nr, sizeof(*sets));

	for (size_t i = 0; i < nr_texts; i++) {
		const char *text = texts[i];

		if (key_bytes(text) != strlen(name) || strncmp(text, name, key_bytes(text)) != 0)
			continue;
		for (size_t j = 0; j < nr; j++)
			sets[j] |= fits(profile, text, values[j]);
	}
	return sets;
}

int label_filter_select(const struct profile *profile, const char *const *texts, size_t nr_texts,
			bool **sets, struct err *err)
{
	size_t nr = profile_labels(profile)->nr + 1;

	for (size_t i = 0; i < nr_texts; i++) {
		const char *text = texts[i];
		cleanup_free bool *with_key = NULL;
		const struct label_key name = {.text = text, .nr_bytes = key_bytes(text)};
		struct str_id key;
		int status = label_filter_find_key(profile, &name, &key, err);

		if (status)
			return status;
		with_key = sets_with(profile, texts, nr_texts, key);
		if (!*sets) {
			*sets = xmalloc(nr * sizeof(**sets));
			memset(*sets, true, nr * sizeof(**sets));
		}
		for (size_t j = 0; j < nr; j++)
			(*sets)[j] = (*sets)[j] && with_key[j];
	}
	return 0;
}
