// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptions and units of the counters of a recording. */
#include "view/counter_words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "profile/spans.h"
#include "view/number.h"
#include "view/script_words.h"

/* Names as set by sampler/counters.c, or cmd/; the order is that of the tables. */
static const struct counter_words known[] = {
	{"unattributed_cpu_ns", COUNTER_LOSSES, "CPU time in bursts too short to sample", NULL},
	{"unattributed_blocked_ns", COUNTER_LOSSES, "blocked time in sleeps that were not sampled",
	 NULL},
	{"missed_ticks", COUNTER_LOSSES, "sampling ticks missed", "sampling tick missed"},
	{"late_ticks", COUNTER_LOSSES, "sampling ticks late by over a quarter of a period",
	 "sampling tick late by over a quarter of a period"},
	{"lateness_ns_median", COUNTER_LOSSES, "lateness of ticks, median", NULL},
	{"lateness_ns_p99", COUNTER_LOSSES, "lateness of ticks, 99th percentile", NULL},
	{"unfinished_stops", COUNTER_LOSSES, "threads not stopped by the next tick",
	 "thread not stopped by the next tick"},
	{"torn_looks", COUNTER_LOSSES, "sleeping threads that woke during a peek",
	 "sleeping thread that woke during a peek"},
	{"sleeps_left_out", COUNTER_LOSSES, "sleeps not sampled, as that would cost too much",
	 "sleep not sampled, as that would cost too much"},
	{"left_out_stops", COUNTER_LOSSES,
	 "stops left out, so that none costs too much or holds up others",
	 "stop left out, so that none costs too much or holds up others"},
	{"held_up_stops", COUNTER_LOSSES,
	 "of these, because too many stopped threads had to wait for a CPU", NULL},
	{"spared_stops", COUNTER_LOSSES, "stops avoided that could have disturbed a system call",
	 "stop avoided that could have disturbed a system call"},
	{"dropped_stacks", COUNTER_LOSSES, "stacks dropped because unwinding fell behind",
	 "stack dropped because unwinding fell behind"},
	{"refused_stops", COUNTER_LOSSES, "samples of running threads that could not be traced",
	 "sample of a running thread that could not be traced"},
	{"short_lived_cpu_ns", COUNTER_LOSSES,
	 "CPU time of processes that ended before they were found", NULL},
	{"estimated_cpu_ns", COUNTER_LOSSES,
	 "of such times, for which samples of short-lived processes stand", NULL},
	{"rest_user_ns", COUNTER_LOSSES,
	 "user time of all processes together that is not known of each", NULL},
	{"rest_system_ns", COUNTER_LOSSES, "system time, likewise", NULL},
	{"control_refused", COUNTER_LOSSES, "lines of --control that could not be obeyed",
	 "line of --control that could not be obeyed"},
	{"within_dropped_cpu_ns", COUNTER_LOSSES, "CPU time outside of --within, left out", NULL},
	{"within_dropped_blocked_ns", COUNTER_LOSSES, "blocked time outside of --within, left out",
	 NULL},
	{"within_dropped_samples", COUNTER_LOSSES, "samples outside of --within, left out",
	 "sample outside of --within, left out"},
	{"within_cut_samples", COUNTER_LOSSES, "of these, with a stack that was cut short", NULL},
	{"within_unknown_cpu_ns", COUNTER_LOSSES,
	 "CPU time without a stack, perhaps inside of --within, left out", NULL},
	{"suppressed_triggers", COUNTER_LOSSES, "triggers suppressed, shortly after another one",
	 "trigger suppressed, shortly after another one"},
	{"recorder_restarts", COUNTER_LOSSES,
	 "times the recorder began again, as its tables were full",
	 "time the recorder began again, as its tables were full"},
	{"pushed_profiles", COUNTER_LOSSES, "profiles delivered by --push",
	 "profile delivered by --push"},
	{"push_lost", COUNTER_LOSSES, "profiles that could not be delivered, and are lost",
	 "profile that could not be delivered, and is lost"},
	{"push_failures", COUNTER_LOSSES, "attempts to deliver that failed",
	 "attempt to deliver that failed"},
	{"agent_lost", COUNTER_LOSSES, "samples and other rows that the agent did not read",
	 "sample or other row that the agent did not read"},
	{"events_without_descriptor", COUNTER_LOSSES,
	 "threads whose events were not counted, as there were too few descriptors",
	 "thread whose events were not counted, as there were too few descriptors"},
	{"events_refused", COUNTER_LOSSES,
	 "threads whose events could not be counted, or that ended just then",
	 "thread whose events could not be counted, or that ended just then"},
	{"events_late_cpu_ns", COUNTER_LOSSES,
	 "CPU time of new threads before their events were counted", NULL},
	{"events_enabled_ns", COUNTER_LOSSES, "CPU time in which events were to be counted", NULL},
	{"events_running_ns", COUNTER_LOSSES, "of this, counted by the hardware", NULL},
	{"memory_off_ns", COUNTER_LOSSES, "time in which allocations were not to be recorded",
	 NULL},
	{"memory_missing_ns", COUNTER_LOSSES,
	 "time at the beginning of which no allocations are known: --keep-size had no room for "
	 "more",
	 NULL},
	{"mem_forgotten", COUNTER_LOSSES,
	 "blocks that were recorded and alive, forgotten as --keep-size had no room for more",
	 "block that was recorded and alive, forgotten as --keep-size had no room for more"},
	{"probe_dropped", COUNTER_LOSSES, "counts that could not be taken",
	 "count that could not be taken"},
	{WAKES_DROPPED, COUNTER_LOSSES,
	 "notes of waits and wakes that are missing: there were too many at once",
	 "note of a wait or wake that is missing: there were too many at once"},
	{SLOW_CALLS_DROPPED, COUNTER_LOSSES,
	 "slow calls whose times are missing: there were too many at once",
	 "slow call whose time is missing: there were too many at once"},
	{"probe_overlooked", COUNTER_LOSSES,
	 "programs that ended before calls or memory of theirs could be recorded",
	 "program that ended before calls or memory of it could be recorded"},
	{"probe_refused", COUNTER_LOSSES,
	 "counts and records that cannot be: a process has written to the memory of its probes",
	 "count or record that cannot be: a process has written to the memory of its probes"},
	{"mem_refused", COUNTER_LOSSES, "blocks that are too many or too large for any program",
	 "block that is too large for any program"},
	{"mem_cut_maps", COUNTER_LOSSES,
	 "mappings that were unmapped in part: they count until all of them is",
	 "mapping that was unmapped in part: it counts until all of it is"},
	{"stops", COUNTER_PERTURBATION, "ptrace-stops of threads", "ptrace-stop of a thread"},
	{"interrupts", COUNTER_PERTURBATION, "interrupts sent, to take a stack",
	 "interrupt sent, to take a stack"},
	{"spun_stops", COUNTER_PERTURBATION, "of these, spun for, from another CPU", NULL},
	{"waiting_looks", COUNTER_PERTURBATION, "threads interrupted while waiting for a CPU",
	 "thread interrupted while waiting for a CPU"},
	{"hold_ns_median", COUNTER_PERTURBATION, "length of a stop, median", NULL},
	{"hold_ns_p99", COUNTER_PERTURBATION, "length of a stop, 99th percentile", NULL},
	{"held_ns_total", COUNTER_PERTURBATION, "all stops together", NULL},
	{"stop_cost_ns", COUNTER_PERTURBATION, "what a stop costs its thread, mean", NULL},
	{"cost_ppm", COUNTER_PERTURBATION,
	 "cost of all stops, of CPU time or of the time of the recording", NULL},
	{"ticks_cost_ppm", COUNTER_PERTURBATION,
	 "CPU time of ticks while no CPU was idle, relative to all CPUs", NULL},
	{"blocked_looks", COUNTER_PERTURBATION, "peeks at sleeping threads, without a stop",
	 "peek at a sleeping thread, without a stop"},
	{"signals", COUNTER_PERTURBATION, "signals passed on to the target",
	 "signal passed on to the target"},
	{"fixed_up_calls", COUNTER_PERTURBATION, "interrupted system calls made to restart",
	 "interrupted system call made to restart"},
	{"probe_install_ns", COUNTER_PERTURBATION, "stops of whole processes to install probes",
	 NULL},
	{"probe_remove_ns", COUNTER_PERTURBATION, "stops of whole processes to remove probes",
	 NULL},
	{"probe_stop_ns_max", COUNTER_PERTURBATION, "longest of these", NULL},
	{"probe_remote_ns", COUNTER_PERTURBATION, "time of threads in system calls for probes",
	 NULL},
	{"probe_functions", COUNTER_PERTURBATION, "functions with a probe",
	 "function with a probe"},
	{"probe_calls", COUNTER_PERTURBATION, "call sites with a probe", "call site with a probe"},
	{"ticks", COUNTER_COSTS, "sampling ticks", NULL},
	{"sampling_cpu_ns", COUNTER_COSTS, "CPU time for stopping and copying", NULL},
	{"working_cpu_ns", COUNTER_COSTS, "CPU time for unwinding and writing", NULL},
	{"budget_ppm", COUNTER_COSTS, "budget of both, of one CPU", NULL},
	{"budget_used_ppm", COUNTER_COSTS, "of one CPU used in the last half a minute", NULL},
	{"budget_lacks", COUNTER_COSTS, "the budget is too low for 5 Hz (1: yes)", NULL},
	{"queue_bytes_max", COUNTER_COSTS, "largest backlog of snapshots to unwind", NULL},
	{"realtime", COUNTER_COSTS, "ran at real-time priority (1: yes)", NULL},
	{"script_proved", COUNTER_SCRIPTS, "samples with the interpreter's functions, all proved",
	 "sample with the interpreter's functions, all proved"},
	{"script_no_thread_state", COUNTER_SCRIPTS,
	 "refused: the interpreter does not know the thread", NULL},
	{"script_not_copied", COUNTER_SCRIPTS,
	 "refused: memory was missing, as in a thread's first sample", NULL},
	{"script_too_deep", COUNTER_SCRIPTS, "refused: more functions than are copied", NULL},
	{"script_torn", COUNTER_SCRIPTS, "refused: the interpreter was just changing its functions",
	 NULL},
	{"script_not_a_generator", COUNTER_SCRIPTS,
	 "refused: a function outside the stack that is no generator", NULL},
	{"script_no_native_frame", COUNTER_SCRIPTS,
	 "refused: a function that no native frame evaluates", NULL},
	{"script_with_line", COUNTER_SCRIPTS, "functions of Node.js in samples, at a line",
	 "function of Node.js in samples, at a line"},
	{"script_without_line", COUNTER_SCRIPTS,
	 "functions of Node.js in samples, at no line: optimised, or interpreted leaves",
	 "function of Node.js in samples, at no line: optimised, or an interpreted leaf"},
	{"script_unloadable", COUNTER_SCRIPTS,
	 "processes without its functions in allocations, as they may unload it",
	 "process without its functions in allocations, as it may unload it"},
	{"threads_lacking_script", COUNTER_SCRIPTS,
	 "threads that lived at the end whose last stack lacks its functions",
	 "thread that lived at the end whose last stack lacks its functions"},
	{"context_read", COUNTER_CONTEXTS, "samples with the context of their thread",
	 "sample with the context of its thread"},
	{"context_absent", COUNTER_CONTEXTS, "of threads that had none at that moment",
	 "of a thread that had none at that moment"},
	{"context_not_copied", COUNTER_CONTEXTS,
	 "not read: memory was missing, as in a thread's first samples", NULL},
	{"context_being_changed", COUNTER_CONTEXTS, "refused: the thread was just changing it",
	 NULL},
	{"context_refused", COUNTER_CONTEXTS,
	 "refused: the variable had the address of no context, or of one that is too long", NULL},
	{"context_damaged", COUNTER_CONTEXTS, "with labels of which some cannot be right", NULL},
	{"context_labels_left_out", COUNTER_CONTEXTS, "labels left out, as there were too many",
	 "label left out, as there were too many"},
	{"trigger_ns", COUNTER_OF_A_LINE, "moment of the trigger of a flight recorder", NULL},
	{"recorder_ns", COUNTER_OF_A_LINE, "time since the flight recorder began", NULL},
	{"machine_busy_ns", COUNTER_OF_A_LINE, "CPU time of all programs of the machine", NULL},
	{"machine_idle_ns", COUNTER_OF_A_LINE, "time in which its CPUs were idle", NULL},
	{"machine_stolen_ns", COUNTER_OF_A_LINE, "time that its host took from them", NULL},
};

struct counter_words counter_words(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].name, name) == 0)
			return known[i];
	}
	return (struct counter_words){.name = name,
				      .group = script_counts_processes(name) ? COUNTER_OF_A_LINE
									     : COUNTER_OTHER,
				      .words = name};
}

const char *counter_words_of(const struct counter_words *words, uint64_t value)
{
	return value == 1 && words->one ? words->one : words->words;
}

const char *counter_group_heading(enum counter_group group)
{
	switch (group) {
	case COUNTER_LOSSES:
		return "Losses";
	case COUNTER_PERTURBATION:
		return "Target perturbation";
	case COUNTER_COSTS:
		return "Profiler overhead";
	case COUNTER_SCRIPTS:
		return "Functions of scripts";
	case COUNTER_CONTEXTS:
		return "Labels of threads";
	case COUNTER_OTHER:
		return "Other counters";
	case COUNTER_GROUP_COUNT:
	case COUNTER_OF_A_LINE:
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
		buf_printf(out, "%.2f%%", (double)value / 10000);
	} else if (has_part(name, "_bytes")) {
		append_bytes(out, value);
	} else {
		append_count(out, value);
	}
}
