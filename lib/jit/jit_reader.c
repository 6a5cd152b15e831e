// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads one perf map or jitdump, piece by piece. */
#include "jit/jit_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/chosen_file.h"
#include "base/err.h"
#include "base/minmax.h"
#include "jit/perf_map.h"
#include "proc/read.h"

/* Bound on one read of a file, before other files are read. */
#define WINDOW_BYTES ((size_t)256 << 10)
#define TURN_BYTES   ((uint64_t)8 << 20)

/* The number after the name of a line: the nr-th, or the last. */
static long status_number(const char *status, const char *name, int nr, long otherwise)
{
	const char *at = strstr(status, name);
	char *end;

	if (!at)
		return otherwise;
	at += strlen(name);
	for (; nr != 0 && (*at == '\t' || *at == ' '); nr--, at = end) {
		long value = strtol(at, &end, 10);

		if (end == at)
			break;
		otherwise = value;
	}
	return otherwise;
}

/* Its user, and its pid in its own namespace, which is the last one. */
static void read_identity(struct jit_reader *reader)
{
	struct buf status = {0};

	reader->own_pid = reader->pid;
	reader->owner = geteuid();
	if (proc_read_process_file(reader->pid, "status", &status)) {
		const char *text = buf_str(&status);

		reader->owner = (uid_t)status_number(text, "\nUid:", 2, (long)reader->owner);
		reader->own_pid = (pid_t)status_number(text, "\nNSpid:", -1, reader->pid);
	}
	buf_release(&status);
}

static int open_tmp(pid_t pid)
{
	cleanup_close int root_fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root_fd < 0 ? -1 : rooted_directory_open(root_fd, "tmp");
}

void jit_reader_init(struct jit_reader *reader, pid_t pid, uint64_t started_realtime_ns, bool asks)
{
	*reader = (struct jit_reader){
		.pid = pid,
		.started_realtime_ns = started_realtime_ns,
		.tmp_fd = -1,
		.is_silent = !asks,
		.map = {.file = JIT_FILE_NONE},
		.dump = {.file = JIT_FILE_NONE},
	};
	read_identity(reader);
	if (!asks)
		return;
	reader->tmp_fd = open_tmp(pid);
	reader->is_silent = reader->tmp_fd < 0 && errno == ETIMEDOUT;
}

void jit_reader_release(struct jit_reader *reader)
{
	if (reader->tmp_fd >= 0)
		close(reader->tmp_fd);
	jit_file_close(&reader->map.file);
	jit_code_release(&reader->map.code);
	jit_code_release(&reader->dump.code);
	jitdump_release(&reader->dump_state);
	free(reader->map.path);
	free(reader->dump.path);
	free(reader->problem);
	buf_release(&reader->bytes);
}

static void set_problem(struct jit_reader *reader, const struct err *err)
{
	free(reader->problem);
	reader->problem = err ? xstrdup(err->what) : NULL;
}

static struct jit_file_rules rules_of(const struct jit_reader *reader,
				      const struct jit_input *input)
{
	return (struct jit_file_rules){.path = input->path,
				       .owner = reader->owner,
				       .started_realtime_ns = reader->started_realtime_ns};
}

static void append_name(const struct jit_reader *reader, char *out, size_t cap)
{
	/* For an exited process, its pid is assumed to be the one in our namespace. */
	snprintf(out, cap, "perf-%d.map", reader->tmp_fd < 0 ? reader->pid : reader->own_pid);
}

static bool is_same_file(const struct stat *file, const struct stat *other)
{
	return file->st_dev == other->st_dev && file->st_ino == other->st_ino;
}

/* Never through a link, never waiting for the other end of a FIFO. */
static int open_map(struct jit_reader *reader, const char *name)
{
	cleanup_close int here = reader->tmp_fd < 0 ? open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC)
						    : fcntl(reader->tmp_fd, F_DUPFD_CLOEXEC, 0);
	struct stat opened;
	int fd = here < 0 ? -1 : entry_file_open(here, name, &reader->found_map);

	reader->is_copy =
		fd >= 0 && fstat(fd, &opened) == 0 && !is_same_file(&opened, &reader->found_map);
	return fd;
}

/* Has another file taken its path, or has a file been written to that was copied? */
static bool is_replaced(struct jit_reader *reader, const char *name)
{
	const struct stat *former = &reader->found_map;
	struct stat now;
	cleanup_close int fd =
		reader->tmp_fd < 0 ? -1 : rooted_file_find(reader->tmp_fd, name, &now);

	if (fd < 0) {
		reader->is_silent = reader->tmp_fd >= 0 && errno == ETIMEDOUT;
		return reader->tmp_fd >= 0 && (errno == ELOOP || errno == ENOEXEC);
	}
	return !is_same_file(&now, former) ||
	       (reader->is_copy &&
		(now.st_size != former->st_size || now.st_mtim.tv_sec != former->st_mtim.tv_sec ||
		 now.st_mtim.tv_nsec != former->st_mtim.tv_nsec));
}

static void find_map(struct jit_reader *reader)
{
	struct jit_input *map = &reader->map;
	struct err err = ERR_INIT;
	struct jit_file_rules rules;
	char name[32];
	int fd;

	append_name(reader, name, sizeof(name));
	if (reader->is_silent || (map->file.fd >= 0 && !is_replaced(reader, name)))
		return;
	fd = open_map(reader, name);
	if (fd < 0 && errno == ENOENT)
		return;
	if (!map->path)
		map->path = xasprintf("/tmp/%s", name);
	rules = rules_of(reader, map);
	jit_file_close(&map->file);
	if (fd < 0 && (errno == ELOOP || errno == ENOEXEC)) {
		err_set(&err, ERR_INVALID, "%s is %s", map->path,
			errno == ELOOP ? "a symbolic link" : "not a regular file");
	} else if (fd < 0) {
		reader->is_silent = errno == ETIMEDOUT;
		err_sys(&err, "%s", map->path);
	} else if (jit_file_begin(&map->file, fd, &rules, &err) < 0) {
		jit_file_close(&map->file);
	} else {
		jit_code_clear(&map->code);
		map->nr_seen = 0;
		map->is_over = false;
	}
	set_problem(reader, err.code ? &err : NULL);
}

void jit_reader_set_dump(struct jit_reader *reader, const char *path, int fd)
{
	struct jit_input *dump = &reader->dump;
	struct err err = ERR_INIT;
	struct jit_file_rules rules;

	if (dump->path)
		return;
	dump->path = xstrdup(path);
	rules = rules_of(reader, dump);
	if (fd < 0)
		err_set(&err, ERR_NOT_FOUND, "%s could not be opened", path);
	else
		jit_file_begin(&dump->file, fd, &rules, &err);
	dump->is_over = err.code;
	if (err.code)
		set_problem(reader, &err);
}

/* Parse the bytes read; returns how many were used, or a failure. */
static int take(struct jit_reader *reader, struct jit_input *input, bool is_last,
		uint64_t *nr_taken, struct err *err)
{
	const struct buf *bytes = &reader->bytes;
	uint64_t nr_left = input->file.nr_bytes - input->file.offset;

	if (input == &reader->dump)
		return jitdump_parse(&reader->dump_state, bytes->bytes, bytes->nr_bytes, nr_left,
				     &input->code, nr_taken, err);
	*nr_taken = perf_map_parse((const char *)bytes->bytes, bytes->nr_bytes,
				   is_last && bytes->nr_bytes >= nr_left, &input->code);
	return 0;
}

/* Without room for a name nothing is read any more. */
static int read_on(struct jit_reader *reader, struct jit_input *input, uint64_t *last_bytes,
		   bool *has_more, struct err *err)
{
	struct jit_file *file = &input->file;
	size_t window = WINDOW_BYTES;
	uint64_t stop_at = file->offset + TURN_BYTES;
	uint64_t nr_taken;
	int status;

	*has_more = false;
	while (file->offset < file->nr_bytes && !input->code.is_full &&
	       (last_bytes ? *last_bytes > 0 : file->offset < stop_at)) {
		size_t nr_read;

		if (jit_file_read(file, &reader->bytes, window) < 0)
			return err_sys(err, "%s", input->path);
		nr_read = reader->bytes.nr_bytes;
		if (last_bytes)
			*last_bytes -= min_u64(*last_bytes, nr_read);
		/* Bytes added since the check are read the next time. */
		if (nr_read > file->nr_bytes - file->offset)
			reader->bytes.nr_bytes = (size_t)(file->nr_bytes - file->offset);
		status = take(reader, input, last_bytes != NULL, &nr_taken, err);
		if (status < 0)
			return status;
		if (nr_taken) {
			jit_file_take(file, nr_taken);
		} else if (nr_read < window) {
			return 0; /* it ends in the middle of a record */
		} else if (window < JITDUMP_RECORD_MAX_BYTES) {
			window = JITDUMP_RECORD_MAX_BYTES;
		} else {
			return err_set(err, ERR_CORRUPT, "%s has a line of over %zu MiB",
				       input->path, JITDUMP_RECORD_MAX_BYTES >> 20);
		}
	}
	*has_more = file->offset < file->nr_bytes && !input->code.is_full;
	if (*has_more && last_bytes)
		err_set(err, ERR_LIMIT, "%s was not read to its end, as that takes long",
			input->path);
	return 0;
}

/* True when there is more to be read at once. */
static bool read_input(struct jit_reader *reader, struct jit_input *input, uint64_t *last_bytes)
{
	struct jit_file_rules rules = rules_of(reader, input);
	struct err err = ERR_INIT;
	enum jit_change change = JIT_FILE_SAME;
	bool has_more = false;
	int status;

	if (input->file.fd < 0 || input->is_over)
		return false;
	status = jit_file_check(&input->file, &rules, &change, &err);
	if (status == 0 && change == JIT_FILE_REWRITTEN) {
		jit_code_clear(&input->code);
		input->nr_seen = 0;
		jitdump_release(&reader->dump_state);
	}
	if (status == 0)
		status = read_on(reader, input, last_bytes, &has_more, &err);
	if (status == 0 && input->code.is_full)
		err_set(&err, ERR_LIMIT, "%s names more code than profc remembers: %zu MiB",
			input->path, JIT_CODE_MAX_BYTES >> 20);
	if (err.code)
		set_problem(reader, &err);
	input->is_over = status < 0; /* earlier names stay */
	return has_more;
}

bool jit_reader_read(struct jit_reader *reader, uint64_t *last_bytes)
{
	bool has_more = read_input(reader, &reader->dump, last_bytes);

	if (reader->dump.code.nr)
		return has_more;
	find_map(reader);
	return read_input(reader, &reader->map, last_bytes) || has_more;
}

struct jit_input *jit_reader_input(struct jit_reader *reader)
{
	return reader->dump.code.nr ? &reader->dump : &reader->map;
}

enum symbol_source jit_reader_source(const struct jit_reader *reader)
{
	if (reader->dump.code.nr)
		return SYMBOL_SOURCE_JITDUMP;
	return reader->map.code.nr ? SYMBOL_SOURCE_PERF_MAP : SYMBOL_SOURCE_NONE;
}
