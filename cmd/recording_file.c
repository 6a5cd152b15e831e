// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"

static int open_stdout(struct recording_file *file, struct err *err)
{
	if (isatty(STDOUT_FILENO)) {
		err_set(err, ERR_INVALID, "a profile is not for a terminal");
		err_hint(err, "send it to a file or a program: profc record -o - ... > FILE");
		return ERR_INVALID;
	}
	/* A copy, so that the command may have the original. */
	file->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return file->fd < 0 ? err_sys(err, "cannot write standard output") : 0;
}

/* NAME.old.profc-PID: what was NAME.old, while nobody knows yet whether profc will record. */
#define OLDER ".profc-"

/* Of a profc that was killed meanwhile? */
static bool is_forsaken(const char *name, const char *old_name)
{
	size_t nr = strlen(old_name);
	char *end;
	long pid;

	if (strncmp(name, old_name, nr) != 0 || strncmp(name + nr, OLDER, strlen(OLDER)) != 0)
		return false;
	errno = 0;
	pid = strtol(name + nr + strlen(OLDER), &end, 10);
	return errno == 0 && pid > 0 && pid <= INT_MAX && *end == '\0' && kill((pid_t)pid, 0) < 0 &&
	       errno == ESRCH;
}

static void remove_forsaken(const char *old_path)
{
	const char *slash = strrchr(old_path, '/');
	const char *old_name = slash ? slash + 1 : old_path;
	cleanup_free char *directory = xstrndup(old_path, (size_t)(old_name - old_path));
	DIR *entries = opendir(slash ? directory : ".");
	const struct dirent *entry;

	if (!entries)
		return;
	while ((entry = readdir(entries))) {
		/* Nothing can be done should it fail. */
		if (is_forsaken(entry->d_name, old_name) &&
		    unlinkat(dirfd(entries), entry->d_name, 0) < 0)
			break;
	}
	closedir(entries);
}

/* What was set aside before is, too, should nothing come of this recording; if it cannot be, it
 * goes. */
static char *keep_older(const char *old_path)
{
	struct stat found;
	char *older_path;

	remove_forsaken(old_path);
	if (lstat(old_path, &found) < 0 || S_ISDIR(found.st_mode))
		return NULL;
	older_path = xasprintf("%s" OLDER "%d", old_path, getpid());
	if (rename(old_path, older_path) == 0)
		return older_path;
	free(older_path);
	return NULL;
}

/* What has the name already gives it up, if it is a file. */
static int set_aside(struct recording_file *file, struct err *err)
{
	char *old_path = xasprintf("%s.old", file->path);

	file->older_path = keep_older(old_path);
	if (rename(file->path, old_path) < 0) {
		err_sys(err, "cannot rename %s to %s", file->path, old_path);
		if (file->older_path)
			rename(file->older_path, old_path);
		free(file->older_path);
		file->older_path = NULL;
		free(old_path);
		return ERR_SYS;
	}
	file->old_path = old_path;
	return 0;
}

int recording_file_open(struct recording_file *file, const char *path, struct err *err)
{
	struct stat found;
	int flags = O_WRONLY | O_CLOEXEC;

	*file = (struct recording_file){.fd = -1};
	if (strcmp(path, "-") == 0)
		return open_stdout(file, err);
	file->path = xstrdup(path);
	if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) {
		/* /dev/null or a FIFO: written in place. */
		file->fd = open(path, flags);
	} else {
		if (lstat(path, &found) == 0 && set_aside(file, err) < 0) {
			recording_file_discard(file);
			return ERR_SYS;
		}
		file->fd = open(path, flags | O_CREAT | O_EXCL, 0666);
		file->created = file->fd >= 0;
	}
	if (file->fd >= 0)
		return 0;
	err_sys(err, "cannot write %s", path);
	if (err->sys_errno == EACCES || err->sys_errno == EROFS)
		err_hint(err, "choose another place with -o FILE");
	recording_file_discard(file);
	return ERR_SYS;
}

static void release(struct recording_file *file)
{
	free(file->path);
	free(file->old_path);
	free(file->older_path);
	*file = (struct recording_file){.fd = -1};
}

void recording_file_settle(struct recording_file *file)
{
	if (file->older_path)
		unlink(file->older_path);
	free(file->older_path);
	file->older_path = NULL;
}

const char *recording_file_name(const struct recording_file *file)
{
	return file->path ? file->path : "standard output";
}

int recording_file_close(struct recording_file *file, struct err *err)
{
	int status = 0;

	recording_file_settle(file);
	if (close(file->fd) < 0)
		status = err_sys(err, "cannot write %s", recording_file_name(file));
	release(file);
	return status;
}

void recording_file_discard(struct recording_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->created)
		unlink(file->path);
	/* Nothing can be done should these fail; the files are there under the other names. */
	if (file->old_path && rename(file->old_path, file->path) < 0)
		errno = 0;
	else if (file->older_path && rename(file->older_path, file->old_path) < 0)
		errno = 0;
	release(file);
}
