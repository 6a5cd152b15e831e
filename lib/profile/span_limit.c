// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/span_limit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/duration_text.h"
#include "base/err.h"

static bool begins_with_digit(const char *text)
{
	return isdigit((unsigned char)*text);
}

static int fail(const char *text, struct err *err)
{
	return err_set(err, ERR_INVALID, "'%s': '>' is followed by a time, as 10ms, or by p99",
		       text);
}

int span_limit_parse(const char *text, struct span_limit *limit, struct err *err)
{
	const char *last = strrchr(text, '>');
	const char *word = last ? last + 1 : "";
	char *end;

	*limit = (struct span_limit){.least_ns = 0};
	if (begins_with_digit(word)) {
		if (duration_parse(word, &limit->least_ns, NULL) < 0 || !limit->least_ns)
			return fail(text, err);
	} else if (*word == 'p' && begins_with_digit(word + 1)) {
		limit->percent = strtod(word + 1, &end);
		if (*end || limit->percent <= 0 || limit->percent >= 100)
			return fail(text, err);
	} else {
		last = NULL; /* it is a part of a name, as in operator> */
	}
	limit->function = last ? xstrndup(text, (size_t)(last - text)) : xstrdup(text);
	return 0;
}

void span_limit_release(struct span_limit *limit)
{
	free(limit->function);
	limit->function = NULL;
}

/* NULL: there is none between two names. */
static const char *find_colon(const char *function)
{
	const char *colon = strchr(function, ':');

	while (colon && colon[1] == ':')
		colon = strchr(colon + strspn(colon, ":"), ':');
	return colon && colon != function && colon[1] ? colon : NULL;
}

bool span_is_pair(const char *function)
{
	return find_colon(function);
}

bool span_pair_read(const char *function, char **first, char **second)
{
	const char *colon = find_colon(function);

	*first = *second = NULL;
	if (!colon)
		return false;
	*first = xstrndup(function, (size_t)(colon - function));
	*second = xstrdup(colon + 1);
	return true;
}
