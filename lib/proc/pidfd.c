// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the process that a pidfd of another process refers to. */
#include "proc/pidfd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/scan.h"

/* Bounds the time: each descriptor takes a microsecond. */
#define MAX_DESCRIPTORS 256

#define PID_FIELD	"Pid:"
#define PID_FIELD_BYTES (sizeof(PID_FIELD) - 1)

pid_t proc_pidfd_parse(const char *text, size_t nr_bytes)
{
	const char *end = text + nr_bytes;

	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		struct scan scan = {.at = line, .end = newline ? newline : end};
		uint64_t pid;

		line = scan.end + 1;
		if ((size_t)(scan.end - scan.at) < PID_FIELD_BYTES ||
		    memcmp(scan.at, PID_FIELD, PID_FIELD_BYTES) != 0)
			continue;
		scan.at += PID_FIELD_BYTES;
		scan_blanks(&scan);
		return scan_decimal(&scan, &pid) && pid <= INT32_MAX ? (pid_t)pid : 0;
	}
	return 0;
}

/* "anon_inode:[pidfd]", and since Linux 6.9 "pidfd:[INODE]". */
static bool is_pidfd(int directory, const char *name)
{
	char link[32];
	ssize_t got = readlinkat(directory, name, link, sizeof(link) - 1);

	if (got <= 0)
		return false;
	link[got] = '\0';
	return strstr(link, "pidfd") && strchr(link, '[') && link[0] != '/';
}

static pid_t process_of(pid_t holder, const char *name)
{
	char path[64], text[512];
	cleanup_close int fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.10s", (int)holder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return got > 0 ? proc_pidfd_parse(text, (size_t)got) : 0;
}

pid_t proc_pidfd_process(pid_t holder, int fd)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", fd);
	return process_of(holder, name);
}

bool proc_may_hold_pidfd(pid_t holder, pid_t pid)
{
	bool holds = false;
	struct dirent *entry;
	unsigned int nr = 0;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)holder);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!holds && (entry = readdir(dir))) {
		holds = nr++ >= MAX_DESCRIPTORS;
		if (!holds && is_pidfd(dirfd(dir), entry->d_name))
			holds = process_of(holder, entry->d_name) == pid;
	}
	closedir(dir);
	return holds;
}
