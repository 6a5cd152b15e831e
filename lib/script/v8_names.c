// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the names and places of functions that V8 runs. */
#include "script/v8_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/key_map.h"
#include "base/minmax.h"
#include "mapping/space.h"
#include "script/script_walk.h"
#include "script/v8.h"
#include "script/v8_baseline.h"
#include "script/v8_layout.h"
#include "script/v8_lines.h"
#include "script/v8_positions.h"
#include "script/v8_text.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

/* Beyond either, all are read again. */
#define ROWS_MAX  (1 << 16)
#define BYTES_MAX (UINT64_C(32) << 20)
/* Seen so often, over so long, an object is where it will be: collections move young ones. */
#define STEADY_SEEN 8
#define STEADY_NS   (200 * NS_PER_MS)
/* V8 has a dozen of types for functions, in a row: of classes, and of its builtin constructors. */
#define FUNCTION_TYPES 20

/* How often, and since when, an object was found to be the same. */
struct seen {
	uint64_t since_ns, until_ns;
	uint32_t nr;
};

/* A function: a closure of what is shared by all of its kind. */
struct closure {
	uint64_t shared;
	struct seen seen;
};

/* A SharedFunctionInfo. */
struct shared {
	uint64_t scope, script; /* pointers: they tell it from what replaces it */
	char *name, *file;	/* owned; NULL: it is a builtin, or what it led to was gone */
	uint32_t line;
	bool is_builtin;
	/* Lines of its bytecodes at this address are known by this number, which no other has. */
	uint64_t bytecodes;
	uint32_t number;
	/* Its baseline code as it was at baseline_ns, all 0 if it had none; lines likewise. */
	struct v8_baseline baseline;
	uint32_t baseline_number;
	uint64_t baseline_ns;
	struct seen seen;
};

/* So many that were steady when they were seen are wanted again, though others run meanwhile. */
#define NR_RECENT 16

struct v8_names {
	struct v8_layout layout;
	struct v8_lines *lines;
	struct wanted_range recent[NR_RECENT];
	unsigned int next_recent; /* that is replaced */
	struct closure *closures; /* owned */
	size_t nr_closures, cap_closures;
	struct shared *shareds; /* owned */
	size_t nr_shareds, cap_shareds;
	struct key_map closure_at, shared_at; /* rows by address */
	struct key_map lines_at; /* by numbers of code, and 1 + an offset or address in it */
	uint32_t nr_codes;	 /* numbers that were given */
	uint64_t nr_bytes;	 /* of texts that were read */
};

struct v8_names *v8_names_new(const struct v8_layout *layout)
{
	struct v8_names *names = xcalloc(1, sizeof(*names));

	names->layout = *layout;
	names->lines = v8_lines_new();
	return names;
}

static void drop_texts(struct shared *shared)
{
	free(shared->name);
	free(shared->file);
	*shared = (struct shared){.scope = 0};
}

static void forget_all(struct v8_names *names)
{
	for (size_t i = 0; i < names->nr_shareds; i++)
		drop_texts(&names->shareds[i]);
	names->nr_closures = names->nr_shareds = 0;
	names->nr_bytes = 0;
	key_map_release(&names->closure_at);
	key_map_release(&names->shared_at);
	key_map_release(&names->lines_at);
}

void v8_names_free(struct v8_names *names)
{
	if (!names)
		return;
	forget_all(names);
	v8_lines_free(names->lines);
	free(names->closures);
	free(names->shareds);
	free(names);
}

/* Both are valid until the next call. */

static struct closure *closure_of(struct v8_names *names, uint64_t address)
{
	uint32_t row;

	if (key_map_find(&names->closure_at, 0, address, &row))
		return &names->closures[row];
	row = (uint32_t)names->nr_closures;
	ARRAY_GROW(names->closures, names->nr_closures, names->cap_closures);
	names->closures[names->nr_closures++] = (struct closure){.shared = 0};
	key_map_put(&names->closure_at, 0, address, row);
	return &names->closures[row];
}

static struct shared *shared_of(struct v8_names *names, uint64_t address)
{
	uint32_t row;

	if (key_map_find(&names->shared_at, 0, address, &row))
		return &names->shareds[row];
	row = (uint32_t)names->nr_shareds;
	ARRAY_GROW(names->shareds, names->nr_shareds, names->cap_shareds);
	names->shareds[names->nr_shareds++] = (struct shared){.scope = 0};
	key_map_put(&names->shared_at, 0, address, row);
	return &names->shareds[row];
}

static bool is_steady(const struct seen *seen)
{
	return seen->nr >= STEADY_SEEN && seen->until_ns - seen->since_ns >= STEADY_NS;
}

static void note_recent(struct v8_names *names, uint64_t address, uint32_t nr_bytes)
{
	for (size_t i = 0; i < NR_RECENT; i++) {
		if (names->recent[i].start == address)
			return;
	}
	names->recent[names->next_recent++ % NR_RECENT] =
		(struct wanted_range){.start = address, .nr_bytes = nr_bytes};
}

static void note_seen(struct v8_names *names, struct seen *seen, const struct snapshot *snapshot,
		      uint64_t address, uint32_t nr_bytes)
{
	if (!seen->nr)
		seen->since_ns = seen->until_ns = snapshot->time_ns;
	seen->until_ns = max_u64(seen->until_ns, snapshot->time_ns);
	seen->nr += seen->nr < STEADY_SEEN;
	if (is_steady(seen))
		note_recent(names, address, nr_bytes);
}

void v8_names_want_recent(const struct v8_names *names, struct wanted_memory *wanted)
{
	for (size_t i = 0; i < NR_RECENT; i++) {
		const struct wanted_range *recent = &names->recent[i];

		if (recent->start && v8_names_is_steady(names, recent->start))
			wanted_memory_add(wanted, recent->start, recent->nr_bytes);
	}
}

bool v8_names_is_steady(const struct v8_names *names, uint64_t address)
{
	uint32_t row;

	if (key_map_find(&names->closure_at, 0, address, &row))
		return is_steady(&names->closures[row].seen);
	return key_map_find(&names->shared_at, 0, address, &row) &&
	       is_steady(&names->shareds[row].seen);
}

/* --- scopes --- */

/* ScopeInfo, from its map on: flags, the number of parameters, and of variables with a context. */
enum {
	SCOPE_FLAGS = 8,
	SCOPE_VARIABLES = 24,
	SCOPE_REST = 32,
	SCOPE_REST_WORDS = 6,
};
/* More of their names are in a table. */
#define NAMES_MAX 75

/* Fields of its flags, of V8 10.2 to 11.3. */
#define SCOPE_TYPE(flags)	 ((flags)&15)
#define SCOPE_IS_FUNCTION	 2
#define SCOPE_HAS_CLASS(flags)	 ((flags) >> 10 & 1)
#define SCOPE_HAS_NAME(flags)	 (((flags) >> 12 & 3) != 0)
#define SCOPE_HAS_GUESSED(flags) ((flags) >> 14 & 1)

static bool is_small(uint64_t word)
{
	return !(word & UINT32_MAX);
}

/* A text with characters; else NULL. */
static char *read_name(const struct v8_names *names, struct space *space, uint64_t pointer)
{
	char *text = v8_text_read(&names->layout, space, pointer);

	if (text && *text)
		return text;
	free(text);
	return NULL;
}

/*
 * After the variables: a class, the name that a function was given with its place, the name that
 * the parser has guessed from an assignment, and first and last position in the source.
 */
static void read_function_scope(const struct v8_names *names, struct space *space, uint64_t scope,
				char **name, uint32_t *position)
{
	uint64_t head[3], rest[SCOPE_REST_WORDS], nr_variables, at;
	uint32_t flags;
	size_t i = 0;

	if (!space_read_memory(space, scope + SCOPE_FLAGS, head, sizeof(head)) ||
	    !is_small(head[0]) || !is_small(head[2]))
		return;
	flags = (uint32_t)(head[0] >> 32);
	nr_variables = head[2] >> 32;
	/* All of a script, or of a module. */
	if (SCOPE_TYPE(flags) != SCOPE_IS_FUNCTION)
		*position = 0;
	if (SCOPE_TYPE(flags) != SCOPE_IS_FUNCTION || nr_variables > UINT16_MAX)
		return;
	at = scope + SCOPE_REST +
	     8 * (nr_variables + (nr_variables < NAMES_MAX ? nr_variables : 1));
	if (!space_read_memory(space, at, rest, sizeof(rest)))
		return;
	i += SCOPE_HAS_CLASS(flags);
	if (SCOPE_HAS_NAME(flags)) {
		*name = read_name(names, space, rest[i]);
		i += 2;
	}
	if (SCOPE_HAS_GUESSED(flags) && !*name)
		*name = read_name(names, space, rest[i]);
	i += SCOPE_HAS_GUESSED(flags);
	if (is_small(rest[i]))
		*position = (uint32_t)(rest[i] >> 32);
}

/* --- files --- */

#define FILE_URL "file://"

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Modules have the address of their file, "file:///srv/my%20app.mjs", others its path. */
static void make_path(char *file)
{
	const char *from = file + strlen(FILE_URL);
	char *to = file;

	if (strncmp(file, FILE_URL "/", strlen(FILE_URL) + 1) != 0)
		return;
	while (*from) {
		int high = *from == '%' ? digit(from[1]) : -1;
		int low = high >= 0 ? digit(from[2]) : -1;

		if (low >= 0 && (high || low)) {
			*to++ = (char)(16 * high + low);
			from += 3;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* --- functions --- */

/* Each is read in words from its address on. */
static bool read_both(const struct v8 *v8, const struct snapshot *snapshot, uint64_t address,
		      struct shared *found, bool *is_late)
{
	bool (*read)(const struct snapshot *, uint64_t, void *, size_t) = snapshot_read_any;
	uint64_t word;

	*is_late = !snapshot_read_any(snapshot, address + v8->scope, &word, sizeof(word));
	if (*is_late)
		read = snapshot_read_late;
	return read(snapshot, address + v8->scope, &found->scope, sizeof(found->scope)) &&
	       read(snapshot, address + v8->script, &found->script, sizeof(found->script));
}

static bool is_still(const struct v8 *v8, struct space *space, uint64_t address,
		     const struct shared *shared)
{
	uint64_t scope, script;

	return space_read_memory(space, address + v8->scope, &scope, sizeof(scope)) &&
	       space_read_memory(space, address + v8->script, &script, sizeof(script)) &&
	       scope == shared->scope && script == shared->script;
}

/* Read what the object at `address` leads to; its pointers are those of the stop. */
static void read_shared(struct v8_names *names, const struct v8 *v8, struct space *space,
			uint64_t address, struct shared *shared)
{
	const struct v8_layout *layout = &names->layout;
	uint64_t scope = v8_object(shared->scope), script = v8_object(shared->script), pointer;
	uint32_t position = UINT32_MAX;
	uint16_t type_of_scope;

	if (v8_type_of(layout, space, address) != layout->type_shared)
		return;
	if (!script || v8_type_of(layout, space, script) != layout->type_script) {
		shared->is_builtin = is_still(v8, space, address, shared);
		return;
	}
	if (space_read_memory(space, script + layout->script_name, &pointer, sizeof(pointer)))
		shared->file = read_name(names, space, pointer);
	type_of_scope = scope ? v8_type_of(layout, space, scope) : 0;
	if (type_of_scope == layout->type_scope)
		read_function_scope(names, space, scope, &shared->name, &position);
	else if (type_of_scope && type_of_scope < layout->text.end)
		shared->name = read_name(names, space, shared->scope);
	if (position != UINT32_MAX)
		shared->line = v8_lines_of(names->lines, layout, space, script, position);
	if (!shared->name)
		shared->name = xstrdup("(anonymous)");
	if (!shared->file)
		shared->file = xstrdup("[eval]");
	make_path(shared->file);
	names->nr_bytes += strlen(shared->name) + strlen(shared->file);
	if (!is_still(v8, space, address, shared))
		drop_texts(shared);
}

static bool is_known(const struct shared *shared)
{
	return shared->name || shared->is_builtin;
}

/*
 * Does the function that is at `address` now have the bytecodes that the frame had in the stop?
 * They are where they were: V8 moves them rarely, while it has the program wait. So it is the same
 * one.
 */
static bool has_bytecodes(const struct v8_names *names, struct space *space, uint64_t address,
			  const struct script_frame *frame)
{
	const struct v8_layout *layout = &names->layout;
	struct v8_baseline baseline;
	uint64_t code;

	if (!frame->bytecodes ||
	    !space_read_memory(space, address + layout->shared_code, &code, sizeof(code)))
		return false;
	return v8_object(code) == frame->bytecodes ||
	       (v8_baseline_find(layout, space, address, &baseline) &&
		v8_object(baseline.bytecodes) == frame->bytecodes);
}

/* NULL: it is not there, or was not in the stop. */
static struct shared *find_shared(struct v8_names *names, const struct v8 *v8, struct space *space,
				  const struct snapshot *snapshot, uint64_t address,
				  const struct script_frame *frame)
{
	struct shared found = {.scope = 0}, *shared;
	bool is_late;

	if (!read_both(v8, snapshot, address, &found, &is_late))
		return NULL;
	shared = shared_of(names, address);
	if (!is_known(shared) || shared->scope != found.scope || shared->script != found.script) {
		drop_texts(shared);
		if (is_late && !has_bytecodes(names, space, address, frame))
			return NULL;
		*shared = found;
		read_shared(names, v8, space, address, shared);
	}
	if (!is_known(shared))
		return NULL;
	note_seen(names, &shared->seen, snapshot, address, v8_shared_bytes(v8));
	return shared;
}

static bool is_function(const struct v8_names *names, struct space *space, uint64_t address)
{
	uint16_t type = v8_type_of(&names->layout, space, address);

	return type >= names->layout.type_function &&
	       type < names->layout.type_function + FUNCTION_TYPES;
}

/* The address of what a function shares, as it was in the stop; 0: that is not known. */
static uint64_t find_closure(struct v8_names *names, const struct v8 *v8, struct space *space,
			     const struct snapshot *snapshot, const struct script_frame *frame)
{
	uint64_t address = frame->code;
	struct closure *closure = closure_of(names, address);
	uint64_t pointer, shared;
	bool is_late =
		!snapshot_read_any(snapshot, address + v8->shared, &pointer, sizeof(pointer));

	if (is_late &&
	    !snapshot_read_late(snapshot, address + v8->shared, &pointer, sizeof(pointer)))
		return 0;
	shared = v8_object(pointer);
	if (shared && shared == closure->shared) {
		note_seen(names, &closure->seen, snapshot, address, v8_function_bytes(v8));
		return shared;
	}
	*closure = (struct closure){.shared = 0};
	/* The map of a function outlives it, mostly. */
	if (!shared || (is_late && !has_bytecodes(names, space, shared, frame)) ||
	    !is_function(names, space, address))
		return 0;
	closure->shared = shared;
	note_seen(names, &closure->seen, snapshot, address, v8_function_bytes(v8));
	return shared;
}

/* --- lines --- */

/* The line of the bytecode that an interpreted frame is at; 0: it is not known. */
static uint32_t read_line(struct v8_names *names, const struct v8 *v8, struct space *space,
			  uint64_t address, const struct shared *shared,
			  const struct script_frame *frame)
{
	const struct v8_layout *layout = &names->layout;
	uint64_t code;
	uint32_t position, line;

	/* It is kept as one from the pointer to the array on; one before the first is a high
	 * number. */
	uint32_t offset = (uint32_t)frame->instruction - (layout->bytecodes_data - 1);

	if (!v8_positions_read(layout, space, frame->bytecodes, offset, &position))
		return 0;
	line = v8_lines_of(names->lines, layout, space, v8_object(shared->script), position);
	/* The function still has these bytecodes, so it had them in the stop. */
	return space_read_memory(space, address + layout->shared_code, &code, sizeof(code)) &&
			       v8_object(code) == frame->bytecodes &&
			       is_still(v8, space, address, shared)
		       ? line
		       : 0;
}

static bool is_same_code(const struct v8_baseline *one, const struct v8_baseline *other)
{
	return one->object == other->object && one->start == other->start &&
	       one->bytecodes == other->bytecodes && one->ends == other->ends &&
	       one->nr_bytes == other->nr_bytes;
}

/*
 * It is final if there will be no other one while the function has this code: an instruction
 * without a line is read once, however large its function is.
 */
static uint32_t read_baseline_line(struct v8_names *names, const struct v8 *v8, struct space *space,
				   uint64_t address, const struct shared *shared, uint64_t pc,
				   bool *is_final)
{
	const struct v8_layout *layout = &names->layout;
	struct v8_baseline still;
	uint32_t position, line;

	*is_final = !v8_baseline_position(layout, space, &shared->baseline, pc, &position);
	if (*is_final)
		return 0;
	line = v8_lines_of(names->lines, layout, space, v8_object(shared->script), position);
	*is_final = line && v8_baseline_find(layout, space, address, &still) &&
		    is_same_code(&still, &shared->baseline) && is_still(v8, space, address, shared);
	return *is_final ? line : 0;
}

/* For so long code is taken to be where it was: V8 moves it, rarely, far away. */
#define BASELINE_NS (50 * NS_PER_MS)

static void refresh_baseline(struct v8_names *names, struct space *space, uint64_t address,
			     struct shared *shared, uint64_t now_ns)
{
	struct v8_baseline code;

	if (shared->baseline_ns && now_ns - shared->baseline_ns < BASELINE_NS)
		return;
	shared->baseline_ns = now_ns;
	if (!v8_baseline_find(&names->layout, space, address, &code))
		code = (struct v8_baseline){.object = 0};
	if (is_same_code(&code, &shared->baseline))
		return;
	shared->baseline = code;
	shared->baseline_number = ++names->nr_codes;
}

/*
 * The line of an instruction of the function's baseline code. It ran that in the stop if its frame
 * had the bytecodes that the code was made of: other code of the function has no place for them.
 */
static uint32_t find_baseline_line(struct v8_names *names, const struct v8 *v8, struct space *space,
				   uint64_t address, struct shared *shared,
				   const struct script_frame *frame)
{
	const struct v8_baseline *code = &shared->baseline;
	uint64_t pc = frame->instruction;
	bool is_final;
	uint32_t line;

	if (pc < code->start || pc - code->start >= code->nr_bytes ||
	    v8_object(code->bytecodes) != frame->bytecodes)
		return 0;
	if (key_map_find(&names->lines_at, shared->baseline_number, pc + 1, &line))
		return line;
	line = read_baseline_line(names, v8, space, address, shared, pc, &is_final);
	if (is_final)
		key_map_put(&names->lines_at, shared->baseline_number, pc + 1, line);
	return line;
}

static uint32_t find_line(struct v8_names *names, const struct v8 *v8, struct space *space,
			  uint64_t now_ns, uint64_t address, struct shared *shared,
			  const struct script_frame *frame)
{
	uint32_t line;

	if (!frame->bytecodes)
		return 0;
	if (frame->is_compiled) {
		refresh_baseline(names, space, address, shared, now_ns);
		return find_baseline_line(names, v8, space, address, shared, frame);
	}
	if (shared->bytecodes != frame->bytecodes) {
		shared->bytecodes = frame->bytecodes;
		shared->number = ++names->nr_codes;
	}
	if (key_map_find(&names->lines_at, shared->number, frame->instruction + 1, &line))
		return line;
	line = read_line(names, v8, space, address, shared, frame);
	if (line)
		key_map_put(&names->lines_at, shared->number, frame->instruction + 1, line);
	return line;
}

void v8_names_find(struct v8_names *names, const struct v8 *v8, struct space *space,
		   const struct snapshot *snapshot, const struct script_frame *frames, size_t nr,
		   struct script_place *places)
{
	if (names->nr_closures > ROWS_MAX || names->nr_shareds > ROWS_MAX ||
	    names->nr_bytes > BYTES_MAX || key_map_nr(&names->lines_at) > ROWS_MAX)
		forget_all(names);
	for (size_t i = 0; i < nr; i++) {
		uint64_t address = find_closure(names, v8, space, snapshot, &frames[i]);
		struct shared *shared =
			address ? find_shared(names, v8, space, snapshot, address, &frames[i])
				: NULL;

		places[i] = (struct script_place){.is_native = true};
		if (shared && shared->name)
			places[i] = (struct script_place){
				.name = shared->name,
				.file = shared->file,
				.first_line = shared->line,
				.line = find_line(names, v8, space, snapshot->time_ns, address,
						  shared, &frames[i])};
	}
}
