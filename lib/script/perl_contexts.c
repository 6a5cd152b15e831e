// SPDX-License-Identifier: GPL-2.0-or-later
/* Goes through the stacks of contexts of Perl, over copied bytes. */
#include "script/perl_contexts.h"

#include "script/object_bytes.h"
#include "script/perl.h"
#include "script/perl_layout.h"
#include "script/perl_reader.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

/* A stack for each sort, each operator that is overloaded, and so on, that runs. */
#define STACKS_MAX 64
/* Some more than are in use are wanted: the next sample may be deeper. */
#define CONTEXTS_SLACK 4

/* Flags of contexts. */
#define SUB_MULTICALL  0x10
#define SUB_REGEX_FAKE 0x80 /* code of a regular expression, without a sub */
#define EVAL_BLOCK     0x40
#define EVAL_TRY       0x80

/* The kind of operation, in the half word that has some flags as well. */
#define OPERATION_SHIFT 7

enum stack_type { STACK_MAIN = 1, STACK_SORT = 3 };

static bool fail(struct perl_contexts *contexts, enum script_outcome outcome)
{
	contexts->outcome = outcome;
	return false;
}

/* --- stacks --- */

static bool enter_stack(struct perl_contexts *contexts, uint64_t at)
{
	const struct perl_stack_layout *layout = &contexts->layout->stack;
	uint64_t nr_bytes = contexts->layout->context.nr_bytes;
	uint8_t stack[PERL_OBJECT_BYTES_MAX];

	if (contexts->nr_stacks++ == STACKS_MAX)
		return fail(contexts, SCRIPT_TOO_DEEP);
	if (!perl_is_address(at))
		return fail(contexts, SCRIPT_TORN);
	if (!perl_read(contexts->reader, at, stack, layout->nr_bytes))
		return fail(contexts, SCRIPT_NOT_COPIED);
	contexts->contexts = word_at(stack, layout->contexts);
	contexts->previous = word_at(stack, layout->previous);
	contexts->index = contexts->top = int_at(stack, layout->index);
	contexts->sub_index = int_at(stack, layout->sub_index);
	contexts->type = int_at(stack, layout->type);
	if (contexts->index < -1 || !perl_is_address(contexts->contexts))
		return fail(contexts, SCRIPT_TORN);
	/* Larger ones are never copied. */
	contexts->nr_bytes += ((uint64_t)contexts->index + 1) * nr_bytes;
	if (contexts->nr_bytes > WANTED_BYTES_MAX)
		return fail(contexts, SCRIPT_TOO_DEEP);
	if (contexts->reader->wants_all && contexts->index >= 0)
		perl_want(contexts->reader, contexts->contexts,
			  ((uint64_t)contexts->index + 1 + CONTEXTS_SLACK) * nr_bytes);
	return true;
}

void perl_contexts_begin(struct perl_contexts *contexts, struct perl_reader *reader,
			 const struct perl_layout *layout, uint64_t stack)
{
	*contexts = (struct perl_contexts){
		.reader = reader, .layout = layout, .outcome = SCRIPT_PROVED};
	enter_stack(contexts, stack);
}

/* False: this was the last one. */
static bool leave_stack(struct perl_contexts *contexts)
{
	/* Subs and evals have a chain of their own, which has to end here, too. */
	if (contexts->sub_index >= 0)
		return fail(contexts, SCRIPT_TORN);
	return contexts->type != STACK_MAIN && contexts->previous &&
	       enter_stack(contexts, contexts->previous);
}

/* --- contexts --- */

static uint64_t place_of_eval(const struct perl_layout *layout, const uint8_t *bytes)
{
	unsigned int kind = short_at(bytes, layout->context.operation) >> OPERATION_SHIFT;

	if (bytes[0] & EVAL_TRY)
		return PERL_TRY;
	if (bytes[0] & EVAL_BLOCK)
		return PERL_EVAL;
	if (kind == layout->operations.require)
		return PERL_REQUIRE;
	return kind == layout->operations.do_file ? PERL_DO : PERL_STRING;
}

static void take_sub(const struct perl_contexts *contexts, const uint8_t *bytes, bool is_second,
		     struct perl_context *context)
{
	const struct perl_context_layout *layout = &contexts->layout->context;

	context->code = word_at(bytes, layout->sub);
	if (bytes[0] & SUB_MULTICALL)
		context->begins = PERL_BEGINS_DIRECTLY;
	else if (!word_at(bytes, layout->next))
		context->begins = PERL_BEGINS_SUB;
	/* The second of a stack: the first may be a block without an end. */
	context->may_be_last = context->begins == PERL_BEGINS_SUB && is_second;
	if (bytes[0] & SUB_REGEX_FAKE)
		context->code = PERL_REGEX;
}

static void take_eval(const struct perl_contexts *contexts, const uint8_t *bytes,
		      struct perl_context *context)
{
	const struct perl_context_layout *layout = &contexts->layout->context;

	context->code = place_of_eval(contexts->layout, bytes);
	context->jump = word_at(bytes, layout->jump);
	context->begins = PERL_BEGINS_EVAL;
	context->is_fake = context->code == PERL_EVAL && !word_at(bytes, layout->next);
}

/* The chain has each context of a sub, format or eval that has quite begun. */
static bool follow_chain(struct perl_contexts *contexts, const uint8_t *bytes, int32_t index,
			 struct perl_context *context)
{
	bool is_innermost = contexts->nr_stacks == 1 && index == contexts->top;

	if (index == contexts->sub_index) {
		contexts->sub_index = int_at(bytes, contexts->layout->context.sub_index);
		if (contexts->sub_index >= index)
			return fail(contexts, SCRIPT_TORN);
		context->is_partial = !context->code;
	} else {
		context->is_partial = true;
	}
	return !context->is_partial || is_innermost || fail(contexts, SCRIPT_TORN);
}

/* False: it is of another kind, or the outcome says why. */
static bool take_context(struct perl_contexts *contexts, const uint8_t *bytes, int32_t index,
			 struct perl_context *context)
{
	*context = (struct perl_context){
		.statement = word_at(bytes, contexts->layout->context.statement)};
	switch (bytes[0] & PERL_CONTEXT_MASK) {
	case PERL_CONTEXT_SUB:
		take_sub(contexts, bytes, index == 1, context);
		return follow_chain(contexts, bytes, index, context);
	case PERL_CONTEXT_FORMAT:
		context->code = PERL_FORMAT;
		return follow_chain(contexts, bytes, index, context);
	case PERL_CONTEXT_EVAL:
		take_eval(contexts, bytes, context);
		return context->code == PERL_TRY || follow_chain(contexts, bytes, index, context);
	case PERL_CONTEXT_NULL:
		context->code = PERL_SORT;
		context->begins = PERL_BEGINS_DIRECTLY;
		return index == 0 && contexts->type == STACK_SORT;
	case PERL_CONTEXT_DEFER:
		context->code = PERL_DEFER;
		context->begins = PERL_BEGINS_DIRECTLY;
		return true;
	}
	return false;
}

bool perl_contexts_next(struct perl_contexts *contexts, struct perl_context *context)
{
	uint64_t nr_bytes = contexts->layout->context.nr_bytes;
	uint8_t bytes[PERL_OBJECT_BYTES_MAX];

	while (contexts->outcome == SCRIPT_PROVED) {
		int32_t index = contexts->index;

		if (index < 0) {
			if (!leave_stack(contexts))
				return false;
			continue;
		}
		contexts->index--;
		if (!snapshot_read_any(contexts->reader->snapshot,
				       contexts->contexts + (uint64_t)index * nr_bytes, bytes,
				       nr_bytes)) {
			perl_want(contexts->reader, contexts->contexts,
				  ((uint64_t)contexts->top + 1 + CONTEXTS_SLACK) * nr_bytes);
			return fail(contexts, SCRIPT_NOT_COPIED);
		}
		if (take_context(contexts, bytes, index, context))
			return true;
	}
	return false;
}
