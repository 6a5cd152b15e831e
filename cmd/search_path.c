// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/search_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

bool find_in_search_path(const char *program, struct buf *path)
{
	const char *at = getenv("PATH");
	bool found = false;

	while (at && *at && !found) {
		size_t length = strcspn(at, ":");

		buf_clear(path);
		if (length) /* else the current directory */
			buf_append(path, at, length);
		else
			buf_append_byte(path, '.');
		buf_append_byte(path, '/');
		buf_append_str(path, program);
		found = access(buf_str(path), X_OK) == 0;
		at += length;
		at += *at == ':';
	}
	return found;
}

bool in_search_path(const char *program)
{
	struct buf path = {0};
	bool found = find_in_search_path(program, &path);

	buf_release(&path);
	return found;
}

void append_shell_word(struct buf *command, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./-+,:@%=";

	if (*word && !word[strspn(word, plain)]) {
		buf_append_str(command, word);
		return;
	}
	buf_append_byte(command, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_append_str(command, "'\\'");
		buf_append_byte(command, (uint8_t)*word);
	}
	buf_append_byte(command, '\'');
}
