// SPDX-License-Identifier: GPL-2.0-or-later
/* Filters and sums a profile according to wishes. */
#include "browse/weighing.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/minmax.h"
#include "browse/row_key.h"
#include "browse/wishes.h"
#include "calltree/count_history.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/source.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "view/top_memory.h"

static void release_weights(struct browse_weighing *weighing)
{
	source_free(weighing->source);
	tree_free(weighing->tree);
	weights_free(weighing->own_weights);
	selection_free(weighing->own_selection);
	weighing->source = NULL;
	weighing->tree = NULL;
	weighing->own_weights = NULL;
	weighing->own_selection = NULL;
}

void browse_weighing_release(struct browse_weighing *weighing)
{
	release_weights(weighing);
	expansion_free(weighing->own_expansion);
	free(weighing->label_keys);
	*weighing = (struct browse_weighing){0};
}

void browse_weighing_begin(struct browse_weighing *weighing, const struct browse_input *input,
			   bool fold_inlines)
{
	browse_weighing_release(weighing);
	weighing->input = *input;
	if (input->weights) {
		weighing->expansion = input->weights->selection->original;
		return;
	}
	weighing->own_expansion = expansion_new(input->profile, fold_inlines);
	weighing->expansion = weighing->own_expansion;
}

uint64_t browse_window_ns(const struct browse_input *input)
{
	uint64_t duration_ns = input->profile->meta.duration_ns;

	return input->window_ns == 0 ? duration_ns : min_u64(input->window_ns, duration_ns);
}

static uint64_t from_ns(const struct browse_input *input)
{
	return input->profile->meta.duration_ns - browse_window_ns(input);
}

/* The former counts at the start of the window, or the earliest after it. */
static const struct count_moment *moment_of(const struct browse_input *input)
{
	return input->counts && from_ns(input) > 0
		       ? count_history_find(input->counts, input->profile, from_ns(input))
		       : NULL;
}

/* An expression that matches a path or a name, and nothing else. */
static void append_exact_pattern(struct buf *out, const char *path)
{
	buf_append_byte(out, '^');
	for (; *path; path++) {
		if (strchr("\\.[]()*+?{}|^$", *path))
			buf_append_byte(out, '\\');
		buf_append_byte(out, (uint8_t)*path);
	}
	buf_append_byte(out, '$');
}

/* Wishes replace the command line's filters. */
static int make_selection(const struct browse_weighing *weighing,
			  const struct browse_wishes *wishes, struct filter wanted,
			  struct selection **selection, struct err *err)
{
	const char *function = wishes->function, *thread = wishes->thread;
	bool is_id = !wishes->process[strspn(wishes->process, "0123456789")];
	const char *process, *module;
	struct buf path = {0}, name = {0};
	int status;

	append_exact_pattern(&path, wishes->module);
	append_exact_pattern(&name, wishes->process);
	module = buf_str(&path);
	process = is_id ? wishes->process : buf_str(&name);
	if (*function)
		wanted.functions = (struct pattern_list){.texts = &function, .nr = 1};
	if (*thread)
		wanted.threads = (struct pattern_list){.texts = &thread, .nr = 1};
	if (*wishes->process)
		wanted.processes = (struct pattern_list){.texts = &process, .nr = 1};
	if (*wishes->module)
		wanted.modules = (struct pattern_list){.texts = &module, .nr = 1};
	status = selection_new(weighing->expansion, &wanted, selection, err);
	buf_release(&path);
	buf_release(&name);
	return status;
}

int browse_weighing_weigh(struct browse_weighing *weighing, const struct browse_wishes *wishes,
			  const struct filter *filter, struct err *err)
{
	const struct browse_input *input = &weighing->input;
	struct filter wanted = *filter;
	struct selection *selection;
	int status;

	if (!weighing->weights && input->weights) {
		weighing->weights = input->weights;
		return 0;
	}
	if (from_ns(input) > 0 && !top_is_of_now(wishes->metric))
		wanted.from_ns = max_u64(wanted.from_ns, from_ns(input));
	status = make_selection(weighing, wishes, wanted, &selection, err);
	if (status)
		return status;
	release_weights(weighing);
	weighing->own_selection = selection;
	weighing->own_weights = weights_new_since(selection, wishes->metric, moment_of(input));
	weighing->weights = weighing->own_weights;
	return 0;
}

uint64_t browse_weighing_rate_ns(const struct browse_weighing *weighing)
{
	const struct profile *profile = weighing->input.profile;
	const struct profile_probes *probes = &profile->probes;
	const struct count_moment *since = moment_of(&weighing->input);
	uint64_t to_ns = count_history_time(profile), begin_ns = to_ns;

	if (!weighing->input.counts || weighing->weights->counts->state != COUNTS_KNOWN)
		return 0;
	for (size_t i = 0; i < probes->nr_counts; i++)
		begin_ns = min_u64(begin_ns, probes->counts[i].from_ns);
	if (since)
		begin_ns = max_u64(begin_ns, since->time_ns);
	return to_ns - begin_ns;
}

const struct source *browse_weighing_source(struct browse_weighing *weighing)
{
	if (!weighing->source)
		weighing->source = source_new(weighing->weights);
	return weighing->source;
}

const struct tree *browse_weighing_tree(struct browse_weighing *weighing)
{
	if (!weighing->tree)
		weighing->tree =
			tree_new_as(weighing->weights,
				    &(struct tree_request){.is_folded = true, .has_faults = true});
	return weighing->tree;
}

const uint64_t *browse_weighing_label_keys(struct browse_weighing *weighing)
{
	if (!weighing->label_keys)
		weighing->label_keys = browse_label_keys(weighing->expansion);
	return weighing->label_keys;
}
