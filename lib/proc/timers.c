// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for /proc/PID/timers. */
#include "proc/timers.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/scan.h"

static bool scan_text(struct scan *scan, const char *wanted)
{
	size_t nr_bytes = strlen(wanted);

	if ((size_t)(scan->end - scan->at) < nr_bytes || memcmp(scan->at, wanted, nr_bytes) != 0)
		return false;
	scan->at += nr_bytes;
	return true;
}

/* The next line without its newline; false if there is none. */
static bool scan_line(struct scan *scan, struct scan *line)
{
	const char *end = memchr(scan->at, '\n', (size_t)(scan->end - scan->at));

	if (!end)
		return false;
	*line = (struct scan){scan->at, end};
	scan->at = end + 1;
	return true;
}

/* "signal/tid.123", or "none/pid.123" */
static bool names_thread(struct scan notify)
{
	const char *slash = memchr(notify.at, '/', (size_t)(notify.end - notify.at));

	if (!slash)
		return false;
	notify.at = slash + 1;
	return scan_text(&notify, "tid.");
}

bool proc_timers_is_of_thread(const char *text, size_t nr_bytes, int id)
{
	struct scan scan = {text, text + nr_bytes};
	struct scan line;
	bool is_it = false;

	while (scan_line(&scan, &line)) {
		int64_t found;

		if (scan_text(&line, "ID: "))
			is_it = scan_signed(&line, &found) && found == id;
		else if (is_it && scan_text(&line, "notify: "))
			return names_thread(line);
	}
	return false;
}

#define READ_MAX_BYTES 8192

/* The kernel returns at most a page per read. */
bool proc_read_timer_is_of_thread(pid_t pid, int id)
{
	char text[READ_MAX_BYTES];
	char path[64];
	cleanup_close int fd = -1;
	size_t nr_bytes = 0;
	ssize_t got = 1;

	snprintf(path, sizeof(path), "/proc/%d/timers", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && got > 0 && nr_bytes < sizeof(text)) {
		got = read(fd, text + nr_bytes, sizeof(text) - nr_bytes);
		nr_bytes += got > 0 ? (size_t)got : 0;
	}
	return proc_timers_is_of_thread(text, nr_bytes, id);
}
