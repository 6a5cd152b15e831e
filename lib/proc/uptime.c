// SPDX-License-Identifier: GPL-2.0-or-later
/* Parsers for the idle and I/O wait times of /proc/uptime and /proc/stat. */
#include "proc/uptime.h"

#include <string.h>
#include <unistd.h>

#include "base/scan.h"

/* "1695.37": seconds and always two decimals. */
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

#define IOWAIT_PLACE 5

bool proc_iowait_parse(const char *text, size_t size, uint64_t *iowait_ticks)
{
	static const char name[] = "cpu ";
	struct scan scan = {.at = text + strlen(name), .end = text + size};
	uint64_t number = 0;

	if (size < strlen(name) || memcmp(text, name, strlen(name)) != 0)
		return false;
	for (int place = 1; place <= IOWAIT_PLACE; place++) {
		scan_blanks(&scan);
		if (!scan_decimal(&scan, &number))
			return false;
	}
	if (scan.at == scan.end)
		return false; /* it may be cut */
	*iowait_ticks = number;
	return true;
}

bool proc_read_iowait(int fd, uint64_t *iowait_ticks)
{
	char text[256];
	ssize_t got = pread(fd, text, sizeof(text), 0);

	return got > 0 && proc_iowait_parse(text, (size_t)got, iowait_ticks);
}

#define IDLE_PLACE 4

/* "3 1 2 3 4 5 6\n": the number of a CPU, and its times. */
static bool scan_cpu(struct scan *scan, const cpu_set_t *cpus, uint64_t *idle_ticks)
{
	uint64_t cpu, number, sum = 0;

	if (!scan_decimal(scan, &cpu))
		return false;
	for (int place = 1; place <= IOWAIT_PLACE; place++) {
		scan_blanks(scan);
		if (!scan_decimal(scan, &number))
			return false;
		sum += place >= IDLE_PLACE ? number : 0;
	}
	if (scan->at == scan->end || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, cpus))
		return false;
	*idle_ticks += sum;
	return true;
}

bool proc_idle_of_cpus_parse(const char *text, size_t size, const cpu_set_t *cpus,
			     uint64_t *idle_ticks)
{
	static const char name[] = "\ncpu";
	const char *end = text + size;
	uint64_t sum = 0;
	bool is_found = false;

	while ((text = memmem(text, (size_t)(end - text), name, strlen(name)))) {
		struct scan scan = {.at = text + strlen(name), .end = end};

		is_found |= scan_cpu(&scan, cpus, &sum);
		text += strlen(name);
	}
	if (is_found)
		*idle_ticks = sum;
	return is_found;
}
