// SPDX-License-Identifier: GPL-2.0-or-later
/* Recorded facts about the file of a module, and whether a file still agrees with them. */
#include "mapping/module_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "elf/elf_edition.h"
#include "elf/elf_image.h"
#include "mapping/module_priv.h"

static void append_build_id(struct buf *text, const uint8_t *bytes, size_t nr)
{
	if (!nr)
		buf_append_str(text, "none");
	for (size_t i = 0; i < nr; i++)
		buf_printf(text, "%02x", bytes[i]);
}

/*
 * False, with the reason in `text`, if the image has another build-id. An unreadable one has none.
 */
static bool has_same_build_id(const struct module *module, int image_fd, struct buf *text)
{
	struct elf_image *image = elf_image_open(image_fd, NULL);
	size_t nr = 0;
	const uint8_t *bytes = image ? elf_image_build_id(image, &nr) : NULL;
	bool is_same =
		nr == module->nr_build_id_bytes && (!nr || !memcmp(bytes, module->build_id, nr));

	if (!is_same) {
		buf_append_str(text, "build-id ");
		append_build_id(text, bytes, nr);
		buf_append_str(text, ", recorded ");
		append_build_id(text, module->build_id, module->nr_build_id_bytes);
	}
	elf_image_free(image);
	return is_same;
}

static void append_time(struct buf *text, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_SEC);
	char date[32] = "";
	struct tm utc;

	if (gmtime_r(&seconds, &utc))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &utc);
	buf_printf(text, "%s.%03" PRIu64 " UTC", date, ns % NS_PER_SEC / NS_PER_MS);
}

/* For files without a build-id. Appends nothing if nothing differs. */
static void append_difference(const struct module *module, int fd, int image_fd, struct buf *text)
{
	struct elf_edition edition = elf_edition_of(image_fd);
	struct stat now;

	if (module->fingerprint && edition.is_of_go_build_id) {
		if (edition.fingerprint != module->fingerprint)
			buf_append_str(text, "it has another Go build id");
		return;
	}
	if (fstat(fd, &now) < 0)
		return;
	if (module->file_bytes && (uint64_t)now.st_size != module->file_bytes) {
		buf_printf(text, "it has %ju bytes, recorded %" PRIu64, (uintmax_t)now.st_size,
			   module->file_bytes);
	} else if (module->modified_ns && module_modified_ns(&now) != module->modified_ns) {
		buf_append_str(text, "it has no build-id, and was modified on ");
		append_time(text, module_modified_ns(&now));
		buf_append_str(text, ", recorded ");
		append_time(text, module->modified_ns);
	} else if (module->fingerprint && edition.fingerprint != module->fingerprint) {
		buf_append_str(text, "its headers, code or symbols differ");
	}
}

char *module_file_difference(const struct module *module, int fd, int image_fd)
{
	struct buf text = {0};
	char *difference = NULL;

	buf_append_str(&text, MODULE_REPLACED);
	/* Early recordings have neither for files without a build-id. */
	if (!module->nr_build_id_bytes && !module->fingerprint)
		append_difference(module, fd, image_fd, &text);
	else if (has_same_build_id(module, image_fd, &text) && !module->nr_build_id_bytes)
		append_difference(module, fd, image_fd, &text);
	if (text.nr_bytes > strlen(MODULE_REPLACED))
		difference = xstrdup(buf_str(&text));
	buf_release(&text);
	return difference;
}

void module_take_edition(struct module *module, const struct elf_image *image)
{
	const uint8_t *build_id = elf_image_build_id(image, &module->nr_build_id_bytes);

	if (build_id && module->nr_build_id_bytes <= BUILD_ID_MAX_BYTES)
		memcpy(module->build_id, build_id, module->nr_build_id_bytes);
	else
		module->nr_build_id_bytes = 0;
	if (!module->nr_build_id_bytes && module->fd >= 0)
		module->fingerprint = elf_edition_of(module->fd).fingerprint;
}

struct module_id module_table_intern_mapped(struct module_table *table, const struct module *mapped,
					    int fd, const struct elf_image *image)
{
	struct module module = *mapped;
	struct stat found;

	module.kind = MODULE_KIND_FILE;
	module.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fstat(fd, &found) == 0) {
		module.file_bytes = (uint64_t)found.st_size;
		module.modified_ns = module_modified_ns(&found);
	}
	module_take_edition(&module, image);
	return module_table_intern(table, &module);
}
