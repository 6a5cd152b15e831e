// SPDX-License-Identifier: GPL-2.0-or-later
/* Slow calls as a filter, and what they do differently from others. */
#include "calltree/slow_difference.h"

#include <math.h>

#include "base/buf.h"
#include "base/err.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "profile/slow_calls.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

#define MS UINT64_C(1000000)

/* A sample of the given time, on a CPU, at a time of the recording. */
static void sample_at(struct made *made, const char *stack, uint64_t at_ms, uint64_t ms)
{
	made->time_ns = (at_ms - ms) * MS;
	made_sample(made, stack, ms);
}

/*
 * 100 calls of handle(): 98 of 1 to 2 ms, and two of 20 ms, at 100 and 200 ms, of which one
 * spends half of its time in grow(), where no other call is. The loop around them is outside.
 */
static struct made made_up(void)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	char handle[] = "handle";

	sample_at(&made, "main;loop", 10, 1);
	sample_at(&made, "main;handle;work", 50, 1);
	sample_at(&made, "main;handle;work", 60, 1);
	sample_at(&made, "main;handle;work", 110, 10);
	sample_at(&made, "main;handle;grow", 119, 9);
	sample_at(&made, "main;loop", 130, 5);
	sample_at(&made, "main;handle;work", 150, 1);
	sample_at(&made, "main;handle;work", 210, 10);
	profile_add_span(profile, &(struct profile_span){.where = made_frame(profile, handle)});
	profile_add_span_sum(profile, &(struct profile_span_sum){
					      .nr_begun = 100, .total_ns = 98 * 2 * MS + 40 * MS});
	profile_add_span_length(
		profile, &(struct profile_span_length){.least_ns = MS, .end_ns = 2 * MS, .nr = 98});
	profile_add_span_length(profile, &(struct profile_span_length){
						 .least_ns = 16 * MS, .end_ns = 24 * MS, .nr = 2});
	profile_add_slow_call(
		profile, &(struct profile_slow_call){.from_ns = 200 * MS, .length_ns = 20 * MS});
	profile_add_slow_call(
		profile, &(struct profile_slow_call){.from_ns = 100 * MS, .length_ns = 20 * MS});
	profile_add_slow_call(
		profile, &(struct profile_slow_call){.from_ns = 300 * MS, .length_ns = 3 * MS});
	return made;
}

static struct selection *select_calls(const struct expansion *expansion, const char *text,
				      enum filter_calls which)
{
	const struct filter filter = {.slow = {.text = text, .which = which}};
	struct selection *selection = NULL;

	assert_int_equal(selection_new(expansion, &filter, &selection, NULL), 0);
	return selection;
}

static size_t nr_selected(const struct selection *selection)
{
	struct selection_walk walk;
	struct sample sample;
	size_t nr = 0;

	selection_walk_init(&walk, selection);
	while (selection_walk_next(&walk, &sample))
		nr++;
	selection_walk_release(&walk);
	return nr;
}

TEST(slow, is_a_filter)
{
	struct made made = made_up();
	struct profile *profile = made_end(&made);
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection = select_calls(expansion, "handle>10ms", FILTER_SLOW_CALLS);
	const struct slow_calls *slow = selection->slow.calls;

	assert_int_equal(slow->nr_all, 100);
	assert_int_equal(slow->nr_slow, 2);
	assert_int_equal(slow->nr_known, 2);
	assert_int_equal(slow->known_ns, 40 * MS);
	assert_int_equal(slow->at[0].from_ns, 100 * MS);
	assert_int_equal(slow_calls_find(slow, made.thread, 99 * MS), SLOW_CALL_NONE);
	assert_int_equal(slow_calls_find(slow, made.thread, 100 * MS), 0);
	assert_int_equal(slow_calls_find(slow, made.thread, 120 * MS), 0);
	assert_int_equal(slow_calls_find(slow, made.thread, 121 * MS), SLOW_CALL_NONE);
	assert_int_equal(slow_calls_find(slow, made.thread, 220 * MS), 1);
	assert_int_equal(slow_calls_find(slow, made.thread, 999 * MS), SLOW_CALL_NONE);
	assert_int_equal(nr_selected(selection), 3);
	assert_false(selection->everything);
	selection_free(selection);
	/* The only function that was timed, by percentile. */
	selection = select_calls(expansion, ">p98.5", FILTER_SLOW_CALLS);
	assert_int_equal(selection->slow.calls->least_ns, 18 * MS);
	assert_int_equal(nr_selected(selection), 3);
	selection_free(selection);
	selection = select_calls(expansion, "handle>10ms", FILTER_ALL_CALLS);
	assert_int_equal(nr_selected(selection), 6);
	selection_free(selection);
	selection = select_calls(expansion, "handle>10ms", FILTER_OTHER_CALLS);
	assert_int_equal(nr_selected(selection), 3);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}

TEST(slow, texts_that_mean_nothing_are_refused)
{
	struct made made = made_up();
	struct profile *profile = made_end(&made);
	struct slow_calls *slow;

	assert_int_equal(slow_calls_new(profile, "handle>5x", &slow, NULL), ERR_INVALID);
	assert_int_equal(slow_calls_new(profile, "handle>p0", &slow, NULL), ERR_INVALID);
	assert_int_equal(slow_calls_new(profile, "handle>1h", &slow, NULL), ERR_NOT_FOUND);
	assert_int_equal(slow_calls_new(profile, "handle<a>>1s", &slow, NULL), ERR_NOT_FOUND);
	assert_int_equal(slow_calls_new(profile, "other", &slow, NULL), ERR_NOT_FOUND);
	profile_free(profile);
}

static const struct slow_row *row_of(const struct slow_difference *difference, const char *name)
{
	const struct expansion *expansion = difference->selection->expansion;

	for (size_t i = 0; i < difference->nr; i++) {
		const struct slow_row *row = &difference->rows[i];
		struct buf text = {0};
		bool is_it;

		if (row->label == LABEL_OF_NONE)
			continue;
		label_append_name(&text, expansion, row->label, NAME_FULL);
		is_it = strcmp(buf_str(&text), name) == 0;
		buf_release(&text);
		if (is_it)
			return row;
	}
	return NULL;
}

TEST(slow, has_shares_by_calls)
{
	struct made made = made_up();
	struct profile *profile = made_end(&made);
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection = select_calls(expansion, "handle>10ms", FILTER_ALL_CALLS);
	struct slow_difference *difference = slow_difference_new(selection);
	const struct slow_row *grow = row_of(difference, "grow");

	assert_int_equal(difference->sums[SLOW_CALLS].nr_sampled, 2);
	assert_int_equal(difference->sums[SLOW_CALLS].nr_calls, 2);
	assert_true(difference->sums[SLOW_CALLS].call_ns == 20.0 * MS);
	/* Those at 50 and 60 ms are as far apart as no other call is long. */
	assert_int_equal(difference->sums[OTHER_CALLS].nr_sampled, 3);
	assert_int_equal(difference->sums[OTHER_CALLS].nr_calls, 98);
	assert_true(difference->sums[OTHER_CALLS].call_ns == 2.0 * MS);
	assert_int_equal(difference->nr, 3);
	assert_true(difference->rows[0].is_total);
	assert_int_equal(difference->rows[0].kind, SLOW_ON_CPU);
	assert_ptr_equal(&difference->rows[2], grow); /* work() takes yet more time more */
	assert_true(fabs(grow->shares[SLOW_CALLS].share - 9.0 / 29) < 1e-9);
	assert_true(fabs(grow->shares[SLOW_CALLS].call_ns - 20.0 * MS * 9 / 29) < 1);
	assert_true(grow->shares[OTHER_CALLS].share == 0);
	/* One call of two is no proof. */
	assert_true(grow->shares[SLOW_CALLS].half > 0.4);
	assert_false(grow->is_sure);
	slow_difference_free(difference);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}

/* In the second slow call the thread was blocked by a lock, for so long up to then. */
static void blocked_by(struct made *made, struct thread_id owner, uint64_t at_ms, uint64_t ms)
{
	struct profile *profile = made->profile;
	const struct profile_wait row = {.kind = WAIT_MUTEX,
					 .number = 0x4040,
					 .place = WAIT_NO_PLACE,
					 .name = profile_intern(profile, "[heap]"),
					 .peer = profile_intern(profile, ""),
					 .owner = owner};
	struct sample *sample = made_sample(made, "main;handle;get", 0);

	sample->kind = SAMPLE_BLOCKED;
	sample->wait = profile_waits_intern(profile_waits(profile), &row);
	sample->time_ns = at_ms * MS;
	sample->blocked_ns = ms * MS;
}

TEST(slow, has_a_lock_of_several_owners_once)
{
	struct made made = made_up();
	struct profile *profile = made.profile;
	struct thread_id main_thread = made.thread;
	struct thread_id first = made_thread(&made, 100, 101, "first");
	struct thread_id second = made_thread(&made, 100, 102, "second");
	struct expansion *expansion;
	struct selection *selection;
	struct slow_difference *difference;
	size_t nr_blocked = 0;

	made.thread = main_thread;
	blocked_by(&made, first, 215, 5);
	blocked_by(&made, second, 219, 4);
	blocked_by(&made, THREAD_NONE, 220, 1);
	made_end(&made);
	expansion = expansion_new(profile, false);
	selection = select_calls(expansion, "handle>10ms", FILTER_ALL_CALLS);
	difference = slow_difference_new(selection);
	for (size_t i = 0; i < difference->nr; i++) {
		const struct slow_row *row = &difference->rows[i];

		if (row->kind != SLOW_BLOCKED || row->is_total)
			continue;
		assert_int_equal(row->waited.kind, WAITED_LOCK);
		assert_true(fabs(row->shares[SLOW_CALLS].share - 10.0 / 39) < 1e-9);
		nr_blocked++;
	}
	assert_int_equal(nr_blocked, 1);
	slow_difference_free(difference);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}
