// SPDX-License-Identifier: GPL-2.0-or-later
/* Translates the command line of addr2line: @FILE and --demangle[=STYLE]. */
#include "symbol/addr2line_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"

/* Files may name files, and themselves. */
#define MAX_DEPTH	16
#define MAX_FILE_BYTES	(1 << 24)
#define MAX_TOTAL_WORDS (1 << 22)

static const char demangle[] = "--demangle=";

struct reader {
	struct addr2line_words *words;
	size_t cap, cap_owned;
};

static void add_word(struct reader *reader, char *word)
{
	struct addr2line_words *words = reader->words;

	ARRAY_RESERVE(words->argv, (size_t)words->argc + 2, reader->cap);
	words->argv[words->argc++] = word;
	words->argv[words->argc] = NULL;
}

/* The next word of a text, without its quotes and backslashes; false at the end. */
static bool next_word(const char **text, struct buf *word)
{
	char quote = '\0';

	buf_clear(word);
	while (isspace((unsigned char)**text))
		++*text;
	if (!**text)
		return false;
	for (; **text && (quote || !isspace((unsigned char)**text)); ++*text) {
		if (**text == '\\' && (*text)[1])
			buf_append_byte(word, (uint8_t) * ++*text);
		else if (**text == quote)
			quote = '\0';
		else if (!quote && (**text == '\'' || **text == '"'))
			quote = **text;
		else
			buf_append_byte(word, (uint8_t) * *text);
	}
	return true;
}

static bool read_text(const char *path, struct buf *text)
{
	FILE *file = fopen(path, "re");
	uint8_t block[4096];
	size_t nr;

	if (!file)
		return false;
	while (text->nr_bytes < MAX_FILE_BYTES && (nr = fread(block, 1, sizeof(block), file)))
		buf_append(text, block, nr);
	fclose(file);
	return true;
}

static void take_word(struct reader *reader, char *word, int depth);

/* False when there is no such file: then the word stands for itself, as in all GNU tools. */
static bool take_file(struct reader *reader, const char *path, int depth)
{
	struct addr2line_words *words = reader->words;
	struct buf text = {.nr_bytes = 0}, word = {.nr_bytes = 0};
	bool found = depth < MAX_DEPTH && read_text(path, &text);
	const char *at = buf_str(&text);

	while (found && words->argc < MAX_TOTAL_WORDS && next_word(&at, &word)) {
		ARRAY_RESERVE(words->owned, (size_t)words->nr_owned + 1, reader->cap_owned);
		words->owned[words->nr_owned] = xstrdup(buf_str(&word));
		take_word(reader, words->owned[words->nr_owned++], depth + 1);
	}
	buf_release(&text);
	buf_release(&word);
	return found;
}

static void take_word(struct reader *reader, char *word, int depth)
{
	if (word[0] != '@' || !take_file(reader, word + 1, depth))
		add_word(reader, word);
}

static int style_of(const char *name, enum demangle_style *style, struct err *err)
{
	static const char *const names[] = {
		[DEMANGLE_STYLE_AUTO] = "auto",	    [DEMANGLE_STYLE_NONE] = "none",
		[DEMANGLE_STYLE_GNU_V3] = "gnu-v3", [DEMANGLE_STYLE_GNAT] = "gnat",
		[DEMANGLE_STYLE_DLANG] = "dlang",   [DEMANGLE_STYLE_RUST] = "rust",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			*style = (enum demangle_style)i;
			return 0;
		}
	}
	err_set(err, ERR_INVALID, "unknown demangling style %s", name);
	err_hint(err, "one of auto, none, gnu-v3, gnat, dlang, rust");
	return ERR_INVALID;
}

/* --demangle=STYLE becomes --demangle, and the style is kept. */
static int take_styles(struct addr2line_words *words, struct err *err)
{
	for (int i = 1; i < words->argc && strcmp(words->argv[i], "--") != 0; i++) {
		const char *word = words->argv[i];

		if (strncmp(word, demangle, sizeof(demangle) - 1) != 0)
			continue;
		if (style_of(word + sizeof(demangle) - 1, &words->style, err))
			return ERR_INVALID;
		words->argv[i] = words->demangle;
	}
	return 0;
}

int addr2line_words_init(struct addr2line_words *words, int argc, char **argv, struct err *err)
{
	struct reader reader = {.words = words};

	*words = (struct addr2line_words){.style = DEMANGLE_STYLE_AUTO, .demangle = "--demangle"};
	add_word(&reader, argv[0]);
	for (int i = 1; i < argc; i++)
		take_word(&reader, argv[i], 0);
	if (take_styles(words, err) == 0)
		return 0;
	addr2line_words_release(words);
	return ERR_INVALID;
}

void addr2line_words_release(struct addr2line_words *words)
{
	for (int i = 0; i < words->nr_owned; i++)
		free(words->owned[i]);
	free(words->owned);
	free(words->argv);
	*words = (struct addr2line_words){.argc = 0};
}
