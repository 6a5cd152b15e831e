// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds functions by name, regular expression or file. */
#include "calltree/find.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/source_path.h"
#include "calltree/expand.h"
#include "profile/profile.h"

/* Exactly this name, or with a regex one that matches it. */
static bool is_meant(const char *label_name, const char *name, const regex_t *regex)
{
	if (regex)
		return regexec(regex, label_name, 0, NULL, 0) == 0;
	return strcmp(label_name, name) == 0;
}

static bool mark_labels(const struct expansion *expansion, const char *name, const regex_t *regex,
			bool *wanted)
{
	static const enum name_style styles[] = {NAME_FULL, NAME_SHORT};
	struct buf text = {0};
	bool any = false;

	for (uint32_t i = 0; i < expansion->nr_labels; i++) {
		const char *other = label_other_name(expansion, i);

		wanted[i] = other && is_meant(other, name, regex);
		for (size_t j = 0; j < ARRAY_SIZE(styles) && !wanted[i]; j++) {
			buf_clear(&text);
			label_append_name(&text, expansion, i, styles[j]);
			wanted[i] = is_meant(buf_str(&text), name, regex);
		}
		any = any || wanted[i];
	}
	buf_release(&text);
	return any;
}

static int mark_matching(const struct expansion *expansion, const char *name, bool *wanted,
			 struct err *err)
{
	regex_t regex;
	char why[128];
	bool any;
	int status = regcomp(&regex, name, REG_EXTENDED | REG_NOSUB);

	if (status) {
		regerror(status, &regex, why, sizeof(why));
		return err_set(err, ERR_INVALID,
			       "no function is called '%s', and it is not a "
			       "valid regular expression: %s",
			       name, why);
	}
	any = mark_labels(expansion, name, &regex, wanted);
	regfree(&regex);
	if (any)
		return 0;
	return err_set(err, ERR_NOT_FOUND, "no function in the profile is called '%s'", name);
}

int find_labels(const struct expansion *expansion, const char *name, bool **wanted, struct err *err)
{
	bool *marks = xcalloc(expansion->nr_labels, sizeof(*marks));
	int status = 0;

	if (!mark_labels(expansion, name, NULL, marks))
		status = mark_matching(expansion, name, marks, err);
	if (status) {
		free(marks);
		return status;
	}
	*wanted = marks;
	return 0;
}

/* Mark the labels with a line in a file with a path that ends with `word`. */
static bool mark_file(const struct expansion *expansion, const char *word, bool *wanted)
{
	bool any = false;

	for (size_t i = 0; i < expansion->nr_places; i++) {
		const struct place *place = &expansion->places[i];

		if (place->line == 0 ||
		    !source_path_matches(profile_str(expansion->profile, place->file), word))
			continue;
		wanted[place->label] = true;
		any = true;
	}
	return any;
}

int find_labels_or_file(const struct expansion *expansion, const char *word, bool *wanted,
			struct err *err)
{
	bool *meant;
	int status;

	if (mark_file(expansion, word, wanted))
		return 0;
	status = find_labels(expansion, word, &meant, err);
	if (status)
		return status;
	for (size_t i = 0; i < expansion->nr_labels; i++)
		wanted[i] = wanted[i] || meant[i];
	free(meant);
	return 0;
}
