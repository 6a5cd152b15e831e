// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison of profiles as JSON. */
#include "view/diff_text.h"

#include <math.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "calltree/diff.h"
#include "calltree/diff_tree.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"
#include "view/diff_machine.h"
#include "view/flat_fields.h"

/* The version of the JSON form: raised when a member changes its meaning. */
#define JSON_VERSION 1

static enum metric metric_of(const struct diff *diff)
{
	return diff->old_side.runs[0]->metric;
}

static void write_side(struct json *json, const char *key, const struct diff_side *side)
{
	const struct weights *first = side->runs[0];
	const struct profile *profile = first->selection->expansion->profile;
	struct tally mean = side->total;

	mean.weight = diff_mean(side, &side->total);
	mean.blocks /= (double)side->nr;
	json_key_object_begin(json, key);
	json_key_u64(json, "runs", side->nr);
	json_key_amount(json, "total", first->metric, &mean);
	json_key_u64(json, "samples", side->total.samples);
	json_key_u64(json, "elapsed_ns", diff_elapsed_ns(side) / side->nr);
	json_key_array_begin(json, "command");
	for (size_t i = 0; i < profile->meta.nr_command; i++)
		json_str(json, profile_str(profile, profile->meta.command[i]));
	json_array_end(json);
	json_object_end(json);
}

static void write_label(struct json *json, const struct diff *diff, const struct diff_at *at,
			const char *function_key, const char *module_key)
{
	const struct expansion *expansion;
	const struct module *module;
	struct buf name = {0};

	if (at->row == DIFF_NONE) {
		json_key_str(json, function_key, NULL);
		json_key_str(json, module_key, NULL);
		return;
	}
	expansion = diff_weights(diff, at)->selection->expansion;
	module = label_module(expansion, at->label);
	label_append_name(&name, expansion, at->label, NAME_FULL);
	json_key_str(json, function_key, buf_str(&name));
	json_key_str(json, module_key, module ? module->path : NULL);
	buf_release(&name);
}

static const char *status_of(const struct diff_row *row)
{
	if (row->old_at.row == DIFF_NONE)
		return "new";
	return row->new_at.row == DIFF_NONE ? "gone" : "both";
}

static void write_place(struct json *json, const struct diff *diff, const struct diff_at *at)
{
	const struct flat *flat = diff->flats[at->run];
	const struct flat_row *row = &flat->rows[at->row];

	json_key_known_str(json, "file", profile_str(flat_expansion(flat)->profile, row->file));
	json_key(json, "line");
	if (row->line)
		json_u64(json, row->line);
	else
		json_null(json);
}

static void write_name(struct json *json, const struct diff *diff, const struct diff_at *at,
		       const char *key)
{
	struct buf name = {0};

	if (at->row != DIFF_NONE)
		flat_append_name(&name, diff->flats[at->run], &diff->flats[at->run]->rows[at->row],
				 NAME_FULL);
	json_key_str(json, key, at->row == DIFF_NONE ? NULL : buf_str(&name));
	buf_release(&name);
}

/* Write the row's name in the new profile, if it is there, and its name in the old one. */
static void write_identity(struct json *json, const struct diff *diff, const struct diff_row *row)
{
	const struct diff_at *at = diff_known_at(row);

	if (diff->by == BY_FUNCTION || diff->by == BY_LINE) {
		write_label(json, diff, at, "function", "module");
		if (diff->by == BY_LINE)
			write_place(json, diff, at);
		write_label(json, diff, &row->old_at, "old_function", "old_module");
	} else {
		write_name(json, diff, at, "name");
		write_name(json, diff, &row->old_at, "old_name");
	}
	json_key_str(json, "status", status_of(row));
}

/* The mean of several runs. */
static void write_amount(struct json *json, const char *key, const struct diff_side *side,
			 const struct tally *tally)
{
	struct tally mean = *tally;

	mean.weight = diff_mean(side, tally);
	mean.blocks /= (double)side->nr;
	json_key_amount(json, key, side->runs[0]->metric, &mean);
}

static void write_known(struct json *json, const char *key, bool known, double value)
{
	json_key(json, key);
	if (known)
		json_double(json, value, 4);
	else
		json_null(json);
}

static void write_count(struct json *json, const char *key, const struct diff_side *side,
			const struct diff_calls *calls)
{
	json_key(json, key);
	if (calls->counted)
		json_u64(json, diff_mean_calls(side, calls));
	else
		json_null(json);
}

static void write_calls(struct json *json, const struct diff *diff, const struct diff_row *row)
{
	struct per_call before = {0}, after = {0};
	bool has_before = diff_old_per_call(diff, row, &before);
	bool has_after = diff_new_per_call(diff, row, &after);
	double percent = 0, half = 0;
	bool has_change = diff_per_call_change(diff, row, &percent, &half);

	write_count(json, "old_calls", &diff->old_side, &row->old_calls);
	write_count(json, "new_calls", &diff->new_side, &row->new_calls);
	if (!metric_is_time(metric_of(diff)))
		return;
	write_known(json, "old_per_call_ns", has_before, before.ns);
	write_known(json, "old_per_call_ci_ns", has_before, before.ci_ns);
	write_known(json, "new_per_call_ns", has_after, after.ns);
	write_known(json, "new_per_call_ci_ns", has_after, after.ci_ns);
	write_known(json, "per_call_change_pct", has_change, percent);
	write_known(json, "per_call_ci_pct", has_change, half);
}

static void write_change(struct json *json, double change, double half)
{
	json_key(json, "change_pct");
	json_double(json, change, 4);
	json_key(json, "ci_pct");
	json_double(json, half, 4);
	json_key_bool(json, "sure", fabs(change) > half);
}

static void write_row(struct json *json, const struct diff *diff, const struct diff_row *row)
{
	json_object_begin(json);
	write_identity(json, diff, row);
	write_amount(json, "old_self", &diff->old_side, &row->old_self);
	write_amount(json, "new_self", &diff->new_side, &row->new_self);
	json_key_u64(json, "old_self_samples", row->old_self.samples);
	json_key_u64(json, "new_self_samples", row->new_self.samples);
	write_change(json, row->change, row->half);
	if (diff->by == BY_FUNCTION)
		write_calls(json, diff, row);
	json_object_end(json);
}

static const char *compared(enum diff_mode mode)
{
	switch (mode) {
	case DIFF_AMOUNTS:
		break;
	case DIFF_SHARES:
		return "shares";
	case DIFF_RATES:
		return "rates";
	}
	return "amounts";
}

static void begin(struct json *json, const struct diff *diff, struct sink *sink)
{
	json_init(json, sink);
	json_object_begin(json);
	json_key_u64(json, "version", JSON_VERSION);
	json_key_str(json, "metric", metric_name(metric_of(diff)));
	json_key_str(json, "unit", metric_unit(metric_of(diff)));
	json_key_str(json, "compared", compared(diff->mode));
	diff_write_machines(json, diff);
	write_side(json, "old", &diff->old_side);
	write_side(json, "new", &diff->new_side);
	json_key(json, "total_change_pct");
	json_double(json, diff_total_change(diff), 4);
	json_key(json, "total_ci_pct");
	json_double(json, diff_total_half(diff), 4);
	write_known(json, "factor", diff->noise.is_common, diff->noise.factor);
	write_known(json, "spread_pct", diff->noise.is_known, 100 * diff->noise.spread);
}

void diff_print_json(const struct diff *diff, const struct diff_limits *limits, struct sink *sink)
{
	size_t nr_shown = 0;
	struct json json;

	begin(&json, diff, sink);
	json_key_array_begin(&json, "rows");
	for (size_t i = 0; i < diff->nr && !(limits->rows && nr_shown == limits->rows); i++) {
		if (!limits->unsure && !diff_row_is_sure(&diff->rows[i]))
			continue;
		write_row(&json, diff, &diff->rows[i]);
		nr_shown++;
	}
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}

static void write_node(struct json *json, const struct diff *diff, const struct diff_node *node,
		       const uint32_t *index)
{
	bool is_new = node->old_at.row == DIFF_NONE, is_gone = node->new_at.row == DIFF_NONE;

	json_object_begin(json);
	json_key(json, "parent");
	if (node->parent == DIFF_TREE_ROOT)
		json_null(json);
	else
		json_u64(json, index[node->parent]);
	write_label(json, diff, diff_node_known_at(node), "function", "module");
	json_key_str(json, "status", is_new ? "new" : is_gone ? "gone" : "both");
	json_key_bool(json, "inlined", node->inlined);
	write_amount(json, "old_total", &diff->old_side, &node->old_total);
	write_amount(json, "new_total", &diff->new_side, &node->new_total);
	write_amount(json, "old_self", &diff->old_side, &node->old_self);
	write_amount(json, "new_self", &diff->new_side, &node->new_self);
	write_change(json, node->change, node->half);
	json_object_end(json);
}

void diff_tree_print_json(const struct diff_tree *tree, const struct diff_limits *limits,
			  struct sink *sink)
{
	cleanup_free uint32_t *index = xcalloc(tree->nr, sizeof(*index));
	uint32_t nr = 0;
	struct json json;

	begin(&json, tree->diff, sink);
	json_key_array_begin(&json, "nodes");
	for (uint32_t i = 1; i < tree->nr; i++) {
		if (!limits->unsure && !tree->nodes[i].leads)
			continue;
		index[i] = nr++;
		write_node(&json, tree->diff, &tree->nodes[i], index);
	}
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}
