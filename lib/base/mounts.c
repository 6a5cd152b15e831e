// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for /proc/PID/mountinfo, and which file systems a program serves. */
#include "base/mounts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/scan.h"

struct mounts_iter mounts_over(const char *text, size_t nr_bytes)
{
	return (struct mounts_iter){.at = text, .end = text + nr_bytes};
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

static bool scan_mount(struct scan *scan, struct mount_line *mount)
{
	uint64_t major, minor;

	if (!scan_decimal(scan, &mount->id) || !skip_words(scan, 1))
		return false;
	scan_blanks(scan);
	if (!scan_decimal(scan, &major) || !scan_char(scan, ':') || !scan_decimal(scan, &minor))
		return false;
	mount->dev_major = (uint32_t)major;
	mount->dev_minor = (uint32_t)minor;
	if (!skip_words(scan, 1) || !scan_word(scan, &mount->place, &mount->nr_place_bytes) ||
	    !scan_word(scan, &mount->options, &mount->nr_options_bytes) || !skip_optional(scan) ||
	    !scan_word(scan, &mount->type, &mount->nr_type_bytes))
		return false;
	if (skip_words(scan, 1))
		scan_word(scan, &mount->own_options, &mount->nr_own_options_bytes);
	return true;
}

bool mounts_next(struct mounts_iter *iter, struct mount_line *mount)
{
	while (iter->at < iter->end) {
		const char *newline = memchr(iter->at, '\n', (size_t)(iter->end - iter->at));
		struct scan line = {.at = iter->at, .end = newline ? newline : iter->end};
		struct mount_line found = {0};

		iter->at = newline ? newline + 1 : iter->end;
		if (scan_mount(&line, &found)) {
			*mount = found;
			return true;
		}
	}
	return false;
}

bool mount_line_has_option(const struct mount_line *mount, const char *word)
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

bool mount_line_is_type(const struct mount_line *mount, const char *type)
{
	return mount->nr_type_bytes == strlen(type) &&
	       memcmp(mount->type, type, mount->nr_type_bytes) == 0;
}

/* "fuse", "fuse.sshfs", "fuseblk" */
static bool is_fuse(const struct mount_line *mount)
{
	static const char type[] = "fuse";

	return mount->nr_type_bytes >= strlen(type) && memcmp(mount->type, type, strlen(type)) == 0;
}

static bool is_below(const char *path, size_t nr_bytes, const struct mount_line *mount)
{
	size_t nr = mount->nr_place_bytes;

	if (nr == 1)
		return true;
	return nr_bytes >= nr && memcmp(path, mount->place, nr) == 0 &&
	       (nr_bytes == nr || path[nr] == '/');
}

/* A layer of an overlay that is an overlay itself is found by its own files. */
static bool is_layer_served(const char *path, size_t nr_bytes, const char *mounts, size_t nr)
{
	struct mounts_iter iter = mounts_over(mounts, nr);
	struct mount_line mount, of = {.nr_place_bytes = 0};

	if (!nr_bytes || *path != '/')
		return false;
	while (mounts_next(&iter, &mount)) {
		if (is_below(path, nr_bytes, &mount) && mount.nr_place_bytes >= of.nr_place_bytes)
			of = mount;
	}
	return of.nr_place_bytes && is_fuse(&of);
}

/* The value of "lowerdir=/a:/b", "upperdir=/c" and "lowerdir+=/d"; NULL: of another option. */
static const char *layers_in(const char *option, const char *end)
{
	static const char *const names[] = {"lowerdir=", "lowerdir+=", "datadir+=", "upperdir="};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t nr = strlen(names[i]);

		if ((size_t)(end - option) > nr && memcmp(option, names[i], nr) == 0)
			return option + nr;
	}
	return NULL;
}

static bool is_overlay_served(const struct mount_line *overlay, const char *mounts, size_t nr)
{
	const char *end = overlay->own_options + overlay->nr_own_options_bytes;

	for (const char *option = overlay->own_options; option < end;) {
		const char *comma = memchr(option, ',', (size_t)(end - option));
		const char *option_end = comma ? comma : end;
		const char *at = layers_in(option, option_end);

		while (at && at < option_end) {
			const char *colon = memchr(at, ':', (size_t)(option_end - at));
			const char *layer_end = colon ? colon : option_end;

			if (is_layer_served(at, (size_t)(layer_end - at), mounts, nr))
				return true;
			at = layer_end + 1;
		}
		option = option_end + 1;
	}
	return false;
}

bool mount_line_is_served(const struct mount_line *mount, const char *mounts, size_t nr_bytes)
{
	return mount_line_is_type(mount, "overlay") ? is_overlay_served(mount, mounts, nr_bytes)
						    : is_fuse(mount);
}
