// SPDX-License-Identifier: GPL-2.0-or-later
/* Warns if a source file may differ from the one that was compiled. */
#include "cmd/source_check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/source_file.h"
#include "mapping/module.h"
#include "profile/profile.h"

/* When the program was built; 0 if that is not known. */
static uint64_t built_ns(const struct module *module)
{
	struct stat status;

	if (!module || module->kind != MODULE_KIND_FILE)
		return 0;
	if (module->modified_ns)
		return module->modified_ns;
	/*
	 * Recordings of the first versions do not have it: then that of the file, if it is the
	 * same.
	 */
	if (stat(module->path, &status) < 0 || (uint64_t)status.st_size != module->file_bytes ||
	    status.st_ino != module->inode)
		return 0;
	return (uint64_t)status.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)status.st_mtim.tv_nsec;
}

/* Is it another file than at the end of the recording? Then a warning has been printed. */
static bool contradicts_recording(const struct profile *profile, const char *recorded,
				  const struct source_file_text *text)
{
	for (size_t i = 0; i < profile->nr_sources; i++) {
		const struct profile_source *row = &profile->sources[i];

		if (strcmp(profile_str(profile, row->file), recorded) != 0)
			continue;
		if (row->nr_bytes != text->nr_bytes) {
			print_warning("%s has %" PRIu64 " bytes, but had %" PRIu64
				      " when recorded: lines may have moved",
				      text->path, text->nr_bytes, row->nr_bytes);
			return true;
		}
		if (row->modified_ns != text->modified_ns) {
			print_warning("%s has another modification time than the recorded source: "
				      "lines may have moved",
				      text->path);
			return true;
		}
	}
	return false;
}

void source_check(const struct profile *profile, const struct module *module, const char *recorded,
		  const struct source_file_text *text, uint32_t last_line)
{
	uint64_t built = built_ns(module);

	if (!text->path) {
		print_note("source file %s not found: showing line numbers only "
			   "(use --source-path OLD=NEW if it has moved)",
			   recorded);
		return;
	}
	if (strcmp(text->path, recorded) != 0)
		print_note("reading %s from %s", recorded, text->path);
	if (last_line > text->nr_lines)
		print_warning("%s has %zu lines, but line %u has samples: it is not the source "
			      "that was compiled",
			      text->path, text->nr_lines, last_line);
	else if (contradicts_recording(profile, recorded, text))
		return;
	else if (built && text->modified_ns > built)
		print_warning("%s is newer than %s: lines may have moved", text->path,
			      module->path);
	else if (text->modified_ns > profile->meta.start_realtime_ns)
		print_warning("%s was changed after the recording: lines may have moved",
			      text->path);
}
