// SPDX-License-Identifier: GPL-2.0-or-later
/* Call trees as JSON. */
#include "view/tree_json.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "view/flat_fields.h"
#include "view/tree_walk.h"

/* Where each node of the tree is in the list, counted from 1, and how deep. 0: left out. */
struct numbering {
	uint32_t *index, *depth;
	uint32_t nr;
};

static bool is_shown(const struct tree *tree, const struct tree_limits *limits,
		     const struct numbering *numbering, uint32_t id)
{
	const struct tree_node *node = &tree->nodes[id];

	if (node->parent != TREE_ROOT && numbering->index[node->parent] == 0)
		return false;
	if (limits->max_depth && numbering->depth[id] > limits->max_depth)
		return false;
	if (node->unsampled)
		return true;
	return node->total.weight > 0 &&
	       tally_percent(&node->total, &tree->weights->total) >= limits->min_percent;
}

static void write_code(struct json *json, const struct tree *tree, uint32_t label)
{
	const struct expansion *expansion = tree->weights->selection->expansion;
	const struct module *module = label_module(expansion, label);
	const struct function *function = label_function(expansion, label);
	struct buf name = {0};

	label_append_name(&name, expansion, label, NAME_FULL);
	json_key_str(json, "function", buf_str(&name));
	json_key_known_str(json, "file",
			   function ? profile_str(expansion->profile, function->file) : NULL);
	json_key_str(json, "module", module ? module->path : NULL);
	buf_release(&name);
}

static void write_cost(struct json *json, const struct tree *tree, const struct tree_node *node)
{
	const struct tally *all = &tree->weights->total;

	json_key_amount(json, "self", tree->weights->metric, &node->self);
	json_key_amount(json, "total", tree->weights->metric, &node->total);
	json_key_u64(json, "self_samples", node->self.samples);
	json_key_u64(json, "total_samples", node->total.samples);
	json_key(json, "total_pct");
	json_double(json, tally_percent(&node->total, all), 4);
	json_key(json, "total_ci_pct");
	json_double(json, tally_interval(&node->total, all), 4);
}

static void write_calls(struct json *json, const struct tree_node *node)
{
	json_key(json, "calls");
	if (node->counted)
		json_u64(json, node->calls);
	else
		json_null(json);
	json_key_bool(json, "calls_shared", node->counted && node->shared);
}

static void write_node(struct json *json, const struct tree *tree,
		       const struct numbering *numbering, uint32_t id)
{
	const struct tree_node *node = &tree->nodes[id];

	json_object_begin(json);
	json_key(json, "parent");
	if (node->parent == TREE_ROOT)
		json_null(json);
	else
		json_u64(json, numbering->index[node->parent] - 1);
	write_code(json, tree, node->label);
	json_key_bool(json, "inlined", node->inlined);
	write_cost(json, tree, node);
	write_calls(json, node);
	json_object_end(json);
}

void tree_print_json(const struct tree *tree, const struct tree_limits *limits, struct sink *sink)
{
	struct numbering numbering = {.index = xcalloc(tree->nr, sizeof(uint32_t)),
				      .depth = xcalloc(tree->nr, sizeof(uint32_t))};
	struct json json;

	json_init(&json, sink);
	json_begin_view(&json, tree->weights);
	json_key_array_begin(&json, "nodes");
	for (uint32_t id = 1; id < tree->nr; id++) {
		numbering.depth[id] = numbering.depth[tree->nodes[id].parent] + 1;
		if (!is_shown(tree, limits, &numbering, id))
			continue;
		numbering.index[id] = ++numbering.nr;
		write_node(&json, tree, &numbering, id);
	}
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	free(numbering.index);
	free(numbering.depth);
}
