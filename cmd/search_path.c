// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds programs in $PATH, and quotes words for the shell. */
#include "cmd/search_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

/* As execvp(3) does it, which reads an empty PATH as the current directory. */
static const char *search_path(void)
{
	const char *path = getenv("PATH");

	return path ? path : "/bin:/usr/bin";
}

/* What `program` would be in the next of the directories, of which none is left at NULL. */
static void next_candidate(const char **at, const char *program, struct buf *path)
{
	size_t length = strcspn(*at, ":");

	buf_clear(path);
	if (length) /* else the current directory */
		buf_append(path, *at, length);
	else
		buf_append_byte(path, '.');
	buf_append_byte(path, '/');
	buf_append_str(path, program);
	*at = (*at)[length] ? *at + length + 1 : NULL;
}

bool find_in_search_path(const char *program, struct buf *path)
{
	const char *at = search_path();

	while (at) {
		next_candidate(&at, program, path);
		if (access(buf_str(path), X_OK) == 0)
			return true;
	}
	return false;
}

bool search_path_lacks(const char *program, struct buf *closed)
{
	const char *at = search_path();
	struct buf path = {0};
	bool found = false;

	buf_clear(closed);
	while (at && !found) {
		next_candidate(&at, program, &path);
		found = access(buf_str(&path), F_OK) == 0;
		if (!found && errno == EACCES && !closed->nr_bytes)
			buf_append(closed, path.bytes, path.nr_bytes - strlen(program) - 1);
	}
	buf_release(&path);
	return !found;
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
