// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks the contexts of Perl over copied bytes. */
#include "script/perl_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "script/object_bytes.h"
#include "script/perl.h"
#include "script/perl_contexts.h"
#include "script/perl_layout.h"
#include "script/perl_loops.h"
#include "script/perl_reader.h"
#include "script/perl_text.h"
#include "snapshot/snapshot.h"

/* --- threads --- */

#define KEYS_PER_BLOCK	32
#define KEY_BYTES	16 /* a number, and the value */
#define KEY_VALUE	8
#define MAIN_IS_RUNNING 4 /* PERL_PHASE_RUN */

/* glibc has the first block of a thread's keys just before the table, so that one range has both.
 */
#define FIRST_BYTES (KEYS_PER_BLOCK * KEY_BYTES)

/* The value of the thread's key; false: it cannot be read. */
static bool find_by_key(const struct perl *perl, uint64_t thread_pointer, perl_read_fn read,
			void *from, uint64_t *interpreter)
{
	uint64_t table = thread_pointer + perl->keys + perl->key / KEYS_PER_BLOCK * 8;
	uint64_t value_at = perl->key % KEYS_PER_BLOCK * KEY_BYTES + KEY_VALUE;
	uint8_t bytes[FIRST_BYTES + sizeof(uint64_t)];
	uint64_t block;

	*interpreter = 0;
	if (!read(from, table - FIRST_BYTES, bytes, sizeof(bytes)))
		return false;
	block = word_at(bytes, FIRST_BYTES);
	if (block == table - FIRST_BYTES)
		*interpreter = word_at(bytes, (uint32_t)value_at);
	else if (block)
		return read(from, block + value_at, interpreter, sizeof(*interpreter));
	return true;
}

/* A thread that was never stopped has no known thread pointer. */
uint64_t perl_find_thread(const struct perl *perl, const struct snapshot *snapshot,
			  perl_read_fn read, void *from)
{
	uint64_t interpreter = 0;

	if (snapshot->thread_pointer)
		find_by_key(perl, snapshot->thread_pointer, read, from, &interpreter);
	else if (snapshot->tid == snapshot->tgid)
		read(from, perl->first_address, &interpreter, sizeof(interpreter));
	return interpreter;
}

static bool read_copied(void *reader, uint64_t at, void *out, size_t nr_bytes)
{
	return perl_read(reader, at, out, nr_bytes);
}

/* --- the interpreter --- */

struct state {
	uint64_t jump, statement, stack, runops;
	int32_t phase;
};

static bool read_interpreter(const struct perl *perl, uint64_t interpreter,
			     struct perl_reader *reader, struct state *state)
{
	const struct perl_interpreter_layout *layout = &perl->layout->interpreter;
	uint32_t first = layout->statement;
	uint32_t nr_bytes = layout->phase - first + (uint32_t)sizeof(state->phase);
	uint8_t bytes[PERL_INTERPRETER_BYTES_MAX];

	/* One range is copied in less time than several that are small. */
	if (nr_bytes > sizeof(bytes) || !perl_read(reader, interpreter + first, bytes, nr_bytes))
		return false;
	state->statement = word_at(bytes, 0);
	state->stack = word_at(bytes, layout->stack - first);
	state->jump = word_at(bytes, layout->jump - first);
	state->runops = word_at(bytes, layout->runops - first);
	state->phase = int_at(bytes, layout->phase - first);
	return true;
}

static enum script_outcome read_state(const struct perl *perl, uint64_t interpreter,
				      struct perl_reader *reader, struct state *state)
{
	if (!perl_is_address(interpreter))
		return SCRIPT_NO_THREAD;
	return read_interpreter(perl, interpreter, reader, state) ? SCRIPT_PROVED
								  : SCRIPT_NOT_COPIED;
}

/* The thread may have another one since. */
static enum script_outcome check_key(const struct perl *perl, uint64_t interpreter,
				     struct perl_reader *reader)
{
	uint64_t thread_pointer = reader->snapshot->thread_pointer, found;

	if (!thread_pointer)
		return SCRIPT_NO_THREAD;
	if (!find_by_key(perl, thread_pointer, read_copied, reader, &found))
		return SCRIPT_NOT_COPIED;
	return found == interpreter ? SCRIPT_PROVED : SCRIPT_NO_THREAD;
}

/* --- walks --- */

struct walk {
	const struct perl *perl;
	struct perl_reader reader;
	struct state state;
	struct perl_loops loops;
	struct perl_context *contexts; /* owned; the innermost first */
	size_t nr, cap;
	struct script_walk *out;
};

static enum script_outcome take_contexts(struct walk *walk)
{
	struct perl_contexts contexts;
	struct perl_context context;

	perl_contexts_begin(&contexts, &walk->reader, walk->perl->layout, walk->state.stack);
	while (perl_contexts_next(&contexts, &context)) {
		ARRAY_GROW(walk->contexts, walk->nr, walk->cap);
		walk->contexts[walk->nr++] = context;
	}
	return contexts.outcome;
}

/* Is the operation that runs in the code of this function? */
static bool is_operation(const struct walk *walk, enum perl_function function)
{
	size_t loop = walk->loops.nr ? walk->loops.at[walk->loops.nr - 1] : 0;

	return loop && perl_loops_is_in(&walk->loops, loop - 1, function);
}

/*
 * Leave out the innermost context where that is beginning or ending. A sub that begins has not
 * changed the current statement yet; one that ends has it set back last.
 */
static enum script_outcome drop_partial(struct walk *walk)
{
	uint64_t statement;

	if (!walk->nr || !walk->contexts[0].is_partial)
		return SCRIPT_PROVED;
	statement = walk->contexts[0].statement;
	if (is_operation(walk, PERL_LEAVESUB) || is_operation(walk, PERL_LEAVESUBLV) ||
	    is_operation(walk, PERL_RETURN))
		walk->state.statement = statement;
	else if (!is_operation(walk, PERL_ENTERSUB) && statement != walk->state.statement)
		return SCRIPT_TORN;
	walk->nr--;
	memmove(walk->contexts, walk->contexts + 1, walk->nr * sizeof(*walk->contexts));
	return SCRIPT_PROVED;
}

static void push(struct walk *walk, uint64_t code, uint64_t statement, size_t loop)
{
	struct script_walk *out = walk->out;

	ARRAY_GROW(out->frames, out->nr_frames, out->cap_frames);
	out->frames[out->nr_frames++] = (struct script_frame){
		.code = code, .instruction = statement, .native = walk->loops.at[loop]};
}

static enum script_outcome push_all(struct walk *walk, const size_t *loop_of, bool has_main)
{
	uint64_t statement = walk->state.statement;

	for (size_t i = 0; i < walk->nr; i++) {
		const struct perl_context *context = &walk->contexts[i];

		if (loop_of[i] != PERL_NO_LOOP)
			push(walk, context->code, statement, loop_of[i]);
		statement = context->statement;
	}
	if (has_main)
		push(walk, PERL_MAIN, statement, 0);
	return SCRIPT_PROVED;
}

static enum script_outcome match(struct walk *walk)
{
	bool has_main = walk->state.phase == MAIN_IS_RUNNING;
	size_t *loop_of = xcalloc(walk->nr + 1, sizeof(*loop_of));
	enum script_outcome outcome = SCRIPT_TORN;

	if (perl_loops_match(&walk->loops, walk->contexts, walk->nr, &has_main, loop_of))
		outcome = push_all(walk, loop_of, has_main);
	free(loop_of);
	return outcome;
}

/*
 * A jump buffer on the thread's stack is of an interpreter that runs there. Where that runs another
 * one it may be the outer one's, too: then the inner one's subs stay native frames.
 */
static bool has_jump(const struct walk *walk)
{
	const struct script_native *natives = walk->loops.natives;
	size_t nr = walk->loops.nr_natives;

	return nr && walk->state.jump >= natives[0].sp && walk->state.jump < natives[nr - 1].sp;
}

static enum script_outcome walk_contexts(struct walk *walk, uint64_t interpreter)
{
	enum script_outcome outcome =
		read_state(walk->perl, interpreter, &walk->reader, &walk->state);

	/* Where the key's value is takes another page of memory to be copied. */
	if (outcome == SCRIPT_PROVED && !has_jump(walk))
		outcome = check_key(walk->perl, interpreter, &walk->reader);
	if (outcome != SCRIPT_PROVED)
		return outcome;
	/* Another function runs the operations, as one for debugging does. */
	if (walk->state.runops != walk->perl->runops)
		return SCRIPT_NO_NATIVE_FRAME;
	outcome = take_contexts(walk);
	if (outcome == SCRIPT_PROVED)
		outcome = drop_partial(walk);
	return outcome == SCRIPT_PROVED ? match(walk) : outcome;
}

/* --- what names begin with --- */

static void want_statement(struct perl_reader *reader, const struct perl_layout *layout,
			   uint64_t at, bool is_short_lived)
{
	uint32_t nr_bytes = layout->statement.nr_bytes;
	uint8_t bytes[PERL_OBJECT_BYTES_MAX];

	if (!perl_is_address(at) || !perl_read_object(reader, at, bytes, nr_bytes))
		return;
	/*
	 * The name of its file is gone as soon as an eval ends, or the file is compiled. One that
	 * is copied late is known, with its file.
	 */
	is_short_lived &= !snapshot_is_late(reader->snapshot, at, nr_bytes);
	if (is_short_lived || !(short_at(bytes, layout->statement.operation) & PERL_OPERATION))
		perl_read_object(reader, word_at(bytes, layout->statement.file), bytes,
				 PERL_FILE_BYTES_USUAL);
}

/* Subs that live for a moment, as closures, share a glob that stays. */
static void want_glob(struct perl_reader *reader, const struct perl_layout *layout, uint64_t at)
{
	uint8_t bytes[PERL_OBJECT_BYTES_MAX];
	uint64_t body;

	if (!perl_is_address(at) || !perl_read_object(reader, at, bytes, PERL_HEAD_BYTES))
		return;
	body = word_at(bytes, 0);
	if (perl_is_address(body))
		perl_read_object(reader, body, bytes, layout->sub.glob_bytes);
}

/* The name itself is read later; a sub that lives for a moment may be gone by then. */
static void want_name(struct perl_reader *reader, const struct perl_layout *layout,
		      const uint8_t *body)
{
	uint64_t at = word_at(body, layout->sub.glob);
	uint8_t bytes[PERL_OBJECT_BYTES_MAX];

	if (!(number_at(body, layout->sub.flags) & PERL_SUB_IS_NAMED))
		want_glob(reader, layout, at);
	else if (at)
		perl_read_object(reader, at, bytes, PERL_KEY_BYTES_USUAL);
}

/* True: it is one that lives for a moment. */
static bool want_sub(struct perl_reader *reader, const struct perl_layout *layout, uint64_t at,
		     bool is_short_lived)
{
	uint8_t bytes[PERL_OBJECT_BYTES_MAX];
	uint64_t body;

	if (at < PERL_PLACE_END || !perl_is_address(at) ||
	    !perl_read_object(reader, at, bytes, PERL_HEAD_BYTES))
		return is_short_lived;
	body = word_at(bytes, 0);
	if (!perl_is_address(body) || !perl_read_object(reader, body, bytes, layout->sub.nr_bytes))
		return is_short_lived;
	is_short_lived |= (number_at(bytes, layout->sub.flags) & PERL_SUB_IS_ANONYMOUS) != 0;
	if (is_short_lived && !snapshot_is_late(reader->snapshot, body, layout->sub.nr_bytes))
		want_name(reader, layout, bytes);
	want_statement(reader, layout, word_at(bytes, layout->sub.start), is_short_lived);
	return is_short_lived;
}

/* While Perl compiles the program, most that runs is of a BEGIN block, which runs once. */
static void want_objects(struct perl_reader *reader, const struct perl_layout *layout,
			 uint64_t code, uint64_t statement, bool is_short_lived)
{
	is_short_lived |= code == PERL_STRING || code == PERL_REQUIRE || code == PERL_DO;
	is_short_lived = want_sub(reader, layout, code, is_short_lived);
	want_statement(reader, layout, statement, is_short_lived);
}

/* --- all of it --- */

enum script_outcome perl_walk(const struct perl *perl, uint64_t interpreter,
			      const struct snapshot *snapshot, const struct script_native *natives,
			      size_t nr_natives, struct script_walk *out)
{
	struct walk walk = {
		.perl = perl,
		.reader = {.snapshot = snapshot, .wanted = &out->wanted, .wants_all = true},
		.out = out};
	enum script_outcome outcome;

	out->nr_frames = out->leaf_state = 0;
	out->wanted = (struct wanted_memory){.nr = 0};
	perl_loops_find(&walk.loops, perl, natives, nr_natives);
	outcome = walk_contexts(&walk, interpreter);
	for (size_t i = 0; i < out->nr_frames; i++)
		want_objects(&walk.reader, perl->layout, out->frames[i].code,
			     out->frames[i].instruction, walk.state.phase != MAIN_IS_RUNNING);
	perl_loops_release(&walk.loops);
	free(walk.contexts);
	return outcome;
}

/* Before there are registers there is no telling, and the key is hardly ever needed. */
static bool may_have_jump(const struct snapshot *snapshot, const struct state *state)
{
	const struct stack_region *stack = &snapshot->regions[0];

	return !snapshot->regs.known || (snapshot->nr_regions && stack->kind == REGION_STACK &&
					 state->jump - stack->start < stack->nr_bytes);
}

bool perl_find_missing(const struct perl *perl, uint64_t interpreter,
		       const struct snapshot *snapshot, struct wanted_memory *missing)
{
	struct perl_reader reader = {.snapshot = snapshot, .wanted = missing};
	struct perl_contexts contexts;
	struct perl_context context;
	uint64_t statement, last_code = 0, last_statement = 0;
	struct state state;

	if (!interpreter)
		interpreter = perl_find_thread(perl, snapshot, read_copied, &reader);
	if (missing->nr || !interpreter ||
	    read_state(perl, interpreter, &reader, &state) != SCRIPT_PROVED ||
	    (!may_have_jump(snapshot, &state) &&
	     check_key(perl, interpreter, &reader) != SCRIPT_PROVED))
		return missing->nr > 0;
	statement = state.statement;
	perl_contexts_begin(&contexts, &reader, perl->layout, state.stack);
	while (perl_contexts_next(&contexts, &context)) {
		/* A sub that calls itself is looked at once. */
		if (context.code != last_code || statement != last_statement)
			want_objects(&reader, perl->layout, context.code, statement,
				     state.phase != MAIN_IS_RUNNING);
		last_code = context.code;
		last_statement = statement;
		statement = context.statement;
	}
	if (contexts.outcome == SCRIPT_PROVED)
		want_objects(&reader, perl->layout, PERL_MAIN, statement, false);
	return missing->nr > 0;
}
