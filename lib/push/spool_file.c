// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and writes the files of a spool. */
#include "push/spool_file_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/output_file.h"
#include "base/read_up_to.h"
#include "push/request.h"

#define NUMBER_DIGITS  16
#define EXTENSION      ".push"
#define LOCK_NAME      "lock"
#define HEAD_BYTES_MAX 16384 /* the lines before the body */

/* --- the format --- */

void spool_file_append(struct buf *out, const struct push_request *request)
{
	buf_printf(out, "profc-push 1\ntarget %s\ntype %s\nbytes %zu\n\n", request->target,
		   request->content_type, request->body.nr_bytes);
	buf_append(out, request->body.bytes, request->body.nr_bytes);
}

/* Takes the line "NAME VALUE" from the text; NULL: the next one is another. Owned by the caller. */
static char *take_line(const char **at, const char *end, const char *name)
{
	size_t nr_name_bytes = strlen(name);
	const char *newline = memchr(*at, '\n', (size_t)(end - *at));
	char *value;

	if (!newline || (size_t)(newline - *at) <= nr_name_bytes ||
	    memcmp(*at, name, nr_name_bytes) != 0 || (*at)[nr_name_bytes] != ' ')
		return NULL;
	value = xstrndup(*at + nr_name_bytes + 1, (size_t)(newline - *at) - nr_name_bytes - 1);
	*at = newline + 1;
	return value;
}

static bool is_graphic(const char *text, bool may_have_blanks)
{
	for (; *text; text++)
		if (!isgraph((unsigned char)*text) && !(may_have_blanks && *text == ' '))
			return false;
	return true;
}

static bool is_whole(const char *at, const char *end, const char *nr_text)
{
	char *after;
	unsigned long long nr;

	errno = 0;
	nr = strtoull(nr_text, &after, 10);
	return isdigit((unsigned char)*nr_text) && !*after && errno == 0 && at < end &&
	       *at == '\n' && (size_t)(end - at - 1) == nr;
}

int spool_file_parse(const void *bytes, size_t nr_bytes, struct push_request *request,
		     struct err *err)
{
	const char *at = bytes, *end = at + nr_bytes;
	cleanup_free char *version = take_line(&at, end, "profc-push");
	cleanup_free char *target = take_line(&at, end, "target");
	cleanup_free char *type = take_line(&at, end, "type");
	cleanup_free char *nr_text = take_line(&at, end, "bytes");

	if (!version || strcmp(version, "1") != 0 || !target || !type || !nr_text)
		return err_set(err, ERR_CORRUPT, "it is no file of a spool");
	if (*target != '/' || !is_graphic(target, false) || !is_graphic(type, true))
		return err_set(err, ERR_CORRUPT, "its target or type is none");
	if (!is_whole(at, end, nr_text))
		return err_set(err, ERR_TRUNCATED, "it is not whole");
	*request = (struct push_request){.target = target, .content_type = type};
	target = type = NULL;
	buf_append(&request->body, at + 1, (size_t)(end - at - 1));
	return 0;
}

/* --- files --- */

static char *path_of(const char *directory, uint64_t number)
{
	return xasprintf("%s/%016" PRIx64 EXTENSION, directory, number);
}

int spool_file_write(const char *directory, uint64_t number, const struct push_request *request,
		     uint64_t *nr_bytes, struct err *err)
{
	cleanup_free char *path = path_of(directory, number);
	struct output_file file;
	struct buf text = {0};
	int status = output_file_open(&file, path, err);

	if (status)
		return status;
	spool_file_append(&text, request);
	sink_write(&file.sink, text.bytes, text.nr_bytes);
	*nr_bytes = text.nr_bytes;
	buf_release(&text);
	return output_file_finish(&file, err);
}

int spool_file_read(const char *directory, uint64_t number, uint64_t max_bytes,
		    struct push_request *request, struct err *err)
{
	cleanup_free char *path = path_of(directory, number);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	cleanup_free uint8_t *bytes = NULL;
	struct stat found;

	if (fd < 0 || fstat(fd, &found) < 0)
		return err_sys(err, "cannot read %s", path);
	if (!S_ISREG(found.st_mode) || (uint64_t)found.st_size > max_bytes)
		return err_set(err, ERR_CORRUPT, "%s is no file of a spool", path);
	bytes = alloc_bounded((size_t)found.st_size + 1, 1, (size_t)max_bytes + 1);
	if (!bytes)
		return err_set(err, ERR_NOMEM, "no memory for %s", path);
	if (read_up_to(fd, bytes, (size_t)found.st_size) != found.st_size)
		return err_sys(err, "cannot read %s", path);
	return spool_file_parse(bytes, (size_t)found.st_size, request, err);
}

void spool_file_remove(const char *directory, uint64_t number)
{
	cleanup_free char *path = path_of(directory, number);

	unlink(path);
}

/* --- directories --- */

/* The length of a name of ours, of which more may follow; 0: it is none. */
static size_t parse_name(const char *name, uint64_t *number)
{
	size_t nr_digits = strspn(name, "0123456789abcdef");

	if (nr_digits != NUMBER_DIGITS ||
	    strncmp(name + nr_digits, EXTENSION, strlen(EXTENSION)) != 0)
		return 0;
	*number = strtoull(name, NULL, 16);
	return nr_digits + strlen(EXTENSION);
}

static int by_number(const void *left, const void *right)
{
	uint64_t a = ((const struct spool_file *)left)->number;
	uint64_t b = ((const struct spool_file *)right)->number;

	return a < b ? -1 : a > b;
}

int spool_files_list(const char *directory, struct spool_file **files, size_t *nr, struct err *err)
{
	DIR *entries = opendir(directory);
	const struct dirent *entry;
	size_t cap = 0;

	if (!entries)
		return err_sys(err, "cannot read %s", directory);
	*files = NULL;
	*nr = 0;
	while ((entry = readdir(entries))) {
		struct spool_file file;
		struct stat found;
		size_t nr_name_bytes = parse_name(entry->d_name, &file.number);

		if (!nr_name_bytes ||
		    fstatat(dirfd(entries), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (entry->d_name[nr_name_bytes]) {
			unlinkat(dirfd(entries), entry->d_name, 0);
			continue;
		}
		file.nr_bytes = (uint64_t)found.st_size;
		ARRAY_GROW(*files, *nr, cap);
		(*files)[(*nr)++] = file;
	}
	closedir(entries);
	if (*nr)
		qsort(*files, *nr, sizeof(**files), by_number);
	return 0;
}

int spool_files_lock(const char *directory, struct err *err)
{
	cleanup_free char *path = xasprintf("%s/" LOCK_NAME, directory);
	struct stat found;
	int fd;

	if (mkdir(directory, 0700) != 0 && errno != EEXIST)
		return err_sys(err, "cannot make %s", directory);
	if (stat(directory, &found) != 0)
		return err_sys(err, "cannot use %s", directory);
	if (found.st_uid != geteuid() || (found.st_mode & 022))
		return err_set(err, ERR_PERMISSION, "%s: other users can write there", directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(err, "cannot use %s", directory);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	return err_set(err, ERR_LIMIT, "another profc uses %s", directory);
}
