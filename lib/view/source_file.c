// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds and reads source files. */
#include "view/source_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/chosen_file.h"
#include "base/clock.h"
#include "base/read_up_to.h"
#include "base/strtab.h"
#include "profile/profile.h"

/* Generated sources are large, but not as large as this. */
#define SOURCE_MAX_BYTES (256u << 20)

static void split_lines(struct source_file_text *text, size_t nr_bytes)
{
	char *at = text->bytes, *end = text->bytes + nr_bytes;

	while (at < end) {
		char *newline = memchr(at, '\n', (size_t)(end - at));

		ARRAY_GROW(text->lines, text->nr_lines, text->cap_lines);
		text->lines[text->nr_lines++] = at;
		if (!newline)
			break;
		*newline = '\0';
		if (newline > at && newline[-1] == '\r')
			newline[-1] = '\0';
		at = newline + 1;
	}
}

static bool try_read(const char *path, struct owner chooser, struct source_file_text *text)
{
	struct stat status;
	cleanup_close int fd = chosen_file_open(path, chooser, &status);
	size_t nr_bytes;
	char *bytes;

	if (fd < 0 || status.st_size > SOURCE_MAX_BYTES)
		return false;
	nr_bytes = (size_t)status.st_size;
	bytes = xmalloc(nr_bytes + 1);
	if (read_up_to(fd, bytes, nr_bytes) != status.st_size) {
		free(bytes);
		return false;
	}
	bytes[nr_bytes] = '\0';
	*text = (struct source_file_text){
		.bytes = bytes,
		.path = xstrdup(path),
		.nr_bytes = nr_bytes,
		.modified_ns = (uint64_t)status.st_mtim.tv_sec * NS_PER_SEC +
			       (uint64_t)status.st_mtim.tv_nsec,
	};
	split_lines(text, nr_bytes);
	return true;
}

/* Does the end of a path leave the directory that is put before it? */
static bool has_parent(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2) {
		if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
			return true;
	}
	return false;
}

/* OLD=NEW, chosen by the user: a path that begins with OLD begins with NEW instead. */
static bool try_mapped(const char *recorded, const char *map, struct owner chooser,
		       struct source_file_text *text)
{
	size_t nr_old = strcspn(map, "=");
	struct buf path = {0};
	bool found = false;

	if (map[nr_old] == '=' && strncmp(recorded, map, nr_old) == 0) {
		buf_append_str(&path, map + nr_old + 1);
		buf_append_str(&path, recorded + nr_old);
		found = try_read(buf_str(&path),
				 has_parent(recorded + nr_old) ? chooser : owner_caller(), text);
	}
	buf_release(&path);
	return found;
}

/* The text that the recording keeps: the compiled one, even if the file has changed or is gone. */
static bool try_kept(const struct profile *profile, const char *recorded,
		     struct source_file_text *text)
{
	for (size_t i = 0; profile && i < profile->symbols.nr_sources; i++) {
		const struct profile_source *row = &profile->symbols.sources[i];

		if (row->text.v == STR_EMPTY.v ||
		    strcmp(profile_str(profile, row->file), recorded) != 0)
			continue;
		*text = (struct source_file_text){
			.bytes = xstrdup(profile_str(profile, row->text)),
			.path = xstrdup(recorded),
			.nr_bytes = row->nr_bytes,
			.modified_ns = row->modified_ns,
		};
		split_lines(text, strlen(text->bytes));
		return true;
	}
	return false;
}

bool source_file_read(const struct profile *profile, const char *recorded, const char *named,
		      const struct source_maps *maps, struct source_file_text *text)
{
	struct owner chooser = profile ? profile_source_owner(profile, recorded) : owner_caller();

	*text = (struct source_file_text){0};
	for (size_t i = 0; i < maps->nr; i++)
		if (try_mapped(recorded, maps->texts[i], chooser, text))
			return true;
	if (try_kept(profile, recorded, text))
		return true;
	if (try_read(recorded, chooser, text))
		return true;
	text->is_refused = errno == EACCES && (geteuid() == 0 || !owner_is_trusted(chooser));
	if (named && try_read(named, chooser, text))
		return true;
	for (const char *at = recorded; (at = strchr(at, '/')) != NULL;)
		if (try_read(++at, chooser, text))
			return true;
	return false;
}

void source_file_append(const struct source_file_text *text, struct buf *out)
{
	for (size_t i = 0; i < text->nr_lines; i++) {
		if (i)
			buf_append_byte(out, '\n');
		buf_append_str(out, text->lines[i]);
	}
}

void source_file_release(struct source_file_text *text)
{
	free(text->path);
	free(text->bytes);
	free(text->lines);
	*text = (struct source_file_text){0};
}

static size_t indentation(const char *line)
{
	return strspn(line, " \t");
}

/* The known lines are in the body, and so are following lines indented deeper than the head. */
bool source_is_python(const char *path)
{
	size_t nr = strlen(path);

	return nr >= 3 && strcmp(path + nr - 3, ".py") == 0;
}

uint32_t source_function_end(const struct source_file_text *text, uint32_t first, uint32_t last)
{
	uint32_t inner = last; /* the last line that is indented more */
	size_t depth;
	bool is_python;

	if (first == 0 || first > text->nr_lines)
		return last;
	depth = indentation(text->lines[first - 1]);
	is_python = text->path && source_is_python(text->path);
	for (size_t number = (size_t)last + 1; number <= text->nr_lines; number++) {
		const char *line = text->lines[number - 1];
		size_t indent = indentation(line);
		char start = line[indent];

		if (start != '\0' && indent > depth)
			inner = (uint32_t)number;
		if (start == '\0' || start == '#' || indent > depth)
			continue;
		if (is_python)
			break;
		if (start == '}')
			return (uint32_t)number;
		/* a label may be indented as little as the head */
		if (line[strlen(line) - 1] != ':')
			break;
	}
	return is_python ? inner : last;
}
