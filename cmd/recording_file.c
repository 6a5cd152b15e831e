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
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/output_place.h"
#include "profile/profile.h"
#include "store/store.h"

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

/*
 * NAME.old.profc-PID: the former NAME.old, or a former NAME without samples, until this recording
 * has samples.
 */
#define OLDER ".profc-"

/* Is it the file of a profc that was killed? */
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

/* Moved to where it can be had back from, or NULL: then it stays. */
static char *move_to_spare(const char *from, const char *old_path)
{
	char *spare = xasprintf("%s" OLDER "%d", old_path, getpid());

	if (rename(from, spare) == 0)
		return spare;
	free(spare);
	return NULL;
}

/* What was set aside before is, too, should nothing come of this recording; if it cannot be, it
 * goes. */
static char *keep_older(const char *old_path)
{
	struct stat found;

	if (lstat(old_path, &found) < 0 || S_ISDIR(found.st_mode))
		return NULL;
	return move_to_spare(old_path, old_path);
}

/* A file that is larger has samples: it need not be read. */
#define EMPTY_BYTES_MAX (256 << 10)

/* A recording of nothing, which is not to displace one of something. */
static bool is_empty_recording(const char *path)
{
	struct store_salvage salvage;
	struct profile *profile;
	struct stat found;
	bool is_empty;

	if (lstat(path, &found) < 0 || !S_ISREG(found.st_mode) || found.st_size > EMPTY_BYTES_MAX ||
	    store_read_path(path, &profile, &salvage, NULL) < 0)
		return false;
	is_empty = !profile->nr_samples && !profile->probes.nr_counts && !profile_has_heap(profile);
	profile_free(profile);
	return is_empty;
}

/* A file that has the name already is renamed. */
static int set_aside(struct recording_file *file, struct err *err)
{
	char *old_path = xasprintf("%s.old", file->path);

	remove_forsaken(old_path);
	if (is_empty_recording(file->path))
		file->empty_path = move_to_spare(file->path, old_path);
	if (file->empty_path) {
		free(old_path);
		return 0;
	}
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

#define LOCK_TRIES    200
#define LOCK_PAUSE_NS (10 * NS_PER_MS)

/*
 * Those that begin or end in a directory do it one after the other, so that each knows what the
 * others have. -1, or without a lock, where that cannot be had: whoever may read the directory may
 * hold it for ever.
 */
static int lock_directory(const char *path)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	const char *slash = strrchr(path, '/');
	cleanup_free char *directory =
		slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0;
	     fd >= 0 && i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	     i++)
		nanosleep(&pause, NULL);
	return fd;
}

static void unlock_directory(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int create(struct recording_file *file, struct err *err)
{
	file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
	if (file->fd < 0)
		return err_sys(err, "cannot write %s", file->path);
	file->created = true;
	output_place_occupy(file->fd);
	(void)fchmod(file->fd, 0600); /* whatever the umask leaves of it */
	return 0;
}

/* /dev/null or a FIFO. */
static int open_in_place(struct recording_file *file, struct err *err)
{
	int status = output_place_check(file->path, err);

	if (status < 0)
		return status;
	file->fd = output_place_open(file->path, err);
	return file->fd < 0 ? file->fd : 0;
}

/* The first of NAME.2, NAME.3 and so on that nothing has. */
static int create_numbered(struct recording_file *file, struct err *err)
{
	struct stat found;
	unsigned int nr = 2;

	do {
		free(file->path);
		file->path = xasprintf("%s.%u", RECORDING_FILE_DEFAULT, nr++);
	} while (lstat(file->path, &found) == 0);
	return create(file, err);
}

static int create_locked(struct recording_file *file, bool is_default, struct err *err)
{
	struct stat found;

	if (output_place_is_busy(file->path)) {
		if (is_default)
			return create_numbered(file, err);
		return err_set(err, ERR_LIMIT, "cannot write %s: another profc is recording to it",
			       file->path);
	}
	if (lstat(file->path, &found) == 0 && set_aside(file, err) < 0)
		return ERR_SYS;
	return create(file, err);
}

static int open_path(struct recording_file *file, bool is_default, struct err *err)
{
	struct stat found;
	int directory_fd, status;

	if (stat(file->path, &found) == 0 && !S_ISREG(found.st_mode)) {
		if (!is_default)
			return open_in_place(file, err);
		err_set(err, ERR_INVALID, "cannot write %s: it is not a regular file", file->path);
		err_hint(err, "choose another name with -o FILE");
		return ERR_INVALID;
	}
	directory_fd = lock_directory(file->path);
	status = create_locked(file, is_default, err);
	unlock_directory(directory_fd);
	return status;
}

int recording_file_open(struct recording_file *file, const char *path, struct err *err)
{
	int status;

	*file = (struct recording_file){.fd = -1};
	if (path && strcmp(path, "-") == 0)
		return open_stdout(file, err);
	file->path = xstrdup(path ? path : RECORDING_FILE_DEFAULT);
	status = open_path(file, !path, err);
	if (status == 0)
		return 0;
	if (status == ERR_SYS &&
	    (err->sys_errno == EACCES || err->sys_errno == EPERM || err->sys_errno == EROFS))
		err_hint(err, "choose another place with -o FILE");
	recording_file_discard(file);
	return status;
}

static void release(struct recording_file *file)
{
	free(file->path);
	free(file->old_path);
	free(file->older_path);
	free(file->empty_path);
	*file = (struct recording_file){.fd = -1};
}

const char *recording_file_name(const struct recording_file *file)
{
	return file->path ? file->path : "standard output";
}

static bool is_under_its_name(const struct recording_file *file)
{
	struct stat ours, there;

	return fstat(file->fd, &ours) == 0 && lstat(file->path, &there) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

int recording_file_check(const struct recording_file *file, struct err *err)
{
	struct stat ours;

	if (!file->created || is_under_its_name(file))
		return 0;
	if (fstat(file->fd, &ours) == 0 && ours.st_nlink == 0)
		return err_set(err, ERR_GONE,
			       "%s was removed while it was written: what was recorded is lost",
			       file->path);
	return err_set(err, ERR_GONE,
		       "%s was renamed while it was written: what was recorded has another name",
		       file->path);
}

int recording_file_reopen(const struct recording_file *file)
{
	cleanup_free char *link = xasprintf("/proc/self/fd/%d", file->fd);

	return file->created ? open(link, O_RDONLY | O_CLOEXEC) : -1;
}

int recording_file_close(struct recording_file *file, struct err *err)
{
	int status = 0;

	if (file->older_path)
		unlink(file->older_path);
	if (file->empty_path)
		unlink(file->empty_path);
	if (close(file->fd) < 0)
		status = err_sys(err, "cannot write %s", recording_file_name(file));
	release(file);
	return status;
}

/* Replaces no other file. If the rename fails, the file keeps its other name. */
static void move_back(const char *from, const char *to)
{
	struct stat found;

	if (from && lstat(to, &found) < 0 && rename(from, to) < 0)
		errno = 0;
}

void recording_file_discard(struct recording_file *file)
{
	int directory_fd = file->path ? lock_directory(file->path) : -1;

	if (file->created && is_under_its_name(file))
		unlink(file->path);
	if (file->fd >= 0)
		close(file->fd);
	move_back(file->old_path, file->path);
	move_back(file->empty_path, file->path);
	move_back(file->older_path, file->old_path);
	unlock_directory(directory_fd);
	release(file);
}
