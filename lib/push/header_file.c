// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads files of header lines. */
#include "push/header_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/read_up_to.h"

#define FILE_BYTES_MAX (64 * 1024)

/* The characters of a token of RFC 9110. */
static size_t name_bytes(const char *line)
{
	size_t nr = 0;

	while (line[nr] &&
	       (isalnum((unsigned char)line[nr]) || strchr("!#$%&'*+-.^_`|~", line[nr])))
		nr++;
	return nr;
}

static bool is_ours(const char *line, size_t nr_name_bytes)
{
	static const char *const ours[] = {"Content-Type", "Content-Length", "Transfer-Encoding",
					   "Expect", "Connection"};

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (strlen(ours[i]) == nr_name_bytes &&
		    strncasecmp(line, ours[i], nr_name_bytes) == 0)
			return true;
	return false;
}

static int check_line(const char *line, unsigned int number, struct err *err)
{
	size_t nr_name_bytes = name_bytes(line);

	if (nr_name_bytes == 0 || line[nr_name_bytes] != ':') {
		err_set(err, ERR_INVALID, "line %u is no header", number);
		err_hint(err, "a line is 'Name: value', as in 'Authorization: Bearer TOKEN'");
		return ERR_INVALID;
	}
	for (const char *at = line; *at; at++)
		if (iscntrl((unsigned char)*at) && *at != '\t')
			return err_set(err, ERR_INVALID, "line %u has a control character", number);
	if (is_ours(line, nr_name_bytes))
		return err_set(err, ERR_INVALID, "line %u is a header that profc sets itself",
			       number);
	return 0;
}

/* Without blanks at the end, among them the '\r' of some editors. */
static size_t trimmed_bytes(const char *line, size_t nr_bytes)
{
	while (nr_bytes && isspace((unsigned char)line[nr_bytes - 1]))
		nr_bytes--;
	return nr_bytes;
}

int push_headers_parse(struct push_headers *headers, const char *text, struct err *err)
{
	unsigned int number = 0;

	*headers = (struct push_headers){.lines = NULL};
	while (*text) {
		size_t nr_bytes = strcspn(text, "\n");
		char *line = xstrndup(text, trimmed_bytes(text, nr_bytes));

		text += nr_bytes + (text[nr_bytes] != '\0');
		number++;
		if (!*line || *line == '#') {
			free(line);
			continue;
		}
		if (check_line(line, number, err)) {
			free(line);
			push_headers_release(headers);
			return ERR_INVALID;
		}
		ARRAY_GROW(headers->lines, headers->nr, headers->cap);
		headers->lines[headers->nr++] = line;
	}
	return 0;
}

int push_headers_read(struct push_headers *headers, const char *path, struct err *err)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	cleanup_free char *text = NULL;
	struct stat found;
	ssize_t nr_bytes;
	int status;

	if (fd < 0 || fstat(fd, &found) < 0)
		return err_sys(err, "cannot read %s", path);
	if (!S_ISREG(found.st_mode))
		return err_set(err, ERR_INVALID, "%s is no regular file", path);
	text = xcalloc(1, FILE_BYTES_MAX + 2);
	nr_bytes = read_up_to(fd, text, FILE_BYTES_MAX + 1);
	if (nr_bytes < 0)
		return err_sys(err, "cannot read %s", path);
	if (nr_bytes > FILE_BYTES_MAX || strlen(text) != (size_t)nr_bytes)
		return err_set(err, ERR_INVALID, "%s is no file of header lines", path);
	status = push_headers_parse(headers, text, err);
	explicit_bzero(text, (size_t)nr_bytes);
	if (status)
		err_prefix(err, "%s", path);
	else
		headers->is_readable_by_others = found.st_mode & 077;
	return status;
}

void push_headers_release(struct push_headers *headers)
{
	for (size_t i = 0; i < headers->nr; i++) {
		explicit_bzero(headers->lines[i], strlen(headers->lines[i]));
		free(headers->lines[i]);
	}
	free(headers->lines);
	*headers = (struct push_headers){.lines = NULL};
}
