// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/python_source.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/chosen_file.h"

/* More is not read, of all files together. */
#define SOURCES_MAX_BYTES ((size_t)64 << 20)
#define SOURCES_MAX	  4096

static const char prefix[] = "py::";

const char *python_file_of(const char *name)
{
	const char *colon;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return NULL;
	colon = strchr(name + strlen(prefix), ':');
	return colon && colon[1] == '/' ? colon + 1 : NULL;
}

/* --- lines --- */

struct line {
	const char *begin, *end;
	size_t indent;
	uint32_t number;
};

/* The next line with any code in it. */
static bool next_line(const char **at, struct line *line)
{
	while (**at) {
		size_t length = strcspn(*at, "\n");

		line->begin = *at;
		line->end = *at + length;
		line->number++;
		line->indent = strspn(line->begin, " \t");
		*at = line->end + (*line->end == '\n');
		if (line->indent < length && line->begin[line->indent] != '#' &&
		    line->begin[line->indent] != '\r')
			return true;
	}
	return false;
}

static bool is_of_identifier(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || (unsigned char)c >= 0x80;
}

/* Does the line define it? */
static bool defines(const struct line *line, const char *name, size_t nr_name)
{
	static const char *const words[] = {"def", "async def", "class"};
	const char *code = line->begin + line->indent;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *at = code + strlen(words[i]);

		if (strncmp(code, words[i], strlen(words[i])) != 0)
			continue;
		at += strspn(at, " \t");
		if (strncmp(at, name, nr_name) == 0 && !is_of_identifier(at[nr_name]))
			return true;
	}
	return false;
}

/* Go to the definition, after the one that the line is in if there is one. */
static bool find_definition(const char **at, struct line *line, const char *name, size_t nr_name)
{
	bool is_within = line->number > 0;
	size_t indent = line->indent;

	while (next_line(at, line)) {
		if (is_within && line->indent <= indent)
			return false;
		if (defines(line, name, nr_name))
			return true;
	}
	return false;
}

static bool is_part(const char *part, size_t length, const char *name)
{
	return length == strlen(name) && strncmp(part, name, length) == 0;
}

uint32_t python_find_line(const char *name, const char *source)
{
	const char *file = python_file_of(name), *at = source, *part = name + strlen(prefix);
	struct line line = {0};

	while (file && part < file) {
		size_t length = strcspn(part, ".:");

		if (is_part(part, length, "<module>"))
			return 1;
		if (*part == '<' && !is_part(part, length, "<locals>"))
			break;
		if (*part != '<' && !find_definition(&at, &line, part, length))
			return 0;
		part += length + 1;
	}
	return line.number;
}

/* --- files --- */

void python_sources_release(struct python_sources *sources)
{
	for (size_t i = 0; i < sources->nr; i++) {
		free(sources->rows[i].file);
		free(sources->rows[i].text);
	}
	free(sources->rows);
	*sources = (struct python_sources){0};
}

static char *read_text(const char *file, struct owner chooser, size_t most)
{
	struct stat status;
	cleanup_close int fd = chosen_file_open(file, chooser, &status);
	size_t nr_bytes, have = 0;
	char *text;

	if (fd < 0 || status.st_size < 0 || (uint64_t)status.st_size > most)
		return NULL;
	nr_bytes = (size_t)status.st_size;
	text = xmalloc(nr_bytes + 1);
	while (have < nr_bytes) {
		ssize_t got = read(fd, text + have, nr_bytes - have);

		if (got <= 0)
			break;
		have += (size_t)got;
	}
	text[have] = '\0';
	return text;
}

const char *python_sources_get(struct python_sources *sources, const char *file,
			       struct owner chooser)
{
	struct python_source *row;

	for (size_t i = 0; i < sources->nr; i++) {
		if (strcmp(sources->rows[i].file, file) == 0)
			return sources->rows[i].text;
	}
	if (sources->nr == SOURCES_MAX)
		return NULL;
	ARRAY_GROW(sources->rows, sources->nr, sources->cap);
	row = &sources->rows[sources->nr++];
	*row = (struct python_source){
		.file = xstrdup(file),
		.text = read_text(file, chooser, SOURCES_MAX_BYTES - sources->nr_bytes)};
	if (row->text)
		sources->nr_bytes += strlen(row->text);
	return row->text;
}
