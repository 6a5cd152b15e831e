// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses and stores the values of options. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/duration_text.h"
#include "base/err.h"
#include "base/nearest.h"
#include "base/size_text.h"
#include "cmd/options_priv.h"

static int out_of_range(const struct option_match *match, struct err *err)
{
	return err_set(err, ERR_INVALID,
		       "invalid value '%s' for %s: must be between %.10g and %.10g", match->value,
		       match->spelling, match->row->min, match->row->max);
}

static bool in_range(const struct option_row *row, double value)
{
	if (row->min == 0 && row->max == 0)
		return true;
	return value >= row->min && value <= row->max;
}

static int not_a(const struct option_match *match, const char *what, struct err *err)
{
	return err_set(err, ERR_INVALID, "invalid value '%s' for %s: not %s", match->value,
		       match->spelling, what);
}

static int store_uint(const struct option_match *match, uint64_t *out, struct err *err)
{
	unsigned long long value = 0;
	size_t nr_digits = strspn(match->value, "0123456789");

	/* 19 digits always fit 64 bits. */
	if (!nr_digits || match->value[nr_digits] || nr_digits > 19)
		return not_a(match, "a whole number", err);
	value = strtoull(match->value, NULL, 10);
	if (!in_range(match->row, (double)value))
		return out_of_range(match, err);
	*out = value;
	return 0;
}

static int store_double(const struct option_match *match, double *out, struct err *err)
{
	char *end;
	double value = strtod(match->value, &end);

	if (end == match->value || *end || !isfinite(value))
		return not_a(match, "a number", err);
	if (!in_range(match->row, value))
		return out_of_range(match, err);
	*out = value;
	return 0;
}

static int store_duration(const struct option_match *match, uint64_t *out, struct err *err)
{
	uint64_t ns = 0;
	int code = duration_parse(match->value, &ns, err);

	if (code) {
		err_prefix(err, "%s", match->spelling);
		return code;
	}
	if (!in_range(match->row, (double)ns))
		return err_set(err, ERR_INVALID,
			       "invalid value '%s' for %s: must be between %g s and %g s",
			       match->value, match->spelling, match->row->min / NS_PER_SEC,
			       match->row->max / NS_PER_SEC);
	*out = ns;
	return 0;
}

static int store_size(const struct option_match *match, uint64_t *out, struct err *err)
{
	if (size_parse(match->value, out) == 0)
		return 0;
	return err_set(err, ERR_INVALID, "invalid size '%s' of %s: 500K, 20M and 2G are valid",
		       match->value, match->spelling);
}

static int store_choice(const struct option_match *match, int *out, struct err *err)
{
	const char *const *choices = match->row->choices;
	struct buf all = {0};
	const char *nearest;
	size_t nr = 0;
	int code;

	for (; choices[nr]; nr++) {
		if (strcmp(choices[nr], match->value) == 0) {
			buf_release(&all);
			*out = (int)nr;
			return 0;
		}
		buf_printf(&all, "%s%s", nr ? ", " : "", choices[nr]);
	}
	nearest = nearest_word(match->value, choices, nr);
	code = err_set(err, ERR_INVALID, "invalid value '%s' for %s: must be one of %s",
		       match->value, match->spelling, buf_str(&all));
	if (nearest)
		err_hint(err, "did you mean '%s'?", nearest);
	buf_release(&all);
	return code;
}

/* A mistyped directory would otherwise go unnoticed: nothing would be found in it. */
static int check_directory(const struct option_match *match, struct err *err)
{
	struct stat found;

	if (!match->row->directory)
		return 0;
	if (stat(match->value, &found) == 0) {
		if (S_ISDIR(found.st_mode))
			return 0;
		errno = ENOTDIR;
	}
	return err_sys(err, "%s '%s'", match->spelling, match->value);
}

static void list_add(struct option_list *list, const char *value)
{
	ARRAY_GROW(list->values, list->nr, list->cap);
	list->values[list->nr++] = value;
}

static void store_list(const struct option_match *match, struct option_list *list)
{
	static const char separators[] = ", \t\n";
	const char *at = match->value;

	if (!match->row->commas) {
		list_add(list, match->value);
		return;
	}
	/* Empty, as "$PID" of an unset variable: an error, not an empty list. */
	if (!at[strspn(at, separators)])
		list_add(list, xstrdup(at));
	while (*at) {
		size_t length = strcspn(at, separators);

		if (length)
			list_add(list, xstrndup(at, length));
		at += length;
		at += *at != '\0';
	}
}

static void store_flag(const struct option_row *row, void *field)
{
	if (row->as_choice)
		*(int *)field = row->value;
	else
		*(bool *)field = !row->negated;
}

int option_store(const struct option_match *match, void *values, struct err *err)
{
	void *field = (char *)values + match->row->offset;
	int code = check_directory(match, err);

	if (code)
		return code;
	switch (match->row->type) {
	case OPTION_FLAG:
		store_flag(match->row, field);
		return 0;
	case OPTION_FILE:
		/* Empty, as "$OUT" of an unset variable. */
		if (!*match->value)
			return err_set(err, ERR_INVALID, "%s '' is not a file name",
				       match->spelling);
		*(const char **)field = match->value;
		return 0;
	case OPTION_STRING:
		*(const char **)field = match->value;
		return 0;
	case OPTION_LIST:
		store_list(match, field);
		return 0;
	case OPTION_UINT:
		return store_uint(match, field, err);
	case OPTION_DOUBLE:
		return store_double(match, field, err);
	case OPTION_DURATION:
		return store_duration(match, field, err);
	case OPTION_SIZE:
		return store_size(match, field, err);
	case OPTION_CHOICE:
		return store_choice(match, field, err);
	case OPTION_SECTION:
		break;
	}
	return 0;
}
