// SPDX-License-Identifier: GPL-2.0-or-later
/* Keys of rows that outlive their profile. */
#include "browse/row_key.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/index_set.h"
#include "calltree/expand.h"
#include "calltree/flat.h"
#include "profile/profile.h"

static uint64_t text_key(struct buf *text, uint64_t number)
{
	return hash_mix(hash_bytes(text->bytes, text->nr_bytes), number);
}

static uint64_t label_key(const struct expansion *expansion, uint32_t label, struct buf *text)
{
	const struct function *function = label_function(expansion, label);

	buf_clear(text);
	label_append_name(text, expansion, label, NAME_FULL);
	buf_append_byte(text, '\0');
	if (function)
		buf_append_str(text, profile_str(expansion->profile, function->file));
	return text_key(text, expansion->labels[label].module.v);
}

uint64_t browse_label_key(const struct expansion *expansion, uint32_t label)
{
	struct buf text = {0};
	uint64_t key = label_key(expansion, label, &text);

	buf_release(&text);
	return key;
}

uint64_t *browse_label_keys(const struct expansion *expansion)
{
	uint64_t *keys = xcalloc(expansion->nr_labels, sizeof(*keys));
	struct buf text = {0};

	for (uint32_t i = 0; i < expansion->nr_labels; i++)
		keys[i] = label_key(expansion, i, &text);
	buf_release(&text);
	return keys;
}

uint64_t browse_row_key(const struct flat *flat, size_t index)
{
	const struct flat_row *row = &flat->rows[index];
	struct buf text = {0};
	uint64_t key;

	flat_append_name(&text, flat, row, NAME_FULL);
	buf_append_byte(&text, '\0');
	flat_append_location(&text, flat, row);
	key = text_key(&text, row->module);
	if (row->label != FLAT_NONE)
		key = hash_mix(key, browse_label_key(flat_expansion(flat), row->label));
	key = hash_mix(key, row->thread);
	key = hash_mix(key, row->process);
	key = hash_mix(key, row->facts[0]);
	buf_release(&text);
	return key;
}
