// SPDX-License-Identifier: GPL-2.0-or-later
/* Compiles the patterns of filters, and matches ids and names with them. */
#include "calltree/patterns_priv.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/err.h"
#include "calltree/expand.h"

/* One compiled pattern: an id, or an expression. */
struct pattern {
	bool is_id;
	long id;
	regex_t regex;
};

void patterns_release(struct patterns *patterns)
{
	for (size_t i = 0; i < patterns->nr; i++)
		if (!patterns->patterns[i].is_id)
			regfree(&patterns->patterns[i].regex);
	free(patterns->patterns);
	*patterns = (struct patterns){0};
}

static bool parse_id(const char *text, long *id)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*id = strtol(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static int compile_pattern(struct pattern *pattern, const char *text, bool ids, struct err *err)
{
	char why[128];
	int status;

	pattern->is_id = ids && parse_id(text, &pattern->id);
	if (pattern->is_id)
		return 0;
	status = regcomp(&pattern->regex, text, REG_EXTENDED | REG_NOSUB);
	if (status == 0)
		return 0;
	regerror(status, &pattern->regex, why, sizeof(why));
	return err_set(err, ERR_INVALID, "invalid regular expression '%s': %s", text, why);
}

int patterns_compile(struct patterns *out, const char *const *texts, size_t nr, bool ids,
		     struct err *err)
{
	out->patterns = xcalloc(nr, sizeof(*out->patterns));
	for (size_t i = 0; i < nr; i++) {
		int status = compile_pattern(&out->patterns[i], texts[i], ids, err);

		if (status < 0)
			return status;
		out->nr = i + 1;
	}
	return 0;
}

bool patterns_match_text(const struct patterns *patterns, const char *text)
{
	for (size_t i = 0; i < patterns->nr; i++) {
		const struct pattern *pattern = &patterns->patterns[i];

		if (!pattern->is_id && regexec(&pattern->regex, text, 0, NULL, 0) == 0)
			return true;
	}
	return false;
}

bool patterns_match_id(const struct patterns *patterns, long id)
{
	for (size_t i = 0; i < patterns->nr; i++)
		if (patterns->patterns[i].is_id && patterns->patterns[i].id == id)
			return true;
	return false;
}

static bool is_meant(const void *context, const char *name)
{
	return patterns_match_text(context, name);
}

bool *patterns_match_labels(const struct patterns *patterns, const struct expansion *expansion)
{
	bool *labels = xcalloc(expansion->nr_labels, sizeof(*labels));

	for (uint32_t i = 0; i < expansion->nr_labels; i++)
		labels[i] = label_is_meant(expansion, i, is_meant, patterns);
	return labels;
}
