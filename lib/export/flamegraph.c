// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A flame graph as one self-contained SVG file: widths in proportion to the weight, names cut to
 * their boxes, the full name as a tooltip. Its script makes it as wide as the window; without it,
 * as in a page's image, it is as drawn. The root is at the top: one deep recursion makes the
 * picture high, and would push the important part out of sight. Frames narrower than a tenth of a
 * pixel are left out.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/index_set.h"
#include "base/sink.h"
#include "export/asset_priv.h"
#include "export/extract_priv.h"
#include "export/flame_tree_priv.h"
#include "export/markup_priv.h"

#define WIDTH_PX	1200
#define MARGIN_PX	10
#define ROW_PX		16
#define HEAD_PX		56
#define FOOT_PX		34
#define CHAR_PX		7.0 /* 12 px monospace */
#define NARROWEST_PX	0.1
#define NARROWEST_CHARS 3

struct flamegraph {
	const struct extract *extract;
	struct sink *sink;
	struct flame_tree tree;
	uint32_t deepest;      /* the deepest drawn level */
	struct buf name, text; /* scratch */
};

static double width_px(const struct flamegraph *out, uint64_t weight)
{
	return (double)weight / (double)out->tree.nodes[0].total * (WIDTH_PX - 2 * MARGIN_PX);
}

/*
 * The start of a node: at its parent's start, after its elder siblings. `at` has, by depth, the
 * weight left of the next node of that depth.
 */
static uint64_t node_start(uint64_t *at, const struct flame *node)
{
	uint64_t start = at[node->depth];

	at[node->depth] += node->total;
	at[node->depth + 1] = start;
	return start;
}

/* Equal in every run, so that two graphs can be compared side by side. */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = 0;

	for (; *name; name++)
		hash = scramble_u64(hash + (unsigned char)*name + 1);
	return hash;
}

/* Blue, as no module is. */
#define SCRIPT_HUE 214

/* One hue for a module, and for scripts; one shade for a function: related functions look alike. */
static void append_color(struct buf *out, const struct flamegraph *graph, uint32_t label)
{
	const struct extract *extract = graph->extract;
	const struct module *module = NULL;
	uint64_t shade, hue;

	if (label < extract->expansion->nr_labels)
		module = label_module(extract->expansion, label);
	if (!module) {
		buf_append_str(out, "hsl(0,0%,80%)");
		return;
	}
	hue = label_is_script(extract->expansion, label)
		      ? SCRIPT_HUE
		      : hash_name(module_short_name(module)) % 50;
	shade = hash_name(extract_name(extract, label));
	buf_printf(out, "hsl(%u,%u%%,%u%%)", (unsigned int)hue, 70 + (unsigned int)(shade % 20),
		   60 + (unsigned int)(shade / 32 % 14));
}

/*
 * Append the whole characters of a name that fit (escaped names are UTF-8). True if all of it fits.
 */
static bool append_cut_name(struct buf *out, const char *name, double box_px)
{
	size_t room = box_px < 6 ? 0 : (size_t)((box_px - 6) / CHAR_PX);
	size_t length = strlen(name);

	if (room < NARROWEST_CHARS)
		return false;
	if (length <= room) {
		escape_markup(out, name);
		return true;
	}
	length = room - 2;
	while (length && ((unsigned char)name[length] & 0xc0) == 0x80)
		length--;
	escape_markup_n(out, name, length);
	buf_append_str(out, "..");
	return false;
}

/* The full name, with which each title begins. */
static void append_full_name(struct buf *out, const struct flamegraph *graph, uint32_t label)
{
	struct buf raw = {0};

	flame_append_full_name(&raw, graph->extract, label);
	if (label < graph->extract->expansion->nr_labels)
		label_append_place(&raw, graph->extract->expansion, label);
	escape_terminal(out, buf_str(&raw));
	buf_release(&raw);
}

static void append_title(struct flamegraph *out, const struct flame *node, const char *full_name)
{
	uint64_t all = out->tree.nodes[0].total;

	escape_markup(&out->text, full_name);
	buf_append_str(&out->text, ", ");
	markup_weight(&out->text, out->extract, node->total);
	buf_printf(&out->text, ", %.2f%%", 100.0 * (double)node->total / (double)all);
}

/* The frame's name for when there is more room; its title has the full name. */
static void append_name_attribute(struct buf *out, const char *name, const char *full_name)
{
	if (strcmp(name, full_name) == 0)
		return;
	buf_append_str(out, " data-name=\"");
	escape_markup(out, name);
	buf_append_byte(out, '"');
}

static void write_frame(struct flamegraph *out, const struct flame *node, uint64_t start)
{
	double x = MARGIN_PX + width_px(out, start);
	double w = width_px(out, node->total);
	unsigned int y = HEAD_PX + node->depth * ROW_PX;
	struct buf raw = {0}, shown = {0}, full = {0};

	flame_append_name(&raw, out->extract, node->label);
	append_full_name(&full, out, node->label);
	buf_clear(&out->name);
	escape_terminal(&out->name, buf_str(&raw));
	buf_clear(&out->text);
	buf_append_str(&out->text, "<g class=\"f\"><title>");
	append_title(out, node, buf_str(&full));
	buf_printf(&out->text, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" fill=\"", x, y, w);
	append_color(&out->text, out, node->label);
	buf_printf(&out->text, "\"/><text x=\"%.2f\" y=\"%u\"", x + 3, y + 12);
	if (!append_cut_name(&shown, buf_str(&out->name), w))
		append_name_attribute(&out->text, buf_str(&out->name), buf_str(&full));
	buf_append_byte(&out->text, '>');
	buf_append(&out->text, shown.bytes, shown.nr_bytes);
	buf_append_str(&out->text, "</text></g>\n");
	sink_write(out->sink, out->text.bytes, out->text.nr_bytes);
	buf_release(&raw);
	buf_release(&shown);
	buf_release(&full);
}

/* Call for each node that is wide enough; descendants of a narrow one are narrower still. */
static void for_each_drawn(struct flamegraph *out,
			   void (*visit)(struct flamegraph *out, const struct flame *node,
					 uint64_t start))
{
	uint32_t deepest = 0;
	uint64_t *at;

	for (size_t i = 0; i < out->tree.nr_nodes; i++) {
		if (out->tree.nodes[i].depth > deepest)
			deepest = out->tree.nodes[i].depth;
	}
	at = xcalloc((size_t)deepest + 2, sizeof(*at));
	for (size_t i = 0; i < out->tree.nr_nodes; i++) {
		const struct flame *node = &out->tree.nodes[i];
		uint64_t start = node_start(at, node);

		if (width_px(out, node->total) >= NARROWEST_PX)
			visit(out, node, start);
	}
	free(at);
}

static void note_depth(struct flamegraph *out, const struct flame *node, uint64_t start)
{
	(void)start;
	if (node->depth > out->deepest)
		out->deepest = node->depth;
}

static void write_head(struct flamegraph *out, unsigned int height)
{
	struct buf *text = &out->text;
	struct buf title = {0};

	buf_clear(&out->name);
	extract_append_title(&title, out->extract);
	escape_terminal(&out->name, buf_str(&title));
	buf_clear(text);
	buf_printf(
		text,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\">\n"
		"<style>\n"
		"text { font: 12px monospace; }\n"
		"#back { fill: #fafafa; }\n"
		".f rect { height: 15px; stroke: #fafafa; stroke-width: 0.5px; }\n"
		".f { cursor: pointer; } .f text { pointer-events: none; }\n"
		".f:hover rect { stroke: #000; } .button { cursor: pointer; fill: #00c; }\n"
		"@media (prefers-color-scheme: dark) {\n"
		"#back { fill: #18191b; } text { fill: #eee; } .button { fill: #8ab4f8; }\n"
		".f rect { fill-opacity: 0.5; stroke: #18191b; } .f:hover rect { stroke: #fff; }\n"
		"}\n"
		"</style>\n"
		"<rect id=\"back\" width=\"100%%\" height=\"100%%\"/>\n"
		"<text x=\"%d\" y=\"22\" style=\"font-size: 15px\">",
		WIDTH_PX, height, WIDTH_PX, height, MARGIN_PX);
	(void)append_cut_name(text, buf_str(&out->name), WIDTH_PX - 300);
	buf_printf(text, "</text>\n<text x=\"%d\" y=\"42\">%s: ", MARGIN_PX,
		   extract_weight_name(out->extract));
	markup_weight(text, out->extract, out->tree.nodes[0].total);
	buf_printf(text,
		   "</text>\n"
		   "<text id=\"reset\" class=\"button\" x=\"%d\" y=\"22\">reset</text>\n"
		   "<text id=\"search\" class=\"button\" x=\"%d\" y=\"22\">search</text>\n"
		   "<text id=\"details\" x=\"%d\" y=\"%u\"> </text>\n"
		   "<text id=\"matched\" x=\"%d\" y=\"42\"> </text>\n",
		   WIDTH_PX - 140, WIDTH_PX - 70, MARGIN_PX, height - 12, WIDTH_PX - 180);
	sink_write(out->sink, text->bytes, text->nr_bytes);
	buf_release(&title);
}

void write_flamegraph(const struct extract *extract, struct sink *sink)
{
	struct flamegraph out = {.extract = extract, .sink = sink};
	struct asset script = asset_flamegraph_js();

	flame_tree_init(&out.tree, extract);
	for_each_drawn(&out, note_depth);
	write_head(&out, HEAD_PX + (out.deepest + 1) * ROW_PX + FOOT_PX);
	for_each_drawn(&out, write_frame);
	sink_str(sink, "<script><![CDATA[\n");
	sink_write(sink, script.bytes, script.nr_bytes);
	sink_str(sink, "]]></script>\n</svg>\n");
	flame_tree_release(&out.tree);
	buf_release(&out.name);
	buf_release(&out.text);
}
