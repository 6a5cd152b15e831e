// SPDX-License-Identifier: GPL-2.0-or-later
/* The rule about pools of threads that all have work, beside a thread that gives it to them. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/wait_function.h"
#include "profile/profile.h"
#include "verdict/rule_priv.h"
#include "verdict/verdict.h"
#include "view/number.h"

/* All threads of the pool have work at once for this share of the time. */
#define ALL_BUSY_PERCENT 50
/* A thread that waits for events for this share of its life gives work to others. */
#define LISTENING_PERCENT 50

/* Threads of one process that began with the same function. */
struct pool {
	uint32_t label;
	uint32_t nr; /* 0: there is no such pool */
	uint64_t all_busy_ns;
	struct tally cpu;
};

struct member {
	uint32_t label, process, row;
};

struct span {
	uint64_t from_ns, to_ns;
};

static uint64_t span_ns(struct span span)
{
	return span.to_ns > span.from_ns ? span.to_ns - span.from_ns : 0;
}

/* The selected part of the life of a thread. */
static struct span span_of(const struct facts *facts, size_t row)
{
	const struct profile_thread *thread = &facts->profile->threads[row];
	uint64_t end_ns = thread->end_ns ? thread->end_ns : facts->profile->meta.duration_ns;

	return (struct span){max_u64(thread->start_ns, facts->selection->from_ns),
			     min_u64(end_ns, facts->selection->to_ns)};
}

/*
 * By process: does a thread of it wait for events, and have two others work most of the time? Only
 * there first functions are looked for, which takes time. False: in no process.
 */
static bool find_candidates(const struct facts *facts, bool *is_candidate)
{
	const struct profile *profile = facts->profile;
	cleanup_free bool *listens = xcalloc(profile->nr_processes + 1, sizeof(*listens));
	cleanup_free uint32_t *nr_busy = xcalloc(profile->nr_processes + 1, sizeof(*nr_busy));
	bool is_any = false;

	for (size_t i = 0; i < profile->nr_threads; i++) {
		uint64_t life_ns = span_ns(span_of(facts, i));
		uint32_t process = profile->threads[i].process;

		listens[process] |=
			measure_exact(facts->of_thread[i].listening_ns, life_ns).percent >
			LISTENING_PERCENT;
		nr_busy[process] += measure_exact(facts->of_thread[i].busy_ns, life_ns).percent >
				    ALL_BUSY_PERCENT;
	}
	for (size_t i = 0; i < profile->nr_processes; i++) {
		is_candidate[i] = listens[i] && nr_busy[i] >= 2;
		is_any |= is_candidate[i];
	}
	return is_any;
}

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	return a->row < b->row ? -1 : 1;
}

/* The threads whose first function is known, of the processes that may have a pool. */
static struct member *find_members(const struct facts *facts, size_t *nr)
{
	const struct profile *profile = facts->profile;
	cleanup_free bool *is_candidate = xcalloc(profile->nr_processes + 1, sizeof(*is_candidate));
	cleanup_free uint32_t *starts = NULL;
	struct member *members;

	*nr = 0;
	if (!find_candidates(facts, is_candidate))
		return NULL;
	starts = start_functions_of_threads(facts->expansion);
	members = xcalloc(profile->nr_threads, sizeof(*members));
	for (uint32_t i = 0; i < profile->nr_threads; i++) {
		uint32_t process = profile->threads[i].process;

		if (is_candidate[process] && starts[i] != WAIT_FUNCTION_NONE)
			members[(*nr)++] = (struct member){starts[i], process, i};
	}
	qsort(members, *nr, sizeof(*members), compare_members);
	return members;
}

/*
 * All of them have work for at least the time in which all live, less the sum of the times in which
 * one has none.
 */
static struct pool pool_of(const struct facts *facts, const struct member *members, size_t nr)
{
	struct pool pool = {.label = members[0].label, .nr = (uint32_t)nr};
	struct span common = span_of(facts, members[0].row);
	uint64_t idle_ns = 0;

	for (size_t i = 0; i < nr; i++) {
		struct span span = span_of(facts, members[i].row);
		uint64_t life_ns = span_ns(span);

		common.from_ns = max_u64(common.from_ns, span.from_ns);
		common.to_ns = min_u64(common.to_ns, span.to_ns);
		idle_ns += life_ns - min_u64(life_ns, facts->of_thread[members[i].row].busy_ns);
		tally_add(&pool.cpu, &facts->of_thread[members[i].row].all);
	}
	pool.all_busy_ns = span_ns(common) - min_u64(span_ns(common), idle_ns);
	return pool;
}

static double all_busy_percent(const struct facts *facts, const struct pool *pool)
{
	return measure_exact(pool->all_busy_ns, facts->elapsed_ns).percent;
}

/* The pool with the most CPU time of those whose threads all had work. */
static struct pool find_pool(const struct facts *facts)
{
	size_t nr, end;
	cleanup_free struct member *members = find_members(facts, &nr);
	struct pool found = {.nr = 0};

	for (size_t begin = 0; begin < nr; begin = end) {
		struct pool pool;

		for (end = begin + 1; end < nr && members[end].label == members[begin].label &&
				      members[end].process == members[begin].process;)
			end++;
		if (end - begin < 2)
			continue;
		pool = pool_of(facts, members + begin, end - begin);
		if (all_busy_percent(facts, &pool) > ALL_BUSY_PERCENT &&
		    pool.cpu.weight > found.cpu.weight)
			found = pool;
	}
	return found;
}

static struct measure measure_pool(const struct facts *facts)
{
	struct pool pool = find_pool(facts);

	return measure_of(facts, &pool.cpu);
}

static void describe_pool(struct buf *out, const struct facts *facts)
{
	struct pool pool = find_pool(facts);

	buf_printf(out, "all %u threads of ", pool.nr);
	facts_append_name(out, facts, pool.label);
	buf_append_str(out, " had work for ");
	append_percent(out, all_busy_percent(facts, &pool));
	buf_append_str(out, "% of the time, so that what else they are given waits");
	append_hottest(out, ": ", facts);
}

static void command_pool(struct buf *out, const struct facts *facts)
{
	struct pool pool = find_pool(facts);
	struct buf word = {0};

	if (facts_append_word(&word, facts, pool.label))
		buf_printf(out, "report --callees %s", buf_str(&word));
	else
		buf_append_str(out, "report --by thread");
	buf_release(&word);
}

static void prove_pool(struct verdict *verdict, const struct facts *facts)
{
	struct pool pool = find_pool(facts);
	struct measure measure = measure_of(facts, &pool.cpu);
	struct buf text = {0};

	buf_printf(&text, "CPU time of the %u threads that began with ", pool.nr);
	facts_append_name(&text, facts, pool.label);
	evidence_add(verdict, measure.percent, measure.interval, &text);
	measure = measure_exact(pool.all_busy_ns, facts->elapsed_ns);
	buf_append_str(&text, "of the time, at least, all of them ran or waited for a CPU");
	evidence_add(verdict, measure.percent, measure.interval, &text);
	prove_functions(verdict, facts);
}

const struct rule_functions rule_pool = {measure_pool, describe_pool, command_pool, prove_pool};
