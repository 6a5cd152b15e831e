// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/page_chain_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "calltree/chain.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/pairs.h"
#include "export/numbering_priv.h"
#include "export/page_columns_priv.h"
#include "profile/profile.h"

/* A page has no shorter parts than this one of the recording: they are joined with others. */
#define PARTS_OF_TIME 16384
/* How much of each part of the path a state has: 255 is all of it. */
#define WHOLE 255

struct page_chain {
	struct chain *chain;	  /* owned, as all here */
	struct chain_part *parts; /* as in the chain, but in the order of time */
	size_t nr_parts;
	struct pairs waits; /* kind and number of what was waited for */
};

static const struct profile *profile_of(const struct page_chain *chain)
{
	return chain->chain->selection->original->profile;
}

/* A short part gets the place of the one before it, which is shown up to its end. */
static void order_parts(struct page_chain *made)
{
	const struct chain *chain = made->chain;
	uint64_t least_ns = profile_of(made)->meta.duration_ns / PARTS_OF_TIME;

	made->parts = xcalloc(chain->nr_parts, sizeof(*made->parts));
	for (size_t i = chain->nr_parts; i > 0; i--) {
		const struct chain_part *part = &chain->parts[i - 1];
		struct chain_part *last = made->nr_parts ? &made->parts[made->nr_parts - 1] : NULL;

		if (last && part->end_ns - part->begin_ns < least_ns)
			last->end_ns = part->end_ns;
		else
			made->parts[made->nr_parts++] = *part;
	}
	for (size_t i = 0; i < made->nr_parts; i++) {
		const struct waited *waited = &made->parts[i].waited;

		if (made->parts[i].state == CHAIN_WAITING)
			pairs_add(&made->waits, (uint32_t)waited->kind, waited->number, 1);
	}
}

static bool has_links(const struct chain *chain)
{
	for (int i = 0; i < CHAIN_LINK_COUNT; i++) {
		if (chain->nr_links[i])
			return true;
	}
	return false;
}

struct page_chain *page_chain_new(const struct selection *selection)
{
	const struct profile *profile = selection->original->profile;
	struct page_chain *made;

	if (!selection->everything || selection->expansion != selection->original ||
	    !profile->meta.knows_waits || profile->runs.nr > 1)
		return NULL;
	made = xcalloc(1, sizeof(*made));
	made->chain = chain_new(selection);
	if (!has_links(made->chain)) {
		page_chain_free(made);
		return NULL;
	}
	order_parts(made);
	return made;
}

void page_chain_free(struct page_chain *chain)
{
	if (!chain)
		return;
	chain_free(chain->chain);
	pairs_release(&chain->waits);
	free(chain->parts);
	free(chain);
}

/* 0: nothing is known; else how much of the time it ran, and 1; it slept: one of the waits more. */
static uint64_t state_of(struct page_chain *chain, const struct chain_part *part)
{
	if (part->state == CHAIN_UNKNOWN)
		return 0;
	if (part->state != CHAIN_WAITING)
		return 1 + (uint64_t)(part->on_cpu * WHOLE);
	return 2 + WHOLE +
	       pairs_add(&chain->waits, (uint32_t)part->waited.kind, part->waited.number, 1);
}

void page_chain_write(struct page_chain *chain, struct page_columns *columns,
		      struct numbering *threads, struct numbering *functions)
{
	if (!chain)
		return;
	page_columns_begin(columns, "chainLength");
	for (size_t i = 0; i < chain->nr_parts; i++)
		page_columns_add(columns, chain->parts[i].end_ns - chain->parts[i].begin_ns);
	page_columns_begin(columns, "chainThread");
	for (size_t i = 0; i < chain->nr_parts; i++)
		page_columns_add(columns, numbering_of(threads, chain->parts[i].thread));
	page_columns_begin(columns, "chainFunction");
	for (size_t i = 0; i < chain->nr_parts; i++) {
		uint32_t label = chain->parts[i].label;

		page_columns_add(columns,
				 label == CHAIN_NO_LABEL ? 0 : numbering_of(functions, label) + 1);
	}
	page_columns_begin(columns, "chainState");
	for (size_t i = 0; i < chain->nr_parts; i++)
		page_columns_add(columns, state_of(chain, &chain->parts[i]));
}

void page_chain_write_members(const struct page_chain *chain, struct json *json)
{
	struct buf text = {0};

	if (!chain)
		return;
	json_key_u64(json, "chainFromNs", chain->parts[0].begin_ns);
	json_key_array_begin(json, "chainWaits");
	for (size_t i = 0; i < chain->waits.nr; i++) {
		const struct pair *pair = &chain->waits.rows[i];
		const struct waited waited = {.kind = (enum waited_kind)pair->a, .number = pair->b};

		waited_append(&text, &chain->chain->objects, profile_of(chain), &waited);
		json_str(json, buf_str(&text));
		buf_clear(&text);
	}
	json_array_end(json);
	buf_release(&text);
}
