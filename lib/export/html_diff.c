// SPDX-License-Identifier: GPL-2.0-or-later
/* The page of two profiles: the data of both, and the pairs of equal functions. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/sink.h"
#include "calltree/diff.h"
#include "calltree/weights.h"
#include "export/export.h"
#include "export/extract_priv.h"
#include "export/html_priv.h"
#include "export/page_data_priv.h"

struct both {
	const struct export_diff *diff;
	struct extract *old_extract, *new_extract;
	int64_t *match; /* by label of the old profile: label of the new one, or PAGE_NO_FUNCTION */
	struct page_noise noises[METRIC_COUNT];
	size_t nr_noises;
};

static void match_rows(struct both *both, const struct diff *diff)
{
	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];

		if (row->old_at.label != DIFF_NONE && row->new_at.label != DIFF_NONE)
			both->match[row->old_at.label] = row->new_at.label;
	}
}

/* Match the stacks with any weight in the metric, on either side. */
static void match_in(struct both *both, enum metric metric)
{
	struct weights *old_weights = weights_new(both->old_extract->selection, metric);
	struct weights *new_weights = weights_new(both->new_extract->selection, metric);
	const struct diff_request request = {
		.old_runs = (const struct weights *const *)&old_weights,
		.new_runs = (const struct weights *const *)&new_weights,
		.nr_old = 1,
		.nr_new = 1,
		.mode = both->diff->mode,
		.renames = both->diff->renames,
		.nr_renames = both->diff->nr_renames};
	struct diff *diff = diff_new(&request);

	match_rows(both, diff);
	both->noises[both->nr_noises++] = (struct page_noise){
		.metric = metric, .noise = diff->noise, .quantile = diff->quantile};
	diff_free(diff);
	weights_free(old_weights);
	weights_free(new_weights);
}

/* Functions without time may have memory. What has both is matched by its samples. */
static void match_functions(struct both *both)
{
	size_t nr = both->old_extract->expansion->nr_labels;

	both->match = xcalloc(nr, sizeof(*both->match));
	for (size_t i = 0; i < nr; i++)
		both->match[i] = PAGE_NO_FUNCTION;
	for (int i = 0; i < METRIC_COUNT; i++) {
		enum metric metric = (enum metric)i;

		if (metric != METRIC_SAMPLES &&
		    (metric != METRIC_ELAPSED || (page_has_elapsed(both->old_extract) &&
						  page_has_elapsed(both->new_extract))) &&
		    profile_has_metric(both->diff->old_profile, metric) &&
		    profile_has_metric(both->diff->new_profile, metric))
			match_in(both, metric);
	}
	match_in(both, METRIC_SAMPLES);
}

/* Convert labels to numbers in the data of the new profile, which is written already. */
static void number_match(struct both *both, struct page_data *new_data)
{
	for (size_t i = 0; i < both->old_extract->expansion->nr_labels; i++) {
		uint32_t label = (uint32_t)both->match[i];

		if (both->match[i] == PAGE_NO_FUNCTION)
			continue;
		both->match[i] = PAGE_NO_FUNCTION;
		if (numbering_has(&new_data->functions, label))
			both->match[i] = numbering_of(&new_data->functions, label);
	}
}

static void write_both(struct both *both, struct sink *sink)
{
	struct page_data old_data, new_data;
	struct page_match match;
	struct sink rows = SINK_MEMORY;

	match_functions(both);
	page_data_init(&new_data, both->new_extract);
	page_data_init(&old_data, both->old_extract);
	html_write_begin(both->new_extract, "diff: ", sink);
	html_write_data(&new_data, "data", sink, &rows);
	number_match(both, &new_data);
	match = (struct page_match){.functions = both->match,
				    .noises = both->noises,
				    .nr_noises = both->nr_noises,
				    .mode = both->diff->mode == DIFF_SHARES ? "shares" : "amounts"};
	old_data.match = &match;
	html_write_data(&old_data, "old-data", sink, &rows);
	html_write_end(sink, &rows);
	page_data_release(&old_data);
	page_data_release(&new_data);
	free(both->match);
}

int export_write_diff(const struct export_diff *diff, const struct export_options *options,
		      struct sink *sink, struct err *err)
{
	struct export_options chosen = *options;
	struct both both = {.diff = diff};
	int status;

	chosen.threads = EXPORT_THREADS_MERGE;
	chosen.with_verdict = true;
	chosen.any_metric = false; /* both sides have one */
	if (chosen.names == EXPORT_NAMES_DEFAULT)
		chosen.names = EXPORT_NAMES_SHORT;
	status = extract_new(diff->old_profile, &chosen, PATH_FRAMES, &both.old_extract, err);
	if (status == 0)
		status = extract_new(diff->new_profile, &chosen, PATH_FRAMES, &both.new_extract,
				     err);
	if (status == 0)
		write_both(&both, sink);
	extract_free(both.old_extract);
	extract_free(both.new_extract);
	return status;
}
