// SPDX-License-Identifier: GPL-2.0-or-later
#include "completion/program_names.h"

#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/demangled_name.h"
#include "symbol/functions.h"
#include "symbol/symbol.h"
#include "view/name_words.h"

/* Names of more functions are not read before the user has typed so many characters. */
#define MANY_FUNCTIONS 20000
#define TYPED_LEAST    2

/* An identifier with its scopes: those that it begins with match no other characters. */
static bool is_identifier(const char *text)
{
	while (isalnum((unsigned char)*text) || *text == '_' || *text == ':')
		text++;
	return !*text;
}

/* The last identifier of it, which all names have that begin so. */
static const char *word_of(const char *beginning)
{
	const char *colon = strrchr(beginning, ':');

	return colon ? colon + 1 : beginning;
}

static void append_found(struct buf *out, struct symbol_functions *functions, const char *beginning)
{
	cleanup_free char *pattern = xasprintf("(^|[ *&])%s", beginning);
	const char *word = word_of(beginning);
	const struct symbol_function **found;
	struct name_words *words;
	regex_t regex;
	size_t nr;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return;
	found = symbol_functions_find(functions, *beginning ? &regex : NULL, *word ? word : NULL,
				      &nr);
	words = name_words_new(beginning);
	for (size_t i = 0; i < nr; i++) {
		cleanup_free char *name =
			found[i]->name ? demangled_name_shorten(found[i]->name) : NULL;

		if (name)
			name_words_add(words, name, found[i]->file ? found[i]->file : "");
	}
	name_words_finish(words, out);
	free(found);
	regfree(&regex);
}

void program_names_append(struct buf *out, const char *path, const char *beginning)
{
	const struct symbol_options options = {.nr_threads = 1};
	const struct symbol_request request = {.path = path, .fd = -1, .tables_only = true};
	struct symbol_functions *functions;
	struct symbol_file *file;

	if (!is_identifier(beginning) || symbol_file_open(&options, &request, &file, NULL) < 0)
		return;
	functions = symbol_functions_new(file);
	if (symbol_functions_nr(functions) <= MANY_FUNCTIONS || strlen(beginning) >= TYPED_LEAST)
		append_found(out, functions, beginning);
	symbol_functions_free(functions);
	symbol_file_close(file);
}
