// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One page that needs nothing else: the call tree as columns of JSON, and page.js that
 * draws it. A content security policy keeps the page from loading or sending anything.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/sink.h"
#include "calltree/counts.h"
#include "calltree/flat.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"
#include "export/asset_priv.h"
#include "export/extract_priv.h"
#include "export/flame_tree_priv.h"
#include "export/markup_priv.h"
#include "export/numbering_priv.h"
#include "mapping/module.h"

struct html {
	const struct extract *extract;
	struct sink *sink;
	struct json json;
	struct flame_tree tree;
	struct numbering functions; /* of labels, lanes, and last FLAME_ALL */
	struct numbering modules;
	bool counted; /* calls were */
};

static size_t nr_lanes_and_labels(const struct extract *extract)
{
	return extract->expansion->nr_labels + extract->nr_lanes;
}

static uint32_t function_index(struct html *out, uint32_t label)
{
	uint32_t all = (uint32_t)nr_lanes_and_labels(out->extract);

	return numbering_of(&out->functions, label == FLAME_ALL ? all : label);
}

static uint32_t label_of_function(const struct html *out, uint32_t index)
{
	uint32_t id = out->functions.ids[index];

	return id == nr_lanes_and_labels(out->extract) ? FLAME_ALL : id;
}

static void number_functions(struct html *out)
{
	for (size_t i = 0; i < out->tree.nr_nodes; i++)
		(void)function_index(out, out->tree.nodes[i].label);
	/* What was called need not have been sampled. */
	for (uint32_t label = 0; label < out->extract->expansion->nr_labels; label++) {
		uint64_t calls = 0;

		if (counts_find_function(out->extract->counts, label, &calls) && calls)
			(void)function_index(out, label);
	}
}

/* [name, file or null, line, module index or -1, is no function] */
static void write_function(struct html *out, uint32_t label)
{
	const struct extract *extract = out->extract;
	bool is_label = label < extract->expansion->nr_labels;
	struct buf name = {0}, full = {0};
	int64_t module = -1;

	if (is_label && label_module(extract->expansion, label))
		module = numbering_of(&out->modules, extract->expansion->labels[label].module.v);
	flame_append_name(&name, extract, label);
	json_array_begin(&out->json);
	json_str(&out->json, buf_str(&name));
	json_str(&out->json, is_label ? extract_function_file(extract, label) : NULL);
	json_u64(&out->json, is_label ? extract_function_line(extract, label) : 0);
	json_i64(&out->json, module);
	json_u64(&out->json, !is_label);
	flame_append_full_name(&full, extract, label);
	if (strcmp(buf_str(&full), buf_str(&name)) != 0)
		json_str(&out->json, buf_str(&full));
	json_array_end(&out->json);
	buf_release(&name);
	buf_release(&full);
}

static void write_functions(struct html *out)
{
	json_key_array_begin(&out->json, "functions");
	for (uint32_t i = 0; i < out->functions.nr; i++)
		write_function(out, label_of_function(out, i));
	json_array_end(&out->json);
	json_key_array_begin(&out->json, "modules");
	for (uint32_t i = 0; i < out->modules.nr; i++) {
		struct module_id id = {out->modules.ids[i]};

		json_str(&out->json,
			 module_short_name(module_table_get(out->extract->profile->modules, id)));
	}
	json_array_end(&out->json);
}

/* By label, or NULL; the caller frees it. */
static const struct flat_row **rows_by_label(const struct html *out, const struct flat *flat)
{
	const struct flat_row **rows =
		xcalloc(out->extract->expansion->nr_labels, sizeof(const struct flat_row *));

	for (size_t i = 0; i < flat->nr; i++)
		rows[flat->rows[i].label] = &flat->rows[i];
	return rows;
}

/* Of a function, or NULL: not counted. */
static const struct flat_row *counted_row(const struct html *out, const struct flat_row **rows,
					  uint32_t index)
{
	uint32_t label = label_of_function(out, index);
	const struct flat_row *row =
		label < out->extract->expansion->nr_labels ? rows[label] : NULL;

	return row && row->counted ? row : NULL;
}

static void write_calls(struct html *out, const struct flat_row **rows)
{
	json_key_array_begin(&out->json, "calls");
	for (uint32_t i = 0; i < out->functions.nr; i++) {
		const struct flat_row *row = counted_row(out, rows, i);

		if (row)
			json_u64(&out->json, row->calls);
		else
			json_null(&out->json);
	}
	json_array_end(&out->json);
}

static void write_per_call(struct html *out, const struct flat *flat, const struct flat_row **rows)
{
	json_key_array_begin(&out->json, "perCall");
	for (uint32_t i = 0; i < out->functions.nr; i++) {
		const struct flat_row *row = counted_row(out, rows, i);
		struct per_call per_call;

		if (row && extract_is_time(out->extract) && flat_row_per_call(flat, row, &per_call))
			json_double(&out->json, per_call.ns, 3);
		else
			json_null(&out->json);
	}
	json_array_end(&out->json);
}

/* Columns beside "functions", as report has them; only where calls were counted. */
static void write_counts(struct html *out)
{
	struct weights *weights =
		weights_new(out->extract->selection, out->extract->options->metric);
	struct flat *flat = flat_new(weights, BY_FUNCTION);
	cleanup_free const struct flat_row **rows = rows_by_label(out, flat);

	write_calls(out, rows);
	write_per_call(out, flat, rows);
	flat_free(flat);
	weights_free(weights);
}

enum tree_column {
	COLUMN_DEPTH,
	COLUMN_LABEL,
	COLUMN_SELF,
};

static uint64_t column_value(struct html *out, const struct flame *node, enum tree_column column)
{
	switch (column) {
	case COLUMN_DEPTH:
		return node->depth;
	case COLUMN_LABEL:
		return function_index(out, node->label);
	case COLUMN_SELF:
		break;
	}
	return node->self;
}

static void write_column(struct html *out, const char *key, enum tree_column column)
{
	struct buf text = {0};

	json_key_array_begin(&out->json, key);
	for (size_t i = 0; i < out->tree.nr_nodes; i++) {
		if (i)
			buf_append_byte(&text, ',');
		buf_append_decimal(&text, column_value(out, &out->tree.nodes[i], column));
	}
	sink_write(out->sink, text.bytes, text.nr_bytes);
	json_array_end(&out->json);
	buf_release(&text);
}

static void write_data(struct html *out)
{
	json_init(&out->json, out->sink);
	json_object_begin(&out->json);
	json_key_str(&out->json, "metric", extract_weight_name(out->extract));
	json_key_str(&out->json, "unit", extract_unit(out->extract));
	write_functions(out);
	if (out->counted)
		write_counts(out);
	write_column(out, "depth", COLUMN_DEPTH);
	write_column(out, "label", COLUMN_LABEL);
	write_column(out, "self", COLUMN_SELF);
	json_object_end(&out->json);
	json_finish(&out->json);
}

static void write_asset(struct sink *sink, const char *before, struct asset asset,
			const char *after)
{
	sink_str(sink, before);
	sink_write(sink, asset.bytes, asset.nr_bytes);
	sink_str(sink, after);
}

static void write_title(struct html *out)
{
	struct buf raw = {0}, plain = {0}, title = {0};

	extract_append_title(&raw, out->extract);
	escape_terminal(&plain, buf_str(&raw));
	escape_markup(&title, buf_str(&plain));
	sink_str(out->sink, "<title>");
	sink_str(out->sink, buf_str(&title));
	sink_str(out->sink, "</title>\n");
	write_asset(out->sink, "<style>\n", asset_page_css(), "</style>\n");
	sink_str(out->sink, "</head>\n<body>\n<header>\n<h1>");
	sink_str(out->sink, buf_str(&title));
	buf_release(&raw);
	buf_release(&plain);
	buf_release(&title);
}

static void write_page(struct html *out)
{
	sink_str(out->sink,
		 "<!DOCTYPE html>\n"
		 "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		 "<meta name=\"viewport\" content=\"width=device-width\">\n"
		 "<meta name=\"generator\" content=\"profc " PROFC_VERSION "\">\n");
	write_title(out);
	sink_str(
		out->sink,
		"</h1>\n<span id=\"sum\"></span>\n"
		"<input id=\"search\" type=\"search\" placeholder=\"search: regular expression\" "
		"aria-label=\"search\">\n"
		"<button id=\"reset\">reset</button>\n</header>\n"
		"<div id=\"path\"></div>\n"
		"<div id=\"graph\"><canvas id=\"canvas\"></canvas><div id=\"height\"></div></div>\n"
		"<div id=\"functions\"><table><thead id=\"head\"><tr>\n"
		"<th class=\"number\" data-key=\"self\">self</th>"
		"<th class=\"number\" data-key=\"self\">%</th>\n"
		"<th class=\"number\" data-key=\"total\">total</th>"
		"<th class=\"number\" data-key=\"total\">%</th>\n");
	if (out->counted)
		sink_str(out->sink, "<th class=\"number\" data-key=\"calls\">calls</th>"
				    "<th class=\"number\" data-key=\"perCall\">per call</th>\n");
	sink_str(out->sink, "<th data-key=\"name\">function</th><th>location</th><th>module</th>\n"
			    "</tr></thead><tbody id=\"rows\"></tbody></table></div>\n"
			    "<script id=\"data\" type=\"application/json\">");
	write_data(out);
	write_asset(out->sink, "</script>\n<script>\n", asset_page_js(),
		    "</script>\n</body>\n</html>\n");
}

void write_html(const struct extract *extract, struct sink *sink)
{
	struct html out = {.extract = extract,
			   .sink = sink,
			   .counted = extract->counts->state == COUNTS_KNOWN};

	flame_tree_init(&out.tree, extract);
	numbering_init(&out.functions, nr_lanes_and_labels(extract) + 1);
	numbering_init(&out.modules, module_table_nr(extract->profile->modules));
	number_functions(&out);
	write_page(&out);
	flame_tree_release(&out.tree);
	numbering_release(&out.functions);
	numbering_release(&out.modules);
}
