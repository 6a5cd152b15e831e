// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line by which a browser shows a file. */
#include "desktop/words_priv.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

void file_url_append(struct buf *out, const char *path)
{
	buf_append_str(out, "file://");
	for (; *path; path++) {
		unsigned char byte = (unsigned char)*path;

		if (byte < 0x80 && (isalnum(byte) || strchr("/-._~", byte)))
			buf_append_byte(out, byte);
		else
			buf_printf(out, "%%%02X", byte);
	}
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* Returns whether there was a place for the URL. */
static bool append_word(struct buf *word, const char *text, size_t nr_bytes, const char *url)
{
	bool has_url = false;

	for (size_t i = 0; i < nr_bytes; i++) {
		char next = i + 1 < nr_bytes ? text[i + 1] : '\0';

		if (text[i] == '%' && next == 's')
			buf_append_str(word, url);
		else
			buf_append_byte(word, (unsigned char)text[i]);
		has_url |= text[i] == '%' && next == 's';
		i += text[i] == '%' && (next == 's' || next == '%');
	}
	return has_url;
}

char **browser_words(const char *command, size_t nr_bytes, const char *url)
{
	char **words = xcalloc(nr_bytes / 2 + 3, sizeof(*words)); /* each is followed by a blank */
	bool has_url = false;
	size_t nr = 0;

	for (size_t at = 0; at < nr_bytes;) {
		size_t length = 0;
		struct buf word = {0};

		while (at + length < nr_bytes && !is_blank(command[at + length]))
			length++;
		if (length) {
			has_url |= append_word(&word, command + at, length, url);
			words[nr++] = xstrdup(buf_str(&word));
		}
		buf_release(&word);
		at += length + 1;
	}
	if (nr && !has_url)
		words[nr++] = xstrdup(url);
	if (nr)
		return words;
	free(words);
	return NULL;
}

void browser_words_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}
