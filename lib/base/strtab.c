// SPDX-License-Identifier: GPL-2.0-or-later
/* The string interner. */
#include "base/strtab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/index_set.h"

#define CHUNK_BYTES ((size_t)64 * 1024)

struct entry {
	const char *text; /* in a chunk */
	size_t length;
};

struct strtab {
	struct entry *entries; /* by id */
	size_t nr_entries, cap_entries;
	struct index_set set;
	char **chunks; /* texts never move: a chunk is never reallocated */
	size_t nr_chunks, cap_chunks;
	size_t nr_chunk_bytes;
	char *room; /* free part of the newest chunk */
	size_t room_bytes;
};

static char *allocate_text(struct strtab *tab, size_t nr_bytes)
{
	char *text;

	if (nr_bytes > tab->room_bytes) {
		size_t chunk_bytes = nr_bytes > CHUNK_BYTES ? nr_bytes : CHUNK_BYTES;

		ARRAY_GROW(tab->chunks, tab->nr_chunks, tab->cap_chunks);
		tab->room = xmalloc(chunk_bytes);
		tab->room_bytes = chunk_bytes;
		tab->nr_chunk_bytes += chunk_bytes;
		tab->chunks[tab->nr_chunks++] = tab->room;
	}
	text = tab->room;
	tab->room += nr_bytes;
	tab->room_bytes -= nr_bytes;
	return text;
}

static bool entry_equal(const void *owner, uint32_t index, const void *key)
{
	const struct strtab *tab = owner;
	const struct entry *wanted = key;
	const struct entry *entry = &tab->entries[index];

	return entry->length == wanted->length &&
	       memcmp(entry->text, wanted->text, wanted->length) == 0;
}

struct strtab *strtab_new(void)
{
	struct strtab *tab = xcalloc(1, sizeof(*tab));
	struct str_id empty = strtab_intern(tab, "");

	assert(empty.v == STR_EMPTY.v);
	(void)empty;
	return tab;
}

void strtab_free(struct strtab *tab)
{
	if (!tab)
		return;
	for (size_t i = 0; i < tab->nr_chunks; i++)
		free(tab->chunks[i]);
	free(tab->chunks);
	free(tab->entries);
	index_set_release(&tab->set);
	free(tab);
}

bool strtab_find(const struct strtab *tab, const char *text, struct str_id *id)
{
	struct entry wanted = {.text = text, .length = strlen(text)};

	id->v = index_set_find(&tab->set, hash_bytes(text, wanted.length), entry_equal, tab,
			       &wanted);
	return id->v != INDEX_NONE;
}

struct str_id strtab_intern_n(struct strtab *tab, const char *text, size_t nr_bytes)
{
	struct entry wanted = {.text = text, .length = strnlen(text, nr_bytes)};
	uint64_t hash = hash_bytes(text, wanted.length);
	uint32_t found = index_set_find(&tab->set, hash, entry_equal, tab, &wanted);
	char *copy;

	if (found != INDEX_NONE)
		return (struct str_id){found};
	copy = allocate_text(tab, wanted.length + 1);
	memcpy(copy, text, wanted.length);
	copy[wanted.length] = '\0';
	ARRAY_GROW(tab->entries, tab->nr_entries, tab->cap_entries);
	tab->entries[tab->nr_entries] = (struct entry){.text = copy, .length = wanted.length};
	index_set_add(&tab->set, hash, (uint32_t)tab->nr_entries);
	return (struct str_id){(uint32_t)tab->nr_entries++};
}

struct str_id strtab_intern(struct strtab *tab, const char *text)
{
	return strtab_intern_n(tab, text, strlen(text));
}

const char *strtab_get(const struct strtab *tab, struct str_id id)
{
	assert(id.v < tab->nr_entries);
	return tab->entries[id.v].text;
}

size_t strtab_length(const struct strtab *tab, struct str_id id)
{
	assert(id.v < tab->nr_entries);
	return tab->entries[id.v].length;
}

uint32_t strtab_nr(const struct strtab *tab)
{
	return (uint32_t)tab->nr_entries;
}

size_t strtab_nr_bytes(const struct strtab *tab)
{
	return tab->nr_chunk_bytes + tab->nr_entries * sizeof(*tab->entries);
}
