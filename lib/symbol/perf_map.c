// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "symbol/builder.h"
#include "symbol/dwarf_range.h"

/* node writes some 20 MB a day of work; more than this is no map. */
#define MAX_MAP_BYTES (UINT64_C(512) << 20)
/* File systems keep times coarsely. */
#define TIME_SLACK_NS (2 * NS_PER_SEC)

/* "START SIZE NAME": false when the line, which ends in a NUL, is none. */
static bool parse_line(const char *line, struct pc_range *range, const char **name)
{
	char *end;

	range->low = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	range->high = range->low + strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !end[1] || range->high < range->low)
		return false;
	*name = end + 1;
	return true;
}

/* Only addresses that have no name yet. */
static void name_range(const struct pc_range *range, const char *name, const uint64_t *addresses,
		       size_t nr, struct result_builder *builder)
{
	struct symbol_location location = {.name = NULL};

	for (size_t at = addresses_at_or_above(addresses, nr, range->low);
	     at < nr && addresses[at] < range->high; at++) {
		if (!result_builder_is_open(builder, at))
			continue;
		if (!location.name)
			location.name = name_pool_keep(&builder->pool, name);
		result_builder_begin(builder, at);
		result_builder_add(builder, &location);
	}
}

void perf_map_parse(const char *text, size_t nr_bytes, const uint64_t *addresses, size_t nr,
		    struct result_builder *builder)
{
	struct buf line = {.nr_bytes = 0};
	/* The last line may be half written. */
	const char *end = nr_bytes ? memrchr(text, '\n', nr_bytes) : NULL;

	/* From the last line on, so that however often they overlap each address is named once. */
	while (end) {
		const char *newline = end > text ? memrchr(text, '\n', (size_t)(end - text)) : NULL;
		const char *start = newline ? newline + 1 : text;
		struct pc_range range;
		const char *name;

		buf_clear(&line);
		buf_append(&line, start, (size_t)(end - start));
		if (parse_line(buf_str(&line), &range, &name))
			name_range(&range, name, addresses, nr, builder);
		end = newline;
	}
	buf_release(&line);
}

/* The number of a process in its own namespace: the last of NSpid in its status. */
static pid_t own_pid(pid_t pid)
{
	cleanup_free char *path = xasprintf("/proc/%d/status", (int)pid);
	char text[4096];
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t nr = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at;
	char *end;
	long last = pid;

	if (nr <= 0)
		return pid;
	text[nr] = '\0';
	at = strstr(text, "\nNSpid:");
	if (!at)
		return pid;
	for (at += strlen("\nNSpid:"); *at == '\t' || *at == ' '; at = end) {
		long value = strtol(at, &end, 10);

		if (end == at)
			break;
		last = value;
	}
	return (pid_t)last;
}

/* The user of a live process, else our own. */
static uid_t user_of(pid_t pid)
{
	cleanup_free char *path = xasprintf("/proc/%d", (int)pid);
	struct stat stat_of_process;

	return stat(path, &stat_of_process) == 0 ? stat_of_process.st_uid : geteuid();
}

static int check(int fd, const char *path, const struct perf_map_request *request,
		 uint64_t *nr_bytes, struct err *err)
{
	struct stat status;
	uint64_t changed_ns;

	if (fstat(fd, &status) < 0)
		return err_sys(err, "%s", path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_INVALID, "%s is not a regular file", path);
	if (status.st_uid != 0 && status.st_uid != user_of(request->pid))
		return err_set(err, ERR_PERMISSION, "%s belongs to another user", path);
	if ((uint64_t)status.st_size > MAX_MAP_BYTES)
		return err_set(err, ERR_LIMIT, "%s is larger than 512 MiB", path);
	changed_ns =
		(uint64_t)status.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)status.st_mtim.tv_nsec;
	if (changed_ns + TIME_SLACK_NS < request->started_realtime_ns)
		return err_set(err, ERR_INVALID, "%s is older than the process", path);
	*nr_bytes = (uint64_t)status.st_size;
	return 0;
}

/* Never through a link, never waiting for the other end of a FIFO. */
static int open_map(const struct perf_map_request *request, char **path)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
	int fd;

	*path = xasprintf("/proc/%d/root/tmp/perf-%d.map", (int)request->pid,
			  (int)own_pid(request->pid));
	fd = open(*path, flags);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	free(*path);
	*path = xasprintf("/tmp/perf-%d.map", (int)request->pid);
	return open(*path, flags);
}

static int read_map(int fd, const char *path, uint64_t nr_bytes, struct buf *text, struct err *err)
{
	while (text->nr_bytes < nr_bytes) {
		uint8_t block[8192];
		ssize_t nr = read(fd, block, sizeof(block));

		if (nr < 0)
			return err_sys(err, "%s", path);
		if (nr == 0)
			break;
		buf_append(text, block, (size_t)nr);
	}
	return 0;
}

int perf_map_resolve(const struct perf_map_request *request, struct symbol_result **result,
		     struct err *err)
{
	cleanup_free char *path = NULL;
	cleanup_close int fd = open_map(request, &path);
	struct result_builder builder;
	struct buf text = {.nr_bytes = 0};
	uint64_t nr_bytes = 0;
	int status;

	if (fd < 0) {
		if (errno == ENOENT)
			return err_set(err, ERR_NOT_FOUND,
				       "code made at run time, and no /tmp/perf-PID.map that names "
				       "it (node: --perf-basic-prof, python3: -X perf, java: "
				       "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit)");
		return err_sys(err, "%s", path);
	}
	status = check(fd, path, request, &nr_bytes, err);
	if (status == 0)
		status = read_map(fd, path, nr_bytes, &text, err);
	if (status == 0) {
		result_builder_init(&builder, request->nr_addresses);
		perf_map_parse((const char *)text.bytes, text.nr_bytes, request->addresses,
			       request->nr_addresses, &builder);
		builder.result->source = SYMBOL_SOURCE_PERF_MAP;
		builder.result->debug_path = xstrdup(path);
		*result = result_builder_finish(&builder);
	}
	buf_release(&text);
	return status;
}
