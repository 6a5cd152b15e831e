// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the names of Perl's subs, and the files and lines of its statements. */
#include "script/perl_names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/key_map.h"
#include "mapping/space.h"
#include "script/object_bytes.h"
#include "script/perl.h"
#include "script/perl_layout.h"
#include "script/perl_reader.h"
#include "script/perl_text.h"
#include "script/script_walk.h"
#include "script/steadiness.h"
#include "snapshot/snapshot.h"

/* All are forgotten once there are more: a program may compile for ever. */
#define OBJECTS_MAX    65536
#define TEXT_BYTES_MAX (UINT64_C(64) << 20)

/* Tells a statement from another one in its place. */
struct statement {
	uint64_t at, file_at;
	uint32_t sequence, line;
	bool is_there, is_late; /* it was not in the snapshot */
	bool is_compiling;	/* the statement that is being compiled: it changes all the time */
};

struct known_statement {
	struct statement is;
	char *file;	  /* owned; NULL: not known */
	uint32_t seen_in; /* the call in which it was looked at last */
	struct steadiness steadiness;
};

/* The glob that gives a sub its name; the name is 0 if the snapshot lacks it. */
struct glob {
	uint64_t at, name, package;
};

/* Tells a sub from another one in its place: its body, its glob, its first statement. */
struct sub {
	uint64_t at, body, package, start, root;
	struct glob glob;
	uint32_t flags, sequence, first_line;
	bool is_there, is_late;
};

struct known_sub {
	struct sub is;
	char *name;	 /* owned; NULL: not known */
	bool was_copied; /* a snapshot had it */
	bool is_unsure;	 /* this one lacked it, and may have had another in its place */
	uint32_t seen_in;
	struct steadiness steadiness;
};

struct perl_names {
	const struct perl_layout *layout;
	struct known_statement *statements; /* owned, as are the subs */
	size_t nr_statements, cap_statements;
	struct known_sub *subs;
	size_t nr_subs, cap_subs;
	struct key_map statement_at, sub_at, body_at, start_at;
	uint64_t nr_text_bytes;
	struct steady_walks walks;
	struct steady_walks compiling; /* likewise, but for closures in the place of others */
};

/* Memory as it was in a stop, as far as the snapshot has it, else as it is now. */
struct source {
	struct space *space;
	const struct snapshot *snapshot; /* NULL: all is as it is now */
};

struct perl_names *perl_names_new(const struct perl_layout *layout)
{
	struct perl_names *names = xcalloc(1, sizeof(*names));

	names->layout = layout;
	return names;
}

static void forget_all(struct perl_names *names)
{
	for (size_t i = 0; i < names->nr_statements; i++)
		free(names->statements[i].file);
	for (size_t i = 0; i < names->nr_subs; i++)
		free(names->subs[i].name);
	names->nr_statements = names->nr_subs = 0;
	names->nr_text_bytes = 0;
	key_map_release(&names->statement_at);
	key_map_release(&names->sub_at);
	key_map_release(&names->body_at);
	key_map_release(&names->start_at);
}

void perl_names_free(struct perl_names *names)
{
	if (!names)
		return;
	forget_all(names);
	free(names->statements);
	free(names->subs);
	free(names);
}

static bool read_at(const struct source *source, uint64_t at, void *out, size_t nr_bytes,
		    bool *is_late)
{
	if (source->snapshot && snapshot_read_any(source->snapshot, at, out, nr_bytes))
		return true;
	*is_late = true;
	return (source->snapshot && snapshot_read_late(source->snapshot, at, out, nr_bytes)) ||
	       space_read_memory(source->space, at, out, nr_bytes);
}

static void count_text(struct perl_names *names, const char *text)
{
	names->nr_text_bytes += text ? strlen(text) : 0;
}

/* A sub is compiled once, but the same closure may be made, and freed, again and again. */
static bool is_closure(const struct sub *sub)
{
	return sub->flags & PERL_SUB_IS_ANONYMOUS || !sub->sequence;
}

/*
 * Where closures alone come and go, what was compiled stays. None has its number again, so that it
 * was there in a stop if it was before and is after.
 */
static bool is_steady_sub(const struct perl_names *names, const struct known_sub *known)
{
	return steadiness_is_given(&known->steadiness,
				   is_closure(&known->is) ? &names->walks : &names->compiling);
}

/* The first statement of a sub stays as long as that, and is checked with it. */
static bool is_steady_start(const struct perl_names *names, uint64_t at)
{
	uint32_t row;

	return key_map_find(&names->start_at, 0, at, &row) && names->subs[row].is.start == at &&
	       is_steady_sub(names, &names->subs[row]);
}

bool perl_names_is_steady(const struct perl_names *names, uint64_t at, uint64_t nr_bytes)
{
	uint32_t row;

	if (nr_bytes == names->layout->statement.nr_bytes)
		return (key_map_find(&names->statement_at, 0, at, &row) &&
			steadiness_is_given(&names->statements[row].steadiness,
					    &names->compiling)) ||
		       is_steady_start(names, at);
	return ((nr_bytes == PERL_HEAD_BYTES && key_map_find(&names->sub_at, 0, at, &row)) ||
		(nr_bytes == names->layout->sub.nr_bytes &&
		 key_map_find(&names->body_at, 0, at, &row) && names->subs[row].is.body == at)) &&
	       is_steady_sub(names, &names->subs[row]);
}

/* --- statements --- */

static struct statement read_statement(const struct perl_layout *layout,
				       const struct source *source, uint64_t at)
{
	const struct perl_statement_layout *offsets = &layout->statement;
	struct statement statement = {.at = at};
	uint8_t bytes[PERL_OBJECT_BYTES_MAX];
	unsigned int kind;

	if (!perl_is_address(at) ||
	    !read_at(source, at, bytes, offsets->nr_bytes, &statement.is_late))
		return statement;
	kind = short_at(bytes, offsets->operation) & PERL_OPERATION;
	statement.file_at = word_at(bytes, offsets->file);
	statement.sequence = number_at(bytes, offsets->sequence);
	statement.line = number_at(bytes, offsets->line);
	statement.is_compiling = !kind;
	statement.is_there = !kind || kind == layout->operations.statement ||
			     kind == layout->operations.debugged_statement;
	return statement;
}

static bool is_same_statement(const struct statement *a, const struct statement *b)
{
	return a->is_there && b->is_there && a->is_compiling == b->is_compiling &&
	       a->file_at == b->file_at &&
	       (a->is_compiling || (a->sequence == b->sequence && a->line == b->line));
}

static void look_at_statement(struct perl_names *names, const struct source *source,
			      struct known_statement *known)
{
	const struct source now = {.space = source->space};
	struct statement is = read_statement(names->layout, source, known->is.at), later;
	bool is_late = is.is_late;
	bool is_known = known->file && !is.is_compiling && is_same_statement(&is, &known->is);

	if (known->file && !is_known && !is.is_compiling) {
		steady_walks_replaced(&names->walks);
		steady_walks_replaced(&names->compiling);
	}
	steadiness_seen(&known->steadiness, &names->walks, is_known);
	known->is = is;
	if (is_known)
		return;
	free(known->file);
	known->file =
		is.is_there ? perl_file_name(source->space, source->snapshot, is.file_at, &is_late)
			    : NULL;
	count_text(names, known->file);
	known->is.is_there = known->file != NULL;
	if (!known->file || !is_late)
		return;
	later = read_statement(names->layout, &now, is.at);
	known->is.is_there =
		is_same_statement(&is, &later) && !(is.is_late && names->walks.has_replaced);
}

/* Valid until the next call. */
static const struct known_statement *statement_at(struct perl_names *names,
						  const struct source *source, uint64_t at)
{
	static const struct known_statement none;
	struct known_statement *known;
	uint32_t row;

	if (!perl_is_address(at))
		return &none;
	if (!key_map_find(&names->statement_at, 0, at, &row)) {
		row = (uint32_t)names->nr_statements;
		ARRAY_GROW(names->statements, names->nr_statements, names->cap_statements);
		names->statements[names->nr_statements++] =
			(struct known_statement){.is = {.at = at}};
		key_map_put(&names->statement_at, 0, at, row);
	}
	known = &names->statements[row];
	if (known->seen_in != names->walks.nr)
		look_at_statement(names, source, known);
	known->seen_in = names->walks.nr;
	return known;
}

/* --- subs --- */

enum { TYPE_MASK = 0xff, TYPE_GLOB = 9, TYPE_SUB = 13 };

/* From the snapshot alone; without one from the process. */
static bool read_glob_at(const struct source *source, uint64_t at, void *out, size_t nr_bytes)
{
	return source->snapshot ? snapshot_read_any(source->snapshot, at, out, nr_bytes)
				: space_read_memory(source->space, at, out, nr_bytes);
}

static struct glob read_glob(const struct perl_layout *layout, const struct source *source,
			     uint64_t at)
{
	uint8_t head[PERL_HEAD_BYTES], body[PERL_OBJECT_BYTES_MAX];
	struct glob glob = {.at = at};

	if (!perl_is_address(at) || !read_glob_at(source, at, head, sizeof(head)) ||
	    (int_at(head, PERL_HEAD_FLAGS) & TYPE_MASK) != TYPE_GLOB ||
	    !read_glob_at(source, word_at(head, 0), body, layout->sub.glob_bytes))
		return glob;
	glob.name = word_at(body, layout->sub.glob_name);
	glob.package = word_at(body, layout->sub.glob_package);
	return glob;
}

static bool is_same_glob(const struct glob *a, const struct glob *b)
{
	return a->at == b->at &&
	       (!a->name || !b->name || (a->name == b->name && a->package == b->package));
}

static struct sub read_sub(const struct perl_layout *layout, const struct source *source,
			   uint64_t at, uint8_t *body)
{
	const struct perl_sub_layout *offsets = &layout->sub;
	uint8_t head[PERL_HEAD_BYTES];
	struct sub sub = {.at = at};
	struct statement start;

	if (!perl_is_address(at) || !read_at(source, at, head, sizeof(head), &sub.is_late) ||
	    (int_at(head, PERL_HEAD_FLAGS) & TYPE_MASK) != TYPE_SUB)
		return sub;
	sub.body = word_at(head, 0);
	if (!perl_is_address(sub.body) ||
	    !read_at(source, sub.body, body, offsets->nr_bytes, &sub.is_late))
		return sub;
	sub.package = word_at(body, offsets->package);
	sub.start = word_at(body, offsets->start);
	sub.root = word_at(body, offsets->root);
	sub.flags = number_at(body, offsets->flags);
	sub.glob.at = word_at(body, offsets->glob);
	if (!(sub.flags & PERL_SUB_IS_NAMED))
		sub.glob = read_glob(layout, source, sub.glob.at);
	start = read_statement(layout, source, sub.start);
	sub.is_late |= start.is_late;
	if (start.is_there) {
		sub.sequence = start.sequence;
		sub.first_line = start.line;
	}
	sub.is_there = true;
	return sub;
}

static bool is_same_sub(const struct sub *a, const struct sub *b)
{
	return a->is_there && b->is_there && a->body == b->body && a->package == b->package &&
	       a->start == b->start && a->root == b->root && is_same_glob(&a->glob, &b->glob) &&
	       a->flags == b->flags && a->sequence == b->sequence && a->first_line == b->first_line;
}

/* Is the name that was just read that of the sub in the snapshot? */
static bool is_still(struct perl_names *names, const struct source *source, const struct sub *is,
		     bool is_copied)
{
	const struct source now = {.space = source->space};
	uint8_t ignored[PERL_OBJECT_BYTES_MAX];
	struct glob glob;
	struct sub later;

	if (is->is_late && names->walks.has_replaced)
		return false;
	if (!is->is_late && is_copied)
		return true;
	later = read_sub(names->layout, &now, is->at, ignored);
	if (is_same_sub(is, &later))
		return true;
	/* It is gone; its glob was in the snapshot, and still gives the same name. */
	glob = read_glob(names->layout, &now, is->glob.at);
	return !is->is_late && is->glob.name && glob.name && is_same_glob(&is->glob, &glob);
}

/*
 * A known sub that was read late. It was there in the stop, too, if it has been there since a
 * snapshot before; while closures come and go another one may have had the place of one.
 */
static bool may_be_another(const struct perl_names *names, const struct known_sub *known)
{
	return known->is.is_late && names->walks.has_replaced &&
	       (is_closure(&known->is) || !known->was_copied) && !is_steady_sub(names, known);
}

static void note_replaced(struct perl_names *names, const struct sub *former, const struct sub *is)
{
	steady_walks_replaced(&names->walks);
	if (!is_closure(former) || (is->is_there && !is_closure(is)))
		steady_walks_replaced(&names->compiling);
}

static void look_at_sub(struct perl_names *names, const struct source *source,
			struct known_sub *known)
{
	uint8_t body[PERL_OBJECT_BYTES_MAX];
	struct sub is = read_sub(names->layout, source, known->is.at, body);
	bool is_known = known->name && is_same_sub(&is, &known->is), is_copied = false;

	if (known->name && !is_known)
		note_replaced(names, &known->is, &is);
	known->is = is;
	known->was_copied = !is.is_late || (is_known && known->was_copied);
	known->is_unsure = is_known && may_be_another(names, known);
	if (!known->is_unsure)
		steadiness_seen(&known->steadiness, &names->walks, is_known);
	if (is_known)
		return;
	free(known->name);
	known->name = is.is_there ? perl_sub_name(names->layout, source->space, source->snapshot,
						  body, &is_copied)
				  : NULL;
	count_text(names, known->name);
	known->is.is_there = known->name && is_still(names, source, &is, is_copied);
	if (perl_is_address(is.body))
		key_map_put(&names->body_at, 0, is.body, (uint32_t)(known - names->subs));
	if (perl_is_address(is.start))
		key_map_put(&names->start_at, 0, is.start, (uint32_t)(known - names->subs));
}

/* Valid until the next call. */
static const struct known_sub *sub_at(struct perl_names *names, const struct source *source,
				      uint64_t at)
{
	static const struct known_sub none;
	struct known_sub *known;
	uint32_t row;

	if (!perl_is_address(at))
		return &none;
	if (!key_map_find(&names->sub_at, 0, at, &row)) {
		row = (uint32_t)names->nr_subs;
		ARRAY_GROW(names->subs, names->nr_subs, names->cap_subs);
		names->subs[names->nr_subs++] = (struct known_sub){.is = {.at = at}};
		key_map_put(&names->sub_at, 0, at, row);
	}
	known = &names->subs[row];
	if (known->seen_in != names->walks.nr)
		look_at_sub(names, source, known);
	known->seen_in = names->walks.nr;
	return known;
}

/* --- frames --- */

static const char *const place_names[PERL_PLACE_END] = {
	[PERL_MAIN] = "(main)",	      [PERL_EVAL] = "(eval)",	    [PERL_STRING] = "(eval)",
	[PERL_TRY] = "(try)",	      [PERL_REQUIRE] = "(require)", [PERL_DO] = "(do)",
	[PERL_SORT] = "(sort block)", [PERL_DEFER] = "(defer)",	    [PERL_REGEX] = "(regex code)",
	[PERL_FORMAT] = "(format)",
};

/* 0: the frame is of no sub, or that is gone. */
static uint64_t start_of(struct perl_names *names, const struct source *source, uint64_t code)
{
	const struct known_sub *sub = code < PERL_PLACE_END ? NULL : sub_at(names, source, code);

	return sub && sub->is.is_there && !sub->is_unsure ? sub->is.start : 0;
}

/*
 * The statement that a frame is at. A sub has just been called, and has begun none of its own,
 * while the current one is still its caller's: then it is at its first. One that calls itself may
 * be at the same statement as its caller.
 */
static uint64_t statement_of(struct perl_names *names, const struct source *source,
			     const struct script_frame *frame, const struct script_frame *caller)
{
	uint64_t start = start_of(names, source, frame->code);

	if (!caller || !start || caller->instruction != frame->instruction ||
	    start_of(names, source, caller->code) == start)
		return frame->instruction;
	return statement_at(names, source, start)->is.is_there ? start : frame->instruction;
}

/* The first line of what is no sub; 0: it is not known. */
static uint32_t first_line_of(uint64_t code, const struct script_place *caller)
{
	bool is_text =
		code == PERL_MAIN || code == PERL_STRING || code == PERL_REQUIRE || code == PERL_DO;

	if (is_text)
		return 1;
	/* A block begins where it is entered. */
	return caller && code != PERL_FORMAT ? caller->line : 0;
}

static struct script_place place_of(struct perl_names *names, const struct source *source,
				    const struct script_frame *frame,
				    const struct script_frame *caller,
				    const struct script_place *caller_place)
{
	uint64_t at = statement_of(names, source, frame, caller);
	const struct known_statement *statement = statement_at(names, source, at);
	struct script_place place = {.name = NULL};

	/* The text of an eval is there no longer than that runs. */
	if (!statement->is.is_there && frame->code == PERL_STRING)
		return (struct script_place){.name = place_names[PERL_STRING],
					     .file = place_names[PERL_STRING]};
	if (!statement->is.is_there)
		return place;
	place.file = statement->file;
	place.line = statement->is.line;
	if (frame->code < PERL_PLACE_END) {
		place.name = place_names[frame->code];
		place.first_line = first_line_of(frame->code, caller_place);
	} else {
		const struct known_sub *sub = sub_at(names, source, frame->code);

		place.name = sub->is.is_there && !sub->is_unsure ? sub->name : NULL;
		place.first_line = sub->is.first_line;
	}
	return place;
}

void perl_names_find(struct perl_names *names, struct space *space, const struct snapshot *snapshot,
		     const struct script_frame *frames, size_t nr, struct script_place *places)
{
	const struct source source = {.space = space, .snapshot = snapshot};

	if (names->nr_statements > OBJECTS_MAX || names->nr_subs > OBJECTS_MAX ||
	    key_map_nr(&names->body_at) > OBJECTS_MAX ||
	    key_map_nr(&names->start_at) > OBJECTS_MAX || names->nr_text_bytes > TEXT_BYTES_MAX)
		forget_all(names);
	steady_walks_begin(&names->walks, snapshot->time_ns);
	steady_walks_begin(&names->compiling, snapshot->time_ns);
	for (size_t i = nr; i-- > 0;) {
		bool has_caller = i + 1 < nr;

		places[i] = place_of(names, &source, &frames[i], has_caller ? &frames[i + 1] : NULL,
				     has_caller ? &places[i + 1] : NULL);
	}
}
