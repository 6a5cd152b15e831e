// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"
#include "view/rate_text.h"

#define AT_MOST	     "at most 2% of CPU time may be lost"
#define REASON_STOPS AT_MOST "; stops took 1.7%, 35 us each"
#define REASON_TICKS AT_MOST "; ticks took 1.0%, as no CPU was idle"
#define REASON_BOTH                                                                                \
	AT_MOST "; stops took 1.0%, 35 us each; ticks took 0.9%, as "                              \
		"no CPU was idle"
#define REASON_HELD_UP "no thread was stopped while too many waited for a CPU to stop on"
#define REASON_LATE    "profc had no CPU in time, or a tick took too long"

/* The counters of a recording at 1000 Hz. */
struct rates {
	uint64_t sampled_ms; /* the time in which there were ticks */
	uint64_t ticks, missed, interrupts, left_out, held_up;
	uint64_t stops_ppm, ticks_ppm; /* the CPU time that they took */
	bool is_unbounded;
};

static struct profile *recorded(const struct rates *rates)
{
	struct profile *profile = profile_new();

	profile->meta.frequency_hz = 1000;
	profile->meta.max_overhead_ppm = rates->is_unbounded ? 0 : 20000;
	profile->meta.duration_ns = rates->sampled_ms * NS_PER_MS;
	profile_set_counter(profile, "ticks", rates->ticks);
	profile_set_counter(profile, "missed_ticks", rates->missed);
	profile_set_counter(profile, "interrupts", rates->interrupts);
	profile_set_counter(profile, "left_out_stops", rates->left_out);
	profile_set_counter(profile, "held_up_stops", rates->held_up);
	profile_set_counter(profile, "stop_cost_ns", rates->interrupts ? 35000 : 0);
	profile_set_counter(profile, "cost_ppm", rates->stops_ppm);
	profile_set_counter(profile, "ticks_cost_ppm", rates->ticks_ppm);
	profile_set_counter(profile, "frequency_hz_effective",
			    rates->ticks * 1000000 / rates->sampled_ms);
	return profile;
}

/* NULL: it says nothing. */
static void check(const struct rates *rates, const char *expected)
{
	struct profile *profile = recorded(rates);
	struct buf text = {0};

	assert_int_equal(append_rate_achieved(&text, profile), expected != NULL);
	assert_string_equal(buf_str(&text), expected ? expected : "");
	buf_release(&text);
	profile_free(profile);
}

TEST(rate_text, says_nothing_where_the_rate_was_achieved)
{
	check(&(struct rates){.sampled_ms = 10000, .ticks = 9900, .interrupts = 9000}, NULL);
	check(&(struct rates){.sampled_ms = 150, .ticks = 150, .interrupts = 140}, NULL);
}

TEST(rate_text, gives_the_shares_that_were_lost)
{
	check(&(struct rates){.sampled_ms = 10000,
			      .ticks = 10000,
			      .interrupts = 5000,
			      .left_out = 5000,
			      .stops_ppm = 17400},
	      "sampled at 500 Hz of 1000: " REASON_STOPS);
	check(&(struct rates){.sampled_ms = 10000, .ticks = 6000, .ticks_ppm = 10000},
	      "sampled at 600 Hz of 1000: " REASON_TICKS);
	check(&(struct rates){.sampled_ms = 10000,
			      .ticks = 6000,
			      .interrupts = 3000,
			      .left_out = 3000,
			      .stops_ppm = 10400,
			      .ticks_ppm = 9000},
	      "sampled at 300 Hz of 1000: " REASON_BOTH);
}

/* Where the host of a virtual machine takes a CPU away during a stop, that takes milliseconds. */
TEST(rate_text, names_a_host_that_takes_much_time)
{
	struct profile *profile = recorded(&(struct rates){.sampled_ms = 10000,
							   .ticks = 10000,
							   .interrupts = 5000,
							   .left_out = 5000,
							   .stops_ppm = 17400});
	struct buf text = {0};

	profile_set_counter(profile, "machine_busy_ns", 6000 * NS_PER_MS);
	profile_set_counter(profile, "machine_idle_ns", 10000 * NS_PER_MS);
	profile_set_counter(profile, "machine_stolen_ns", 4000 * NS_PER_MS);
	assert_true(append_rate_achieved(&text, profile));
	assert_string_equal(buf_str(&text), "sampled at 500 Hz of 1000: " REASON_STOPS
					    "; the host took 20% of the CPUs");
	buf_release(&text);
	profile_free(profile);
}

/* Of a recording that was cut short the share of stops is not known. */
TEST(rate_text, gives_what_is_known_of_a_cut_recording)
{
	check(
		&(struct rates){
			.sampled_ms = 10000, .ticks = 10000, .interrupts = 5000, .left_out = 5000},
		"sampled at 500 Hz of 1000: " AT_MOST "; stops take 35 us each");
}

TEST(rate_text, gives_other_reasons)
{
	check(&(struct rates){.sampled_ms = 10000, .ticks = 6000, .missed = 4000},
	      "sampled at 600 Hz of 1000: " REASON_LATE);
	check(&(struct rates){.sampled_ms = 10000,
			      .ticks = 10000,
			      .interrupts = 5000,
			      .left_out = 5000,
			      .held_up = 5000},
	      "sampled at 500 Hz of 1000: " REASON_HELD_UP);
	check(&(struct rates){.sampled_ms = 10000,
			      .ticks = 3000,
			      .missed = 2000,
			      .interrupts = 1000,
			      .left_out = 500,
			      .stops_ppm = 10400,
			      .ticks_ppm = 9000},
	      "sampled at 297 Hz of 1000: " REASON_BOTH "; " REASON_LATE);
}

/* Threads that wait for a CPU are found in more ticks than their CPU time has. */
TEST(rate_text, is_of_cpu_time)
{
	check(&(struct rates){.sampled_ms = 10000,
			      .ticks = 10000,
			      .interrupts = 2000,
			      .left_out = 8000,
			      .stops_ppm = 17400},
	      "sampled at 497 Hz of 1000: " REASON_STOPS);
	check(&(struct rates){.sampled_ms = 10000,
			      .ticks = 10000,
			      .interrupts = 2000,
			      .left_out = 8000,
			      .stops_ppm = 40000},
	      NULL);
	check(&(struct rates){.sampled_ms = 10000,
			      .ticks = 8000,
			      .interrupts = 2000,
			      .left_out = 8000,
			      .stops_ppm = 40000,
			      .ticks_ppm = 9000},
	      "sampled at 800 Hz of 1000: " AT_MOST "; stops took 4.0%, 35 us each; "
	      "ticks took 0.9%, as no CPU was idle");
}

/* With --max-overhead 0 nothing is left out for what it costs. */
TEST(rate_text, names_no_bound_where_there_is_none)
{
	check(&(struct rates){.sampled_ms = 10000,
			      .ticks = 10000,
			      .interrupts = 5000,
			      .left_out = 5000,
			      .held_up = 5000,
			      .stops_ppm = 17400,
			      .is_unbounded = true},
	      "sampled at 500 Hz of 1000: " REASON_HELD_UP);
	check(&(struct rates){.sampled_ms = 10000,
			      .ticks = 6000,
			      .missed = 4000,
			      .ticks_ppm = 30000,
			      .is_unbounded = true},
	      "sampled at 600 Hz of 1000: " REASON_LATE);
}

TEST(rate_text, runs_of_a_hundred_ticks_have_it)
{
	check(&(struct rates){.sampled_ms = 100,
			      .ticks = 100,
			      .interrupts = 30,
			      .left_out = 60,
			      .stops_ppm = 11600},
	      "sampled at 333 Hz of 1000: " AT_MOST "; stops took 1.2%, 35 us each");
	check(&(struct rates){.sampled_ms = 99, .ticks = 99, .interrupts = 30, .left_out = 60},
	      NULL);
	check(&(struct rates){.sampled_ms = 200, .ticks = 80, .missed = 120},
	      "sampled at 400 Hz of 1000: " REASON_LATE);
}

/* A tick of a few hundred that came late by lot is no reason. */
TEST(rate_text, chance_is_no_reason)
{
	check(&(struct rates){.sampled_ms = 100, .ticks = 85, .interrupts = 80}, NULL);
	check(&(struct rates){.sampled_ms = 10000, .ticks = 8500, .ticks_ppm = 10000},
	      "sampled at 850 Hz of 1000: " REASON_TICKS);
}

/* Ticks of a recording that was paused belong to the rest of its time. */
TEST(rate_text, pauses_are_no_reason)
{
	struct profile *profile = recorded(&(struct rates){.sampled_ms = 50, .ticks = 40});
	struct buf text = {0};

	profile->meta.duration_ns = 10 * NS_PER_SEC;
	assert_false(append_rate_achieved(&text, profile));
	buf_release(&text);
	profile_free(profile);
}

/* 10 ms of CPU time in 10 s, of which stops took as much again. */
TEST(rate, stops_cost_a_part_of_the_longer_time)
{
	struct profile *profile = profile_new();
	struct sample sample = {.cpu_ns = 10 * NS_PER_MS, .nr = 1, .time_ns = NS_PER_SEC};

	profile_add_process(profile, &(struct profile_process){.pid = 1, .parent = PROCESS_NONE});
	sample.thread = profile_add_thread(profile, &(struct profile_thread){.tid = 1});
	profile_add_sample(profile, &sample);
	profile->meta.duration_ns = 10 * NS_PER_SEC;
	profile_set_counter(profile, "cost_ppm", 1197900);
	assert_int_equal((int)stops_cost_ppm(profile), 1197);
	profile->meta.duration_ns = 5 * NS_PER_MS;
	assert_int_equal((int)stops_cost_ppm(profile), 1197900);
	/* Nine tenths of the CPU time were outside of --within. */
	profile->meta.duration_ns = 10 * NS_PER_SEC;
	profile_set_counter(profile, "within_dropped_cpu_ns", 60 * NS_PER_MS);
	profile_set_counter(profile, "within_unknown_cpu_ns", 30 * NS_PER_MS);
	assert_int_equal((int)stops_cost_ppm(profile), 11979);
	profile_free(profile);
}

/* A recorder at 1000 Hz that may use 0.45 % of a CPU, and so be at `hz`. */
static void check_budget(uint64_t hz, uint64_t used_ppm, const struct rates *rates,
			 const char *expected)
{
	struct profile *profile = recorded(rates);
	struct buf text = {0};

	profile_set_counter(profile, "budget_ppm", 4500);
	profile_set_counter(profile, "budget_used_ppm", used_ppm);
	profile_set_counter(profile, "budget_hz", hz * 1000);
	profile_set_counter(profile, "budget_lacks", used_ppm > 4500);
	assert_int_equal(append_rate_achieved(&text, profile), expected != NULL);
	assert_string_equal(buf_str(&text), expected ? expected : "");
	buf_release(&text);
	profile_free(profile);
}

#define BUDGET "profc may use 0.45% of a CPU"

TEST(rate_text, gives_the_budget_of_a_recorder)
{
	const struct rates rare = {.sampled_ms = 10000, .ticks = 6000, .ticks_ppm = 10000};

	check_budget(1000, 2000, &(struct rates){.sampled_ms = 10000, .ticks = 9900}, NULL);
	check_budget(300, 4490, &(struct rates){.sampled_ms = 10000, .ticks = 3100},
		     "sampled at 310 Hz of 1000: " BUDGET);
	check_budget(5, 8120, &(struct rates){.sampled_ms = 10000, .ticks = 200},
		     "sampled at 20 Hz of 1000: " BUDGET ", and used 0.81% at the lowest rate");
	/* The budget would allow more than the bound of what threads lose. */
	check_budget(900, 4490, &rare, "sampled at 600 Hz of 1000: " REASON_TICKS);
	check_budget(800, 4490, &rare, "sampled at 600 Hz of 1000: " BUDGET "; " REASON_TICKS);
}
