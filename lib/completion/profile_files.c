// SPDX-License-Identifier: GPL-2.0-or-later
#include "completion/profile_files.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "store/store.h"

/* Each file is opened. */
#define ENTRIES_MAX 4096

struct names {
	char **at; /* owned */
	size_t nr, cap;
};

/* The word is replaced as a whole: a name that breaks the lines of answers is left out. */
static bool may_be_said(const char *name)
{
	return !name[strcspn(name, "\n\t")];
}

static void add_entry(struct names *names, const char *directory, const char *name)
{
	char *path = xasprintf("%s%s", directory, name);
	struct stat status;
	bool is_directory = stat(path, &status) == 0 && S_ISDIR(status.st_mode);

	if (may_be_said(name) &&
	    (is_directory || (S_ISREG(status.st_mode) && store_is_profile(path)))) {
		ARRAY_GROW(names->at, names->nr, names->cap);
		names->at[names->nr++] = xasprintf("%s%s", path, is_directory ? "/" : "");
	}
	free(path);
}

/* False if there are too many. */
static bool add_entries(struct names *names, const char *directory, const char *beginning)
{
	size_t nr_bytes = strlen(beginning), nr = 0;
	DIR *entries = opendir(*directory ? directory : ".");
	const struct dirent *entry;

	while (entries && nr <= ENTRIES_MAX && (entry = readdir(entries))) {
		if (strncmp(entry->d_name, beginning, nr_bytes) != 0 ||
		    (entry->d_name[0] == '.' && beginning[0] != '.'))
			continue;
		if (nr++ < ENTRIES_MAX && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			add_entry(names, directory, entry->d_name);
	}
	if (entries)
		closedir(entries);
	return nr <= ENTRIES_MAX;
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

void profile_files_append(struct buf *out, const char *word)
{
	const char *slash = strrchr(word, '/');
	cleanup_free char *directory = xstrndup(word, slash ? (size_t)(slash - word) + 1 : 0);
	struct names names = {.nr = 0};
	bool is_listed =
		!strpbrk(word, "~$") && add_entries(&names, directory, slash ? slash + 1 : word);

	buf_append_str(out, is_listed ? ":paths\n" : ":files\n");
	if (names.nr)
		qsort(names.at, names.nr, sizeof(*names.at), by_text);
	for (size_t i = 0; i < names.nr; i++) {
		if (is_listed)
			buf_printf(out, "%s\t\n", names.at[i]);
		free(names.at[i]);
	}
	free(names.at);
}
