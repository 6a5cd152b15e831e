// SPDX-License-Identifier: GPL-2.0-or-later
/* The objects of PHP's functions, and which of them stay. */
#include "script/php_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/key_map.h"
#include "mapping/space.h"
#include "script/object_bytes.h"
#include "script/steadiness.h"
#include "snapshot/snapshot.h"

/* All are forgotten once there are more: a program may compile for ever. */
#define OBJECTS_MAX (1 << 15)

/*
 * Flags of functions: closures, which are objects that come and go, and the one that PHP makes for
 * each call of a method that a class does not have.
 */
#define FLAGS		4
#define IS_TRAMPOLINE	(UINT32_C(1) << 18)
#define IS_CLOSURE	(UINT32_C(1) << 22)
#define IS_FAKE_CLOSURE (UINT32_C(1) << 23)

struct object {
	struct php_identity identity;
	struct steadiness steadiness;
	uint32_t seen_in; /* the walk that lacked it last, */
	bool is_proved;	  /* and it was the same all the time */
	bool may_be_late;
	uint8_t head[PHP_FUNCTION_BYTES_MAX];
};

struct php_functions {
	struct object *objects; /* owned */
	size_t nr, cap;
	struct key_map at;
	struct steady_walks walks;
};

struct php_functions *php_functions_new(void)
{
	return xcalloc(1, sizeof(struct php_functions));
}

void php_functions_free(struct php_functions *functions)
{
	if (!functions)
		return;
	key_map_release(&functions->at);
	free(functions->objects);
	free(functions);
}

struct php_identity php_identity_of(const struct php_function_layout *layout, const uint8_t *head)
{
	struct php_identity identity = {.type = head[0],
					.name = word_at(head, layout->name),
					.scope = word_at(head, layout->scope)};

	if (identity.type == PHP_FUNCTION_NATIVE)
		return identity;
	identity.file = word_at(head, layout->file);
	identity.oplines = word_at(head, layout->oplines);
	identity.nr_oplines = number_at(head, layout->nr_oplines);
	identity.first_line = number_at(head, layout->first_line);
	identity.last_line = number_at(head, layout->last_line);
	return identity;
}

bool php_identity_is_same(const struct php_identity *a, const struct php_identity *b)
{
	return a->type == b->type && a->name == b->name && a->scope == b->scope &&
	       a->file == b->file && a->oplines == b->oplines && a->nr_oplines == b->nr_oplines &&
	       a->first_line == b->first_line && a->last_line == b->last_line;
}

void php_functions_begin(struct php_functions *functions, const struct snapshot *snapshot)
{
	if (functions->nr > OBJECTS_MAX) {
		functions->nr = 0;
		key_map_release(&functions->at);
	}
	steady_walks_begin(&functions->walks, snapshot->time_ns);
}

/* NULL: it is not known. */
static struct object *known_at(const struct php_functions *functions, uint64_t at)
{
	uint32_t row;

	return functions && key_map_find(&functions->at, 0, at, &row) ? &functions->objects[row]
								      : NULL;
}

/* The object of a native function is smaller, and may be at the end of a mapping. */
static bool is_copied(const struct php_function_layout *layout, const struct snapshot *snapshot,
		      uint64_t at, uint8_t *bytes)
{
	return snapshot_read_any(snapshot, at, bytes, layout->nr_bytes) ||
	       (snapshot_read_any(snapshot, at, bytes, layout->nr_native_bytes) &&
		bytes[0] == PHP_FUNCTION_NATIVE);
}

bool php_functions_read(const struct php_functions *functions, const struct php_layout *layout,
			const struct snapshot *snapshot, uint64_t at, uint8_t *bytes)
{
	uint32_t nr_bytes = layout->function.nr_bytes;
	const struct object *known;

	if (is_copied(&layout->function, snapshot, at, bytes))
		return true;
	if (!snapshot_is_late(snapshot, at, nr_bytes))
		return false;
	if (snapshot_read_late(snapshot, at, bytes, nr_bytes))
		return true;
	known = known_at(functions, at);
	if (known)
		memcpy(bytes, known->head, nr_bytes);
	return known;
}

static bool may_be_late(const struct php_identity *identity, const uint8_t *head)
{
	return (identity->type == PHP_FUNCTION_NATIVE ||
		(identity->type == PHP_FUNCTION_SCRIPT && identity->name)) &&
	       !(number_at(head, FLAGS) & (IS_TRAMPOLINE | IS_CLOSURE | IS_FAKE_CLOSURE));
}

/* The stop has shown this object. One at the end of a mapping cannot be copied late as others. */
static void note(struct php_functions *functions, const struct php_source *source, uint64_t at,
		 const uint8_t *bytes)
{
	const struct php_function_layout *layout = &source->layout->function;
	uint8_t whole[PHP_FUNCTION_BYTES_MAX];
	struct php_identity identity = php_identity_of(layout, bytes);
	struct object *object = known_at(functions, at);
	bool is_same = object && php_identity_is_same(&object->identity, &identity);

	if (!object) {
		key_map_put(&functions->at, 0, at, (uint32_t)functions->nr);
		ARRAY_GROW(functions->objects, functions->nr, functions->cap);
		object = &functions->objects[functions->nr++];
		*object = (struct object){.may_be_late = false};
	} else if (!is_same && object->may_be_late) {
		steady_walks_replaced(&functions->walks);
	}
	object->identity = identity;
	object->may_be_late = may_be_late(&identity, bytes) &&
			      snapshot_read_any(source->snapshot, at, whole, layout->nr_bytes);
	memcpy(object->head, bytes, sizeof(object->head));
	steadiness_seen(&object->steadiness, &functions->walks, is_same);
}

/* The same object as ever right after the stop, or by now. */
static bool is_still(const struct php_functions *functions, const struct php_source *source,
		     const struct object *known, uint64_t at)
{
	const struct php_function_layout *layout = &source->layout->function;
	uint8_t bytes[PHP_FUNCTION_BYTES_MAX];
	struct php_identity identity;

	/* By now the same memory may have been another function's meanwhile. */
	if (!snapshot_read_late(source->snapshot, at, bytes, layout->nr_bytes) &&
	    (functions->walks.has_replaced ||
	     !space_read_memory(source->space, at, bytes, layout->nr_bytes)))
		return false;
	identity = php_identity_of(layout, bytes);
	return php_identity_is_same(&identity, &known->identity);
}

static bool prove_late(struct php_functions *functions, const struct php_source *source,
		       uint64_t at, uint8_t *bytes)
{
	uint32_t nr_bytes = source->layout->function.nr_bytes;
	struct object *known = known_at(functions, at);

	if (!known || !known->may_be_late || !snapshot_is_late(source->snapshot, at, nr_bytes))
		return false;
	/* A function that calls itself is looked at once. */
	if (known->seen_in != functions->walks.nr) {
		bool was_steady = steadiness_is_given(&known->steadiness, &functions->walks);

		known->seen_in = functions->walks.nr;
		known->is_proved = was_steady && is_still(functions, source, known, at);
		steadiness_seen(&known->steadiness, &functions->walks, known->is_proved);
		if (was_steady && !known->is_proved)
			steady_walks_replaced(&functions->walks);
	}
	memcpy(bytes, known->head, nr_bytes);
	return known->is_proved;
}

bool php_functions_prove(struct php_functions *functions, const struct php_source *source,
			 uint64_t at, uint8_t *bytes)
{
	if (!is_copied(&source->layout->function, source->snapshot, at, bytes))
		return prove_late(functions, source, at, bytes);
	if (php_is_function(bytes))
		note(functions, source, at, bytes);
	return php_is_function(bytes);
}

bool php_functions_is_steady(const struct php_functions *functions, uint64_t at)
{
	const struct object *known = known_at(functions, at);

	return known && known->may_be_late &&
	       steadiness_is_given(&known->steadiness, &functions->walks);
}
