// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for /proc/PID/mountinfo. */
#include "proc/mounts.h"

#include <string.h>

#include "proc/scan.h"

struct proc_mounts_iter proc_mounts_over(const char *text, size_t nr_bytes)
{
	return (struct proc_mounts_iter){.at = text, .end = text + nr_bytes};
}

/* A field, as the kernel writes it: blanks inside one are escaped. */
static bool scan_word(struct scan *scan, const char **word, size_t *nr_bytes)
{
	const char *end;

	scan_blanks(scan);
	end = memchr(scan->at, ' ', (size_t)(scan->end - scan->at));
	*word = scan->at;
	*nr_bytes = (size_t)((end ? end : scan->end) - scan->at);
	scan->at += *nr_bytes;
	return *nr_bytes;
}

static bool skip_words(struct scan *scan, int nr)
{
	const char *word;
	size_t nr_bytes;

	while (nr--) {
		if (!scan_word(scan, &word, &nr_bytes))
			return false;
	}
	return true;
}

/* Any number of optional fields precede the "-". */
static bool skip_optional(struct scan *scan)
{
	const char *word;
	size_t nr_bytes;

	while (scan_word(scan, &word, &nr_bytes)) {
		if (nr_bytes == 1 && *word == '-')
			return true;
	}
	return false;
}

static bool scan_mount(struct scan *scan, struct proc_mount *mount)
{
	uint64_t major, minor;

	if (!scan_decimal(scan, &mount->id) || !skip_words(scan, 1))
		return false;
	scan_blanks(scan);
	if (!scan_decimal(scan, &major) || !scan_char(scan, ':') || !scan_decimal(scan, &minor))
		return false;
	mount->dev_major = (uint32_t)major;
	mount->dev_minor = (uint32_t)minor;
	return skip_words(scan, 2) && scan_word(scan, &mount->options, &mount->nr_options_bytes) &&
	       skip_optional(scan) && scan_word(scan, &mount->type, &mount->nr_type_bytes);
}

bool proc_mounts_next(struct proc_mounts_iter *iter, struct proc_mount *mount)
{
	while (iter->at < iter->end) {
		const char *newline = memchr(iter->at, '\n', (size_t)(iter->end - iter->at));
		struct scan line = {.at = iter->at, .end = newline ? newline : iter->end};
		struct proc_mount found = {0};

		iter->at = newline ? newline + 1 : iter->end;
		if (scan_mount(&line, &found)) {
			*mount = found;
			return true;
		}
	}
	return false;
}

bool proc_mount_has_option(const struct proc_mount *mount, const char *word)
{
	const char *end = mount->options + mount->nr_options_bytes;
	size_t nr_word = strlen(word);

	for (const char *at = mount->options; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t nr_bytes = (size_t)((comma ? comma : end) - at);

		if (nr_bytes == nr_word && memcmp(at, word, nr_word) == 0)
			return true;
		at += nr_bytes + 1;
	}
	return false;
}

bool proc_mount_is_type(const struct proc_mount *mount, const char *type)
{
	return mount->nr_type_bytes == strlen(type) &&
	       memcmp(mount->type, type, mount->nr_type_bytes) == 0;
}
