// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules about what threads were blocked in: locks, system calls, descriptors, children. */
#include "base/buf.h"
#include "base/clock.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/wait_function.h"
#include "profile/profile.h"
#include "verdict/rule_priv.h"
#include "verdict/verdict.h"
#include "view/blame_text.h"
#include "view/cut.h"
#include "view/number.h"

#define NO_WAITS "the recording does not have what threads waited for"
/* The evidence has as many rows of a kind. */
#define NR_NEXT 4

static void append_blame_name(struct buf *out, const struct blame *blame, uint32_t number)
{
	struct buf name = {0};

	blame_append_name(&name, blame, number);
	facts_append_text(out, buf_str(&name));
	buf_release(&name);
}

/* --- a lock --- */

static struct measure measure_lock(const struct facts *facts)
{
	if (!facts->locks.blame)
		return measure_missing(NO_WAITS);
	return measure_of(facts, &object_facts_heaviest(&facts->locks)->tally);
}

/*
 * "Logger::info > fdatasync (app.log)": the function of the owner, the function that it was in, and
 * the file that it waited for. False: not known.
 */
static bool append_owner_work(struct buf *out, const struct facts *facts,
			      const struct blame_owner *owner)
{
	const struct blame *blame = facts->locks.blame;
	struct blame_part function, leaf;
	uint32_t wait;

	if (!blame_owner_in(blame, owner, 0, &function))
		return false;
	facts_append_name(out, facts, function.label);
	if (blame_owner_leaf(blame, owner, &leaf) && leaf.label != function.label) {
		buf_append_str(out, " > ");
		facts_append_name(out, facts, leaf.label);
	}
	if (blame_owner_wait(blame, owner, &wait)) {
		const struct profile_wait *row = &profile_waits(facts->profile)->rows[wait];
		const char *name = profile_str(facts->profile, row->name);

		if (row->kind == WAIT_FILE && *name) {
			buf_append_str(out, " (");
			facts_append_text(out, cut_directories(name));
			buf_append_byte(out, ')');
		}
	}
	return true;
}

/* "mutex lg in Logger::info" */
static void append_lock(struct buf *out, const struct facts *facts, const struct object_fact *lock)
{
	const struct blame *blame = facts->locks.blame;
	struct blame_part in;

	append_lock_kind(out, blame, lock->number);
	buf_append_byte(out, ' ');
	append_blame_name(out, blame, lock->number);
	if (blame_waiting_in(blame, lock->number, &in)) {
		buf_append_str(out, " in ");
		facts_append_name(out, facts, in.label);
	}
}

static void describe_lock(struct buf *out, const struct facts *facts)
{
	const struct object_fact *lock = object_facts_heaviest(&facts->locks);
	struct blame_owner owner;
	struct buf work = {0};

	append_weight(out, METRIC_WALL, lock->tally.weight);
	buf_append_str(out, " for ");
	append_lock(out, facts, lock);
	if (blame_owner(facts->locks.blame, lock->number, 0, &owner) &&
	    append_owner_work(&work, facts, &owner))
		buf_printf(out, ", whose owner was in %s", buf_str(&work));
	buf_release(&work);
}

static void command_lock(struct buf *out, const struct facts *facts)
{
	(void)facts;
	buf_append_str(out, "report --by lock");
}

static void prove_owner(struct verdict *verdict, const struct facts *facts,
			const struct object_fact *lock)
{
	struct blame_owner owner;
	struct buf text = {0}, owners = {0};

	if (!blame_owner(facts->locks.blame, lock->number, 0, &owner))
		return;
	buf_append_str(&text, "of that time it had an owner that was seen: ");
	append_owners(&owners, facts->locks.blame, lock->number);
	facts_append_text(&text, buf_str(&owners));
	buf_append_str(&text, ", in ");
	buf_release(&owners);
	if (append_owner_work(&text, facts, &owner))
		evidence_add(verdict, measure_exact(owner.seen_ns, lock->tally.weight).percent, 0,
			     &text);
	buf_release(&text);
}

static void prove_lock(struct verdict *verdict, const struct facts *facts)
{
	for (size_t i = 0; i < facts->locks.nr && i < NR_NEXT; i++) {
		const struct object_fact *lock = &facts->locks.rows[i];
		struct measure measure = measure_of(facts, &lock->tally);
		struct buf text = {0};

		if (!lock->tally.weight)
			return;
		buf_append_str(&text, "waits for ");
		append_lock(&text, facts, lock);
		evidence_add(verdict, measure.percent, measure.interval, &text);
		if (i == 0)
			prove_owner(verdict, facts, lock);
	}
}

const struct rule_functions rule_lock = {measure_lock, describe_lock, command_lock, prove_lock};

/* The object on which a call spent most of its time; false: there is none. */
static bool object_of_call(const struct facts *facts, const struct call_fact *call,
			   uint32_t *object)
{
	size_t nr;
	const struct pair *pairs = pairs_of(&facts->calls.objects, (uint32_t)call->nr, &nr);
	uint64_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += pairs[i].amount;
	if (!nr || 2 * pairs[0].amount < sum)
		return false;
	*object = pairs[0].b;
	return true;
}

/* "fdatasync of a.db-journal (fd 4), by sqlite3VdbeHalt" */
static void append_call(struct buf *out, const struct facts *facts, const struct call_fact *call)
{
	uint32_t object;
	size_t nr;
	const struct pair *callers = pairs_of(&facts->calls.callers, (uint32_t)call->nr, &nr);

	facts_append_call(out, facts, call->nr);
	if (object_of_call(facts, call, &object)) {
		buf_append_str(out, " of ");
		append_blame_name(out, facts->descriptors.blame, object);
	}
	if (nr) {
		buf_append_str(out, ", by ");
		facts_append_name(out, facts, callers[0].b);
	}
}

/* --- polling --- */

/* A thread that sleeps longer, or more rarely, hardly costs anything. */
#define LEAST_SLEEPS_A_SECOND 100
#define LONGEST_SLEEP_NS      (10 * NS_PER_MS)

static uint64_t life_of_thread(const struct facts *facts, size_t row)
{
	const struct profile_thread *thread = &facts->profile->threads[row];

	return facts_life_ns(facts, thread->start_ns, thread->end_ns);
}

/* Does the thread poll? It was switched away at least as often as it slept. */
static bool polls(const struct facts *facts, size_t row)
{
	const struct profile_thread *thread = &facts->profile->threads[row];
	uint64_t weight = facts->sleeps[row].weight;

	return weight && (double)weight < LONGEST_SLEEP_NS * (double)thread->nr_switches &&
	       (double)thread->nr_switches * NS_PER_SEC >=
		       LEAST_SLEEPS_A_SECOND * (double)life_of_thread(facts, row);
}

/*
 * The thread that polls for most of the time, among those that are alone in their process: beside
 * other threads it may be only a clock. The number of threads if there is none.
 */
static size_t polling_thread(const struct facts *facts)
{
	size_t most = facts->profile->nr_threads;

	for (size_t i = 0; i < facts->profile->nr_threads; i++) {
		if (facts->is_alone[i] && polls(facts, i) &&
		    (most == facts->profile->nr_threads ||
		     facts->sleeps[i].weight > facts->sleeps[most].weight))
			most = i;
	}
	return most;
}

static struct measure measure_polling(const struct facts *facts)
{
	size_t thread = polling_thread(facts);
	bool is_known = false;

	for (size_t i = 0; i < facts->profile->nr_threads; i++)
		is_known |= facts->profile->threads[i].nr_switches > 0;
	if (!is_known)
		return measure_missing("how often threads woke was not recorded");
	if (!facts->selection->everything)
		return measure_missing("it is known of whole recordings only");
	/* The array has an empty member after the last thread. */
	return measure_of(facts, &facts->sleeps[thread]);
}

double polling_percent(const struct facts *facts, size_t row)
{
	if (!polls(facts, row))
		return 0;
	return measure_exact(facts->sleeps[row].weight, life_of_thread(facts, row)).percent;
}

void append_polling(struct buf *out, const struct facts *facts, size_t row)
{
	size_t nr_calls, nr_functions;
	const struct pair *calls = pairs_of(&facts->sleep_calls, (uint32_t)row, &nr_calls);
	const struct pair *functions =
		pairs_of(&facts->sleep_functions, (uint32_t)row, &nr_functions);
	const struct profile_thread *thread = &facts->profile->threads[row];

	facts_append_text(out, profile_str(facts->profile, thread->name));
	buf_append_str(out, " polls: it woke ");
	append_count(out, thread->nr_switches);
	buf_append_str(out, " times (");
	append_rate(out, thread->nr_switches, life_of_thread(facts, row));
	buf_append_str(out, "/s), from sleeps of ");
	append_weight(out, METRIC_WALL, facts->sleeps[row].weight / thread->nr_switches);
	buf_append_str(out, " in ");
	facts_append_call(out, facts, nr_calls ? (int)calls[0].b : -1);
	if (nr_functions) {
		buf_append_str(out, ", by ");
		facts_append_name(out, facts, functions[0].b);
	}
}

static void describe_polling(struct buf *out, const struct facts *facts)
{
	append_polling(out, facts, polling_thread(facts));
}

static void command_polling(struct buf *out, const struct facts *facts)
{
	(void)facts;
	buf_append_str(out, "report -m blocked --tree");
}

static void prove_polling(struct verdict *verdict, const struct facts *facts)
{
	for (size_t i = 0, nr = 0; i < facts->profile->nr_threads && nr < NR_NEXT; i++) {
		const struct profile_thread *thread = &facts->profile->threads[i];
		struct measure measure = measure_of(facts, &facts->sleeps[i]);
		struct buf text = {0};

		if (!facts->is_alone[i] || !polls(facts, i))
			continue;
		nr++;
		buf_printf(&text, "asleep in thread %d ", (int)thread->tid);
		facts_append_text(&text, profile_str(facts->profile, thread->name));
		buf_append_str(&text, ", which woke ");
		append_count(&text, thread->nr_switches);
		buf_append_str(&text, " times");
		evidence_add(verdict, measure.percent, measure.interval, &text);
	}
}

const struct rule_functions rule_polling = {measure_polling, describe_polling, command_polling,
					    prove_polling};

/* --- a system call --- */

/* The call with the most time; one without any weight if there is none. */
static const struct call_fact *heaviest_call(const struct facts *facts)
{
	static const struct call_fact none = {.nr = -1};

	return facts->calls.nr ? &facts->calls.rows[0] : &none;
}

static struct measure measure_call(const struct facts *facts)
{
	return measure_of(facts, &heaviest_call(facts)->work);
}

static void describe_call(struct buf *out, const struct facts *facts)
{
	const struct call_fact *call = heaviest_call(facts);

	append_weight(out, METRIC_WALL, call->work.weight);
	buf_append_str(out, " in ");
	append_call(out, facts, call);
}

static void command_call(struct buf *out, const struct facts *facts)
{
	const struct call_fact *call = heaviest_call(facts);
	uint32_t object;

	buf_append_str(out, object_of_call(facts, call, &object) ? "report --by fd"
								 : "report -m wall --by syscall");
}

static void prove_call(struct verdict *verdict, const struct facts *facts)
{
	for (size_t i = 0; i < facts->calls.nr && i < NR_NEXT; i++) {
		const struct call_fact *call = &facts->calls.rows[i];
		struct measure measure = measure_of(facts, &call->work);
		struct buf text = {0};

		if (!call->work.weight)
			return;
		buf_append_str(&text, "in ");
		append_call(&text, facts, call);
		evidence_add(verdict, measure.percent, measure.interval, &text);
	}
}

const struct rule_functions rule_call = {measure_call, describe_call, command_call, prove_call};

/* --- a descriptor --- */

static struct measure measure_descriptor(const struct facts *facts)
{
	if (!facts->descriptors.blame)
		return measure_missing(NO_WAITS);
	return measure_of(facts, &object_facts_heaviest(&facts->descriptors)->tally);
}

static void describe_descriptor(struct buf *out, const struct facts *facts)
{
	const struct object_fact *object = object_facts_heaviest(&facts->descriptors);
	struct blame_part in;

	append_weight(out, METRIC_WALL, object->tally.weight);
	buf_append_str(out, " for ");
	append_blame_name(out, facts->descriptors.blame, object->number);
	if (blame_waiting_in(facts->descriptors.blame, object->number, &in)) {
		buf_append_str(out, " in ");
		facts_append_name(out, facts, in.label);
	}
}

static void command_descriptor(struct buf *out, const struct facts *facts)
{
	(void)facts;
	buf_append_str(out, "report --by fd");
}

static void prove_descriptor(struct verdict *verdict, const struct facts *facts)
{
	for (size_t i = 0; i < facts->descriptors.nr && i < NR_NEXT; i++) {
		const struct object_fact *object = &facts->descriptors.rows[i];
		struct measure measure = measure_of(facts, &object->tally);
		struct buf text = {0};

		if (!object->tally.weight)
			return;
		buf_append_str(&text, "blocked on ");
		append_blame_name(&text, facts->descriptors.blame, object->number);
		evidence_add(verdict, measure.percent, measure.interval, &text);
	}
}

const struct rule_functions rule_descriptor = {measure_descriptor, describe_descriptor,
					       command_descriptor, prove_descriptor};

/* --- a child that is not in the recording --- */

static struct measure measure_child(const struct facts *facts)
{
	return measure_of(facts, &facts->of_child);
}

static void describe_child(struct buf *out, const struct facts *facts)
{
	append_weight(out, METRIC_WALL, facts->of_child.weight);
	buf_append_str(out, " for a child process that was not recorded");
}

static void command_child(struct buf *out, const struct facts *facts)
{
	(void)facts;
	buf_append_str(out, "report -m blocked --tree");
}

static void prove_child(struct verdict *verdict, const struct facts *facts)
{
	struct measure measure = measure_child(facts);
	struct buf text = {0};

	buf_append_str(&text, "blocked until a child ends");
	evidence_add(verdict, measure.percent, measure.interval, &text);
}

const struct rule_functions rule_child = {measure_child, describe_child, command_child,
					  prove_child};
