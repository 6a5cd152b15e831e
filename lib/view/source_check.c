// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks whether a source file may differ from the compiled one. */
#include "view/source_check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "mapping/module.h"
#include "profile/profile.h"
#include "view/source_file.h"

/* The time when the program was built; 0: unknown. */
static uint64_t built_ns(const struct module *module)
{
	struct stat status;

	if (!module || module->kind != MODULE_KIND_FILE)
		return 0;
	if (module->modified_ns)
		return module->modified_ns;
	/* Early versions did not record it: then use the file's, if it is the same file. */
	if (stat(module->path, &status) < 0 || (uint64_t)status.st_size != module->file_bytes ||
	    status.st_ino != module->inode)
		return 0;
	return (uint64_t)status.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)status.st_mtim.tv_nsec;
}

/* Does the file differ from the one at the end of the recording? Then that is the warning. */
static bool contradicts_recording(const struct source_check *check, struct buf *warning)
{
	const struct profile *profile = check->profile;
	const struct source_file_text *text = check->text;

	for (size_t i = 0; i < profile->symbols.nr_sources; i++) {
		const struct profile_source *row = &profile->symbols.sources[i];

		if (strcmp(profile_str(profile, row->file), check->recorded) != 0)
			continue;
		if (row->nr_bytes != text->nr_bytes) {
			buf_printf(warning,
				   "%s has %" PRIu64 " bytes, but had %" PRIu64
				   " when recorded: lines may have moved",
				   text->path, text->nr_bytes, row->nr_bytes);
			return true;
		}
		if (row->modified_ns != text->modified_ns) {
			buf_printf(warning,
				   "%s has another modification time than the recorded source: "
				   "lines may have moved",
				   text->path);
			return true;
		}
	}
	return false;
}

void source_check(const struct source_check *check, struct buf *note, struct buf *warning)
{
	const struct source_file_text *text = check->text;
	uint64_t built = built_ns(check->module);

	if (!text->path && text->is_refused) {
		buf_printf(note,
			   "source file %s is not shown: it is named by a program or recording "
			   "of a user who may not read it, or reached by another user's link "
			   "(use --source-path OLD=NEW to allow it)",
			   check->recorded);
		return;
	}
	if (!text->path) {
		buf_printf(note,
			   "source file %s not found: showing line numbers only "
			   "(use --source-path OLD=NEW if it has moved)",
			   check->recorded);
		return;
	}
	if (check->module && check->module->kind == MODULE_KIND_JIT &&
	    source_is_python(check->recorded))
		buf_append_str(note, "Python names functions, not lines: the time of each is at "
				     "its first line");
	if (strcmp(text->path, check->recorded) != 0)
		buf_printf(note, "%sreading %s from %s", note->nr_bytes ? "; " : "",
			   check->recorded, text->path);
	if (check->last_line > text->nr_lines)
		buf_printf(warning,
			   "%s has %zu lines, but line %u has samples: it is not the source "
			   "that was compiled",
			   text->path, text->nr_lines, check->last_line);
	else if (contradicts_recording(check, warning))
		return;
	else if (built && text->modified_ns > built)
		buf_printf(warning, "%s is newer than %s: lines may have moved", text->path,
			   check->module->path);
	else if (text->modified_ns > check->profile->meta.start_realtime_ns)
		buf_printf(warning, "%s was changed after the recording: lines may have moved",
			   text->path);
}
