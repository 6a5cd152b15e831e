// SPDX-License-Identifier: GPL-2.0-or-later
/* Sorts flat tables by the keys of --sort. */
#include "calltree/flat_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/minmax.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_self(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	(void)flat;
	return compare_u64(b->self.weight, a->self.weight);
}

static int by_total(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	(void)flat;
	return compare_u64(b->total.weight, a->total.weight);
}

static int by_cpu(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	(void)flat;
	return compare_u64(b->times.cpu_ns, a->times.cpu_ns);
}

static int by_samples(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	(void)flat;
	return compare_u64(b->self.samples, a->self.samples);
}

/* Functions that were not counted come last, after those that were never called. */
static int by_calls(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	(void)flat;
	if (a->counted != b->counted)
		return a->counted ? -1 : 1;
	return compare_u64(b->calls, a->calls);
}

static int by_per_call(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	struct per_call left = {.ns = -1}, right = {.ns = -1};

	/* Sort the rows as they are shown. */
	if (!flat_row_wall_per_call(flat, a, &left))
		flat_row_per_call(flat, a, &left);
	if (!flat_row_wall_per_call(flat, b, &right))
		flat_row_per_call(flat, b, &right);
	return (right.ns > left.ns) - (right.ns < left.ns);
}

static int compare_texts(const struct flat *flat, struct str_id a, struct str_id b)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	return a.v == b.v ? 0 : strcmp(profile_str(profile, a), profile_str(profile, b));
}

/* Named functions by name, before labels of any other kind. */
static int by_function(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	const struct expansion *expansion = flat_expansion(flat);
	const struct function *left, *right;

	if (a->label == b->label)
		return 0;
	if (a->label == FLAT_NONE || b->label == FLAT_NONE)
		return compare_u64(a->label, b->label);
	left = label_function(expansion, a->label);
	right = label_function(expansion, b->label);
	if (left && right)
		return compare_texts(flat, left->name, right->name);
	return left || right ? !left - !right : compare_u64(a->label, b->label);
}

static int by_line(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	int order = compare_texts(flat, a->file, b->file);

	return order ? order : compare_u64(a->line, b->line);
}

static uint32_t module_of(const struct flat *flat, const struct flat_row *row)
{
	if (row->label != FLAT_NONE)
		return flat_expansion(flat)->labels[row->label].module.v;
	return row->module;
}

static int by_module(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	const struct module_table *modules = flat_expansion(flat)->profile->modules;
	uint32_t left = module_of(flat, a), right = module_of(flat, b);

	if (left == right || left == FLAT_NONE || right == FLAT_NONE)
		return compare_u64(left, right);
	return strcmp(module_table_get(modules, (struct module_id){left})->path,
		      module_table_get(modules, (struct module_id){right})->path);
}

static int by_name(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	if (flat->second == BY_THREAD)
		return compare_texts(flat, profile->threads[a->thread].name,
				     profile->threads[b->thread].name);
	if (flat->second == BY_PROCESS || flat->second == BY_PID)
		return compare_texts(flat, profile->processes[a->process].name,
				     profile->processes[b->process].name);
	return by_function(flat, a, b);
}

/* With two keys every order is one of groups, and of the rows in each. */
static int by_group(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	return flat->groups ? compare_u64(a->group, b->group) : 0;
}

/* Phases and lifetimes are in the order of time. Rows of a group are equal in the first key. */
static int by_number(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	if (!dimension_info(flat->second)->is_in_order)
		return 0;
	return compare_u64(flat_row_fact(flat, a, flat->second),
			   flat_row_fact(flat, b, flat->second));
}

/* Negative numbers, which stand for no system call, come first. */
static int compare_facts(uint32_t a, uint32_t b)
{
	return ((int32_t)a > (int32_t)b) - ((int32_t)a < (int32_t)b);
}

/* The final tie-breaker, so that the order of a table is deterministic. */
static int by_id(const struct flat *flat, const struct flat_row *a, const struct flat_row *b)
{
	int order = by_module(flat, a, b);

	if (order == 0)
		order = compare_u64(a->thread, b->thread);
	if (order == 0)
		order = compare_u64(a->process, b->process);
	for (size_t i = 0; i < ARRAY_SIZE(a->facts) && order == 0; i++)
		order = compare_facts(a->facts[i], b->facts[i]);
	if (order == 0)
		order = compare_u64(a->object, b->object);
	return order ? order : compare_u64(a->label, b->label);
}

/* Keys by name; the two tables are parallel. */
static const char *const key_names[] = {"self", "total",    "samples", "calls",	 "per-call",
					"name", "function", "line",    "module", NULL};
static const flat_compare key_compares[] = {by_self, by_total,	  by_samples, by_calls, by_per_call,
					    by_name, by_function, by_line,    by_module};
/* After the requested keys. */
static const flat_compare standard[] = {by_number, by_self, by_total, by_cpu,
					by_calls,  by_name, by_line,  by_id};

_Static_assert(ARRAY_SIZE(key_names) == ARRAY_SIZE(key_compares) + 1, "one function for each key");

_Static_assert(1 + ARRAY_SIZE(key_compares) + ARRAY_SIZE(standard) <= FLAT_COMPARES_MAX,
	       "each of them in one order");

/* Each key once: a second time it could not distinguish rows any more. */
static void add_compare(struct flat_order *order, flat_compare compare)
{
	for (size_t i = 0; i < order->nr; i++)
		if (order->compares[i] == compare)
			return;
	order->compares[order->nr++] = compare;
}

int flat_order_compare(const void *a, const void *b, void *order_of_rows)
{
	const struct flat_order *order = order_of_rows;
	int result = 0;

	for (size_t i = 0; i < order->nr && result == 0; i++)
		result = order->compares[i](order->flat, a, b);
	return result;
}

static void sort_in_order(struct flat *flat, struct flat_order *order)
{
	order->flat = flat;
	flat->by_self = order->compares[0] == by_self ||
			(order->compares[0] == by_number && order->compares[1] == by_self);
	if (flat->nr > 0)
		qsort_r(flat->rows, flat->nr, sizeof(*flat->rows), flat_order_compare, order);
}

/* Sort the groups in the same order, and update their numbers in rows. */
static void sort_groups(struct flat *flat, const struct flat_order *order)
{
	struct flat *groups = flat->groups;
	cleanup_free uint32_t *ranks = NULL;
	struct flat_order same = *order;
	uint64_t last = 0;

	for (size_t i = 0; i < groups->nr; i++)
		last = max_u64(last, groups->rows[i].group);
	ranks = xcalloc(last + 1, sizeof(*ranks));
	sort_in_order(groups, &same);
	for (uint32_t i = 0; i < groups->nr; i++) {
		ranks[groups->rows[i].group] = i;
		groups->rows[i].group = i;
	}
	for (size_t i = 0; i < flat->nr; i++)
		flat->rows[i].group = ranks[flat->rows[i].group];
}

static flat_compare find_key(const char *name, size_t length)
{
	for (size_t i = 0; key_names[i]; i++)
		if (strlen(key_names[i]) == length && memcmp(key_names[i], name, length) == 0)
			return key_compares[i];
	return NULL;
}

static int refuse_key(const char *name, size_t length, struct err *err)
{
	struct buf keys = {0};

	for (size_t i = 0; key_names[i]; i++)
		buf_printf(&keys, "%s%s", i ? ", " : "", key_names[i]);
	err_set(err, ERR_INVALID, "unknown sort key '%.*s'", (int)length, name);
	err_hint(err, "the keys are %s", buf_str(&keys));
	buf_release(&keys);
	return ERR_INVALID;
}

static int refuse_counts(const struct flat *flat, struct err *err)
{
	int status = counts_require(flat->weights->counts, err);

	return status ? status : err_set(err, ERR_INVALID, "calls are counted by function only");
}

static int add_keys(struct flat_order *order, const char *keys, struct err *err)
{
	for (const char *at = keys; *at;) {
		size_t length = strcspn(at, ",");
		flat_compare compare = find_key(at, length);

		if (!compare)
			return refuse_key(at, length, err);
		if ((compare == by_calls || compare == by_per_call) &&
		    !flat_has_counts(order->flat))
			return refuse_counts(order->flat, err);
		add_compare(order, compare);
		at += length;
		at += *at == ',';
	}
	return 0;
}

/* Does it find all rows of one group equal? */
static bool is_idle(const struct flat *flat, flat_compare compare)
{
	return compare == by_group ||
	       (compare == by_number && !dimension_info(flat->second)->is_in_order);
}

static bool is_by_weight(const struct flat_order *order)
{
	size_t i = 0;

	while (is_idle(order->flat, order->compares[i]))
		i++;
	return order->compares[i] == by_self && order->compares[i + 1] == by_total;
}

int flat_order_of(const struct flat *flat, const char *keys, struct flat_order *order,
		  struct err *err)
{
	int status = 0;

	*order = (struct flat_order){.flat = flat};
	if (flat_has_two_keys(flat))
		add_compare(order, by_group);
	if (keys)
		status = add_keys(order, keys, err);
	for (size_t i = 0; i < ARRAY_SIZE(standard); i++)
		add_compare(order, standard[i]);
	order->by_weight = is_by_weight(order);
	return status;
}

void flat_sort_in(struct flat *flat, struct flat_order *order)
{
	if (flat->groups)
		sort_groups(flat, order);
	sort_in_order(flat, order);
}

int flat_sort(struct flat *flat, const char *keys, struct err *err)
{
	struct flat_order order;
	int status = flat_order_of(flat, keys, &order, err);

	if (status == 0)
		flat_sort_in(flat, &order);
	return status;
}
