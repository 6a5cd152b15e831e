// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses command lines by tables of options. */
#include "cmd/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/nearest.h"
#include "cmd/foreign.h"
#include "cmd/options_priv.h"

const struct option_row options_common[] = {
	{.type = OPTION_FLAG, .short_name = 'h', .name = "help", .help = "show this help"},
	{.type = OPTION_FLAG, .name = "list-options", .help = "list the options", .hidden = true},
	OPTIONS_END,
};

/* One walk over argv; `at` is the next argument to look at. */
struct walk {
	const struct option_row *rows;
	int argc;
	char **argv;
	int at;
	const char *cluster; /* the rest of "-abc" after the letters already taken, or NULL */
};

static bool takes_value(const struct option_row *row)
{
	return row->type != OPTION_FLAG;
}

static const struct option_row *find_short(const struct option_row *rows, char letter)
{
	for (; rows->name; rows++) {
		if (rows->type != OPTION_SECTION && rows->short_name == letter)
			return rows;
	}
	return NULL;
}

/* Exact name, or the only name that begins so. *nr_prefixes counts the latter. */
static const struct option_row *find_long(const struct option_row *rows, const char *name,
					  size_t length, size_t *nr_prefixes)
{
	const struct option_row *found = NULL;

	for (; rows->name; rows++) {
		if (rows->type == OPTION_SECTION || strncmp(rows->name, name, length) != 0)
			continue;
		if (rows->name[length] == '\0')
			return rows;
		if (rows->hidden)
			continue;
		found = rows;
		(*nr_prefixes)++;
	}
	return *nr_prefixes == 1 ? found : NULL;
}

static const char *nearest_option(const struct option_row *rows, const char *name)
{
	const char **names = NULL;
	size_t nr = 0, cap = 0;
	const char *nearest;

	for (; rows->name; rows++) {
		if (rows->type == OPTION_SECTION || rows->hidden)
			continue;
		ARRAY_GROW(names, nr, cap);
		names[nr++] = rows->name;
	}
	ARRAY_GROW(names, nr, cap);
	names[nr++] = options_common[0].name;
	nearest = nearest_word(name, names, nr);
	free(names);
	return nearest;
}

static int unknown_long(const struct walk *walk, const struct option_match *match, struct err *err)
{
	const char *nearest = nearest_option(walk->rows, match->spelling + 2);
	int code = err_set(err, ERR_INVALID, "unknown option '%s'", match->spelling);

	if (foreign_word_hint(match->spelling))
		err_hint(err, "%s", foreign_word_hint(match->spelling));
	else if (nearest)
		err_hint(err, "did you mean '--%s'?", nearest);
	return code;
}

static int unknown_short(const struct option_match *match, struct err *err)
{
	int code = err_set(err, ERR_INVALID, "unknown option '%s'", match->spelling);

	if (foreign_word_hint(match->spelling))
		err_hint(err, "%s", foreign_word_hint(match->spelling));
	return code;
}

static int ambiguous_long(const struct walk *walk, const struct option_match *match,
			  struct err *err)
{
	const char *name = match->spelling + 2;
	struct buf all = {0};
	int code = err_set(err, ERR_INVALID, "ambiguous option '%s'", match->spelling);

	for (const struct option_row *row = walk->rows; row->name; row++) {
		if (row->type != OPTION_SECTION && !row->hidden &&
		    strncmp(row->name, name, strlen(name)) == 0)
			buf_printf(&all, "%s--%s", all.nr_bytes ? ", " : "", row->name);
	}
	err_hint(err, "could be %s", buf_str(&all));
	buf_release(&all);
	return code;
}

/* The value that follows an option: the rest of its argument, else the next argument. */
static int take_value(struct walk *walk, const char *attached, struct option_match *match,
		      struct err *err)
{
	match->value = NULL;
	if (!takes_value(match->row)) {
		if (!attached)
			return 0;
		return err_set(err, ERR_INVALID, "option '%s' takes no value", match->spelling);
	}
	if (attached || match->row->without)
		match->value = attached ? attached : match->row->without;
	else if (walk->at < walk->argc)
		match->value = walk->argv[walk->at++];
	else
		return err_set(err, ERR_INVALID, "option '%s' needs a value (%s)", match->spelling,
			       match->row->argument ? match->row->argument : "VALUE");
	return 0;
}

static void spell(struct option_match *match, const char *dashes, const char *name, size_t length)
{
	size_t room = sizeof(match->spelling) - strlen(dashes) - 1;
	size_t kept = length < room ? length : room;

	memset(match->spelling, 0, sizeof(match->spelling));
	memcpy(match->spelling, dashes, strlen(dashes));
	memcpy(match->spelling + strlen(dashes), name, kept);
}

static int match_long(struct walk *walk, const char *argument, struct option_match *match,
		      struct err *err)
{
	const char *name = argument + 2;
	const char *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	size_t nr_prefixes = 0;

	spell(match, "--", name, length);
	match->row = find_long(walk->rows, name, length, &nr_prefixes);
	if (!match->row && nr_prefixes < 2)
		match->row = find_long(options_common, name, length, &nr_prefixes);
	if (!match->row && nr_prefixes > 1)
		return ambiguous_long(walk, match, err);
	if (!match->row)
		return unknown_long(walk, match, err);
	return take_value(walk, equals ? equals + 1 : NULL, match, err);
}

static int match_short(struct walk *walk, struct option_match *match, struct err *err)
{
	const char *letter = walk->cluster;
	const char *rest = letter[1] ? letter + 1 : NULL;

	walk->cluster = NULL;
	spell(match, "-", letter, 1);
	match->row = find_short(walk->rows, *letter);
	if (!match->row)
		match->row = find_short(options_common, *letter);
	if (!match->row)
		return unknown_short(match, err);
	if (!takes_value(match->row)) {
		walk->cluster = rest;
		rest = NULL;
	}
	return take_value(walk, rest, match, err);
}

/* Is the next argument an option? "-" alone is a word: standard input or output. */
static bool at_option(const struct walk *walk)
{
	const char *argument = walk->argv[walk->at];

	return argument[0] == '-' && argument[1] != '\0';
}

/* Take the option that starts at walk->at, or the next letter of a cluster. */
static int next_option(struct walk *walk, struct option_match *match, struct err *err)
{
	const char *argument;

	if (walk->cluster)
		return match_short(walk, match, err);
	argument = walk->argv[walk->at++];
	if (argument[1] == '-')
		return match_long(walk, argument, match, err);
	walk->cluster = argument + 1;
	return match_short(walk, match, err);
}

static bool is_common(const struct option_row *row)
{
	return row >= options_common && row < options_common + ARRAY_SIZE(options_common);
}

/* Options to the front, words to the end, both in their order. */
static void move_words_to_end(int argc, char **argv, const bool *is_word)
{
	char **words = xcalloc((size_t)argc, sizeof(*words));
	int nr_words = 0;
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		if (is_word[i])
			words[nr_words++] = argv[i];
		else
			argv[kept++] = argv[i];
	}
	memcpy(argv + kept, words, (size_t)nr_words * sizeof(*words));
	free(words);
}

/* At a "--", which is skipped: everything after it is words. */
static bool at_end_of_options(const struct walk *walk)
{
	return strcmp(walk->argv[walk->at], "--") == 0;
}

static int parse_options(struct walk *walk, void *values, struct err *err)
{
	struct option_match match;
	int code;

	do {
		code = next_option(walk, &match, err);
		if (!code && !is_common(match.row))
			code = option_store(&match, values, err);
	} while (!code && walk->cluster);
	return code;
}

int options_parse(const struct option_row *rows, void *values, int argc, char **argv,
		  bool stop_at_word, int *first_word, struct err *err)
{
	struct walk walk = {.rows = rows, .argc = argc, .argv = argv, .at = 1};
	cleanup_free bool *is_word = xcalloc((size_t)argc + 1, sizeof(*is_word));
	int nr_words = 0;
	int code = 0;

	while (!code && walk.at < argc) {
		if (at_end_of_options(&walk)) {
			walk.at++;
			break;
		}
		if (at_option(&walk)) {
			code = parse_options(&walk, values, err);
		} else if (stop_at_word) {
			break;
		} else {
			is_word[walk.at++] = true;
			nr_words++;
		}
	}
	if (code)
		return code;
	nr_words += argc - walk.at;
	for (; walk.at < argc; walk.at++)
		is_word[walk.at] = true;
	move_words_to_end(argc, argv, is_word);
	*first_word = argc - nr_words;
	return 0;
}

enum options_ask options_asked(const struct option_row *rows, int argc, char **argv,
			       bool stop_at_word)
{
	struct walk walk = {.rows = rows, .argc = argc, .argv = argv, .at = 1};
	struct option_match match;

	while (walk.cluster || walk.at < argc) {
		if (!walk.cluster && at_end_of_options(&walk))
			break;
		if (!walk.cluster && !at_option(&walk)) {
			if (stop_at_word)
				break;
			walk.at++;
			continue;
		}
		if (next_option(&walk, &match, NULL) != 0)
			continue; /* options_parse() reports the error, unless help is requested */
		if (match.row == &options_common[0])
			return OPTIONS_ASK_HELP;
		if (match.row == &options_common[1])
			return OPTIONS_ASK_LIST;
	}
	return OPTIONS_ASK_NOTHING;
}

void options_release(const struct option_row *rows, void *values)
{
	for (; rows->name; rows++) {
		struct option_list *list = (void *)((char *)values + rows->offset);

		if (rows->type != OPTION_LIST)
			continue;
		for (size_t i = 0; rows->commas && i < list->nr; i++)
			free((char *)(uintptr_t)list->values[i]);
		free(list->values);
		*list = (struct option_list){0};
	}
}
