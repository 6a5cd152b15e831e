// SPDX-License-Identifier: GPL-2.0-or-later
/* The members that identify rows of flat tables. */
#include "base/alloc.h"
#include "base/index_set.h"
#include "calltree/flat_priv.h"

const struct flat_row flat_no_row = {.label = FLAT_NONE,
				     .module = FLAT_NONE,
				     .thread = FLAT_NONE,
				     .process = FLAT_NONE,
				     .state = FLAT_NONE,
				     .lifetime = FLAT_NONE,
				     .phase = FLAT_NONE,
				     .object = FLAT_NONE,
				     .wait_function = FLAT_NONE,
				     .syscall_nr = -1};

static bool key_equal(const void *owner, uint32_t index, const void *key)
{
	const struct flat_row *a = &((const struct flat *)owner)->rows[index], *b = key;

	return a->label == b->label && a->file.v == b->file.v && a->line == b->line &&
	       a->module == b->module && a->thread == b->thread && a->process == b->process &&
	       a->state == b->state && a->lifetime == b->lifetime && a->phase == b->phase &&
	       a->syscall_nr == b->syscall_nr;
}

static uint64_t key_hash(const struct flat_row *key)
{
	uint64_t hash = hash_u64((uint64_t)key->label << 32 | key->file.v);

	hash = hash_mix(hash, (uint64_t)key->line << 32 | key->module);
	hash = hash_mix(hash, (uint64_t)key->thread << 32 | key->process);
	hash = hash_mix(hash, (uint64_t)key->state << 32 | key->lifetime);
	return hash_mix(hash, (uint64_t)key->phase << 32 | (uint32_t)key->syscall_nr);
}

uint32_t flat_append_row(struct flat *flat, const struct flat_row *row)
{
	ARRAY_GROW(flat->rows, flat->nr, flat->cap);
	flat->rows[flat->nr] = *row;
	return (uint32_t)flat->nr++;
}

uint32_t flat_intern_row(struct flat *flat, struct index_set *rows, const struct flat_row *key)
{
	uint64_t hash = key_hash(key);
	uint32_t found = index_set_find(rows, hash, key_equal, flat, key);

	if (found == INDEX_NONE) {
		found = flat_append_row(flat, key);
		index_set_add(rows, hash, found);
	}
	return found;
}

void flat_find_groups(struct flat *groups, struct flat *keys, struct index_set *key_set)
{
	size_t nr_keys = keys->nr, kept = 0;

	for (size_t i = 0; i < groups->nr; i++) {
		struct flat_row *row = &groups->rows[i];

		row->group = flat_intern_row(keys, key_set, row);
		if (row->group < nr_keys)
			groups->rows[kept++] = *row;
	}
	groups->nr = kept;
}

struct flat_row flat_join_keys(const struct flat_row *a, const struct flat_row *b)
{
	struct flat_row key = *b;

	if (key.label == FLAT_NONE)
		key.label = a->label;
	if (key.file.v == STR_EMPTY.v) {
		key.file = a->file;
		key.line = a->line;
	}
	if (key.module == FLAT_NONE)
		key.module = a->module;
	if (key.thread == FLAT_NONE)
		key.thread = a->thread;
	if (key.process == FLAT_NONE)
		key.process = a->process;
	if (key.state == FLAT_NONE)
		key.state = a->state;
	if (key.lifetime == FLAT_NONE)
		key.lifetime = a->lifetime;
	if (key.phase == FLAT_NONE)
		key.phase = a->phase;
	if (key.syscall_nr == -1)
		key.syscall_nr = a->syscall_nr;
	return key;
}

bool dimension_is_of_waits(enum dimension dimension)
{
	return dimension == BY_LOCK || dimension == BY_FD;
}

bool flat_is_code(enum dimension dimension)
{
	switch (dimension) {
	case BY_FUNCTION:
	case BY_LINE:
	case BY_FILE:
	case BY_MODULE:
	case BY_SOURCE_LINE:
	case BY_INLINE_SITE:
		return true;
	case BY_THREAD:
	case BY_PROCESS:
	case BY_PID:
	case BY_STATE:
	case BY_SYSCALL:
	case BY_LOCK:
	case BY_FD:
	case BY_LIFETIME:
	case BY_MARK:
		break;
	}
	return false;
}

/* The key of a place of real code, named or not. */
static bool named_code_key(const struct expansion *expansion, enum dimension dimension,
			   const struct place *place, struct flat_row *key)
{
	switch (dimension) {
	case BY_FUNCTION:
		key->label = place->label;
		return true;
	case BY_LINE:
		key->label = place->label;
		key->file = place->file;
		key->line = place->line;
		return true;
	case BY_SOURCE_LINE:
		key->file = place->file;
		key->line = place->line;
		return place->line != 0;
	case BY_FILE:
		key->file = place->file;
		if (place->file.v != STR_EMPTY.v)
			return true;
		break;
	case BY_MODULE:
		break;
	case BY_INLINE_SITE: /* of two levels */
	case BY_THREAD:
	case BY_PROCESS:
	case BY_PID:
	case BY_STATE:
	case BY_SYSCALL:
	case BY_LOCK:
	case BY_FD:
	case BY_LIFETIME:
	case BY_MARK:
		return false;
	}
	key->module = expansion->labels[place->label].module.v;
	return true;
}

bool flat_code_key(const struct expansion *expansion, enum dimension dimension,
		   const struct place *place, struct flat_row *key)
{
	switch (expansion->labels[place->label].kind) {
	case LABEL_FUNCTION:
	case LABEL_ADDRESS:
		return named_code_key(expansion, dimension, place, key);
	case LABEL_UNKNOWN:
	case LABEL_UNATTRIBUTED:
	case LABEL_NO_STACK:
	case LABEL_HIDDEN:
		key->label = place->label;
		return dimension != BY_SOURCE_LINE && dimension != BY_INLINE_SITE;
	case LABEL_ELIDED:
	case LABEL_TRUNCATED:
	case LABEL_INDIRECT:
	case LABEL_UNSAMPLED:
		break; /* marks in a stack, not places where time is spent */
	}
	return false;
}
