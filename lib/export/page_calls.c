// SPDX-License-Identifier: GPL-2.0-or-later
/* The exact calls of the page, and the time of one: of the whole recording. */
#include "base/alloc.h"
#include "base/json.h"
#include "calltree/counts.h"
#include "calltree/flat.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"
#include "export/extract_priv.h"
#include "export/page_data_priv.h"

static const struct flat_row *row_of(const struct page_data *data, const struct flat *flat,
				     const uint32_t *row_of_label, uint32_t function)
{
	uint32_t row = row_of_label[data->functions.ids[function]];

	return row && flat->rows[row - 1].counted ? &flat->rows[row - 1] : NULL;
}

/* For each function, [ns, half the width of the interval], or null. */
static void write_per_call(struct page_data *data, struct json *json, const struct flat *flat,
			   const uint32_t *row_of_label)
{
	json_array_begin(json);
	for (uint32_t i = 0; i < data->functions.nr; i++) {
		const struct flat_row *row = row_of(data, flat, row_of_label, i);
		struct per_call per_call;

		if (!row || !flat_row_per_call(flat, row, &per_call)) {
			json_null(json);
			continue;
		}
		json_array_begin(json);
		json_double(json, per_call.ns, 3);
		json_double(json, per_call.ci_ns, 3);
		json_array_end(json);
	}
	json_array_end(json);
}

static void write_metric(struct page_data *data, struct json *json, enum metric metric)
{
	struct weights *weights = weights_new(data->extract->selection, metric);
	struct flat *flat = flat_new(weights, BY_FUNCTION);
	cleanup_free uint32_t *row_of_label =
		xcalloc(data->extract->expansion->nr_labels, sizeof(*row_of_label));

	for (uint32_t i = 0; i < flat->nr; i++)
		row_of_label[flat->rows[i].label] = i + 1;
	json_key(json, metric_name(metric));
	write_per_call(data, json, flat, row_of_label);
	flat_free(flat);
	weights_free(weights);
}

static void write_edges(struct page_data *data, struct json *json)
{
	const struct counts *counts = data->extract->counts;

	json_key_array_begin(json, "callEdges");
	for (size_t i = 0; i < counts->nr_edges; i++) {
		const struct count_edge *edge = &counts->edges[i];

		json_array_begin(json);
		json_u64(json, numbering_of(&data->functions, edge->caller));
		json_i64(json, edge->callee == COUNTS_NO_LABEL
				       ? -1
				       : (int64_t)numbering_of(&data->functions, edge->callee));
		json_u64(json, edge->calls);
		json_array_end(json);
	}
	json_array_end(json);
}

static void write_lines(struct page_data *data, struct json *json)
{
	const struct counts *counts = data->extract->counts;

	json_key_array_begin(json, "callLines");
	for (size_t i = 0; i < counts->nr_lines; i++) {
		const struct count_line *line = &counts->lines[i];

		json_array_begin(json);
		json_u64(json, numbering_of(&data->files, line->file.v));
		json_u64(json, line->line);
		json_i64(json, line->has_entries ? (int64_t)line->entries
			       : line->has_calls ? (int64_t)line->calls
						 : -1);
		json_array_end(json);
	}
	json_array_end(json);
}

void page_calls_write(struct page_data *data, struct json *json)
{
	if (data->extract->counts->state != COUNTS_KNOWN)
		return;
	write_edges(data, json);
	write_lines(data, json);
	json_key_array_begin(json, "calls");
	for (uint32_t i = 0; i < data->functions.nr; i++) {
		uint64_t calls;

		if (counts_find_function(data->extract->counts, data->functions.ids[i], &calls))
			json_u64(json, calls);
		else
			json_null(json);
	}
	json_array_end(json);
	json_key_object_begin(json, "perCall");
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (metric_is_time((enum metric)metric) && metric != METRIC_ELAPSED)
			write_metric(data, json, (enum metric)metric);
	json_object_end(json);
}
