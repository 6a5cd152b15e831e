// SPDX-License-Identifier: GPL-2.0-or-later
/* Matches the paths of source files. */
#include "base/source_path.h"

#include <string.h>

#include "base/buf.h"

/* Without "." and empty components; ".." takes the one before it away where there is one. */
static void normalize(struct buf *out, const char *path)
{
	if (*path == '/')
		buf_append_byte(out, '/');
	while (*path) {
		size_t length = strcspn(path, "/");
		size_t start = out->nr_bytes;

		while (start > 0 && out->bytes[start - 1] == '/')
			start--;
		while (start > 0 && out->bytes[start - 1] != '/')
			start--;
		if (length == 2 && memcmp(path, "..", 2) == 0 && start < out->nr_bytes) {
			out->nr_bytes = start;
		} else if (length > 0 && !(length == 1 && *path == '.')) {
			buf_append(out, path, length);
			buf_append_byte(out, '/');
		}
		path += length;
		path += *path == '/';
	}
	if (out->nr_bytes > 1)
		out->nr_bytes--;
}

static bool ends_with_path(const char *path, const char *end)
{
	size_t nr_path = strlen(path), nr_end = strlen(end);

	if (nr_end == 0 || nr_end > nr_path || strcmp(path + nr_path - nr_end, end) != 0)
		return false;
	return nr_end == nr_path || end[0] == '/' || path[nr_path - nr_end - 1] == '/';
}

bool source_path_matches(const char *recorded, const char *named)
{
	struct buf left = {0}, right = {0};
	bool matches;

	normalize(&left, recorded);
	normalize(&right, named);
	matches = ends_with_path(buf_str(&left), buf_str(&right)) ||
		  ends_with_path(buf_str(&right), buf_str(&left));
	buf_release(&left);
	buf_release(&right);
	return matches;
}
