// SPDX-License-Identifier: GPL-2.0-or-later
/* profc merge: merges several profiles into one. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/save_profile.h"
#include "profile/merge.h"
#include "profile/profile.h"

struct merge_args {
	const char *output;
};

static const struct option_row rows[] = {
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "FILE",
	 .offset = offsetof(struct merge_args, output),
	 .help = "write to FILE; - is standard output"},
	OPTIONS_END,
};

static int parse(struct merge_args *args, int argc, char **argv, int *first_word, struct err *err)
{
	int status = options_parse(rows, args, argc, argv, false, first_word, err);

	if (status)
		return status;
	if (*first_word == argc)
		return err_set(err, ERR_INVALID, "no profiles given");
	if (!args->output)
		return err_set(err, ERR_INVALID, "-o FILE is required");
	return 0;
}

static int write_merged(const struct profile *const *profiles, size_t nr, const char *output)
{
	struct profile *merged = profile_merge(profiles, nr);
	struct err err = ERR_INIT;
	int status = EXIT_DONE;

	if (save_profile(merged, output, &err) < 0) {
		print_err(&err);
		status = EXIT_CANNOT;
	} else if (isatty(STDERR_FILENO) && strcmp(output, "-") != 0) {
		print_note("wrote %s", output);
	}
	profile_free(merged);
	return status;
}

/* Or exact counts or blocks of memory, which need no samples. */
static bool has_samples(struct profile *const *profiles, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (profiles[i]->nr_samples || profiles[i]->probes.nr_counts ||
		    profile_has_heap(profiles[i]))
			return true;
	}
	return false;
}

static int refuse_empty(void)
{
	struct err err = ERR_INIT;

	err_set(&err, ERR_EMPTY, "no samples in any of these profiles");
	return fail_with(&err);
}

static int merge_files(const char *output, char **files, size_t nr)
{
	struct profile **profiles = xcalloc(nr, sizeof(struct profile *));
	int status = EXIT_DONE;
	size_t nr_open;

	for (nr_open = 0; nr_open < nr; nr_open++) {
		status = open_profile_even_empty(files[nr_open], &profiles[nr_open]);
		if (status != EXIT_DONE)
			break;
	}
	if (status == EXIT_DONE && !has_samples(profiles, nr))
		status = refuse_empty();
	if (status == EXIT_DONE)
		status = write_merged((const struct profile *const *)profiles, nr, output);
	while (nr_open > 0)
		profile_free(profiles[--nr_open]);
	free(profiles);
	return status;
}

static int run_merge(const struct command *self, int argc, char **argv)
{
	struct merge_args args = {0};
	struct err err = ERR_INIT;
	int first_word, status;

	if (parse(&args, argc, argv, &first_word, &err))
		status = usage_error(self, &err);
	else
		status = merge_files(args.output, argv + first_word, (size_t)(argc - first_word));
	options_release(rows, &args);
	return status;
}

const struct command command_merge = {
	.name = "merge",
	.synopsis = "-o OUT FILE...",
	.summary = "merge several profiles into one",
	.help = "Merges several profiles, of several runs or of several hosts, into one.\n"
		"Processes and threads stay separate; identical code is counted as one.\n"
		"\n"
		"Examples:\n"
		"  profc merge -o all.data run1.data run2.data run3.data\n",
	.options = rows,
	.run = run_merge,
};
