// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/uptime.h"

#include <unistd.h>

#include "proc/scan.h"

/* "1695.37": seconds and always two digits behind the point. */
static bool scan_hundredths(struct scan *scan, uint64_t *hundredths)
{
	uint64_t seconds;
	const char *point;
	uint64_t rest;

	if (!scan_decimal(scan, &seconds) || !scan_char(scan, '.') || seconds > UINT64_MAX / 200)
		return false;
	point = scan->at;
	if (!scan_decimal(scan, &rest) || scan->at - point != 2)
		return false;
	*hundredths = seconds * 100 + rest;
	return true;
}

bool proc_uptime_parse(const char *text, size_t size, struct proc_uptime *uptime)
{
	struct scan scan = {.at = text, .end = text + size};
	struct proc_uptime got;

	if (!scan_hundredths(&scan, &got.uptime_cs) || !scan_char(&scan, ' ') ||
	    !scan_hundredths(&scan, &got.idle_cs) || !scan_char(&scan, '\n'))
		return false;
	*uptime = got;
	return true;
}

bool proc_read_uptime(int fd, struct proc_uptime *uptime)
{
	char text[64];
	ssize_t got = pread(fd, text, sizeof(text), 0);

	return got > 0 && proc_uptime_parse(text, (size_t)got, uptime);
}
