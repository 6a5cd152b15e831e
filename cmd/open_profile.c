// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the profile of a view, and reports what is wrong with it. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "cmd/command.h"
#include "cmd/keep_directory.h"
#include "profile/fold_scripts.h"
#include "profile/prepare.h"
#include "profile/profile.h"
#include "profile/show_kernel.h"
#include "store/store.h"

#define DEFAULT_PATH "profc.data"
/* Files for pprof, exported or pushed, have it at the end of their names. */
#define PPROF_SUFFIX ".pb.gz"

const char *profile_path_or_default(const char *path)
{
	return path ? path : DEFAULT_PATH;
}

static bool is_directory(const char *path)
{
	struct stat found;

	return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool has_pprof_name(const char *path)
{
	size_t length = strlen(path), of_suffix = strlen(PPROF_SUFFIX);

	return length > of_suffix && strcmp(path + length - of_suffix, PPROF_SUFFIX) == 0;
}

/* A name may be that of another user's file: it is quoted, as hints are copied to shells. */
static void hint_at_pprof(const char *what, const char *path, struct err *err)
{
	struct buf quoted = {0};

	escape_shell(&quoted, path);
	err_hint(err, "%s: go tool pprof -top %s", what, buf_str(&quoted));
	buf_release(&quoted);
}

static void hint_at_files(const char *path, struct err *err)
{
	DIR *entries = opendir(path);
	const struct dirent *entry;

	err_hint(err, "for a directory, its newest *.data is shown; this one has none");
	while (entries && (entry = readdir(entries))) {
		cleanup_free char *file = NULL;

		if (!has_pprof_name(entry->d_name))
			continue;
		file = xasprintf("%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
				 entry->d_name);
		hint_at_pprof("it has pprof files", file, err);
		break;
	}
	if (entries)
		closedir(entries);
}

static int cannot_open(const char *path, struct err *err)
{
	if (err->sys_errno == ENOENT && !err->hint[0] && strcmp(path, DEFAULT_PATH) == 0)
		err_hint(err,
			 "record one with 'profc record COMMAND', or give its name with -i FILE");
	if (err->code == ERR_CORRUPT && !err->hint[0] && strcmp(path, "-") == 0)
		err_hint(err, "with 'profc record -o - COMMAND', did COMMAND write to standard "
			      "output, too?");
	if (err->code == ERR_CORRUPT && has_pprof_name(path))
		hint_at_pprof("it is a pprof file", path, err);
	if (err->code == ERR_INVALID && !err->hint[0] && is_directory(path))
		hint_at_files(path, err);
	return fail_with(err);
}

static void warn_salvaged(const char *path, const struct store_salvage *salvage)
{
	if (salvage->nr_bytes_lost == 0)
		print_warning("%s is incomplete: %s; showing what it contains", path, salvage->why);
	else
		print_warning("%s is incomplete (%s): the last %llu bytes are unreadable; showing "
			      "what precedes them",
			      path, salvage->why, (unsigned long long)salvage->nr_bytes_lost);
}

char *newest_profile_in(const char *path)
{
	char *newest = is_directory(path) ? keep_directory_newest(path) : NULL;

	if (newest)
		print_note("the newest profile of %s is %s", path, strrchr(newest, '/') + 1);
	return newest;
}

int open_profile_even_empty(const char *path, struct profile **profile)
{
	struct store_salvage salvage = {0};
	struct err err = ERR_INIT;
	cleanup_free char *newest = newest_profile_in(profile_path_or_default(path));

	path = newest ? newest : profile_path_or_default(path);
	if (store_read_path(path, profile, &salvage, &err) != 0)
		return cannot_open(path, &err);
	if (salvage.salvaged)
		warn_salvaged(path, &salvage);
	return EXIT_DONE;
}

/* A view needs these in a profile. */
enum needed {
	NEEDS_SAMPLES,
	NEEDS_SAMPLES_OR_COUNTS,
	NEEDS_SAMPLES_OR_MEMORY,
	NEEDS_MEMORY,
	NEEDS_FREEING,
};

static bool has_needed(const struct profile *profile, enum needed needed)
{
	if (needed == NEEDS_FREEING)
		return profile_has_heap(profile) && profile->meta.knows_freeing;
	if (needed == NEEDS_MEMORY)
		return profile_has_heap(profile);
	return profile->nr_samples ||
	       (needed == NEEDS_SAMPLES_OR_COUNTS && profile->probes.nr_counts) ||
	       (needed == NEEDS_SAMPLES_OR_MEMORY && profile_has_heap(profile));
}

static int open_with(const char *path, enum needed needed, struct profile **profile)
{
	struct profile *opened;
	struct err err = ERR_INIT;
	int status = open_profile_even_empty(path, &opened);
	bool has_memory;

	if (status != EXIT_DONE)
		return status;
	if (has_needed(opened, needed)) {
		*profile = opened;
		return EXIT_DONE;
	}
	has_memory = profile_has_heap(opened);
	profile_free(opened);
	err_set(&err, ERR_EMPTY, "no %s in %s",
		needed < NEEDS_MEMORY ? "samples"
		: has_memory	      ? "stacks that freed memory were recorded"
				      : "memory was recorded",
		profile_path_or_default(path));
	if (needed == NEEDS_FREEING)
		err_hint(&err, "'profc record --mem --mem-free-stacks' records who frees it");
	else if (needed == NEEDS_MEMORY)
		err_hint(&err,
			 "'profc record --mem' records who allocates it, and when it is freed");
	else if (has_memory)
		err_hint(&err, "it has memory: -m alloc, or 'profc report --leaks'");
	else
		err_hint(&err, "'profc info%s%s' shows how it was recorded", path ? " -i " : "",
			 path ? path : "");
	return fail_with(&err);
}

void prepare_profile(struct profile *profile, const char *path, bool with_kernel, bool with_native)
{
	profile_prepare(profile);
	if (!with_native)
		profile_fold_scripts(profile);
	if (with_kernel && !profile_show_kernel(profile))
		print_warning(
			"%s has no functions of the kernel: no thread was seen asleep, or the "
			"kernel did not show them",
			profile_path_or_default(path));
}

int open_profile(const char *path, struct profile **profile)
{
	return open_with(path, NEEDS_SAMPLES, profile);
}

int open_profile_or_counts(const char *path, struct profile **profile)
{
	return open_with(path, NEEDS_SAMPLES_OR_COUNTS, profile);
}

int open_profile_of_any(const char *path, struct profile **profile)
{
	return open_with(path, NEEDS_SAMPLES_OR_MEMORY, profile);
}

int open_profile_of_memory(const char *path, enum metric metric, struct profile **profile)
{
	return open_with(path, metric_info(metric)->needs_freeing ? NEEDS_FREEING : NEEDS_MEMORY,
			 profile);
}
