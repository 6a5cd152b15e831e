// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the functions of code objects: names, files and lines. */
#include "script/cpython_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/key_map.h"
#include "base/minmax.h"
#include "mapping/space.h"
#include "proc/target_memory.h"
#include "script/cpython.h"
#include "script/cpython_line.h"
#include "script/cpython_text.h"
#include "script/object_bytes.h"
#include "snapshot/snapshot.h"

/* A rough size of the texts of a function. */
#define TEXT_BYTES_USUAL 256
/* All are forgotten once there are more: a program may make functions for ever. */
#define FUNCTIONS_MAX	    65536
#define FUNCTIONS_BYTES_MAX (UINT64_C(64) << 20)

/* A text of a function. The mark is that of a function without a version. */
struct known_text {
	uint64_t at;
	struct cpython_mark mark;
};

/* A function, with what it is known again by. */
struct known_function {
	uint64_t code;
	struct known_text texts[NR_CPYTHON_TEXTS];
	uint32_t first_line, version;
	char *name, *file; /* owned, as is the table; NULL: not known */
	uint8_t *table;
	size_t nr_table_bytes;
	uint32_t seen_in;  /* the call in which it was read last, */
	bool is_there;	   /* and was a code object, */
	bool is_half_seen; /* whose texts were not in the snapshot */
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
/* So many walks that have seen none replaced are as good, if these were over some time. */
#define CALM_WALKS    100
#define CALM_WALKS_NS (NS_PER_SEC / 2)

/* A function, and the pieces that have its texts. */
struct marked {
	uint32_t row;
	size_t pieces[NR_CPYTHON_TEXTS];
};

struct cpython_names {
	struct known_function *functions; /* owned */
	size_t nr, cap;
	uint64_t nr_bytes; /* of their texts and tables */
	struct key_map by_code;
	uint32_t nr_calls;
	bool has_replaced;	     /* a snapshot had another function in a known place: */
	uint64_t replaced_ns;	     /* the last such one, or the first one */
	uint64_t latest_ns;	     /* the last one */
	struct memory_piece *pieces; /* room for a call, with bytes for each */
	uint8_t *bytes;
	size_t cap_pieces, cap_bytes;
	struct marked *marked; /* likewise */
	size_t cap_marked;
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
	free(names->bytes);
	free(names->marked);
	free(names);
}

/* --- code objects --- */

/* Reference count and type of each object. */
#define OBJECT_COUNT 0
#define OBJECT_TYPE  8

/*
 * A freed object keeps all of its bytes, but for its count: there the allocator has put a pointer
 * to the next free piece of the memory that it mapped, above the highest count.
 */
static bool is_code(const struct cpython *python, const uint8_t *head)
{
	uint64_t count = word_at(head, OBJECT_COUNT);

	return word_at(head, OBJECT_TYPE) == python->code_type && count && count <= UINT32_MAX;
}

static void take_texts(struct known_function *function, const struct cpython_code_layout *layout,
		       const uint8_t *head)
{
	function->texts[CPYTHON_NAME].at = word_at(head, layout->name);
	function->texts[CPYTHON_FILE].at = word_at(head, layout->file);
	function->texts[CPYTHON_LINE_TABLE].at = word_at(head, layout->line_table);
	memcpy(&function->first_line, head + layout->first_line, sizeof(function->first_line));
}

/* Another function may have the same texts' addresses: see has_marks(). */
static bool is_same(const struct known_function *function, const struct cpython_layout *layout,
		    const uint8_t *head)
{
	struct known_function other;

	take_texts(&other, &layout->code, head);
	if (!function->name || function->first_line != other.first_line ||
	    function->version != cpython_layout_code_version(layout, head))
		return false;
	for (size_t i = 0; i < NR_CPYTHON_TEXTS; i++) {
		if (function->texts[i].at != other.texts[i].at)
			return false;
	}
	return true;
}

/* --- what has replaced it --- */

static bool is_calm(const struct cpython_names *names)
{
	uint64_t calm_ns = names->latest_ns - names->replaced_ns;

	return calm_ns >= CALM_NS ||
	       (!names->has_replaced && calm_ns >= CALM_WALKS_NS && names->nr_calls >= CALM_WALKS);
}

static bool is_steady(const struct cpython_names *names, const struct known_function *function)
{
	return is_calm(names) && function->nr_seen >= STEADY_SEEN &&
	       function->until_ns - function->since_ns >= STEADY_NS;
}

static void note_seen(struct known_function *function, const struct snapshot *snapshot)
{
	if (!function->nr_seen)
		function->since_ns = function->until_ns = snapshot->time_ns;
	function->until_ns = max_u64(function->until_ns, snapshot->time_ns);
	function->nr_seen += function->nr_seen < STEADY_SEEN;
}

static void note_replaced(struct cpython_names *names, struct known_function *function)
{
	function->nr_seen = 0;
	names->has_replaced = true;
	names->replaced_ns = names->latest_ns;
}

/*
 * Was a function the one that it is now at the moment of the snapshot, which does not show that?
 * Where others come and go, only one that was there for long.
 */
static bool is_likely(const struct cpython_names *names, const struct known_function *function)
{
	return !names->has_replaced || names->latest_ns - names->replaced_ns >= CALM_NS ||
	       (function->nr_seen >= STEADY_SEEN &&
		function->until_ns - function->since_ns >= CALM_NS);
}

/* --- reading --- */

/* False: not all of them are texts. */
static bool read_marks(const struct cpython_layout *layout, struct cpython_source *source,
		       const struct known_function *function, struct cpython_mark *marks)
{
	for (size_t i = 0; i < NR_CPYTHON_TEXTS; i++) {
		if (!cpython_mark_read(layout, source, (enum cpython_text)i, function->texts[i].at,
				       &marks[i]))
			return false;
	}
	return true;
}

static bool has_marks(const struct known_function *function, const struct cpython_mark *marks)
{
	for (size_t i = 0; i < NR_CPYTHON_TEXTS; i++) {
		if (function->texts[i].mark.hash != marks[i].hash ||
		    function->texts[i].mark.nr_bytes != marks[i].nr_bytes)
			return false;
	}
	return true;
}

/* Were these texts its own, and not of what has replaced it meanwhile? */
static bool is_still(const struct cpython *python, struct space *space,
		     const struct known_function *function)
{
	struct cpython_source now = {.space = space};
	struct cpython_mark marks[NR_CPYTHON_TEXTS];
	uint8_t head[CPYTHON_OBJECT_BYTES_MAX];

	return space_read_memory(space, function->code, head, python->layout.code.instructions) &&
	       is_code(python, head) && is_same(function, &python->layout, head) &&
	       (function->version ||
		(read_marks(&python->layout, &now, function, marks) && has_marks(function, marks)));
}

/* Read the function of a head that is in `snapshot`, or without that of one that was read now. */
static void read_function(struct cpython_names *names, const struct cpython *python,
			  struct space *space, const struct snapshot *snapshot,
			  struct known_function *function, const uint8_t *head)
{
	const struct cpython_layout *layout = &python->layout;
	struct known_function found = {.code = function->code,
				       .version = cpython_layout_code_version(layout, head),
				       .seen_in = names->nr_calls};
	struct cpython_source source = {.space = space, .snapshot = snapshot, .is_late = !snapshot};
	struct cpython_mark marks[NR_CPYTHON_TEXTS] = {{0}};
	bool is_proved;

	drop_texts(function);
	take_texts(&found, &layout->code, head);
	if (!found.version && read_marks(layout, &source, &found, marks)) {
		for (size_t i = 0; i < NR_CPYTHON_TEXTS; i++)
			found.texts[i].mark = marks[i];
	}
	is_proved = snapshot && (found.version || !source.is_late);
	found.name = cpython_text_read(layout, &source, found.texts[CPYTHON_NAME].at);
	found.file = cpython_text_read(layout, &source, found.texts[CPYTHON_FILE].at);
	found.table = cpython_table_read(&source, found.texts[CPYTHON_LINE_TABLE].at,
					 &found.nr_table_bytes);
	found.is_there =
		found.name && found.file && (!source.is_late || is_still(python, space, &found));
	if (!found.is_there)
		drop_texts(&found);
	*function = found;
	function->is_there &= is_proved || is_likely(names, function);
	names->nr_bytes += TEXT_BYTES_USUAL + function->nr_table_bytes;
	if (is_proved && function->is_there)
		note_seen(function, snapshot);
}

/* --- what a snapshot shows --- */

/* A function whose object is in the snapshot, and the same as ever. */
static void check_marks(struct cpython_names *names, const struct cpython *python,
			struct space *space, const struct snapshot *snapshot,
			struct known_function *function, const uint8_t *head)
{
	struct cpython_source copied = {.snapshot = snapshot};
	struct cpython_mark marks[NR_CPYTHON_TEXTS];

	function->is_there = true;
	if (!function->version && !read_marks(&python->layout, &copied, function, marks)) {
		function->is_half_seen = true;
	} else if (function->version || has_marks(function, marks)) {
		note_seen(function, snapshot);
	} else {
		note_replaced(names, function);
		read_function(names, python, space, snapshot, function, head);
	}
}

/*
 * Look at the object as it was in the stop, or one that was steady right after it: if that is
 * another one then, it may have been replaced since, and is gone. False: the snapshot has neither.
 */
static bool look_in_snapshot(struct cpython_names *names, const struct cpython *python,
			     struct space *space, const struct snapshot *snapshot,
			     struct known_function *function)
{
	uint32_t nr_bytes = python->layout.code.instructions;
	uint8_t head[CPYTHON_OBJECT_BYTES_MAX];

	if (snapshot_read_any(snapshot, function->code, head, nr_bytes)) {
		function->is_there = is_code(python, head);
		if (function->is_there && is_same(function, &python->layout, head)) {
			check_marks(names, python, space, snapshot, function, head);
			return true;
		}
		if (function->name)
			note_replaced(names, function);
		if (function->is_there)
			read_function(names, python, space, snapshot, function, head);
		return true;
	}
	if (!is_steady(names, function) ||
	    !snapshot_read_late(snapshot, function->code, head, nr_bytes))
		return false;
	function->is_there = is_code(python, head) && is_same(function, &python->layout, head);
	function->is_half_seen = function->is_there && !function->version;
	if (!function->is_there)
		note_replaced(names, function);
	else if (function->version)
		note_seen(function, snapshot);
	return true;
}

/* A function whose object was not in the snapshot. */
static void look_now(struct cpython_names *names, const struct cpython *python, struct space *space,
		     struct known_function *function, const struct memory_piece *piece)
{
	const uint8_t *head = piece->out;
	bool is_known;

	function->is_there = piece->is_read && is_code(python, head);
	is_known = function->is_there && is_same(function, &python->layout, head);
	if (function->name && !is_known)
		note_replaced(names, function);
	if (function->is_there && !is_known)
		read_function(names, python, space, NULL, function, head);
	else if (function->is_there && function->version)
		/* The very same one was in a snapshot before, so it was there all the time. */
		function->is_there = function->nr_seen > 0 || is_likely(names, function);
	else
		function->is_half_seen = function->is_there;
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

/* Room for pieces of at most `nr_bytes` each. */
static void make_room(struct cpython_names *names, size_t nr, size_t nr_bytes)
{
	ARRAY_RESERVE(names->pieces, nr, names->cap_pieces);
	ARRAY_RESERVE(names->bytes, nr * nr_bytes, names->cap_bytes);
}

/* Look at the object of each function once. */
static void look_at_all(struct cpython_names *names, const struct cpython *python,
			struct space *space, const struct snapshot *snapshot,
			const struct script_frame *frames, size_t nr)
{
	uint32_t nr_bytes = python->layout.code.instructions;
	size_t nr_pieces = 0;

	make_room(names, nr, nr_bytes);
	for (size_t i = 0; i < nr; i++) {
		struct known_function *function;

		if (!frames[i].code)
			continue;
		function = function_of(names, frames[i].code);
		if (function->seen_in == names->nr_calls)
			continue;
		function->seen_in = names->nr_calls;
		function->is_half_seen = false;
		if (look_in_snapshot(names, python, space, snapshot, function))
			continue;
		names->pieces[nr_pieces] =
			(struct memory_piece){.address = function->code,
					      .out = names->bytes + nr_pieces * nr_bytes,
					      .nr_bytes = nr_bytes};
		nr_pieces++;
	}
	space_read_pieces(space, names->pieces, nr_pieces);
	for (size_t i = 0; i < nr_pieces; i++)
		look_now(names, python, space, function_of(names, names->pieces[i].address),
			 &names->pieces[i]);
}

/* Functions that call each other often have the same file. */
#define PIECES_COMPARED 12

static size_t add_piece(struct cpython_names *names, const struct known_text *text,
			size_t *nr_pieces)
{
	size_t first = *nr_pieces > PIECES_COMPARED ? *nr_pieces - PIECES_COMPARED : 0;

	for (size_t i = first; i < *nr_pieces; i++) {
		if (names->pieces[i].address == text->at &&
		    names->pieces[i].nr_bytes == text->mark.nr_bytes)
			return i;
	}
	names->pieces[*nr_pieces] =
		(struct memory_piece){.address = text->at,
				      .out = names->bytes + *nr_pieces * CPYTHON_TEXT_BYTES,
				      .nr_bytes = text->mark.nr_bytes};
	return (*nr_pieces)++;
}

static void check_texts(struct cpython_names *names, const struct cpython *python,
			const struct snapshot *snapshot, const struct marked *marked)
{
	struct known_function *function = &names->functions[marked->row];

	for (size_t i = 0; i < NR_CPYTHON_TEXTS; i++) {
		const struct memory_piece *piece = &names->pieces[marked->pieces[i]];

		function->is_there &=
			piece->is_read && cpython_mark_agrees(&python->layout, (enum cpython_text)i,
							      piece->out, &function->texts[i].mark);
	}
	if (function->is_there) {
		note_seen(function, snapshot);
		function->is_there = is_likely(names, function);
	} else {
		note_replaced(names, function);
		drop_texts(function);
	}
}

/* The texts of functions that were not in the snapshot: are they the same as ever? */
static void check_all_texts(struct cpython_names *names, const struct cpython *python,
			    struct space *space, const struct snapshot *snapshot,
			    const struct script_frame *frames, size_t nr)
{
	size_t nr_pieces = 0, nr_marked = 0;

	make_room(names, nr * NR_CPYTHON_TEXTS, CPYTHON_TEXT_BYTES);
	ARRAY_RESERVE(names->marked, nr, names->cap_marked);
	for (size_t i = 0; i < nr; i++) {
		struct known_function *function =
			frames[i].code ? function_of(names, frames[i].code) : NULL;
		struct marked *marked = &names->marked[nr_marked];

		if (!function || !function->is_half_seen)
			continue;
		function->is_half_seen = false;
		marked->row = (uint32_t)(function - names->functions);
		for (size_t k = 0; k < NR_CPYTHON_TEXTS; k++)
			marked->pieces[k] = add_piece(names, &function->texts[k], &nr_pieces);
		nr_marked++;
	}
	space_read_pieces(space, names->pieces, nr_pieces);
	for (size_t i = 0; i < nr_marked; i++)
		check_texts(names, python, snapshot, &names->marked[i]);
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
	return cpython_line(python->layout.lines, function->table, function->nr_table_bytes,
			    function->first_line, unit);
}

void cpython_names_find(struct cpython_names *names, const struct cpython *python,
			struct space *space, const struct snapshot *snapshot,
			const struct script_frame *frames, size_t nr, struct script_place *places)
{
	if (names->nr > FUNCTIONS_MAX || names->nr_bytes > FUNCTIONS_BYTES_MAX)
		forget_all(names);
	names->nr_calls++;
	if (names->nr_calls == 1)
		names->replaced_ns = snapshot->time_ns;
	/* Snapshots of allocations are read later. */
	names->latest_ns = max_u64(names->latest_ns, snapshot->time_ns);
	look_at_all(names, python, space, snapshot, frames, nr);
	check_all_texts(names, python, space, snapshot, frames, nr);
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
