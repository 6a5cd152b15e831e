// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the functions of code objects: names, files and lines. */
#include "script/cpython_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/key_map.h"
#include "mapping/space.h"
#include "proc/target_memory.h"
#include "script/cpython.h"
#include "script/cpython_line.h"
#include "snapshot/snapshot.h"

/* Longer ones are cut, or are no table. */
#define TEXT_CHARACTERS_MAX 4096
#define TABLE_BYTES_MAX	    (UINT64_C(1) << 20)
/* All are forgotten once there are more: a program may make functions for ever. */
#define FUNCTIONS_MAX	    65536
#define FUNCTIONS_BYTES_MAX (UINT64_C(64) << 20)

/* A function, with the pointers by which it is known again. */
struct known_function {
	uint64_t code, name_at, file_at, table_at;
	uint32_t first_line;
	char *name, *file; /* owned, as is the table; NULL: not known */
	uint8_t *table;
	size_t nr_table_bytes;
	uint32_t seen_in;  /* the call in which it was read last, */
	bool is_there;	   /* and was a code object */
	uint64_t since_ns; /* CLOCK_MONOTONIC: the snapshot that had it first as it is, */
	uint64_t until_ns; /* and the last one */
	uint32_t nr_seen;  /* so many had it */
};

#define STEADY_NS   (100 * NS_PER_MS)
#define STEADY_SEEN 4
/*
 * A program may make the same function again and again in one place, and others there in between:
 * while some are replaced, none is steady.
 */
#define CALM_NS (2 * NS_PER_SEC)

struct cpython_names {
	struct known_function *functions; /* owned */
	size_t nr, cap;
	uint64_t nr_bytes; /* of their texts and tables */
	struct key_map by_code;
	uint32_t nr_calls;
	uint64_t replaced_ns; /* the last snapshot that had another function in a known place, */
	uint64_t latest_ns;   /* and the last one */
	struct memory_piece *pieces; /* room for a call, with a head for each */
	uint8_t *heads;
	size_t cap_pieces, cap_heads;
};

struct cpython_names *cpython_names_new(void)
{
	return xcalloc(1, sizeof(struct cpython_names));
}

/* It is not the same as any object then. */
static void drop_texts(struct known_function *function)
{
	free(function->name);
	free(function->file);
	free(function->table);
	function->name = function->file = NULL;
	function->table = NULL;
	function->nr_table_bytes = 0;
}

static void forget_all(struct cpython_names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		drop_texts(&names->functions[i]);
	names->nr = 0;
	names->nr_bytes = 0;
	key_map_release(&names->by_code);
}

void cpython_names_free(struct cpython_names *names)
{
	if (!names)
		return;
	forget_all(names);
	free(names->functions);
	free(names->pieces);
	free(names->heads);
	free(names);
}

/* --- texts --- */

/* PyASCIIObject, up to its state: bits of it say how the characters are kept. */
#define TEXT_LENGTH	 16
#define TEXT_STATE	 32
#define TEXT_HEAD_BYTES	 36
#define STATE_KIND(s)	 ((s) >> 2 & 7) /* bytes of a character */
#define STATE_IS_COMPACT (UINT32_C(1) << 5)
#define STATE_IS_ASCII	 (UINT32_C(1) << 6)

static void append_utf8(struct buf *out, uint32_t c)
{
	if (c >= 0x10000) {
		buf_append_byte(out, (uint8_t)(0xf0 | (c >> 18 & 7)));
		buf_append_byte(out, (uint8_t)(0x80 | (c >> 12 & 63)));
	} else if (c >= 0x800) {
		buf_append_byte(out, (uint8_t)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		buf_append_byte(out, (uint8_t)(0x80 | (c >> 6 & 63)));
	else if (c >= 0x80)
		buf_append_byte(out, (uint8_t)(0xc0 | c >> 6));
	buf_append_byte(out, c >= 0x80 ? (uint8_t)(0x80 | (c & 63)) : (uint8_t)c);
}

void cpython_text_append(struct buf *out, const uint8_t *characters, size_t nr, unsigned int width)
{
	for (size_t i = 0; i < nr; i++) {
		uint32_t c = 0;

		memcpy(&c, characters + i * width, width); /* little endian */
		if (c)
			append_utf8(out, c);
	}
}

/* NULL: this is no text that could be a name. The caller owns it. */
static char *read_text(const struct cpython_layout *layout, struct space *space, uint64_t at)
{
	uint8_t head[TEXT_HEAD_BYTES], *characters;
	struct buf text = {0};
	uint64_t nr;
	uint32_t state;
	unsigned int width;
	bool is_read;

	if (!space_read_memory(space, at, head, sizeof(head)))
		return NULL;
	memcpy(&nr, head + TEXT_LENGTH, sizeof(nr));
	memcpy(&state, head + TEXT_STATE, sizeof(state));
	width = STATE_KIND(state);
	if (!(state & STATE_IS_COMPACT) || (width != 1 && width != 2 && width != 4) || !nr)
		return NULL;
	if (nr > TEXT_CHARACTERS_MAX)
		nr = TEXT_CHARACTERS_MAX;
	characters = xcalloc(nr, width);
	at += state & STATE_IS_ASCII ? layout->text_ascii : layout->text_other;
	is_read = space_read_memory(space, at, characters, nr * width);
	if (is_read)
		cpython_text_append(&text, characters, nr, width);
	free(characters);
	if (!is_read || !text.nr_bytes) {
		buf_release(&text);
		return NULL;
	}
	buf_append_byte(&text, 0);
	return (char *)text.bytes;
}

/* PyBytesObject. */
#define BYTES_LENGTH 16
#define BYTES_START  32

static void read_table(struct space *space, struct known_function *function)
{
	uint64_t nr;

	if (!space_read_memory(space, function->table_at + BYTES_LENGTH, &nr, sizeof(nr)) || !nr ||
	    nr > TABLE_BYTES_MAX)
		return;
	function->table = xmalloc(nr);
	function->nr_table_bytes = nr;
	if (space_read_memory(space, function->table_at + BYTES_START, function->table, nr))
		return;
	free(function->table);
	function->table = NULL;
	function->nr_table_bytes = 0;
}

/* --- code objects --- */

static uint64_t word_at(const uint8_t *bytes, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Reference count and type of each object. */
#define OBJECT_COUNT 0
#define OBJECT_TYPE  8

static bool is_code(const struct cpython *python, const uint8_t *head)
{
	return word_at(head, OBJECT_TYPE) == python->code_type &&
	       (int64_t)word_at(head, OBJECT_COUNT) > 0;
}

static bool is_same(const struct known_function *function, const struct cpython_code_layout *layout,
		    const uint8_t *head)
{
	uint32_t first_line;

	memcpy(&first_line, head + layout->first_line, sizeof(first_line));
	return function->name && function->name_at == word_at(head, layout->name) &&
	       function->file_at == word_at(head, layout->file) &&
	       function->table_at == word_at(head, layout->line_table) &&
	       function->first_line == first_line;
}

static void read_function(struct cpython_names *names, const struct cpython *python,
			  struct space *space, struct known_function *function, const uint8_t *head)
{
	const struct cpython_code_layout *layout = &python->layout.code;
	uint8_t again[CPYTHON_OBJECT_BYTES_MAX];
	uint32_t nr_bytes = layout->instructions;
	struct known_function found = {.code = function->code,
				       .name_at = word_at(head, layout->name),
				       .file_at = word_at(head, layout->file),
				       .table_at = word_at(head, layout->line_table),
				       .seen_in = names->nr_calls};

	drop_texts(function);
	memcpy(&found.first_line, head + layout->first_line, sizeof(found.first_line));
	found.name = read_text(&python->layout, space, found.name_at);
	found.file = read_text(&python->layout, space, found.file_at);
	read_table(space, &found);
	/* Were these texts its own, and not of what has replaced it meanwhile? */
	found.is_there = found.name && found.file &&
			 space_read_memory(space, found.code, again, nr_bytes) &&
			 is_code(python, again) && is_same(&found, layout, again);
	if (!found.is_there)
		drop_texts(&found);
	*function = found;
	names->nr_bytes += TEXT_CHARACTERS_MAX / 16 + function->nr_table_bytes;
}

/* The object of a function as it was at the moment of the snapshot; false: that does not have it.
 */
static bool is_copied(const struct known_function *function, const struct cpython *python,
		      const struct snapshot *snapshot, uint8_t *head)
{
	return snapshot_read_any(snapshot, function->code, head,
				 python->layout.code.instructions) &&
	       is_code(python, head);
}

static void note_seen(struct known_function *function, const struct snapshot *snapshot)
{
	if (!function->nr_seen)
		function->since_ns = snapshot->time_ns;
	function->until_ns = snapshot->time_ns;
	function->nr_seen += function->nr_seen < STEADY_SEEN;
}

static bool is_steady(const struct cpython_names *names, const struct known_function *function)
{
	return names->latest_ns - names->replaced_ns >= CALM_NS &&
	       function->nr_seen >= STEADY_SEEN &&
	       function->until_ns - function->since_ns >= STEADY_NS;
}

static void note_replaced(struct cpython_names *names, struct known_function *function)
{
	function->nr_seen = 0;
	names->replaced_ns = names->latest_ns;
}

/*
 * Is it known already? Only what is not has to be read from the process. One that was steady, and
 * is not the same right after the stop, may have been replaced since: it is gone.
 */
static bool is_as_copied(struct cpython_names *names, struct known_function *function,
			 const struct cpython *python, const struct snapshot *snapshot)
{
	const struct cpython_code_layout *layout = &python->layout.code;
	uint8_t head[CPYTHON_OBJECT_BYTES_MAX];
	bool is_late;

	is_late = !snapshot_read_any(snapshot, function->code, head, layout->instructions);
	if (is_late && (!is_steady(names, function) ||
			!snapshot_read_late(snapshot, function->code, head, layout->instructions)))
		return false;
	function->is_there = is_code(python, head) && is_same(function, layout, head);
	if (function->is_there)
		note_seen(function, snapshot);
	else if (is_late)
		note_replaced(names, function);
	return function->is_there || is_late;
}

static void check(struct cpython_names *names, const struct cpython *python, struct space *space,
		  const struct snapshot *snapshot, struct known_function *function,
		  const struct memory_piece *piece)
{
	uint8_t copied[CPYTHON_OBJECT_BYTES_MAX];
	const uint8_t *head = piece->out;
	bool was_steady = is_steady(names, function), is_replaced, has_copy;

	has_copy = is_copied(function, python, snapshot, copied);
	function->is_there = piece->is_read && is_code(python, head);
	is_replaced = function->name &&
		      (!function->is_there || !is_same(function, &python->layout.code, head));
	if (is_replaced)
		note_replaced(names, function);
	if (function->is_there && !is_same(function, &python->layout.code, head))
		read_function(names, python, space, function, head);
	/* A snapshot has no copy of what was steady: nothing shows which one it was. */
	if (is_replaced && was_steady && !has_copy)
		function->is_there = false;
	/* Another function may have taken its place since the sample. */
	if (function->is_there && has_copy)
		function->is_there = is_same(function, &python->layout.code, copied);
}

/* Valid until the next call. */
static struct known_function *function_of(struct cpython_names *names, uint64_t code)
{
	uint32_t row;

	if (key_map_find(&names->by_code, 0, code, &row))
		return &names->functions[row];
	row = (uint32_t)names->nr;
	ARRAY_GROW(names->functions, names->nr, names->cap);
	names->functions[names->nr++] = (struct known_function){.code = code};
	key_map_put(&names->by_code, 0, code, row);
	return &names->functions[row];
}

/* Look at the object of each function once. */
static void check_all(struct cpython_names *names, const struct cpython *python,
		      struct space *space, const struct snapshot *snapshot,
		      const struct script_frame *frames, size_t nr)
{
	uint32_t nr_bytes = python->layout.code.instructions;
	size_t nr_pieces = 0;

	ARRAY_RESERVE(names->pieces, nr, names->cap_pieces);
	ARRAY_RESERVE(names->heads, nr * nr_bytes, names->cap_heads);
	for (size_t i = 0; i < nr; i++) {
		struct known_function *function;

		if (!frames[i].code)
			continue;
		function = function_of(names, frames[i].code);
		if (function->seen_in == names->nr_calls)
			continue;
		function->seen_in = names->nr_calls;
		if (is_as_copied(names, function, python, snapshot))
			continue;
		names->pieces[nr_pieces] =
			(struct memory_piece){.address = function->code,
					      .out = names->heads + nr_pieces * nr_bytes,
					      .nr_bytes = nr_bytes};
		nr_pieces++;
	}
	space_read_pieces(space, names->pieces, nr_pieces);
	for (size_t i = 0; i < nr_pieces; i++)
		check(names, python, space, snapshot, function_of(names, names->pieces[i].address),
		      &names->pieces[i]);
}

bool cpython_names_is_steady(const struct cpython_names *names, uint64_t code)
{
	uint32_t row;

	return key_map_find(&names->by_code, 0, code, &row) &&
	       is_steady(names, &names->functions[row]);
}

static uint32_t line_of(const struct known_function *function, const struct cpython *python,
			const struct script_frame *frame)
{
	uint64_t first = frame->code + python->layout.code.instructions;
	int64_t unit = (int64_t)(frame->instruction - first) / 2;

	if (frame->instruction < first)
		unit = -1;
	return cpython_line(function->table, function->nr_table_bytes, function->first_line, unit);
}

void cpython_names_find(struct cpython_names *names, const struct cpython *python,
			struct space *space, const struct snapshot *snapshot,
			const struct script_frame *frames, size_t nr, struct script_place *places)
{
	if (names->nr > FUNCTIONS_MAX || names->nr_bytes > FUNCTIONS_BYTES_MAX)
		forget_all(names);
	names->nr_calls++;
	if (!names->latest_ns)
		names->replaced_ns = snapshot->time_ns;
	names->latest_ns = snapshot->time_ns;
	check_all(names, python, space, snapshot, frames, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct known_function *function;

		places[i] = (struct script_place){.name = NULL};
		if (!frames[i].code)
			continue;
		function = function_of(names, frames[i].code);
		if (!function->is_there)
			continue;
		places[i] = (struct script_place){.name = function->name,
						  .file = function->file,
						  .first_line = function->first_line,
						  .line = line_of(function, python, &frames[i])};
	}
}
