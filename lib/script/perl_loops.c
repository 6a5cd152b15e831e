// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds which contexts of Perl belong to which native loop, and proves it. */
#include "script/perl_loops.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "script/perl_contexts.h"
#include "script/script_walk.h"

bool perl_loops_is_in(const struct perl_loops *loops, size_t i, enum perl_function function)
{
	const struct perl_code *code = &loops->perl->code[function];
	const struct script_native *native = &loops->natives[i];

	return native->is_interpreter && native->address >= code->start &&
	       native->address < code->end;
}

void perl_loops_find(struct perl_loops *loops, const struct perl *perl,
		     const struct script_native *natives, size_t nr_natives)
{
	*loops = (struct perl_loops){.perl = perl,
				     .natives = natives,
				     .nr_natives = nr_natives,
				     .at = xcalloc(nr_natives + 1, sizeof(*loops->at))};
	/* The outermost native frame has no caller to prove it by. */
	for (size_t i = nr_natives; i-- > 0;) {
		if (i + 1 < nr_natives && perl_loops_is_in(loops, i, PERL_RUNOPS))
			loops->at[loops->nr++] = i;
	}
}

void perl_loops_release(struct perl_loops *loops)
{
	free(loops->at);
	*loops = (struct perl_loops){.nr = 0};
}

/* The native frame that has this address of the stack; nr_natives: none has. */
static size_t native_at(const struct perl_loops *loops, uint64_t address)
{
	size_t low = 0, high = loops->nr_natives;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (loops->natives[middle].sp <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && low < loops->nr_natives ? low - 1 : loops->nr_natives;
}

/* How many loops are outside of native frame i. */
static size_t nr_outside(const struct perl_loops *loops, size_t i)
{
	size_t low = 0, high = loops->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (loops->at[middle] > i)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* --- which loop --- */

struct match {
	const struct perl_loops *loops;
	size_t nr;     /* loops that have a context so far: the last of them is the current one */
	bool is_exact; /* each loop has one, and each context that must have one has one */
	bool last_begins; /* do subs that may be the last operation of a block begin a loop? */
};

static size_t current(const struct match *match)
{
	return match->nr ? match->nr - 1 : PERL_NO_LOOP;
}

/* Is the next loop called by one of the functions of C that call subs? */
static bool next_is_call(const struct match *match)
{
	size_t caller = match->loops->at[match->nr] + 1;

	return perl_loops_is_in(match->loops, caller, PERL_CALL_SV) ||
	       perl_loops_is_in(match->loops, caller, PERL_AMAGIC);
}

static size_t begin_loop(struct match *match)
{
	return match->nr++;
}

/* Only a context that is beginning or ending has no loop. */
static bool has_none(struct match *match, bool is_innermost, size_t *loop)
{
	*loop = PERL_NO_LOOP;
	match->is_exact = false;
	return is_innermost;
}

static bool match_eval(struct match *match, const struct perl_context *context, bool is_innermost,
		       size_t *loop)
{
	const struct perl_loops *loops = match->loops;
	size_t jump = native_at(loops, context->jump);
	size_t found = jump < loops->nr_natives ? nr_outside(loops, jump) : SIZE_MAX;

	/* Its jump buffer is in the native frame that called a loop, for it. */
	if (found == match->nr && found < loops->nr && jump == loops->at[found] + 1 &&
	    !next_is_call(match)) {
		*loop = begin_loop(match);
		return true;
	}
	*loop = current(match);
	if (context->is_fake || found + 1 == match->nr)
		return true;
	return found == match->nr && found == loops->nr && has_none(match, is_innermost, loop);
}

/* False: it has no loop where it must have one. */
static bool match_context(struct match *match, const struct perl_context *context,
			  bool is_innermost, bool is_last, size_t *loop)
{
	bool has_next = match->nr < match->loops->nr;

	switch (context->begins) {
	case PERL_BEGINS_NONE:
		break;
	case PERL_BEGINS_SUB:
		if (is_last && !match->last_begins)
			break;
		if (!has_next)
			return has_none(match, is_innermost, loop);
		if (!next_is_call(match))
			return false;
		*loop = begin_loop(match);
		return true;
	case PERL_BEGINS_DIRECTLY:
		*loop = has_next && !next_is_call(match) ? begin_loop(match) : PERL_NO_LOOP;
		return true;
	case PERL_BEGINS_EVAL:
		return match_eval(match, context, is_innermost, loop);
	}
	*loop = current(match);
	return true;
}

static bool is_last_of_block(const struct perl_context *contexts, size_t nr, size_t i)
{
	return contexts[i].may_be_last && i + 1 < nr &&
	       (contexts[i + 1].code == PERL_SORT || contexts[i + 1].code == PERL_REGEX);
}

static bool match_all(struct match *match, const struct perl_context *contexts, size_t nr,
		      size_t *loop_of)
{
	for (size_t i = nr; i-- > 0;) {
		if (!match_context(match, &contexts[i], i == 0, is_last_of_block(contexts, nr, i),
				   &loop_of[i]))
			return false;
	}
	/* The context of the innermost loop may have ended already. */
	match->is_exact &= match->nr == match->loops->nr;
	return match->nr + 1 >= match->loops->nr;
}

static bool is_main(const struct perl_loops *loops)
{
	for (size_t i = loops->nr ? loops->at[0] + 1 : loops->nr_natives; i < loops->nr_natives;
	     i++) {
		if (perl_loops_is_in(loops, i, PERL_RUN))
			return true;
	}
	return false;
}

bool perl_loops_match(const struct perl_loops *loops, const struct perl_context *contexts,
		      size_t nr_contexts, bool *has_main, size_t *loop_of)
{
	bool is_ambiguous = false;

	*has_main = *has_main && is_main(loops);
	for (size_t i = 0; i < nr_contexts; i++)
		is_ambiguous |= is_last_of_block(contexts, nr_contexts, i);
	for (int i = 0; i < (is_ambiguous ? 2 : 1); i++) {
		struct match match = {
			.loops = loops, .nr = *has_main, .is_exact = true, .last_begins = i != 0};

		/* The number of loops tells which of the two it is. */
		if (match_all(&match, contexts, nr_contexts, loop_of) &&
		    (match.is_exact || !is_ambiguous))
			return true;
	}
	return false;
}
