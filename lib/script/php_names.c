// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the names and places of functions that PHP runs. */
#include "script/php_names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/key_map.h"
#include "base/lasting_hash.h"
#include "mapping/space.h"
#include "proc/target_memory.h"
#include "script/object_bytes.h"
#include "script/php.h"
#include "script/php_text.h"
#include "script/script_walk.h"
#include "snapshot/snapshot.h"

/* Beyond any of these, all are read again. */
#define FUNCTIONS_MAX  (1 << 16)
#define LINES_MAX      (1 << 20)
#define TEXT_BYTES_MAX (UINT64_C(64) << 20)

/* For what has no name in PHP: the code of a file, and a text that eval() runs. */
#define NAME_OF_FILE "{main}"
#define NAME_OF_EVAL "{eval}"
/* The file of functions that are no script's. */
#define FILE_OF_NATIVE "[php]"

enum text {
	TEXT_NAME,
	TEXT_CLASS,
	TEXT_FILE,
	NR_TEXTS,
};

struct function {
	struct php_identity identity;
	uint32_t number; /* its lines are known by that, which no other function has */
	struct php_text texts[NR_TEXTS];
	char *name;	  /* owned: as users see it; NULL: it is not known */
	uint64_t seen_in; /* the call that looked at its texts last */
	bool is_there;
	size_t first_piece, nr_pieces; /* that are to be compared with its texts */
};

#define NO_PIECE SIZE_MAX

/* A frame of a walk. */
struct looked_at {
	uint64_t code, instruction;
	uint32_t row;	 /* of its function */
	uint32_t number; /* of that, too: another one may come to have the row */
	uint32_t line;	 /* that the stop has shown, or that is known of the instruction */
	bool is_function, has_line;
	/* With its line as it is now; without a name, with its object and its file after that. */
	size_t piece; /* or NO_PIECE */
};

struct php_names {
	struct php_functions *objects; /* owned */
	struct function *functions;    /* owned */
	size_t nr, cap;
	/* Rows by the address of their instructions, or of native functions, and their owner_of().
	 */
	struct key_map at;
	struct key_map lines;	/* by the number of a function, and an instruction */
	uint32_t nr_numbers;	/* that were given */
	uint64_t nr_text_bytes; /* that were read, and made of these */
	uint64_t nr_calls;
	struct looked_at *looked_at; /* owned; room for a walk, as all that follows */
	size_t cap_looked_at;
	struct memory_piece *pieces; /* owned */
	size_t nr_pieces, cap_pieces;
	uint8_t *bytes; /* owned; PHP_TEXT_BYTES for each piece */
	size_t cap_bytes;
};

struct search {
	struct php_names *names;
	const struct php *php;
	struct space *space;
	const struct snapshot *snapshot;
};

struct php_names *php_names_new(void)
{
	struct php_names *names = xcalloc(1, sizeof(*names));

	names->objects = php_functions_new();
	return names;
}

static void forget(struct function *function)
{
	for (int i = 0; i < NR_TEXTS; i++)
		php_text_release(&function->texts[i]);
	free(function->name);
	*function = (struct function){.name = NULL};
}

static void forget_all(struct php_names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		forget(&names->functions[i]);
	names->nr = 0;
	names->nr_text_bytes = 0;
	key_map_release(&names->at);
	key_map_release(&names->lines);
}

void php_names_free(struct php_names *names)
{
	forget_all(names);
	php_functions_free(names->objects);
	free(names->functions);
	free(names->looked_at);
	free(names->pieces);
	free(names->bytes);
	free(names);
}

/*
 * A method of a trait, and a closure that is bound to a class, have the instructions of others, in
 * another class or by another name.
 */
static uint32_t owner_of(const struct php_identity *identity)
{
	uint64_t hash = lasting_hash_number(LASTING_HASH_BEGIN, identity->scope);

	return (uint32_t)lasting_hash_number(hash, identity->name);
}

static uint32_t row_of(struct php_names *names, const struct php_identity *identity, uint64_t key)
{
	uint32_t row, owner = owner_of(identity);

	if (key_map_find(&names->at, owner, key, &row))
		return row;
	row = (uint32_t)names->nr;
	ARRAY_GROW(names->functions, names->nr, names->cap);
	names->functions[names->nr++] = (struct function){.name = NULL};
	key_map_put(&names->at, owner, key, row);
	return row;
}

const struct php_functions *php_names_functions(const struct php_names *names)
{
	return names->objects;
}

/* --- reading --- */

static bool read_text(const struct search *search, struct function *function, enum text i,
		      uint64_t at)
{
	return php_text_read(search->php->layout, search->snapshot, search->space, at,
			     &function->texts[i]);
}

static bool read_class(const struct search *search, struct function *function)
{
	uint64_t at;

	return space_read_memory(search->space,
				 function->identity.scope + search->php->layout->class_name, &at,
				 sizeof(at)) &&
	       read_text(search, function, TEXT_CLASS, at);
}

/* Does the stop show another text in the place of one of its own? */
static bool is_contradicted(const struct search *search, const struct function *function)
{
	uint8_t bytes[PHP_TEXT_BYTES];

	for (int i = 0; i < NR_TEXTS; i++) {
		const struct php_text *text = &function->texts[i];

		if (text->text &&
		    snapshot_read_any(search->snapshot, text->at, bytes, text->nr_bytes) &&
		    !php_text_agrees(text, bytes))
			return true;
	}
	return false;
}

static char *name_of(const struct function *function)
{
	const char *name = function->texts[TEXT_NAME].text;
	const char *of_class = function->texts[TEXT_CLASS].text;

	if (!name)
		return xstrdup(function->identity.type == PHP_FUNCTION_EVAL ? NAME_OF_EVAL
									    : NAME_OF_FILE);
	return of_class ? xasprintf("%s::%s", of_class, name) : xstrdup(name);
}

static void count_text(struct php_names *names, const char *text)
{
	names->nr_text_bytes += text ? strlen(text) : 0;
}

/* Code of a file or of eval(), which may be in a method, has no name. */
static void read_function(const struct search *search, struct function *function,
			  const struct php_identity *identity)
{
	bool is_native = identity->type == PHP_FUNCTION_NATIVE;

	forget(function);
	function->identity = *identity;
	function->number = ++search->names->nr_numbers;
	function->seen_in = search->names->nr_calls;
	function->is_there =
		(identity->name ? read_text(search, function, TEXT_NAME, identity->name)
				: !is_native) &&
		(!identity->name || !identity->scope || read_class(search, function)) &&
		(is_native || read_text(search, function, TEXT_FILE, identity->file)) &&
		!is_contradicted(search, function);
	if (function->is_there)
		function->name = name_of(function);
	for (int i = 0; i < NR_TEXTS; i++)
		count_text(search->names, function->texts[i].text);
	count_text(search->names, function->name);
}

/* --- looking again --- */

/* The object of a function as the stop has shown it, or has left it; false: it may be another. */
static bool look_at(const struct search *search, uint64_t code, uint32_t *row)
{
	const struct php_layout *layout = search->php->layout;
	const struct php_source source = {
		.layout = layout, .snapshot = search->snapshot, .space = search->space};
	uint8_t head[PHP_FUNCTION_BYTES_MAX] = {0};
	struct php_identity identity;
	struct function *function;
	uint64_t key = code;

	if (!php_functions_prove(search->names->objects, &source, code, head))
		return false;
	identity = php_identity_of(&layout->function, head);
	if (identity.type != PHP_FUNCTION_NATIVE)
		key = identity.oplines;
	if (!key)
		return false;
	*row = row_of(search->names, &identity, key);
	function = &search->names->functions[*row];
	if (!function->name || !php_identity_is_same(&function->identity, &identity) ||
	    is_contradicted(search, function))
		read_function(search, function, &identity);
	return true;
}

/* Does the snapshot itself show that this text is the same? */
static bool is_copied(const struct search *search, const struct php_text *text)
{
	uint8_t bytes[PHP_TEXT_BYTES];

	return snapshot_read_any(search->snapshot, text->at, bytes, text->nr_bytes) &&
	       php_text_agrees(text, bytes);
}

static uint8_t *add_piece(struct php_names *names, uint64_t address, size_t nr_bytes)
{
	uint8_t *out = names->bytes + names->nr_pieces * PHP_TEXT_BYTES;

	names->pieces[names->nr_pieces++] =
		(struct memory_piece){.address = address, .out = out, .nr_bytes = nr_bytes};
	return out;
}

/* Texts that the snapshot lacks are read. */
static void add_texts(const struct search *search, struct function *function)
{
	function->first_piece = search->names->nr_pieces;
	for (int i = 0; i < NR_TEXTS; i++) {
		const struct php_text *text = &function->texts[i];

		if (text->text && !is_copied(search, text))
			add_piece(search->names, text->at, text->nr_bytes);
	}
	function->nr_pieces = search->names->nr_pieces - function->first_piece;
}

static void check_texts(const struct php_names *names, struct function *function)
{
	for (size_t i = 0; i < function->nr_pieces; i++) {
		const struct memory_piece *piece = &names->pieces[function->first_piece + i];
		/*
		 * Where the process has ended meanwhile, one that was known before is still what
		 * the stop has shown: what has a name lasts as long as what the program does.
		 */
		bool is_same = !piece->is_read && function->identity.name;

		for (int k = 0; k < NR_TEXTS && piece->is_read; k++)
			is_same |= function->texts[k].at == piece->address &&
				   php_text_agrees(&function->texts[k], piece->out);
		function->is_there &= is_same;
	}
	function->nr_pieces = 0;
}

/* --- places --- */

/*
 * An instruction that the stop has not shown is there, and the same, as long as its function is.
 * What has no name may have been dropped meanwhile: then others have its place, and it has no line.
 */
static void find_line(const struct search *search, const struct script_frame *frame,
		      struct looked_at *at)
{
	const struct php_layout *layout = search->php->layout;
	const struct function *function = &search->names->functions[at->row];
	uint64_t address = frame->instruction + layout->opline_line;

	at->code = frame->code;
	at->instruction = frame->instruction;
	at->has_line = frame->instruction &&
		       (snapshot_read_any(search->snapshot, address, &at->line, sizeof(at->line)) ||
			key_map_find(&search->names->lines, function->number, frame->instruction,
				     &at->line));
	at->piece = NO_PIECE;
	if (!frame->instruction || at->has_line)
		return;
	at->piece = search->names->nr_pieces;
	add_piece(search->names, address, sizeof(at->line));
	if (function->identity.name)
		return;
	add_piece(search->names, at->code, layout->function.nr_bytes);
	add_piece(search->names, function->texts[TEXT_FILE].at,
		  function->texts[TEXT_FILE].nr_bytes);
}

/* Is the function of that frame, which has no name, there still? */
static bool is_still(const struct search *search, const struct looked_at *at)
{
	const struct php_function_layout *layout = &search->php->layout->function;
	const struct function *function = &search->names->functions[at->row];
	const struct memory_piece *head = &search->names->pieces[at->piece + 1];
	const struct memory_piece *file = &search->names->pieces[at->piece + 2];
	struct php_identity identity;

	if (!head->is_read || !file->is_read)
		return false;
	identity = php_identity_of(layout, head->out);
	return php_identity_is_same(&identity, &function->identity) &&
	       php_text_agrees(&function->texts[TEXT_FILE], file->out);
}

static uint32_t line_of(const struct search *search, const struct looked_at *at)
{
	struct php_names *names = search->names;
	const struct function *function = &names->functions[at->row];
	const struct php_identity *identity = &function->identity;
	uint32_t line = at->line;

	if (at->has_line)
		return line;
	if (at->piece == NO_PIECE || !names->pieces[at->piece].is_read ||
	    (!identity->name && !is_still(search, at)))
		return 0;
	memcpy(&line, names->pieces[at->piece].out, sizeof(line));
	if (identity->name && (line < identity->first_line || line > identity->last_line))
		return 0;
	if (identity->name)
		key_map_put(&names->lines, function->number, at->instruction, line);
	return line;
}

static struct script_place place_of(const struct search *search, const struct looked_at *at)
{
	const struct function *function = &search->names->functions[at->row];

	if (!at->is_function || !function->is_there)
		return (struct script_place){.name = NULL};
	if (function->identity.type == PHP_FUNCTION_NATIVE)
		return (struct script_place){.name = function->name, .file = FILE_OF_NATIVE};
	return (struct script_place){.name = function->name,
				     .file = function->texts[TEXT_FILE].text,
				     .first_line = function->identity.first_line,
				     .line = line_of(search, at)};
}

/* They are read again, if ever: what is there now is another one, or none. */
static void forget_gone(struct php_names *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct looked_at *at = &names->looked_at[i];

		if (at->is_function && !names->functions[at->row].is_there)
			forget(&names->functions[at->row]);
	}
}

static void make_room(struct php_names *names, size_t nr)
{
	size_t nr_pieces = nr * (NR_TEXTS + 3); /* and the line, with what it is proved by */

	names->nr_pieces = 0;
	ARRAY_RESERVE(names->looked_at, nr, names->cap_looked_at);
	ARRAY_RESERVE(names->pieces, nr_pieces, names->cap_pieces);
	ARRAY_RESERVE(names->bytes, nr_pieces * PHP_TEXT_BYTES, names->cap_bytes);
}

void php_names_find(struct php_names *names, const struct php *php, struct space *space,
		    const struct snapshot *snapshot, const struct script_frame *frames, size_t nr,
		    struct script_place *places)
{
	const struct search search = {
		.names = names, .php = php, .space = space, .snapshot = snapshot};

	if (names->nr > FUNCTIONS_MAX || key_map_nr(&names->lines) > LINES_MAX ||
	    names->nr_text_bytes > TEXT_BYTES_MAX)
		forget_all(names);
	names->nr_calls++;
	php_functions_begin(names->objects, snapshot);
	make_room(names, nr);
	for (size_t i = 0; i < nr; i++) {
		struct looked_at *at = &names->looked_at[i];
		struct function *function;

		at->is_function = look_at(&search, frames[i].code, &at->row);
		if (!at->is_function)
			continue;
		function = &names->functions[at->row];
		at->number = function->number;
		if (function->seen_in != names->nr_calls)
			add_texts(&search, function);
		function->seen_in = names->nr_calls;
		find_line(&search, &frames[i], at);
	}
	space_read_pieces(space, names->pieces, names->nr_pieces);
	for (size_t i = 0; i < nr; i++) {
		struct looked_at *at = &names->looked_at[i];

		/* Another frame's function may have taken the row meanwhile. */
		at->is_function &= names->functions[at->row].number == at->number;
		if (at->is_function)
			check_texts(names, &names->functions[at->row]);
		places[i] = place_of(&search, at);
	}
	forget_gone(names, nr);
}
