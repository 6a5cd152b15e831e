// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads files of file systems that a program serves. */
#include "base/served_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/errand.h"
#include "base/mounts.h"

/* Programs with debug information of some hundred megabytes are copied. */
#define COPY_BYTES_MAX (INT64_C(512) << 20)
#define COPY_NS	       (3 * ERRAND_NS)

#ifndef RESOLVE_CACHED /* Linux 5.12 */
#define RESOLVE_CACHED 0x20
#endif

/* statfs(2) */
#define FUSE_TYPE    0x65735546
#define OVERLAY_TYPE 0x794c7630

#ifndef STATX_BASIC_STATS /* musl before 1.2.5 */
#include <linux/stat.h>

static int statx(int fd, const char *path, int flags, unsigned int mask, struct statx *found)
{
	return (int)syscall(SYS_statx, fd, path, flags, mask, found);
}
#endif

static int ask(int fd, struct statx *found)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID,
		     found);
}

int served_file_stat(int fd, struct stat *found)
{
	struct statx known;

	if (ask(fd, &known) < 0)
		return errno == ENOSYS || errno == EPERM ? fstat(fd, found) : -1;
	*found = (struct stat){
		.st_dev = makedev(known.stx_dev_major, known.stx_dev_minor),
		.st_ino = known.stx_ino,
		.st_mode = known.stx_mode,
		.st_nlink = known.stx_nlink,
		.st_uid = known.stx_uid,
		.st_gid = known.stx_gid,
		.st_rdev = makedev(known.stx_rdev_major, known.stx_rdev_minor),
		.st_size = (off_t)known.stx_size,
		.st_blksize = known.stx_blksize,
		.st_blocks = (blkcnt_t)known.stx_blocks,
		.st_atim = {known.stx_atime.tv_sec, known.stx_atime.tv_nsec},
		.st_mtim = {known.stx_mtime.tv_sec, known.stx_mtime.tv_nsec},
		.st_ctim = {known.stx_ctime.tv_sec, known.stx_ctime.tv_nsec},
	};
	return 0;
}

static void read_own_mounts(struct buf *text)
{
	cleanup_close int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	const size_t chunk = (size_t)32 * 1024;
	ssize_t got;

	if (fd < 0)
		return;
	do {
		got = read(fd, buf_extend(text, chunk), chunk);
		text->nr_bytes -= chunk - (size_t)(got > 0 ? got : 0);
	} while (got > 0);
}

static bool is_mount(const struct mount_line *mount, const struct statx *known)
{
	if (known->stx_mask & STATX_MNT_ID)
		return mount->id == known->stx_mnt_id;
	return mount->dev_major == known->stx_dev_major && mount->dev_minor == known->stx_dev_minor;
}

/* False: it is not mounted in our mount namespace. */
static bool find_own_mount(const struct statx *known, bool *is_served)
{
	struct buf text = {0};
	struct mounts_iter mounts;
	struct mount_line mount;
	bool is_found = false;

	read_own_mounts(&text);
	mounts = mounts_over(buf_str(&text), text.nr_bytes);
	while (!is_found && mounts_next(&mounts, &mount)) {
		is_found = is_mount(&mount, known);
		if (is_found)
			*is_served = mount_line_is_served(&mount, buf_str(&text), text.nr_bytes);
	}
	buf_release(&text);
	return is_found;
}

/*
 * Is it a file of memfd_create(2)? The kernel keeps all of these in one file system, which is
 * mounted nowhere and never goes away: so no other one can have its number, which is the kernel's
 * own statement.
 */
static bool is_in_memory(const struct statx *known)
{
	cleanup_close int fd = memfd_create("profc", MFD_CLOEXEC);
	struct stat own;

	return fd >= 0 && fstat(fd, &own) == 0 &&
	       own.st_dev == makedev(known->stx_dev_major, known->stx_dev_minor);
}

/* An overlay of another mount namespace may have been mounted by a user, with any layers. */
static bool is_not_served(void *context)
{
	const int *fd = context;
	struct statfs system;

	if (fstatfs(*fd, &system) < 0 || system.f_type == FUSE_TYPE)
		return false;
	return system.f_type != OVERLAY_TYPE || geteuid() != 0;
}

bool served_file_is(int fd)
{
	struct statx known;
	bool is_served;

	if (ask(fd, &known) < 0)
		return errno != ENOSYS && errno != EPERM;
	if (is_in_memory(&known))
		return false;
	return find_own_mount(&known, &is_served)
		       ? is_served
		       : !errand_run(is_not_served, &fd, &fd, 1, ERRAND_NS);
}

struct opening {
	int directory_fd;
	const char *path;
	struct open_how how;
	int socket; /* where an errand sends what it has opened */
};

static int open_now(const struct opening *opening, uint64_t resolve)
{
	struct open_how how = opening->how;

	how.resolve |= resolve;
	return (int)syscall(__NR_openat2, opening->directory_fd, opening->path, &how, sizeof(how));
}

/* A message of an errno, or of 0 and a descriptor. */
union passed {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

static bool open_and_send(void *context)
{
	const struct opening *opening = context;
	int fd = open_now(opening, 0);
	int error = fd < 0 ? errno : 0;
	struct iovec part = {.iov_base = &error, .iov_len = sizeof(error)};
	union passed passed = {.header = {.cmsg_len = CMSG_LEN(sizeof(fd)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	memcpy(CMSG_DATA(&passed.header), &fd, sizeof(fd));
	if (fd >= 0) {
		message.msg_control = &passed;
		message.msg_controllen = sizeof(passed);
	}
	return sendmsg(opening->socket, &message, 0) == sizeof(error);
}

static int receive(int socket)
{
	int fd = -1, error = EIO;
	struct iovec part = {.iov_base = &error, .iov_len = sizeof(error)};
	union passed passed = {.header = {.cmsg_len = 0}};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &passed,
				 .msg_controllen = sizeof(passed)};

	if (recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -1;
	if (!error && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(&passed.header), sizeof(fd));
	errno = error ? error : EIO;
	return fd;
}

/* The descriptor is the errand's: to open the path again would ask the program again. */
static int open_by_errand(struct opening *opening)
{
	int pair[2], fd, error;
	bool is_done;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	opening->socket = pair[1];
	if (opening->directory_fd < 0)
		is_done = errand_run(open_and_send, opening, &pair[1], 1, ERRAND_NS);
	else
		is_done = errand_run(
			open_and_send, opening,
			(const int[]){
				opening->directory_fd < pair[1] ? opening->directory_fd : pair[1],
				opening->directory_fd < pair[1] ? pair[1] : opening->directory_fd},
			2, ERRAND_NS);
	errno = ETIMEDOUT;
	fd = is_done ? receive(pair[0]) : -1;
	error = errno;
	close(pair[0]);
	close(pair[1]);
	errno = error;
	return fd;
}

int served_path_open(int directory_fd, const char *path, int flags, uint64_t resolve)
{
	struct opening opening = {
		.directory_fd = directory_fd,
		.path = path,
		.how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags), .resolve = resolve}};
	int fd = open_now(&opening, RESOLVE_CACHED);
	bool is_far = strchr(path, '/');

	if (fd >= 0 || (errno != EAGAIN && errno != EINVAL && errno != ENOSYS && errno != EPERM))
		return fd;
	if (errno == EAGAIN && (is_far || served_file_is(directory_fd)))
		return open_by_errand(&opening);
	if (resolve)
		return open_now(&opening, 0);
	return openat(directory_fd, path, O_PATH | O_CLOEXEC | flags);
}

/* In memory that an errand shares with us. */
struct copying {
	int from, to;
	int error;
	struct stat found;
};

static int open_file(int path_fd)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	return open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool copy_all(struct copying *copying, int fd)
{
	off_t at = 0;

	if (fd < 0 || fstat(fd, &copying->found) < 0)
		return false;
	if (!S_ISREG(copying->found.st_mode) || copying->found.st_size > COPY_BYTES_MAX) {
		errno = EFBIG;
		return false;
	}
	while (at < copying->found.st_size) {
		ssize_t got = sendfile(copying->to, fd, &at, (size_t)(copying->found.st_size - at));

		if (got <= 0)
			return got == 0;
	}
	return true;
}

static bool copy(void *context)
{
	struct copying *copying = context;

	if (!copy_all(copying, open_file(copying->from)))
		copying->error = errno ? errno : EIO;
	return true;
}

/* A read of one byte has the time of any errand, a copy some more. */
static bool answers(void *context)
{
	const struct copying *copying = context;
	cleanup_close int fd = open_file(copying->from);
	char byte;

	return fd < 0 || pread(fd, &byte, 1, 0) <= 1;
}

/* The copy has the status of the file. */
static void make_like(int fd, const struct stat *found)
{
	const struct timespec times[] = {found->st_atim, found->st_mtim};
	mode_t mode = found->st_mode & 07777;

	/* A file that we cannot give to its owner is anybody's. */
	if (fchown(fd, found->st_uid, found->st_gid) < 0 && found->st_uid != geteuid())
		mode |= S_IWOTH;
	fchmod(fd, mode);
	futimens(fd, times);
}

static int copy_of(int path_fd, struct stat *found)
{
	int to = memfd_create("profc", MFD_CLOEXEC);
	struct copying *copying = mmap(NULL, sizeof(*copying), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fds[2] = {path_fd < to ? path_fd : to, path_fd < to ? to : path_fd};
	int error = ENOMEM;

	if (to >= 0 && copying != MAP_FAILED) {
		copying->from = path_fd;
		copying->to = to;
		error = errand_run(answers, copying, &path_fd, 1, ERRAND_NS) &&
					errand_run(copy, copying, fds, 2, COPY_NS)
				? copying->error
				: ETIMEDOUT;
		*found = copying->found;
	}
	if (copying != MAP_FAILED)
		munmap(copying, sizeof(*copying));
	if (!error) {
		make_like(to, found);
		return to;
	}
	if (to >= 0)
		close(to);
	errno = error;
	return -1;
}

int served_file_open(int path_fd, struct stat *found)
{
	int fd;

	if (served_file_is(path_fd))
		return copy_of(path_fd, found);
	fd = open_file(path_fd);
	if (fd >= 0 && fstat(fd, found) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}
