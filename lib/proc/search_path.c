// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds programs as execvp(3) does. */
#include "proc/search_path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

/* The path of `program` in the next of the directories; *at is NULL after the last one. */
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

bool search_path_find(const char *directories, const char *program, struct buf *path)
{
	const char *at = directories;

	while (at) {
		next_candidate(&at, program, path);
		if (access(buf_str(path), X_OK) == 0)
			return true;
	}
	return false;
}

bool search_path_lacks(const char *directories, const char *program, struct buf *closed)
{
	const char *at = directories;
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
