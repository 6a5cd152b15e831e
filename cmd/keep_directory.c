// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/keep_directory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/output_place.h"
#include "profile/profile.h"
#include "store/store.h"

#define SUFFIX ".data"
/* 2026-11-29T12-00-00Z, where a digit may be any. */
#define TIME_FORMAT  "%Y-%m-%dT%H-%M-%SZ"
#define TIME_PATTERN "0000-00-00T00-00-00Z"
#define WORD_MAX     64

/* The letters of a file name that no shell and no terminal takes for anything else. */
static char *plain_word(const char *text)
{
	char *word = xstrndup(text, WORD_MAX);

	for (char *at = word; *at; at++) {
		bool is_plain = isalnum((unsigned char)*at) || *at == '-' || *at == '_' ||
				(*at == '.' && at > word);

		if (!is_plain)
			*at = '_';
	}
	return word;
}

static void set_name(struct keep_directory *directory, const char *text)
{
	const char *slash = strrchr(text, '/');

	free(directory->name);
	directory->name = plain_word(slash ? slash + 1 : text);
}

void keep_directory_init(struct keep_directory *directory, const char *path, const char *command,
			 size_t limit)
{
	size_t length;

	*directory = (struct keep_directory){.path = xstrdup(path ? path : KEEP_DIRECTORY_DEFAULT),
					     .limit = limit};
	length = strlen(directory->path);
	while (length > 1 && directory->path[length - 1] == '/')
		directory->path[--length] = '\0';
	if (command)
		set_name(directory, command);
}

void keep_directory_release(struct keep_directory *directory)
{
	free(directory->path);
	free(directory->name);
	*directory = (struct keep_directory){0};
}

int keep_directory_make(const struct keep_directory *directory, struct err *err)
{
	struct stat found;
	int status;

	if (mkdir(directory->path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "cannot make the directory %s", directory->path);
	status = output_place_check_directory(directory->path, err);
	if (status < 0)
		return status;
	if (stat(directory->path, &found) < 0)
		return err_sys(err, "cannot use %s", directory->path);
	if (!S_ISDIR(found.st_mode)) {
		err_set(err, ERR_INVALID, "%s is not a directory", directory->path);
		err_hint(err, "with --keep, -o names the directory of the profiles");
		return ERR_INVALID;
	}
	if (access(directory->path, W_OK | X_OK) < 0)
		return err_sys(err, "cannot write to %s", directory->path);
	return 0;
}

void keep_directory_name(struct keep_directory *directory, const struct profile *profile)
{
	const char *name =
		profile->nr_processes ? profile_str(profile, profile->processes[0].name) : "";

	if (!directory->name && *name)
		set_name(directory, name);
}

static const char *name_of(const struct keep_directory *directory)
{
	return directory->name ? directory->name : "profc";
}

/* A jump of the clock may bring a time again. */
char *keep_directory_path(const struct keep_directory *directory, uint64_t realtime_ns,
			  const char *word)
{
	cleanup_free char *plain = plain_word(word);
	time_t seconds = (time_t)(realtime_ns / NS_PER_SEC);
	char when[sizeof(TIME_PATTERN) + 8] = "";
	struct stat found;
	struct tm utc;
	char *path;

	if (gmtime_r(&seconds, &utc))
		strftime(when, sizeof(when), TIME_FORMAT, &utc);
	path = xasprintf("%s/%s.%s.%s" SUFFIX, directory->path, name_of(directory), when, plain);
	for (unsigned int nr = 2; lstat(path, &found) == 0; nr++) {
		free(path);
		path = xasprintf("%s/%s.%s.%s.%u" SUFFIX, directory->path, name_of(directory), when,
				 plain, nr);
	}
	return path;
}

static bool has_suffix(const char *name)
{
	size_t length = strlen(name);

	return length > strlen(SUFFIX) && strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

static bool is_time(const char *text)
{
	for (size_t i = 0; TIME_PATTERN[i]; i++) {
		bool fits = TIME_PATTERN[i] == '0' ? isdigit((unsigned char)text[i]) != 0
						   : text[i] == TIME_PATTERN[i];

		if (!fits)
			return false;
	}
	return text[strlen(TIME_PATTERN)] == '.';
}

/* Is it NAME.TIME.TRIGGER.data? */
static bool is_of_program(const char *file, const char *name)
{
	size_t length = strlen(name);

	return strncmp(file, name, length) == 0 && file[length] == '.' &&
	       is_time(file + length + 1) && has_suffix(file + length + sizeof(TIME_PATTERN) + 1);
}

struct file_name {
	char *text; /* owned */
	bool is_of_future;
};

struct file_names {
	struct file_name *at; /* owned */
	size_t nr, cap;
};

/* The oldest first, but before them those of a clock that was wrong. */
static int by_age(const void *left, const void *right)
{
	const struct file_name *a = left, *b = right;

	return a->is_of_future != b->is_of_future ? b->is_of_future - a->is_of_future
						  : strcmp(a->text, b->text);
}

/*
 * Others who can write to the directory can neither have one of ours removed by names of the
 * future, nor have root remove what is theirs.
 */
static bool is_ours(DIR *entries, const char *file)
{
	struct stat found;

	return fstatat(dirfd(entries), file, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(found.st_mode) && found.st_uid == geteuid();
}

/* Another recorder of the same program may have written one meanwhile. */
#define FUTURE_S 3600

/* The text of a time of that much after another one. */
static void future_after(const char *time, char *text, size_t nr_bytes)
{
	struct tm utc = {0};
	time_t seconds = strptime(time, TIME_FORMAT, &utc) ? timegm(&utc) + FUTURE_S : -1;

	*text = '\0';
	if (gmtime_r(&seconds, &utc))
		strftime(text, nr_bytes, TIME_FORMAT, &utc);
}

/* The names tell their order. */
static struct file_names names_of_program(DIR *entries, const char *name, const char *except)
{
	size_t nr_name_bytes = strlen(name) + 1;
	char future[sizeof(TIME_PATTERN) + 8];
	struct file_names names = {0};
	const struct dirent *entry;

	future_after(except + nr_name_bytes, future, sizeof(future));
	while ((entry = readdir(entries))) {
		if (!is_of_program(entry->d_name, name) || strcmp(entry->d_name, except) == 0 ||
		    !is_ours(entries, entry->d_name))
			continue;
		ARRAY_GROW(names.at, names.nr, names.cap);
		names.at[names.nr++] = (struct file_name){
			.text = xstrdup(entry->d_name),
			.is_of_future = strncmp(entry->d_name + nr_name_bytes, future,
						strlen(TIME_PATTERN)) > 0};
	}
	if (names.nr)
		qsort(names.at, names.nr, sizeof(*names.at), by_age);
	return names;
}

void keep_directory_limit(const struct keep_directory *directory, const char *newest)
{
	DIR *entries = opendir(directory->path);
	struct file_names names;

	if (!entries)
		return;
	names = names_of_program(entries, name_of(directory), strrchr(newest, '/') + 1);
	for (size_t i = 0; i < names.nr; i++) {
		/* Nothing can be done should it fail. */
		if (names.nr - i >= directory->limit)
			(void)unlinkat(dirfd(entries), names.at[i].text, 0);
		free(names.at[i].text);
	}
	free(names.at);
	closedir(entries);
}

/*
 * Is it a file to be read, of ours, of root or of the owner of the directory? In a directory that
 * many may write to, others could have another profile shown.
 */
static bool is_trusted(const struct stat *file, const struct stat *directory)
{
	return S_ISREG(file->st_mode) && (file->st_uid == 0 || file->st_uid == geteuid() ||
					  file->st_uid == directory->st_uid);
}

static void add_file(struct keep_files *files, const char *path, const char *name,
		     const struct stat *directory)
{
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
	struct keep_file file = {.path = xasprintf("%s%s%s", path, slash, name)};
	struct stat found;

	if (has_suffix(name) && lstat(file.path, &found) == 0 && is_trusted(&found, directory) &&
	    store_is_profile(file.path)) {
		file.name = file.path + strlen(file.path) - strlen(name);
		file.nr_bytes = (uint64_t)found.st_size;
		file.written_ns = (uint64_t)found.st_mtim.tv_sec * NS_PER_SEC +
				  (uint64_t)found.st_mtim.tv_nsec;
		ARRAY_GROW(files->at, files->nr, files->cap);
		files->at[files->nr++] = file;
	} else {
		free(file.path);
	}
}

static int newest_first(const void *left, const void *right)
{
	const struct keep_file *a = left, *b = right;

	if (a->written_ns != b->written_ns)
		return a->written_ns < b->written_ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

void keep_files_read(struct keep_files *files, const char *path)
{
	DIR *entries = opendir(path);
	const struct dirent *entry;
	struct stat directory;

	*files = (struct keep_files){0};
	while (entries && fstat(dirfd(entries), &directory) == 0 && (entry = readdir(entries)))
		add_file(files, path, entry->d_name, &directory);
	if (entries)
		closedir(entries);
	if (files->nr)
		qsort(files->at, files->nr, sizeof(*files->at), newest_first);
}

void keep_files_release(struct keep_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		free(files->at[i].path);
	free(files->at);
}

char *keep_directory_newest(const char *path)
{
	struct keep_files files;
	char *newest;

	keep_files_read(&files, path);
	newest = files.nr ? xstrdup(files.at[0].path) : NULL;
	keep_files_release(&files);
	return newest;
}

/* TIME.TRIGGER.data at the end of a name, or NULL. */
static const char *find_time(const char *name)
{
	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
		if (is_time(dot + 1))
			return dot + 1;
	}
	return NULL;
}

char *keep_file_trigger(const struct keep_file *file)
{
	const char *time = find_time(file->name);
	const char *word = time ? time + sizeof(TIME_PATTERN) : "";

	return has_suffix(word) ? xstrndup(word, strlen(word) - strlen(SUFFIX)) : xstrdup("");
}

char *keep_file_time(const struct keep_file *file)
{
	time_t seconds = (time_t)(file->written_ns / NS_PER_SEC);
	const char *time = find_time(file->name);
	char text[sizeof(TIME_PATTERN) + 8] = "";
	struct tm utc;

	if (time)
		return xasprintf("%.10s %.2s:%.2s:%.2s", time, time + 11, time + 14, time + 17);
	if (gmtime_r(&seconds, &utc))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
	return xstrdup(text);
}
