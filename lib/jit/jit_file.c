// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a file that grows, or is rewritten, while it is read. */
#include "jit/jit_file.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

/* File systems have coarse timestamps. */
#define TIME_SLACK_NS (2 * NS_PER_SEC)

static int check(const struct stat *status, const struct jit_file_rules *rules, struct err *err)
{
	uint64_t changed_ns =
		(uint64_t)status->st_mtim.tv_sec * NS_PER_SEC + (uint64_t)status->st_mtim.tv_nsec;

	if (!S_ISREG(status->st_mode))
		return err_set(err, ERR_INVALID, "%s is not a regular file", rules->path);
	if (status->st_uid != rules->owner)
		return err_set(err, ERR_PERMISSION,
			       "%s is owned by user %u, the process by user %u", rules->path,
			       status->st_uid, rules->owner);
	if ((uint64_t)status->st_size > JIT_FILE_MAX_BYTES)
		return err_set(err, ERR_LIMIT, "%s is larger than 512 MiB", rules->path);
	if (changed_ns + TIME_SLACK_NS < rules->started_realtime_ns)
		return err_set(err, ERR_INVALID, "%s is older than the process", rules->path);
	return 0;
}

int jit_file_begin(struct jit_file *file, int fd, const struct jit_file_rules *rules,
		   struct err *err)
{
	struct stat status;

	*file = (struct jit_file){.fd = fd};
	if (fstat(fd, &status) < 0)
		return err_sys(err, "%s", rules->path);
	return check(&status, rules, err);
}

void jit_file_close(struct jit_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct jit_file)JIT_FILE_NONE;
}

static size_t read_mark(const struct jit_file *file, uint64_t start, uint8_t *mark)
{
	uint64_t wanted = file->offset - start;
	ssize_t nr =
		pread(file->fd, mark, wanted < JIT_FILE_MARK_BYTES ? wanted : JIT_FILE_MARK_BYTES,
		      (off_t)start);

	return nr < 0 ? 0 : (size_t)nr;
}

static uint64_t tail_start(const struct jit_file *file)
{
	return file->offset > JIT_FILE_MARK_BYTES ? file->offset - JIT_FILE_MARK_BYTES : 0;
}

/* Does the file still have the bytes that were read? */
static bool goes_on(const struct jit_file *file)
{
	uint8_t head[JIT_FILE_MARK_BYTES], tail[JIT_FILE_MARK_BYTES];

	return read_mark(file, 0, head) >= file->nr_head &&
	       memcmp(head, file->head, file->nr_head) == 0 &&
	       read_mark(file, tail_start(file), tail) == file->nr_tail &&
	       memcmp(tail, file->tail, file->nr_tail) == 0;
}

int jit_file_check(struct jit_file *file, const struct jit_file_rules *rules,
		   enum jit_change *change, struct err *err)
{
	struct stat status;
	int code;

	if (fstat(file->fd, &status) < 0)
		return err_sys(err, "%s", rules->path);
	code = check(&status, rules, err);
	if (code < 0)
		return code;
	*change = JIT_FILE_GROWN;
	if ((uint64_t)status.st_size == file->nr_bytes &&
	    status.st_mtim.tv_sec == file->written.tv_sec &&
	    status.st_mtim.tv_nsec == file->written.tv_nsec) {
		*change = JIT_FILE_SAME;
	} else if ((uint64_t)status.st_size < file->offset || !goes_on(file)) {
		*change = JIT_FILE_REWRITTEN;
		file->offset = 0;
		file->nr_head = file->nr_tail = 0;
	}
	file->nr_bytes = (uint64_t)status.st_size;
	file->written = status.st_mtim;
	return 0;
}

int jit_file_read(struct jit_file *file, struct buf *out, size_t nr_bytes)
{
	ssize_t nr;

	buf_clear(out);
	nr = pread(file->fd, buf_extend(out, nr_bytes), nr_bytes, (off_t)file->offset);
	out->nr_bytes = nr < 0 ? 0 : (size_t)nr;
	return nr < 0 ? ERR_SYS : 0;
}

void jit_file_take(struct jit_file *file, uint64_t nr_bytes)
{
	file->offset += nr_bytes;
	if (file->nr_head < JIT_FILE_MARK_BYTES)
		file->nr_head = read_mark(file, 0, file->head);
	file->nr_tail = read_mark(file, tail_start(file), file->tail);
}
