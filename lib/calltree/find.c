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
#include "calltree/filter.h"
#include "calltree/patterns_priv.h"
#include "profile/asked_names.h"
#include "profile/profile.h"

/* Exactly this name, or with a regex one that matches it. */
struct wanted_name {
	const char *name;
	const regex_t *regex;
};

static bool is_meant(const void *context, const char *label_name)
{
	const struct wanted_name *wanted = context;

	if (wanted->regex)
		return regexec(wanted->regex, label_name, 0, NULL, 0) == 0;
	return strcmp(label_name, wanted->name) == 0;
}

static bool mark_labels(const struct expansion *expansion, const char *name, const regex_t *regex,
			bool *wanted)
{
	const struct wanted_name meant = {.name = name, .regex = regex};
	bool any = false;

	for (uint32_t i = 0; i < expansion->nr_labels; i++) {
		wanted[i] = label_is_meant(expansion, i, is_meant, &meant);
		any = any || wanted[i];
	}
	return any;
}

/* Names of functions have such characters: {closure}, (main), operator[]. */
static void hint_as_text(struct err *err, const char *name)
{
	struct buf text = {0};

	for (; *name; name++) {
		if (strchr("\\^.[$()|*+?{", *name))
			buf_append_byte(&text, '\\');
		buf_append_byte(&text, (uint8_t)*name);
	}
	err_hint(err, "a backslash makes a character stand for itself: '%s'", buf_str(&text));
	buf_release(&text);
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
		err_set(err, ERR_INVALID,
			"no function is called '%s', and it is not a "
			"valid regular expression: %s",
			name, why);
		hint_as_text(err, name);
		return ERR_INVALID;
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

static bool matches(const void *context, const char *name)
{
	return patterns_match_text(context, name);
}

/* Ignore a bad expression here: it is refused where the filter is applied. */
static void show_matching(struct profile *profile, const char *const *texts, size_t nr)
{
	struct patterns patterns = {0};

	if (nr && patterns_compile(&patterns, texts, nr, false, NULL) == 0)
		profile_show_asked(profile, matches, &patterns);
	if (nr)
		patterns_release(&patterns);
}

void find_show_asked(struct profile *profile, const struct filter *filter, char *const *words)
{
	show_matching(profile, filter->functions.texts, filter->functions.nr);
	show_matching(profile, filter->shape.focus.texts, filter->shape.focus.nr);
	for (; words && *words; words++) {
		const struct wanted_name exactly = {.name = *words};
		const char *const text = *words;

		profile_show_asked(profile, is_meant, &exactly);
		show_matching(profile, &text, 1);
	}
}
