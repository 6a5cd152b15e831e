// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the file of a mapping. */
#include "mapping/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/chosen_file.h"
#include "proc/backing.h"
#include "proc/range.h"

/* <linux/magic.h> */
#define BTRFS_MAGIC   0x9123683E
#define OVERLAY_MAGIC 0x794c7630

/* A file that a program serves is read as a copy. */
static bool is_copy(int fd, const struct stat *stat)
{
	struct stat own;

	return fstat(fd, &own) == 0 && (own.st_dev != stat->st_dev || own.st_ino != stat->st_ino);
}

/*
 * btrfs and overlayfs give stat() another device number than the one in
 * /proc/PID/maps, which is the superblock's or the lower file system's.
 */
static bool device_is_comparable(int fd, const struct stat *stat)
{
	struct statfs fs;

	return !is_copy(fd, stat) && fstatfs(fd, &fs) == 0 &&
	       (unsigned long)fs.f_type != BTRFS_MAGIC && (unsigned long)fs.f_type != OVERLAY_MAGIC;
}

static bool is_the_mapped_file(int fd, const struct stat *stat, const struct target_file *file)
{
	return stat->st_ino == file->inode &&
	       (stat->st_dev == file->dev || !device_is_comparable(fd, stat));
}

/*
 * The mapping may have changed since the map was read. A file is trusted to be the right one only
 * if device numbers cannot be compared.
 */
static bool may_be_the_mapped_file(int fd, const struct stat *stat, const struct target_file *file)
{
	return is_the_mapped_file(fd, stat, file) || !device_is_comparable(fd, stat);
}

typedef bool is_right_file(int fd, const struct stat *stat, const struct target_file *file);

/* Checks a descriptor; -1 with errno if it is not the right file. */
static int checked(int fd, is_right_file *is_right, const struct target_file *file,
		   const struct stat *found)
{
	if (fd < 0 || is_right(fd, found, file))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

static int open_root(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Open the path below a root directory, which is closed; the kernel gave the path without links. */
static int open_below(int root_fd, const struct target_file *file, struct stat *found)
{
	int fd = root_fd < 0 ? -1 : rooted_file_open(root_fd, file->path, found);

	fd = checked(fd, is_the_mapped_file, file, found);
	if (root_fd >= 0) {
		int error = errno;

		close(root_fd);
		errno = error;
	}
	return fd;
}

static int open_file(const struct target_file *file, struct stat *found)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, file->pid,
		 file->start, file->end);
	fd = checked(linked_file_open(path, found), may_be_the_mapped_file, file, found);
	if (fd >= 0 || errno == ETIMEDOUT)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", file->pid);
	fd = checked(linked_file_open(path, found), is_the_mapped_file, file, found);
	if (fd >= 0 || errno == ETIMEDOUT || file->path[0] != '/')
		return fd;
	fd = open_below(open_root(file->pid), file, found);
	/* The process may have exited, with the file still at its path. */
	return fd >= 0 || errno == ETIMEDOUT ? fd : open_below(open_root(getpid()), file, found);
}

int target_file_open(const struct target_file *file, struct stat *found)
{
	const struct proc_range range = {
		.inode = file->inode, .dev_major = major(file->dev), .dev_minor = minor(file->dev)};
	int fd = -1;

	errno = ETIMEDOUT;
	if (!file->backings || !backings_are_silent(file->backings, &range))
		fd = open_file(file, found);
	if (fd < 0 && errno == ETIMEDOUT && file->backings &&
	    backings_are_served(file->backings, file->pid, &range))
		backings_note_silent(file->backings, &range);
	return fd;
}

bool target_shares_mounts(pid_t pid)
{
	struct stat own, other;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	return stat(path, &other) == 0 && stat("/proc/self/ns/mnt", &own) == 0 &&
	       own.st_ino == other.st_ino && own.st_dev == other.st_dev;
}

/* Is the file at its path here, in our mount namespace? */
static bool is_here(const struct target_file *file, const struct stat *found)
{
	cleanup_close int root_fd = open_root(getpid());
	cleanup_close int fd = -1;
	struct stat here;

	if (root_fd >= 0)
		fd = rooted_file_find(root_fd, file->path, &here);
	return fd >= 0 && here.st_ino == found->st_ino && here.st_dev == found->st_dev;
}

struct owner target_file_owner(const struct target_file *file, const struct stat *found)
{
	struct owner owner = owner_of_file(found);

	return owner_is_user(owner, 0) && !target_shares_mounts(file->pid) && !is_here(file, found)
		       ? OWNER_NOBODY
		       : owner;
}

static bool is_at(const struct target_file *file, int root_fd, const char *path)
{
	cleanup_close int fd = -1;
	struct stat found;

	if (root_fd >= 0)
		fd = rooted_file_find(root_fd, path, &found);
	return fd >= 0 && is_the_mapped_file(fd, &found, file);
}

bool target_file_is_at(const struct target_file *file, const char *path)
{
	cleanup_close int root_fd = open_root(file->pid), own_root_fd = open_root(getpid());

	return is_at(file, root_fd, path) || is_at(file, own_root_fd, path);
}
