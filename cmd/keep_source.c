// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps sources and instructions in a recording. */
#include "cmd/keep_source.h"

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"
#include "calltree/code.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "cmd/command.h"
#include "cmd/machine_code.h"
#include "cmd/save_profile.h"
#include "profile/profile.h"
#include "view/kept_sources.h"

/* For each function objdump reads all symbols of its file. */
#define FUNCTIONS_MAX	 100
#define LEAST_PERCENT	 0.2
#define FUNCTIONS_MAX_NS (10 * NS_PER_SEC)

/* Sources and code to keep, found in views of the profile, which must not change meanwhile. */
struct keeping {
	struct kept_sources sources;
	struct code_parts parts;
	size_t nr_functions, nr_functions_kept;
};

static void find_instructions(const struct weights *weights, struct keeping *keeping)
{
	uint64_t deadline_ns = clock_monotonic_ns() + FUNCTIONS_MAX_NS;
	struct codes *codes = codes_new(weights, NULL);

	for (size_t i = 0; i < codes->nr && i < FUNCTIONS_MAX; i++) {
		struct err why = ERR_INIT;

		if (tally_percent(&codes->codes[i].self, &weights->total) < LEAST_PERCENT)
			break;
		keeping->nr_functions++;
		if (clock_monotonic_ns() < deadline_ns &&
		    code_parts_read(codes, &codes->codes[i], &keeping->parts, &why) == 0)
			keeping->nr_functions_kept++;
	}
	codes_free(codes);
}

static void find(const struct profile *profile, struct keeping *keeping)
{
	const struct filter everything = {0};
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection = NULL;
	struct weights *weights;

	if (selection_new(expansion, &everything, &selection, NULL) == 0) {
		weights = weights_new(selection, metric_of_profile(profile));
		kept_sources_find(&keeping->sources, weights);
		find_instructions(weights, keeping);
		weights_free(weights);
		selection_free(selection);
	}
	expansion_free(expansion);
}

static void keep_instructions(struct profile *profile, const struct keeping *keeping)
{
	for (size_t i = 0; i < keeping->parts.nr; i++) {
		struct code_part *part = &keeping->parts.parts[i];
		const struct profile_listing row = {
			.module = part->module,
			.start = part->start,
			.end = part->end,
			.text = profile_intern(profile, buf_str(&part->text)),
		};

		if (!profile_find_listing(profile,
					  (struct code_address){part->module, part->start}))
			profile_add_listing(profile, &row);
	}
}

void keep_source(struct profile *profile, bool quiet)
{
	struct keeping keeping = {0};

	find(profile, &keeping);
	kept_sources_read(&keeping.sources, profile);
	keep_instructions(profile, &keeping);
	if (!quiet)
		print_note("kept the text of %zu of %zu source files, and the instructions of %zu "
			   "of %zu functions",
			   keeping.sources.nr_kept, keeping.sources.nr, keeping.nr_functions_kept,
			   keeping.nr_functions);
	if (keeping.sources.nr_large)
		print_warning("%zu source files are too large to be kept: the room is %zu MiB for "
			      "each, and %zu MiB for all",
			      keeping.sources.nr_large, KEPT_SOURCE_MAX_BYTES >> 20,
			      KEPT_SOURCES_MAX_BYTES >> 20);
	kept_sources_release(&keeping.sources);
	code_parts_release(&keeping.parts);
}

int keep_source_in(const char *path, bool quiet)
{
	struct profile *profile;
	struct err err = ERR_INIT;
	int status = open_profile_even_empty(path, &profile);

	if (status != EXIT_DONE)
		return status;
	keep_source(profile, quiet);
	if (save_profile(profile, path, &err) < 0)
		status = fail_with(&err);
	profile_free(profile);
	return status;
}
