// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads patterns of modules and functions. */
#include "symbol/function_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"

/* The end of a bracket expression that begins at `at`, or of the text if it is not closed. */
static const char *skip_brackets(const char *at)
{
	at++;
	if (*at == '^')
		at++;
	if (*at == ']') /* an ordinary character there */
		at++;
	while (*at && *at != ']') {
		const char *end = NULL;

		/* [:alpha:], [.hyphen.], [=e=] */
		if (*at == '[' && at[1] && strchr(":.=", at[1])) {
			const char close[] = {at[1], ']', '\0'};

			end = strstr(at + 2, close);
		}
		at = end ? end + 2 : at + 1;
	}
	return *at ? at + 1 : at;
}

/* The '!' that divides the pattern, or NULL. */
static const char *divider(const char *text)
{
	for (const char *at = text; *at;) {
		if (*at == '!')
			return at;
		if (*at == '[')
			at = skip_brackets(at);
		else
			at += *at == '\\' && at[1] ? 2 : 1;
	}
	return NULL;
}

static bool is_of_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/*
 * The longest word that all matches contain, if that is plain to see: the expression has neither
 * alternatives nor groups, and the word no character that may be repeated or missing. NULL: none.
 */
static char *find_word(const char *text)
{
	const char *best = text;
	size_t nr_best = 0;

	if (text[strcspn(text, "|()[]{}")])
		return NULL;
	for (const char *at = text; *at;) {
		size_t nr = 0;

		while (is_of_word(at[nr]))
			nr++;
		if (nr && at[nr] && strchr("*?+", at[nr]))
			nr--;
		if (nr > nr_best) {
			best = at;
			nr_best = nr;
		}
		at += nr;
		if (*at == '\\' && at[1])
			at++; /* and the next one, which may be a letter with a meaning */
		at += *at != '\0';
	}
	return nr_best ? xstrndup(best, nr_best) : NULL;
}

/* Plain expressions that match each name: `--count .` need not look at any. */
static bool matches_all(const char *text)
{
	static const char *const all[] = {".", ".*", ".+", "^", "^.", "^.*", "^.*$", "^.+$"};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (strcmp(text, all[i]) == 0)
			return true;
	}
	return false;
}

static int compile(regex_t *regex, const char *text, const char *what, struct err *err)
{
	int status = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
	char why[128];

	if (status == 0)
		return 0;
	regerror(status, regex, why, sizeof(why));
	return err_set(err, ERR_INVALID, "invalid regular expression '%s' for %s: %s", text, what,
		       why);
}

static int compile_both(struct function_pattern *pattern, const char *module, struct err *err)
{
	int status;

	if (*module) {
		status = compile(&pattern->module, module, "modules", err);
		if (status < 0)
			return status;
		pattern->has_module = true;
	}
	if (*pattern->name) {
		status = compile(&pattern->function, pattern->name, "functions", err);
		if (status < 0)
			return status;
		pattern->has_function = true;
		pattern->has_all = matches_all(pattern->name);
		pattern->word = find_word(pattern->name);
	}
	return 0;
}

int function_pattern_init(struct function_pattern *pattern, const char *text, struct err *err)
{
	const char *mark = divider(text);
	cleanup_free char *module = xstrndup(text, mark ? (size_t)(mark - text) : 0);
	struct function_pattern read = {.text = xstrdup(text)};
	int status;

	read.name = read.text + (mark ? mark + 1 - text : 0);
	status = compile_both(&read, module, err);
	if (status < 0) {
		function_pattern_release(&read);
		return status;
	}
	*pattern = read;
	return 0;
}

void function_pattern_release(struct function_pattern *pattern)
{
	if (pattern->has_module)
		regfree(&pattern->module);
	if (pattern->has_function)
		regfree(&pattern->function);
	free(pattern->word);
	free(pattern->text);
	*pattern = (struct function_pattern){.text = NULL};
}

bool function_pattern_takes_module(const struct function_pattern *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');

	return !pattern->has_module ||
	       regexec(&pattern->module, slash ? slash + 1 : path, 0, NULL, 0) == 0 ||
	       regexec(&pattern->module, path, 0, NULL, 0) == 0;
}

const regex_t *function_pattern_regex(const struct function_pattern *pattern)
{
	return pattern->has_function && !pattern->has_all ? &pattern->function : NULL;
}

const char *function_pattern_word(const struct function_pattern *pattern)
{
	return pattern->word;
}
