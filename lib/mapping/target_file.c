// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the file behind a mapping of a process, and reads the memory of a process. */
#include "mapping/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

/* <linux/magic.h> */
#define BTRFS_MAGIC   0x9123683E
#define OVERLAY_MAGIC 0x794c7630

/* A device or a fifo must neither block us nor be read. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/*
 * btrfs and overlayfs give stat() another device number than the one in
 * /proc/PID/maps, which is the superblock's or the lower file system's.
 */
static bool is_of_comparable_device(const struct statfs *fs)
{
	return (unsigned long)fs->f_type != BTRFS_MAGIC &&
	       (unsigned long)fs->f_type != OVERLAY_MAGIC;
}

static bool device_is_comparable(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && is_of_comparable_device(&fs);
}

static bool is_the_mapped_file(int fd, const struct stat *stat, const struct target_file *file)
{
	return stat->st_ino == file->inode &&
	       (stat->st_dev == file->dev || !device_is_comparable(fd));
}

/*
 * The mapping may have changed since the map was read. A file is trusted to be the right one only
 * where device numbers cannot be compared.
 */
static bool may_be_the_mapped_file(int fd, const struct stat *stat, const struct target_file *file)
{
	return is_the_mapped_file(fd, stat, file) || !device_is_comparable(fd);
}

typedef bool is_right_file(int fd, const struct stat *stat, const struct target_file *file);

/* -1 with errno if it cannot be opened, is no regular file, or not the right one. */
static int open_checked(const char *path, is_right_file *is_right, const struct target_file *file,
			struct stat *found)
{
	int fd = open(path, OPEN_FLAGS);
	struct stat stat;

	if (fd < 0)
		return -1;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && is_right(fd, &stat, file)) {
		*found = stat;
		return fd;
	}
	close(fd);
	errno = ESTALE;
	return -1;
}

int target_file_open(const struct target_file *file, struct stat *found)
{
	cleanup_free char *rooted = NULL;
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, file->pid,
		 file->start, file->end);
	fd = open_checked(path, may_be_the_mapped_file, file, found);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", file->pid);
	fd = open_checked(path, is_the_mapped_file, file, found);
	if (fd >= 0 || file->path[0] != '/')
		return fd;
	rooted = xasprintf("/proc/%d/root%s", file->pid, file->path);
	fd = open_checked(rooted, is_the_mapped_file, file, found);
	/* The process may have exited, with the file still at its path. */
	return fd >= 0 ? fd : open_checked(file->path, is_the_mapped_file, file, found);
}

static bool is_at(const struct target_file *file, const char *path)
{
	struct statfs fs;
	struct stat found;

	return stat(path, &found) == 0 && found.st_ino == file->inode &&
	       (found.st_dev == file->dev ||
		(statfs(path, &fs) == 0 && !is_of_comparable_device(&fs)));
}

bool target_file_is_at(const struct target_file *file, const char *path)
{
	cleanup_free char *rooted = xasprintf("/proc/%d/root%s", file->pid, path);

	return is_at(file, rooted) || is_at(file, path);
}

bool target_memory_read(pid_t pid, uint64_t address, uint64_t nr_bytes, struct buf *out)
{
	cleanup_close int fd = -1;
	char path[32];
	uint8_t *room;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || address > INT64_MAX)
		return false;
	room = buf_extend(out, nr_bytes);
	return pread(fd, room, nr_bytes, (off_t)address) == (ssize_t)nr_bytes;
}
