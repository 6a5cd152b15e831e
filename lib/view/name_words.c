// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of a profile, for completion. */
#include "view/name_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/demangled_name.h"
#include "base/escape.h"
#include "mapping/module.h"
#include "profile/profile.h"

struct name_words {
	char **lines; /* owned */
	size_t nr, cap;
	const char *beginning;
};

/* Do all shells take the name literally, and does it match itself as a regular expression? */
static bool is_plain(const char *name)
{
	for (; *name; name++) {
		unsigned char byte = (unsigned char)*name;

		if (byte < 0x80 && !isalnum(byte) && !strchr("_:.-/", byte))
			return false;
	}
	return true;
}

void name_words_add(struct name_words *words, const char *name, const char *what)
{
	struct buf line = {0};

	if (!*name || strncmp(name, words->beginning, strlen(words->beginning)) != 0 ||
	    !is_plain(name))
		return;
	buf_printf(&line, "%s\t", name);
	escape_terminal(&line, what);
	buf_append_byte(&line, '\n');
	ARRAY_GROW(words->lines, words->nr, words->cap);
	words->lines[words->nr++] = xstrdup(buf_str(&line));
	buf_release(&line);
}

static void add_functions(struct name_words *words, const struct profile *profile)
{
	for (size_t i = 0; i < profile->symbols.nr_functions; i++) {
		const struct function *function = &profile->symbols.functions[i];
		cleanup_free char *name =
			demangled_name_shorten(profile_str(profile, function->name));
		const char *file = profile_str(profile, function->file);
		const char *slash = strrchr(file, '/');

		name_words_add(words, name, slash ? slash + 1 : file);
	}
}

static void add_modules(struct name_words *words, const struct profile *profile)
{
	for (uint32_t i = 0; i < module_table_nr(profile->modules); i++) {
		const struct module *module =
			module_table_get(profile->modules, (struct module_id){i});

		name_words_add(words, module_short_name(module), module->path);
	}
}

static void add_threads(struct name_words *words, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		name_words_add(words, profile_str(profile, thread->name),
			       profile_str(profile, profile->processes[thread->process].name));
	}
}

static void add_processes(struct name_words *words, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_processes; i++)
		name_words_add(words, profile_str(profile, profile->processes[i].name),
			       profile_str(profile, profile->processes[i].exe));
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool is_same_name(const char *line, const char *other)
{
	size_t nr_bytes = strcspn(line, "\t");

	return strncmp(line, other, nr_bytes + 1) == 0;
}

struct name_words *name_words_new(const char *beginning)
{
	struct name_words *words = xcalloc(1, sizeof(*words));

	words->beginning = beginning;
	return words;
}

void name_words_finish(struct name_words *words, struct buf *out)
{
	if (words->nr)
		qsort(words->lines, words->nr, sizeof(*words->lines), by_text);
	for (size_t i = 0; i < words->nr; i++) {
		if (!i || !is_same_name(words->lines[i], words->lines[i - 1]))
			buf_append_str(out, words->lines[i]);
	}
	for (size_t i = 0; i < words->nr; i++)
		free(words->lines[i]);
	free(words->lines);
	free(words);
}

void name_words_append(struct buf *out, const struct profile *profile, enum name_kind kind,
		       const char *beginning)
{
	struct name_words *words = name_words_new(beginning);

	switch (kind) {
	case NAME_KIND_FUNCTION:
		add_functions(words, profile);
		break;
	case NAME_KIND_MODULE:
		add_modules(words, profile);
		break;
	case NAME_KIND_THREAD:
		add_threads(words, profile);
		break;
	case NAME_KIND_PROCESS:
		add_processes(words, profile);
		break;
	}
	name_words_finish(words, out);
}
