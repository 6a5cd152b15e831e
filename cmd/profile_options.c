// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the name of the profile from the command line. */
#include "cmd/profile_options.h"

#include <stddef.h>

#include "base/err.h"
#include "calltree/flat.h"
#include "store/store.h"

/* clang-format off */
#define TIME_DIMENSIONS \
	[BY_FUNCTION] = "function", [BY_LINE] = "line", [BY_FILE] = "file", \
	[BY_MODULE] = "module", [BY_THREAD] = "thread", [BY_PROCESS] = "process", \
	[BY_STATE] = "state", [BY_SYSCALL] = "syscall"
/* clang-format on */

const char *const time_dimension_choices[] = {TIME_DIMENSIONS, NULL};
const char *const dimension_choices[] = {TIME_DIMENSIONS, [BY_LIFETIME] = "lifetime", NULL};

int profile_options_take(const char **input, int argc, char **argv, int first_word)
{
	if (*input || first_word >= argc || !store_is_profile(argv[first_word]))
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
