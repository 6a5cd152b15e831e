// SPDX-License-Identifier: GPL-2.0-or-later
/* Files for their owner alone, under unpredictable names. */
#include "base/private_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"

#define OLD_SECONDS (24 * 60 * 60)

static bool is_own(const struct stat *found, mode_t type)
{
	return found->st_uid == geteuid() && (found->st_mode & S_IFMT) == type;
}

const char *private_file_directory(const char *runtime, const char *temporary)
{
	struct stat found;

	if (runtime && runtime[0] == '/' && stat(runtime, &found) == 0 && is_own(&found, S_IFDIR) &&
	    access(runtime, W_OK) == 0)
		return runtime;
	return temporary && temporary[0] == '/' ? temporary : "/tmp";
}

/* Old files are no longer used, and the directory may be in memory. */
static void remove_old(const char *directory, const char *extension)
{
	cleanup_free char *pattern = xasprintf("profc-??????%s", extension);
	DIR *entries = opendir(directory);
	const struct dirent *entry;
	struct stat found;

	while (entries && (entry = readdir(entries))) {
		if (fnmatch(pattern, entry->d_name, 0) == 0 &&
		    fstatat(dirfd(entries), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
		    is_own(&found, S_IFREG) && found.st_mtime < time(NULL) - OLD_SECONDS)
			unlinkat(dirfd(entries), entry->d_name, 0);
	}
	if (entries)
		closedir(entries);
}

int private_file_create(const char *directory, const char *extension, char **path, struct err *err)
{
	char *name = xasprintf("%s/profc-XXXXXX%s", directory, extension);
	int fd;

	remove_old(directory, extension);
	fd = mkostemps(name, (int)strlen(extension), O_CLOEXEC);
	if (fd < 0) {
		err_sys(err, "cannot write a file in %s", directory);
		free(name);
		return ERR_SYS;
	}
	*path = name;
	return fd;
}
