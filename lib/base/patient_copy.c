// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies a snapshot to a file or FIFO that may block. */
#include "base/patient_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/output_place.h"

/* There is no notification that a FIFO has got a reader. */
#define LOOK_AGAIN_MS 20
#define BLOCK_BYTES   4096

void patience_init(struct patience *patience)
{
	atomic_init(&patience->is_tried, false);
	atomic_init(&patience->is_over, false);
	atomic_init(&patience->nr_copies, 0);
	atomic_init(&patience->nr_bytes, 0);
	patience->is_tired = false;
	patience->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void patience_release(struct patience *patience)
{
	if (patience->end_fd >= 0)
		close(patience->end_fd);
	patience->end_fd = -1;
}

void patience_end(struct patience *patience)
{
	atomic_store(&patience->is_over, true);
	eventfd_write(patience->end_fd, 1);
}

void patience_give_up(struct patience *patience)
{
	eventfd_write(patience->end_fd, 1);
}

/* Standard output is reopened, as the command shares it and its O_NONBLOCK flag. */
static const char *place_of(const char *path)
{
	return strcmp(path, "-") == 0 ? "/dev/stdout" : path;
}

bool patience_is_needed(const char *path)
{
	const char *place = place_of(path);
	struct stat there;

	if (stat(place, &there) < 0)
		return false;
	return S_ISFIFO(there.st_mode) || (place == path && S_ISCHR(there.st_mode));
}

/* Wait for `fd`, or for some time if it is -1. False once patience has ended. */
static bool wait_for(struct patience *patience, int fd)
{
	struct pollfd fds[] = {
		{.fd = patience->end_fd, .events = POLLIN},
		{.fd = fd, .events = POLLOUT},
	};

	if (patience->end_fd < 0 || atomic_load(&patience->is_over))
		return false;
	while (poll(fds, ARRAY_SIZE(fds), fd < 0 ? LOOK_AGAIN_MS : -1) < 0 && errno == EINTR)
		continue;
	patience->is_tired |= fds[0].revents != 0;
	return !fds[0].revents;
}

static int open_patiently(struct patience *patience, const char *path, struct err *err)
{
	for (;;) {
		const char *place = place_of(path);
		int flags = place == path ? output_place_flags(path) : 0;
		int fd = open(place, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags);

		if (fd >= 0)
			return fd;
		if (errno != ENXIO || !patience_is_needed(path))
			return err_sys(err, "cannot write %s", path);
		if (patience->is_tired || !wait_for(patience, -1))
			return err_set(err, ERR_LIMIT,
				       "snapshot to %s not written: it has no reader", path);
	}
}

static int write_patiently(struct patience *patience, int fd, const char *bytes, size_t nr_bytes,
			   const char *path, struct err *err)
{
	while (nr_bytes > 0) {
		ssize_t nr = write(fd, bytes, nr_bytes);

		if (nr > 0) {
			bytes += nr;
			nr_bytes -= (size_t)nr;
			atomic_fetch_add(&patience->nr_bytes, (uint64_t)nr);
		} else if (nr < 0 && errno != EAGAIN && errno != EINTR) {
			return err_sys(err, "cannot write %s", path);
		} else if (!wait_for(patience, fd)) {
			return err_set(err, ERR_LIMIT,
				       "snapshot to %s is incomplete: its reader stopped reading",
				       path);
		}
	}
	return 0;
}

static int copy(struct patience *patience, int from_fd, const char *path, struct err *err)
{
	cleanup_close int fd = open_patiently(patience, path, err);
	char block[BLOCK_BYTES];
	off_t at = 0;
	ssize_t nr;

	if (fd < 0)
		return err->code;
	while ((nr = pread(from_fd, block, sizeof(block), at)) > 0) {
		int status = write_patiently(patience, fd, block, (size_t)nr, path, err);

		if (status < 0)
			return status;
		at += nr;
	}
	return nr < 0 ? err_sys(err, "cannot read back the snapshot for %s", path) : 0;
}

int patient_copy(struct patience *patience, int from_fd, const char *path, struct err *err)
{
	eventfd_t of_the_last;
	int status;

	eventfd_read(patience->end_fd, &of_the_last);
	atomic_fetch_add(&patience->nr_copies, 1);
	atomic_store(&patience->is_tried, true);
	status = copy(patience, from_fd, path, err);
	atomic_store(&patience->is_tried, false);
	return status;
}
