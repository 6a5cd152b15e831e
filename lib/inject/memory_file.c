// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes over the memory that a process has made for its probes. */
#include "inject/memory_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/minmax.h"

#define PIECE_BYTES ((size_t)16 << 10)

/* The seal of files that cannot be executed (Linux 6.3); files may be made with it. */
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif

static int take(int *file, pid_t pid, int64_t fd, struct err *err)
{
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd < 0 && errno == ESRCH)
		return err_set(err, ERR_GONE, "process %d has ended", (int)pid);
	*file = pidfd < 0 ? -1 : (int)syscall(__NR_pidfd_getfd, pidfd, (int)fd, 0);
	if (*file >= 0)
		return 0;
	if (errno == EBADF)
		return err_set(err, ERR_CORRUPT,
			       "process %d has closed the memory that it made for its probes",
			       (int)pid);
	if (errno == ENOSYS) {
		err_set(err, ERR_UNSUPPORTED,
			"this kernel cannot hand over descriptors safely: calls and allocations "
			"are not counted");
		err_hint(err, "Linux 5.6 and later can: pidfd_getfd(2)");
		return ERR_UNSUPPORTED;
	}
	err_sys(err, "cannot take over the memory for probes in process %d: pidfd_getfd(2)",
		(int)pid);
	err_hint(err, "let the container use it: docker run --cap-add=SYS_PTRACE");
	if (err)
		err->code = ERR_UNSUPPORTED;
	return ERR_UNSUPPORTED;
}

static bool is_named(int file, const char *name)
{
	char link[32], found[128], expected[128];
	ssize_t nr;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", name);
	nr = readlink(link, found, sizeof(found));
	return nr == (ssize_t)strlen(expected) && memcmp(found, expected, (size_t)nr) == 0;
}

/* Only files in memory have seals. The file system is not asked: a user's own may not answer. */
static bool has_seals(int file)
{
	return fcntl(file, F_GET_SEALS) >= 0;
}

/* NULL: it is the file that was asked for. */
static const char *why_another(int file, const char *name)
{
	int flags = fcntl(file, F_GETFL);
	struct statfs system;
	struct stat found;

	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) != O_RDWR)
		return "it is not open for reading and writing";
	if (!has_seals(file) || fstat(file, &found) < 0 || fstatfs(file, &system) < 0 ||
	    !S_ISREG(found.st_mode) || system.f_type != TMPFS_MAGIC)
		return "it is not a file in memory";
	if (found.st_nlink)
		return "it has a path";
	if (!is_named(file, name))
		return "it has another name";
	if (found.st_size)
		return "it is not empty";
	/* On a user's own tmpfs a file may have any name, but it has this seal. */
	if (fcntl(file, F_GET_SEALS) & ~F_SEAL_EXEC)
		return "it is sealed";
	return NULL;
}

static void *close_it(void *context)
{
	close((int)(intptr_t)context);
	return NULL;
}

/*
 * Closing a file of a FUSE file system tells its server, which may never answer. Another thread
 * waits for that, until the end of this process.
 */
static void let_go(int file)
{
	pthread_t thread;

	if (has_seals(file))
		close(file);
	else if (pthread_create(&thread, NULL, close_it, (void *)(intptr_t)file) == 0)
		pthread_detach(thread);
}

static int fail_another(struct err *err, pid_t pid, const char *why)
{
	return err_set(err, ERR_CORRUPT,
		       "process %d has replaced the memory for its probes by another file: %s",
		       (int)pid, why);
}

#define SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

void file_pieces_add(struct file_pieces *pieces, uint64_t offset, const void *bytes,
		     size_t nr_bytes)
{
	assert(offset >= pieces->nr_bytes && pieces->nr + 2 <= FILE_PIECES_MAX);
	if (offset > pieces->nr_bytes)
		pieces->at[pieces->nr++] =
			(struct file_piece){.nr_bytes = offset - pieces->nr_bytes};
	pieces->at[pieces->nr++] = (struct file_piece){.bytes = bytes, .nr_bytes = nr_bytes};
	pieces->nr_bytes = offset + nr_bytes;
}

void file_pieces_leave(struct file_pieces *pieces, uint64_t offset)
{
	assert(offset >= pieces->nr_bytes && pieces->nr < FILE_PIECES_MAX);
	pieces->at[pieces->nr++] =
		(struct file_piece){.nr_bytes = offset - pieces->nr_bytes, .is_left = true};
	pieces->nr_bytes = offset;
}

static bool write_piece(int file, const uint8_t *bytes, size_t nr, uint64_t offset)
{
	for (size_t at = 0; at < nr;) {
		ssize_t written = pwrite(file, bytes + at, nr - at, (off_t)(offset + at));

		if (written <= 0)
			return false;
		at += (size_t)written;
	}
	return true;
}

/* The file is empty yet: zeros need not be written. */
static bool write_all(int file, const struct file_pieces *pieces)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < pieces->nr; i++) {
		const struct file_piece *piece = &pieces->at[i];

		if (piece->bytes && !write_piece(file, piece->bytes, piece->nr_bytes, offset))
			return false;
		offset += piece->nr_bytes;
	}
	return true;
}

/* `found` and `zeros`: PIECE_BYTES. */
static bool has_piece(int file, const struct file_piece *piece, uint64_t offset, uint8_t *found,
		      const uint8_t *zeros)
{
	for (size_t at = 0; at < piece->nr_bytes; at += PIECE_BYTES) {
		size_t wanted = min_u64(piece->nr_bytes - at, PIECE_BYTES);

		if (pread(file, found, wanted, (off_t)(offset + at)) != (ssize_t)wanted ||
		    memcmp(found, piece->bytes ? piece->bytes + at : zeros, wanted) != 0)
			return false;
	}
	return true;
}

/* Read: to map it would interrupt all CPUs on which we run, when it is unmapped. */
static bool has_bytes(int file, const struct file_pieces *pieces)
{
	cleanup_free uint8_t *found = xmalloc(PIECE_BYTES);
	cleanup_free uint8_t *zeros = xcalloc(PIECE_BYTES, 1);
	uint64_t offset = 0;

	for (size_t i = 0; i < pieces->nr; i++) {
		if (!pieces->at[i].is_left &&
		    !has_piece(file, &pieces->at[i], offset, found, zeros))
			return false;
		offset += pieces->at[i].nr_bytes;
	}
	return true;
}

/*
 * Other processes may have the file, too: check it after the seal. It stays writable if `pieces`
 * is NULL.
 */
static int size_for_good(int file, pid_t pid, const struct file_pieces *pieces, uint64_t nr_bytes,
			 struct err *err)
{
	struct stat found;

	if (ftruncate(file, (off_t)nr_bytes) < 0 || (pieces && !write_all(file, pieces)) ||
	    fcntl(file, F_ADD_SEALS, SIZE_SEALS | (pieces ? F_SEAL_WRITE : 0)) < 0) {
		if (errno == EPERM)
			return fail_another(err, pid, "it was sealed meanwhile");
		if (errno == EBUSY)
			return fail_another(err, pid, "others can write to it");
		return err_sys(err, "cannot size the memory for probes in process %d", (int)pid);
	}
	if (fstat(file, &found) < 0 || (uint64_t)found.st_size != nr_bytes)
		return fail_another(err, pid, "its size was changed meanwhile");
	if (pieces && !has_bytes(file, pieces))
		return fail_another(err, pid, "it was written to meanwhile");
	return 0;
}

static int take_sized(int *file, pid_t pid, int64_t fd, const char *name,
		      const struct file_pieces *pieces, uint64_t nr_bytes, struct err *err)
{
	const char *why;
	int taken = -1;
	int status;

	if (fd < 0 || fd > INT_MAX)
		return err_set(err, ERR_CORRUPT, "process %d says that it has made no memory",
			       (int)pid);
	status = take(&taken, pid, fd, err);
	if (status < 0)
		return status;
	why = why_another(taken, name);
	status = why ? fail_another(err, pid, why)
		     : size_for_good(taken, pid, pieces, nr_bytes, err);
	if (status < 0)
		let_go(taken);
	else
		*file = taken;
	return status;
}

int memory_file_take(int *file, pid_t pid, int64_t fd, const char *name, uint64_t nr_bytes,
		     struct err *err)
{
	return take_sized(file, pid, fd, name, NULL, nr_bytes, err);
}

int memory_file_take_filled(int *file, pid_t pid, int64_t fd, const char *name,
			    const struct file_pieces *pieces, struct err *err)
{
	return take_sized(file, pid, fd, name, pieces, pieces->nr_bytes, err);
}
