// SPDX-License-Identifier: GPL-2.0-or-later
#include "roster/joiners.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "proc/read.h"

void joiners_release(struct joiners *joiners)
{
	for (size_t i = 0; i < joiners->nr_units; i++)
		free(joiners->units[i]);
	for (size_t i = 0; i < joiners->nr_names; i++) {
		regfree(&joiners->names[i]);
		free(joiners->texts[i]);
	}
	free(joiners->units);
	free(joiners->names);
	free(joiners->texts);
	*joiners = (struct joiners){.units = NULL};
}

/* Types of units that have control groups. */
static bool has_type(const char *name)
{
	static const char *const types[] = {".service", ".slice", ".scope",
					    ".socket",	".mount", ".swap"};
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		size_t nr = strlen(types[i]);

		if (length > nr && strcmp(name + length - nr, types[i]) == 0)
			return true;
	}
	return false;
}

int joiners_add_unit(struct joiners *joiners, const char *name, struct err *err)
{
	char *unit;

	name += strspn(name, "/");
	if (!*name || strchr(name, '\n'))
		return err_set(err, ERR_INVALID, "--unit: this is no name of a unit");
	unit = strchr(name, '/') || has_type(name) ? xstrdup(name) : xasprintf("%s.service", name);
	for (size_t length = strlen(unit); unit[length - 1] == '/'; length--)
		unit[length - 1] = '\0';
	ARRAY_GROW(joiners->units, joiners->nr_units, joiners->cap_units);
	joiners->units[joiners->nr_units++] = unit;
	return 0;
}

int joiners_add_name(struct joiners *joiners, const char *regex, struct err *err)
{
	regex_t compiled;
	int status = regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB);
	char why[128];

	if (status) {
		regerror(status, &compiled, why, sizeof(why));
		return err_set(err, ERR_INVALID, "--comm: invalid regular expression '%s': %s",
			       regex, why);
	}
	ARRAY_GROW(joiners->names, joiners->nr_names, joiners->cap_names);
	joiners->names[joiners->nr_names] = compiled;
	ARRAY_GROW(joiners->texts, joiners->nr_names, joiners->cap_texts);
	joiners->texts[joiners->nr_names++] = xstrdup(regex);
	return 0;
}

bool joiners_is_empty(const struct joiners *joiners)
{
	return !joiners->nr_units && !joiners->nr_names;
}

/* The end of the parts of `unit`, which begin here in a path; NULL: others do. */
static const char *end_of_parts(const char *at, const char *unit)
{
	for (;;) {
		size_t nr = strcspn(unit, "/");

		at += at[0] == '_' && unit[0] != '_';
		if (strncmp(at, unit, nr) != 0)
			return NULL;
		at += nr;
		if (!unit[nr])
			return at;
		if (*at != '/')
			return NULL;
		at++;
		unit += nr + 1;
	}
}

static bool path_has(const char *path, const char *unit)
{
	for (const char *at = path; *at == '/';) {
		const char *end = end_of_parts(at + 1, unit);

		if (end && (*end == '/' || *end == '\n' || *end == '\0'))
			return true;
		at++;
		at += strcspn(at, "/\n");
	}
	return false;
}

bool joiners_unit_has(const char *unit, const char *text)
{
	for (const char *line = text; *line; line += *line == '\n') {
		const char *end = line + strcspn(line, "\n");
		const char *path = strchr(line, ':');

		path = path && path < end ? strchr(path + 1, ':') : NULL;
		if (path && path < end && path_has(path + 1, unit))
			return true;
		line = end;
	}
	return false;
}

static bool is_in_unit(const struct joiners *joiners, pid_t pid)
{
	struct buf text = {0};
	bool is_in = false;

	if (joiners->nr_units && proc_read_process_file(pid, "cgroup", &text)) {
		for (size_t i = 0; i < joiners->nr_units && !is_in; i++)
			is_in = joiners_unit_has(joiners->units[i], buf_str(&text));
	}
	buf_release(&text);
	return is_in;
}

bool joiners_fits(const struct joiners *joiners, pid_t pid, const char *comm)
{
	for (size_t i = 0; i < joiners->nr_names; i++) {
		if (regexec(&joiners->names[i], comm, 0, NULL, 0) == 0)
			return true;
	}
	return is_in_unit(joiners, pid);
}

void joiners_append_words(const struct joiners *joiners, struct buf *out)
{
	const char *before = "";

	for (size_t i = 0; i < joiners->nr_units; i++, before = " or ")
		buf_printf(out, "%s%s", before, joiners->units[i]);
	for (size_t i = 0; i < joiners->nr_names; i++, before = " or ")
		buf_printf(out, "%s'%s'", before, joiners->texts[i]);
}
