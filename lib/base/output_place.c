// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks the files that output would replace. */
#include "base/output_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/chosen_file.h"
#include "base/err.h"

/* An offset beyond any file's bytes: "profc". */
#define LOCKED_BYTE 0x70726f6663

static struct flock lock_of(short type)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = LOCKED_BYTE, .l_len = 1};
}

void output_place_occupy(int fd)
{
	struct flock lock = lock_of(F_WRLCK);

	/* Some file systems have no locks. */
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		errno = 0;
}

bool output_place_is_busy(const char *path)
{
	struct flock lock = lock_of(F_WRLCK);
	/* Opening a FIFO would have side effects. */
	cleanup_close int fd = linked_file_open(path, NULL);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

enum directory_kind {
	DIRECTORY_OWN,	   /* the caller's or root's */
	DIRECTORY_FOREIGN, /* another user's */
	DIRECTORY_SHARED,  /* such as /tmp */
};

static enum directory_kind directory_kind_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *directory =
		slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	struct stat found;

	if (stat(directory, &found) < 0)
		return DIRECTORY_OWN; /* there is nothing to write to */
	if (found.st_mode & (S_ISVTX | S_IWOTH))
		return DIRECTORY_SHARED;
	return found.st_uid == 0 || found.st_uid == geteuid() ? DIRECTORY_OWN : DIRECTORY_FOREIGN;
}

static int refuse(const char *path, const char *why, struct err *err)
{
	err_set(err, ERR_PERMISSION,
		"cannot write %s: %s, in a directory that other users may write to", path, why);
	err_hint(err, "choose another name, or a directory that only you can write to");
	return ERR_PERMISSION;
}

int output_place_check(const char *path, struct err *err)
{
	enum directory_kind kind = directory_kind_of(path);
	struct stat found;

	if (lstat(path, &found) < 0)
		return 0;
	if (kind != DIRECTORY_OWN) {
		if (S_ISLNK(found.st_mode))
			return refuse(path, "it is a symbolic link", err);
		if (found.st_uid != geteuid() &&
		    (kind == DIRECTORY_SHARED || !S_ISREG(found.st_mode)))
			return refuse(path, "it belongs to another user", err);
	}
	if (output_place_is_busy(path))
		return err_set(err, ERR_LIMIT,
			       "cannot write %s: a recording is being written to it", path);
	return 0;
}

int output_place_check_directory(const char *path, struct err *err)
{
	struct stat found;

	if (lstat(path, &found) < 0 || directory_kind_of(path) != DIRECTORY_SHARED)
		return 0;
	if (S_ISLNK(found.st_mode))
		return refuse(path, "it is a symbolic link", err);
	if (found.st_uid != 0 && found.st_uid != geteuid())
		return refuse(path, "it belongs to another user", err);
	return 0;
}

int output_place_flags(const char *path)
{
	return directory_kind_of(path) == DIRECTORY_OWN ? 0 : O_NOFOLLOW;
}

int output_place_open(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | output_place_flags(path));
	struct stat found;

	if (fd < 0)
		return err_sys(err, "cannot write %s", path);
	if (fstat(fd, &found) == 0 && !S_ISREG(found.st_mode))
		return fd;
	close(fd);
	return err_set(err, ERR_INVALID, "cannot write %s: it has just become a file", path);
}
