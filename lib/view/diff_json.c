// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison of profiles as JSON. */
#include "view/diff_text.h"

#include "base/buf.h"
#include "base/json.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"
#include "view/flat_fields.h"

/* The version of the JSON form: raised when a member changes its meaning. */
#define JSON_VERSION 1

static void write_side(struct json *json, const char *key, const struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;

	json_key_object_begin(json, key);
	json_key_amount(json, "total", weights->metric, &weights->total);
	json_key_u64(json, "samples", weights->total.samples);
	json_key_array_begin(json, "command");
	for (size_t i = 0; i < profile->meta.nr_command; i++)
		json_str(json, profile_str(profile, profile->meta.command[i]));
	json_array_end(json);
	json_object_end(json);
}

static void write_label(struct json *json, const struct weights *weights, uint32_t label,
			const char *function_key, const char *module_key)
{
	const struct expansion *expansion = weights->selection->expansion;
	const struct module *module;
	struct buf name = {0};

	if (label == DIFF_NO_LABEL) {
		json_key_str(json, function_key, NULL);
		json_key_str(json, module_key, NULL);
		return;
	}
	module = label_module(expansion, label);
	label_append_name(&name, expansion, label, NAME_FULL);
	json_key_str(json, function_key, buf_str(&name));
	json_key_str(json, module_key, module ? module->path : NULL);
	buf_release(&name);
}

static const char *status_of(const struct diff_row *row)
{
	if (row->old_label == DIFF_NO_LABEL)
		return "new";
	return row->new_label == DIFF_NO_LABEL ? "gone" : "both";
}

/* What it is called, in the new profile if it is there; and what it was called in the old one. */
static void write_function(struct json *json, const struct diff *diff, const struct diff_row *row)
{
	if (row->new_label != DIFF_NO_LABEL)
		write_label(json, diff->new_weights, row->new_label, "function", "module");
	else
		write_label(json, diff->old_weights, row->old_label, "function", "module");
	write_label(json, diff->old_weights, row->old_label, "old_function", "old_module");
	json_key_str(json, "status", status_of(row));
}

static void write_known(struct json *json, const char *key, bool known, double value)
{
	json_key(json, key);
	if (known)
		json_double(json, value, 4);
	else
		json_null(json);
}

static void write_count(struct json *json, const char *key, const struct diff_calls *calls)
{
	json_key(json, key);
	if (calls->counted)
		json_u64(json, calls->calls);
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

	write_count(json, "old_calls", &row->old_calls);
	write_count(json, "new_calls", &row->new_calls);
	if (!metric_is_time(diff->old_weights->metric))
		return;
	write_known(json, "old_per_call_ns", has_before, before.ns);
	write_known(json, "old_per_call_ci_ns", has_before, before.ci_ns);
	write_known(json, "new_per_call_ns", has_after, after.ns);
	write_known(json, "new_per_call_ci_ns", has_after, after.ci_ns);
	write_known(json, "per_call_change_pct", has_change, percent);
	write_known(json, "per_call_ci_pct", has_change, half);
}

static void write_row(struct json *json, const struct diff *diff, const struct diff_row *row)
{
	json_object_begin(json);
	write_function(json, diff, row);
	json_key_amount(json, "old_self", diff->old_weights->metric, &row->old_self);
	json_key_amount(json, "new_self", diff->old_weights->metric, &row->new_self);
	json_key_u64(json, "old_self_samples", row->old_self.samples);
	json_key_u64(json, "new_self_samples", row->new_self.samples);
	json_key(json, "change_pct");
	json_double(json, row->change, 4);
	json_key(json, "ci_pct");
	json_double(json, row->half, 4);
	json_key_bool(json, "sure", diff_row_is_sure(row));
	write_calls(json, diff, row);
	json_object_end(json);
}

void diff_print_json(const struct diff *diff, const struct diff_limits *limits, struct sink *sink)
{
	size_t nr_shown = 0;
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_u64(&json, "version", JSON_VERSION);
	json_key_str(&json, "metric", metric_name(diff->old_weights->metric));
	json_key_str(&json, "unit", metric_unit(diff->old_weights->metric));
	json_key_str(&json, "compared", diff->mode == DIFF_AMOUNTS ? "amounts" : "shares");
	write_side(&json, "old", diff->old_weights);
	write_side(&json, "new", diff->new_weights);
	json_key(&json, "total_change_pct");
	json_double(&json, diff_total_change(diff), 4);
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
