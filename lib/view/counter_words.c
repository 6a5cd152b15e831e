// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/counter_words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "view/number.h"

/* Names as lib/sampler/sampler.h has them; the order is that of the tables. */
static const struct counter_words known[] = {
	{"unattributed_cpu_ns", COUNTER_LOSSES, "CPU time in bursts too short to be seen", NULL},
	{"unattributed_blocked_ns", COUNTER_LOSSES, "blocked time in sleeps that were not seen",
	 NULL},
	{"missed_ticks", COUNTER_LOSSES, "looks that did not take place",
	 "look that did not take place"},
	{"late_ticks", COUNTER_LOSSES, "looks late by over a quarter of a period",
	 "look late by over a quarter of a period"},
	{"lateness_ns_median", COUNTER_LOSSES, "lateness of looks: median", NULL},
	{"lateness_ns_p99", COUNTER_LOSSES, "lateness of looks: 99 % below", NULL},
	{"unfinished_stops", COUNTER_LOSSES, "threads not stopped when the next look was due",
	 "thread not stopped when the next look was due"},
	{"torn_looks", COUNTER_LOSSES, "sleepers that woke while their stack was read",
	 "sleeper that woke while its stack was read"},
	{"spared_stops", COUNTER_LOSSES, "stops not made because they might spoil a system call",
	 "stop not made because it might spoil a system call"},
	{"dropped_stacks", COUNTER_LOSSES, "stacks dropped because unwinding fell behind",
	 "stack dropped because unwinding fell behind"},
	{"elsewhere_looks", COUNTER_LOSSES, "looks put off: many system calls, on another CPU",
	 "look put off: many system calls, on another CPU"},
	{"refused_threads", COUNTER_LOSSES, "new threads that could not be followed",
	 "new thread that could not be followed"},
	{"stolen_ns", COUNTER_LOSSES, "taken by the host of this machine, counted as waiting",
	 NULL},
	{"control_refused", COUNTER_LOSSES, "lines of --control that could not be obeyed",
	 "line of --control that could not be obeyed"},
	{"stops", COUNTER_PERTURBATION, "times that a thread was stopped",
	 "time that a thread was stopped"},
	{"interrupts", COUNTER_PERTURBATION, "stops asked for, to take a stack",
	 "stop asked for, to take a stack"},
	{"spun_stops", COUNTER_PERTURBATION, "of these, awaited without sleep, from an idle CPU",
	 NULL},
	{"waiting_looks", COUNTER_PERTURBATION, "threads asked to stop while waiting for a CPU",
	 "thread asked to stop while waiting for a CPU"},
	{"hold_ns_median", COUNTER_PERTURBATION, "length of a stop: median", NULL},
	{"hold_ns_p99", COUNTER_PERTURBATION, "length of a stop: 99 % below", NULL},
	{"held_ns_total", COUNTER_PERTURBATION, "all stops together", NULL},
	{"cost_ppm", COUNTER_PERTURBATION, "time that all stops cost, against the CPU time", NULL},
	{"unasked_cost_ppm", COUNTER_PERTURBATION, "of that, for births, children and signals",
	 NULL},
	{"blocked_looks", COUNTER_PERTURBATION, "sleeping threads read without a stop",
	 "sleeping thread read without a stop"},
	{"signals", COUNTER_PERTURBATION, "signals passed on to the target",
	 "signal passed on to the target"},
	{"repairs", COUNTER_PERTURBATION, "interrupted system calls put right unnoticed",
	 "interrupted system call put right unnoticed"},
	{"repairs_undone", COUNTER_PERTURBATION, "of these, taken back for a real signal", NULL},
	{"ticks", COUNTER_COSTS, "looks at the threads", NULL},
	{"sampling_cpu_ns", COUNTER_COSTS, "CPU time for stopping and copying", NULL},
	{"working_cpu_ns", COUNTER_COSTS, "CPU time for unwinding and writing", NULL},
	{"queue_bytes_max", COUNTER_COSTS, "largest amount of copies waiting to be unwound", NULL},
	{"realtime", COUNTER_COSTS, "ran at real-time priority (1: yes)", NULL},
};

struct counter_words counter_words(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].name, name) == 0)
			return known[i];
	}
	return (struct counter_words){.name = name, .group = COUNTER_OTHER, .words = name};
}

const char *counter_words_of(const struct counter_words *words, uint64_t value)
{
	return value == 1 && words->one ? words->one : words->words;
}

const char *counter_group_heading(enum counter_group group)
{
	switch (group) {
	case COUNTER_LOSSES:
		return "What was missed";
	case COUNTER_PERTURBATION:
		return "What was done to the target";
	case COUNTER_COSTS:
		return "What profc used";
	case COUNTER_OTHER:
		return "Other counters";
	case COUNTER_GROUP_COUNT:
		break;
	}
	return "";
}

static bool has_part(const char *name, const char *unit)
{
	size_t length = strlen(unit);

	for (const char *at = strstr(name, unit); at; at = strstr(at + 1, unit)) {
		if (at[length] == '\0' || at[length] == '_')
			return true;
	}
	return false;
}

void append_counter_value(struct buf *out, const char *name, uint64_t value)
{
	if (has_part(name, "_ns")) {
		append_weight(out, METRIC_WALL, value);
	} else if (has_part(name, "_ppm")) {
		buf_printf(out, "%.2f %%", (double)value / 10000);
	} else if (has_part(name, "_bytes")) {
		append_count(out, value);
		buf_append_str(out, " bytes");
	} else {
		append_count(out, value);
	}
}
