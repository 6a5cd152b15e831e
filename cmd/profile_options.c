// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the name of the profile from the command line. */
#include "cmd/profile_options.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cmd/keep_directory.h"
#include "store/store.h"

static bool is_or_has_profile(const char *path)
{
	cleanup_free char *newest = keep_directory_newest(path);

	return newest || store_is_profile(path);
}

int profile_options_take(const char **input, int argc, char **argv, int first_word)
{
	if (*input || first_word >= argc || !is_or_has_profile(argv[first_word]))
		return 0;
	*input = argv[first_word];
	return 1;
}

int profile_options_word(const char **input, int argc, char **argv, int first_word, struct err *err)
{
	if (first_word < argc && !*input)
		*input = argv[first_word++];
	if (first_word < argc)
		return err_set(err, ERR_INVALID,
			       "unexpected argument '%s': only one profile can be given",
			       argv[first_word]);
	return 0;
}

int source_paths_check(const struct option_list *paths, struct err *err)
{
	for (size_t i = 0; i < paths->nr; i++)
		if (!strchr(paths->values[i], '='))
			return err_set(err, ERR_INVALID, "--source-path '%s' is not OLD=NEW",
				       paths->values[i]);
	return 0;
}
