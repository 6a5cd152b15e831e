// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts about the locks and descriptors that threads wait for. */
#include "view/blame_text.h"

#include "base/buf.h"
#include "base/json.h"
#include "calltree/blame.h"

static double percent_of(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void append_lock_kind(struct buf *out, const struct blame *blame, uint32_t number)
{
	const struct blame_object *object = blame_object(blame, number);

	if (blame_is_lock(blame, number))
		buf_append_str(out, lock_kind_name(object->kind));
}

void append_wait_frame(struct buf *out, const struct blame *blame, uint32_t number)
{
	enum lock_kind kind = blame_object(blame, number)->kind;

	/* The names of these two say the kind themselves. */
	if (blame_is_lock(blame, number) && kind != LOCK_JOIN && kind != LOCK_GIL)
		buf_printf(out, "%s ", lock_kind_name(kind));
	blame_append_name(out, blame, number);
}

void append_waiting_in(struct buf *out, const struct blame *blame, uint32_t number,
		       enum name_style style)
{
	struct blame_part part;

	if (blame_waiting_in(blame, number, &part))
		label_append_name(out, blame_expansion(blame), part.label, style);
}

static const struct profile_thread *thread_of(const struct blame *blame,
					      const struct blame_owner *owner)
{
	return &blame_expansion(blame)->profile->threads[owner->thread];
}

/* More names do not fit beside the rest; further owners are not searched for their names either. */
#define NAMES_TOLD 3
#define OWNERS_MAX 64

struct owners_of_name {
	struct str_id name;
	size_t nr;
	uint64_t weight;
};

/* Threads of one name are one to a reader: those of a pool have owned it in turn. */
static size_t gather_names(const struct blame *blame, uint32_t number, struct owners_of_name *names)
{
	struct blame_owner owner;
	size_t nr = 0;

	for (size_t rank = 0; rank < OWNERS_MAX && blame_owner(blame, number, rank, &owner);
	     rank++) {
		struct str_id name = thread_of(blame, &owner)->name;
		size_t at = 0;

		while (at < nr && names[at].name.v != name.v)
			at++;
		if (at == nr)
			names[nr++] = (struct owners_of_name){.name = name};
		names[at].nr++;
		names[at].weight += owner.weight;
	}
	return nr;
}

void append_owners(struct buf *out, const struct blame *blame, uint32_t number)
{
	const struct profile *profile = blame_expansion(blame)->profile;
	const struct blame_object *object = blame_object(blame, number);
	struct owners_of_name names[OWNERS_MAX];
	size_t nr = gather_names(blame, number, names);

	for (size_t i = 0; i < nr; i++) {
		if (i == NAMES_TOLD) {
			buf_append_str(out, ", ...");
			return;
		}
		buf_printf(out, "%s%s%s", i ? ", " : "", profile_str(profile, names[i].name),
			   object->is_guess ? "?" : "");
		if (names[i].nr > 1)
			buf_printf(out, " \xc3\x97%zu", names[i].nr);
		buf_printf(out, " %.0f%%", percent_of(names[i].weight, object->weight));
	}
}

void append_owner_in(struct buf *out, const struct blame *blame, uint32_t number,
		     enum name_style style)
{
	struct blame_owner owner;
	struct blame_part part;

	if (blame_owner(blame, number, 0, &owner) && blame_owner_in(blame, &owner, 0, &part))
		label_append_name(out, blame_expansion(blame), part.label, style);
}

/* The first owner, and the innermost function in which it was for most of that time. */
static bool leaf_of_owner(const struct blame *blame, uint32_t number, struct blame_owner *owner,
			  struct blame_part *leaf)
{
	return blame_owner(blame, number, 0, owner) && blame_owner_leaf(blame, owner, leaf);
}

void append_owner_leaf(struct buf *out, const struct blame *blame, uint32_t number,
		       enum name_style style)
{
	struct blame_owner owner;
	struct blame_part leaf;

	if (leaf_of_owner(blame, number, &owner, &leaf))
		label_append_name(out, blame_expansion(blame), leaf.label, style);
}

void append_held_in(struct buf *out, const struct blame *blame, uint32_t number,
		    enum name_style style)
{
	struct blame_owner owner;
	struct blame_part function, leaf;

	append_owner_in(out, blame, number, style);
	if (!leaf_of_owner(blame, number, &owner, &leaf) ||
	    !blame_owner_in(blame, &owner, 0, &function) || function.label == leaf.label)
		return;
	buf_append_str(out, " > ");
	label_append_name(out, blame_expansion(blame), leaf.label, style);
	buf_printf(out, " %.0f%%", percent_of(leaf.amount, owner.seen_ns));
}

static void json_leaf(struct json *json, const struct blame *blame, const struct blame_owner *owner)
{
	struct blame_part leaf;
	struct buf name = {0};

	json_key(json, "leaf");
	if (blame_owner_leaf(blame, owner, &leaf)) {
		label_append_name(&name, blame_expansion(blame), leaf.label, NAME_FULL);
		json_str(json, buf_str(&name));
		json_key_u64(json, "leaf_ns", leaf.amount);
	} else {
		json_null(json);
		json_key_u64(json, "leaf_ns", 0);
	}
	buf_release(&name);
}

static void json_functions(struct json *json, const struct blame *blame,
			   const struct blame_owner *owner)
{
	struct blame_part part;
	struct buf name = {0};

	json_key_array_begin(json, "functions");
	for (size_t rank = 0; blame_owner_in(blame, owner, rank, &part); rank++) {
		buf_clear(&name);
		label_append_name(&name, blame_expansion(blame), part.label, NAME_FULL);
		json_object_begin(json);
		json_key_str(json, "function", buf_str(&name));
		json_key_u64(json, "ns", part.amount);
		json_object_end(json);
	}
	json_array_end(json);
	buf_release(&name);
}

void json_key_owners(struct json *json, const struct blame *blame, uint32_t number)
{
	const struct profile *profile = blame_expansion(blame)->profile;
	const struct blame_object *object = blame_object(blame, number);
	struct blame_owner owner;

	json_key_array_begin(json, "owners");
	for (size_t rank = 0; blame_owner(blame, number, rank, &owner); rank++) {
		const struct profile_thread *thread = thread_of(blame, &owner);

		json_object_begin(json);
		json_key_u64(json, "tid", (uint64_t)thread->tid);
		json_key_str(json, "name", profile_str(profile, thread->name));
		json_key(json, "pct");
		json_double(json, percent_of(owner.weight, object->weight), 4);
		json_key(json, "guess");
		json_bool(json, object->is_guess);
		json_key_u64(json, "sampled_ns", owner.seen_ns);
		json_functions(json, blame, &owner);
		json_leaf(json, blame, &owner);
		json_object_end(json);
	}
	json_array_end(json);
}
