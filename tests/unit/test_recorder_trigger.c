// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "recorder/trigger.h"
#include "tests/unit/unit.h"

static struct triggers made(const char *text)
{
	struct triggers triggers = {0};
	struct err err = ERR_INIT;

	assert_int_equal(triggers_add(&triggers, text, &err), 0);
	return triggers;
}

/* A reading of that second, by which so much CPU time was used, and spent waiting. */
static struct trigger_reading second(uint64_t s, double cpu_s, double runq_s)
{
	return (struct trigger_reading){.time_ns = s * NS_PER_SEC,
					.sampled_ns = s * NS_PER_SEC,
					.cpu_ns = (uint64_t)(cpu_s * 1e9),
					.runq_ns = (uint64_t)(runq_s * 1e9),
					.ran_ns = (uint64_t)(cpu_s * 1e9),
					.has_processes = true};
}

/* Has a trigger come about with this reading? */
static bool fires(struct triggers *triggers, struct trigger_reading reading)
{
	triggers_note_reading(triggers, &reading);
	return triggers_next(triggers, reading.time_ns) != NULL;
}

TEST(recorder_trigger, triggers_are_parsed)
{
	static const struct {
		const char *text;
		enum trigger_kind kind;
		double threshold;
		uint64_t span_ns;
		const char *name;
	} good[] = {
		{"signal", TRIGGER_SIGNAL, 0, 0, NULL},
		{"control", TRIGGER_CONTROL, 0, 0, NULL},
		{"exit", TRIGGER_EXIT, 0, 0, NULL},
		{"crash", TRIGGER_CRASH, 0, 0, NULL},
		{"gone", TRIGGER_GONE, 0, 0, NULL},
		{"cpu>180%/5s", TRIGGER_CPU, 1.8, 5 * NS_PER_SEC, NULL},
		{"cpu>12.5%/1m", TRIGGER_CPU, 0.125, 60 * NS_PER_SEC, NULL},
		{"rss>2G", TRIGGER_RSS, 2147483648.0, 0, NULL},
		{"rss>512K", TRIGGER_RSS, 524288, 0, NULL},
		{"stall>2s", TRIGGER_STALL, 0, 2 * NS_PER_SEC, NULL},
		{"runq>50%/5", TRIGGER_RUNQ, 0.5, 5 * NS_PER_SEC, NULL},
		{"mark:sort it>200ms", TRIGGER_MARK, 0, 200 * NS_PER_MS, "sort it"},
		{"mark:a>b:c>1us", TRIGGER_MARK, 0, NS_PER_US, "a>b:c"},
		{"span:A::f(std::vector<int>)>1us", TRIGGER_SPAN, 0, NS_PER_US,
		 "A::f(std::vector<int>)"},
		{"span:begin:end>2m", TRIGGER_SPAN, 0, 120 * NS_PER_SEC, "begin:end"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct triggers triggers = made(good[i].text);
		const struct trigger *trigger = triggers_find(&triggers, good[i].kind);

		assert_non_null(trigger);
		assert_string_equal(trigger->text, good[i].text);
		assert_true(trigger->threshold == good[i].threshold);
		assert_int_equal(trigger->span_ns, good[i].span_ns);
		if (good[i].name)
			assert_string_equal(trigger->name, good[i].name);
		triggers_release(&triggers);
	}
}

TEST(recorder_trigger, other_texts_are_refused_with_the_form_that_is_right)
{
	static const struct {
		const char *text, *hint;
	} bad[] = {
		{"", "triggers are signal, control, exit, cpu>PCT%/TIME"},
		{"cp>1%/5s", "triggers are signal"},
		{"CPU>1%/5s", "triggers are signal"},
		{"signal>2s", "it has the form signal"},
		{"exit:", "it has the form exit"},
		{"cpu", "it has the form cpu>PCT%/TIME"},
		{"cpu80", "it has the form cpu>PCT%/TIME"},
		{"cpu=80%/5s", "it has the form cpu>PCT%/TIME"},
		{"cpu > 80%/5s", "it has the form cpu>PCT%/TIME"},
		/* A shell has taken the rest for a file. */
		{"rss", "in quotes for the shell: --trigger 'rss>2G'"},
		{"cpu>", "cpu>PCT%/TIME"},
		{"cpu>180", "cpu>PCT%/TIME"},
		{"cpu>180%", "cpu>PCT%/TIME"},
		{"cpu>180%/", "cpu>PCT%/TIME"},
		{"cpu>180%/5x", "cpu>PCT%/TIME"},
		{"cpu>0%/5s", "cpu>PCT%/TIME"},
		{"cpu>-1%/5s", "cpu>PCT%/TIME"},
		{"cpu>nan%/5s", "cpu>PCT%/TIME"},
		{"cpu>inf%/5s", "cpu>PCT%/TIME"},
		{"cpu>50%/10ms", "cpu>PCT%/TIME"},
		{"cpu>50%/1h", "cpu>PCT%/TIME"},
		{"runq:50%/5s", "runq>PCT%/TIME"},
		{"rss>", "rss>SIZE"},
		{"rss>2Q", "rss>SIZE"},
		{"rss>-2G", "rss>SIZE"},
		{"rss>0.5", "rss>SIZE"},
		{"rss>1e18K", "rss>SIZE"},
		{"stall>0", "stall>TIME"},
		{"stall>soon", "stall>TIME"},
		{"mark", "mark:NAME>TIME"},
		{"mark>200ms", "mark:NAME>TIME"},
		{"mark:>200ms", "mark:NAME>TIME"},
		{"mark:a", "mark:NAME>TIME"},
		{"mark:a>", "mark:NAME>TIME"},
		{"mark:a>0", "mark:NAME>TIME"},
		{"span:f", "span:FUNC>TIME"},
		{"span>200ms", "--trigger 'span:handle_request>200ms'"},
		{"span:f>p99", "span:FUNC>TIME"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct triggers triggers = {0};
		struct err err = ERR_INIT;

		assert_int_equal(triggers_add(&triggers, bad[i].text, &err), ERR_INVALID);
		assert_non_null(strstr(err.hint, bad[i].hint));
		assert_int_equal(triggers.nr, 0);
		triggers_release(&triggers);
	}
}

TEST(recorder_trigger, cpu_above_its_share_for_its_time_fires_once_until_it_was_below)
{
	struct triggers triggers = made("cpu>150%/3s");

	assert_false(fires(&triggers, second(10, 0, 0)));
	assert_false(fires(&triggers, second(11, 2, 0)));
	assert_false(fires(&triggers, second(12, 4, 0))); /* too early to tell */
	assert_true(fires(&triggers, second(13, 6, 0)));
	assert_false(fires(&triggers, second(14, 8, 0)));
	assert_false(fires(&triggers, second(15, 8, 0)));
	assert_false(fires(&triggers, second(16, 8, 0)));
	assert_false(fires(&triggers, second(17, 10, 0)));
	assert_false(fires(&triggers, second(18, 12, 0)));
	assert_true(fires(&triggers, second(19, 14, 0)));
	triggers_release(&triggers);
}

TEST(recorder_trigger, a_share_that_is_just_reached_does_not_fire)
{
	struct triggers triggers = made("cpu>100%/2s");

	for (uint64_t s = 0; s < 20; s++)
		assert_false(fires(&triggers, second(s, (double)s, 0)));
	triggers_release(&triggers);
}

/* Readings come oftener than samples, and the same ones tell nothing new. */
TEST(recorder_trigger, readings_without_new_samples_do_not_raise_a_share)
{
	struct triggers triggers = made("cpu>110%/1s");

	for (uint64_t s = 1; s < 10; s++) {
		struct trigger_reading reading = second(s, (double)s, 0);

		for (int i = 0; i < 4; i++) {
			reading.time_ns += NS_PER_SEC / 4;
			assert_false(fires(&triggers, reading));
		}
	}
	triggers_release(&triggers);
}

TEST(recorder_trigger, waiting_for_a_cpu_fires)
{
	struct triggers triggers = made("runq>50%/2s");

	assert_false(fires(&triggers, second(0, 0, 0)));
	assert_false(fires(&triggers, second(1, 1, 0.1)));
	assert_false(fires(&triggers, second(2, 2, 0.4)));
	assert_false(fires(&triggers, second(3, 3, 1)));
	assert_true(fires(&triggers, second(4, 4, 1.6)));
	triggers_release(&triggers);
}

TEST(recorder_trigger, memory_above_its_size_fires_at_once)
{
	struct triggers triggers = made("rss>1M");
	struct trigger_reading reading = second(0, 0, 0);

	reading.rss_bytes = 1 << 20;
	assert_false(fires(&triggers, reading));
	reading.rss_bytes++;
	assert_true(fires(&triggers, reading));
	assert_false(fires(&triggers, reading));
	triggers_release(&triggers);
}

TEST(recorder_trigger, processes_none_of_which_runs_for_the_time_are_stalled)
{
	struct triggers triggers = made("stall>2s");
	struct trigger_reading reading = second(4, 2, 0);

	assert_false(fires(&triggers, second(1, 1, 0)));
	assert_false(fires(&triggers, second(2, 2, 0)));
	assert_false(fires(&triggers, second(3, 2, 0)));
	assert_true(fires(&triggers, reading));
	for (uint64_t s = 5; s < 100; s++)
		assert_false(fires(&triggers, second(s, 2, 0)));
	assert_true(triggers.nr_readings < 10); /* they were alike */
	assert_false(fires(&triggers, second(100, 2.001, 0)));
	assert_false(fires(&triggers, second(101, 2.001, 0)));
	assert_true(fires(&triggers, second(102, 2.001, 0)));
	triggers_release(&triggers);
}

TEST(recorder_trigger, nothing_is_stalled_once_all_processes_have_ended)
{
	struct triggers triggers = made("stall>2s");

	for (uint64_t s = 0; s < 10; s++) {
		struct trigger_reading reading = second(s, 0, 0);

		reading.has_processes = false;
		assert_false(fires(&triggers, reading));
	}
	triggers_release(&triggers);
}

TEST(recorder_trigger, a_phase_fires_when_it_has_taken_too_long_and_no_mark_came)
{
	struct triggers triggers = made("mark:sort>200ms");

	assert_true(triggers_due_ns(&triggers) == UINT64_MAX);
	triggers_note_mark(&triggers, "load", 1000);
	assert_true(triggers_due_ns(&triggers) == UINT64_MAX);
	assert_null(triggers_next(&triggers, NS_PER_SEC));
	triggers_note_mark(&triggers, "sort", NS_PER_SEC);
	assert_int_equal(triggers_due_ns(&triggers), NS_PER_SEC + 200 * NS_PER_MS);
	assert_null(triggers_next(&triggers, NS_PER_SEC + 199 * NS_PER_MS));
	triggers_note_mark(&triggers, "sort", NS_PER_SEC + 199 * NS_PER_MS);
	assert_null(triggers_next(&triggers, NS_PER_SEC + 300 * NS_PER_MS));
	assert_non_null(triggers_next(&triggers, NS_PER_SEC + 400 * NS_PER_MS));
	assert_null(triggers_next(&triggers, NS_PER_SEC + 900 * NS_PER_MS));
	assert_true(triggers_due_ns(&triggers) == UINT64_MAX);
	triggers_note_mark(&triggers, "sort", 2 * NS_PER_SEC);
	assert_non_null(triggers_next(&triggers, 3 * NS_PER_SEC));
	triggers_release(&triggers);
}

TEST(recorder_trigger, each_call_that_took_as_long_fires_once)
{
	struct triggers triggers = made("span:f>200ms");
	struct trigger *trigger = &triggers.rows[0];

	assert_null(triggers_next(&triggers, 0));
	trigger_note_call(trigger, 199 * NS_PER_MS, NS_PER_SEC);
	assert_null(triggers_next(&triggers, 2 * NS_PER_SEC));
	trigger_note_call(trigger, 200 * NS_PER_MS, 3 * NS_PER_SEC);
	assert_ptr_equal(triggers_next(&triggers, 4 * NS_PER_SEC), trigger);
	assert_int_equal(trigger->at_ns, 3 * NS_PER_SEC);
	assert_null(triggers_next(&triggers, 5 * NS_PER_SEC));
	trigger_note_call(trigger, NS_PER_SEC, 5 * NS_PER_SEC);
	assert_non_null(triggers_next(&triggers, 6 * NS_PER_SEC));
	trigger_note_call(trigger, 1, 7 * NS_PER_SEC);
	assert_null(triggers_next(&triggers, 8 * NS_PER_SEC));
	assert_false(triggers_need_readings(&triggers));
	triggers_release(&triggers);
}

TEST(recorder_trigger, several_that_hold_at_once_are_each_told_of)
{
	struct triggers triggers = made("rss>1K");
	struct trigger_reading reading = second(0, 0, 0);
	const struct trigger *first, *next;
	struct err err = ERR_INIT;

	assert_int_equal(triggers_add(&triggers, "exit", &err), 0);
	assert_int_equal(triggers_add(&triggers, "rss>2K", &err), 0);
	reading.rss_bytes = 1 << 20;
	triggers_note_reading(&triggers, &reading);
	first = triggers_next(&triggers, 0);
	assert_non_null(first);
	assert_string_equal(first->text, "rss>1K");
	next = triggers_next(&triggers, 0);
	assert_non_null(next);
	assert_string_equal(next->text, "rss>2K");
	assert_null(triggers_next(&triggers, 0));
	triggers_release(&triggers);
}

/* However long it runs. */
TEST(recorder_trigger, old_readings_go)
{
	struct triggers triggers = made("cpu>500%/5s");

	for (uint64_t s = 0; s < 1000; s++)
		assert_false(fires(&triggers, second(s, (double)s, 0)));
	assert_true(triggers.nr_readings < 10);
	triggers_release(&triggers);
}

TEST(recorder_trigger, a_short_stall_is_looked_for_often)
{
	struct triggers triggers = made("stall>2s");

	assert_true(triggers_need_readings(&triggers));
	assert_int_equal(triggers_period_ns(&triggers), NS_PER_SEC / 2);
	triggers_release(&triggers);
	triggers = made("mark:a>2s");
	assert_false(triggers_need_readings(&triggers));
	triggers_release(&triggers);
}
