/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORD_OPTIONS_H
#define PROFC_CMD_RECORD_OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/counting.h"
#include "cmd/options.h"
#include "cmd/push_options.h"
#include "cmd/symbol_options.h"
#include "profile/metric.h"

struct attached;
struct err;
struct joiners;

/* Counters of the kernel that are to be recorded. */
struct metric_options {
	struct option_list texts;
	unsigned int counters; /* of these, the set of enum kernel_counter */
};

/* How the file of a recording is used once it is complete. */
struct use_options {
	const char *html; /* the page to write; "": beside the recording; NULL: none */
	bool open;	  /* the page, or a temporary one */
	bool with_source; /* is kept in the file */
};

/* Processes by what they are. */
struct select_options {
	struct option_list units, names;
};

/* The recording is pushed while it goes. */
struct every_options {
	uint64_t span_ns; /* of each part; 0: it is not pushed */
	struct push_options push;
	struct option_list metrics; /* none: all that were recorded */
	const char *spool;	    /* a directory; NULL: in memory */
};

/* The flight recorder, and others without a file. */
struct keep_options {
	uint64_t span_ns;   /* to keep; 0: there is none */
	uint64_t max_bytes; /* of that; 0: the default */
	struct option_list triggers;
	uint64_t limit;		 /* files; 0: the default */
	double max_cost_percent; /* of one CPU; 0: any; see record_options_settle() */
	struct every_options every;
};

/* The options of everything that records: record, attach. */
struct record_options {
	uint64_t frequency_hz;
	double max_overhead_percent;
	const char *output;
	uint64_t duration_ns, delay_ns;
	const char *control; /* "fifo:PATH", or NULL */
	bool paused;
	struct option_list pid_texts;
	struct select_options select;
	bool no_children;
	const char *threads; /* a regular expression, or NULL */
	uint64_t max_depth;
	struct metric_options metrics;
	uint64_t max_samples, max_size_bytes; /* 0: no bound */
	bool check_unwinder;
	int unwinder;	   /* index into the choices: enum unwinder_kind */
	const char *agent; /* a command for the shell, or NULL */
	struct use_options use;
	struct keep_options keep;
	bool no_symbols;
	bool quiet, verbose;
	struct count_options count;
	struct symbol_option_values symbols;
};

extern const struct option_row record_option_rows[];
/* In the order of enum unwinder_kind. */
extern const char *const record_unwinder_choices[];

/*
 * The rows that other commands which record share. `at` is a macro that makes the offset of a
 * member of struct record_options in their own options struct.
 */
/* clang-format off */
#define RECORD_JOIN_OPTION_ROWS(at, when) \
	{.type = OPTION_LIST, \
	 .name = "unit", \
	 .argument = "NAME", \
	 .offset = at(select.units), \
	 .help = "the processes in the control group of this unit" when ": nginx.service; " \
		 "repeatable"}, \
	{.type = OPTION_LIST, \
	 .name = "comm", \
	 .argument = "REGEX", \
	 .offset = at(select.names), \
	 .help = "processes whose name matches" when "; repeatable"}

#define RECORD_WHAT_OPTION_ROWS(at) \
	{.type = OPTION_SECTION, .name = "Target"}, \
	{.type = OPTION_LIST, \
	 .short_name = 'p', \
	 .name = "pid", \
	 .argument = "PID", \
	 .offset = at(pid_texts), \
	 .commas = true, \
	 .help = "attach to this running process; repeatable, or a list with commas or blanks"}, \
	RECORD_JOIN_OPTION_ROWS(at, ", whenever there are some"), \
	{.type = OPTION_FLAG, \
	 .name = "children", \
	 .offset = at(no_children), \
	 .negated = true, \
	 .help = "follow fork, vfork and exec (default)"}, \
	{.type = OPTION_FLAG, \
	 .name = "no-children", \
	 .offset = at(no_children), \
	 .help = "do not follow them into other processes"}, \
	{.type = OPTION_STRING, \
	 .name = "threads", \
	 .argument = "REGEX", \
	 .offset = at(threads), \
	 .help = "record only threads whose name matches"}, \
	{.type = OPTION_DURATION, \
	 .short_name = 'd', \
	 .name = "duration", \
	 .argument = "TIME", \
	 .offset = at(duration_ns), \
	 .help = "end the recording after TIME: 10, 10s, 500ms, 2m (default: when the target exits)"}, \
	{.type = OPTION_DURATION, \
	 .name = "delay", \
	 .argument = "TIME", \
	 .offset = at(delay_ns), \
	 .help = "start recording after TIME"}

#define RECORD_HOW_OPTION_ROWS(at) \
	{.type = OPTION_SECTION, .name = "Sampling"}, \
	{.type = OPTION_UINT, \
	 .short_name = 'F', \
	 .name = "frequency", \
	 .argument = "HZ", \
	 .offset = at(frequency_hz), \
	 .min = 1, \
	 .max = 20000, \
	 .help = "samples per second and thread, at random intervals (default: 500)"}, \
	{.type = OPTION_DOUBLE, \
	 .name = "max-overhead", \
	 .argument = "PCT", \
	 .offset = at(max_overhead_percent), \
	 .min = 0, \
	 .max = 100, \
	 .help = "lower the frequency so that stops cost no thread more than PCT% of its time; " \
		 "0: never (default: 2)"}, \
	{.type = OPTION_LIST, \
	 .name = "metrics", \
	 .argument = "LIST", \
	 .offset = at(metrics.texts), \
	 .choices = &metric_names[METRIC_KERNEL], \
	 .commas = true, \
	 .help = "record counters of threads, too, as faults or instructions; 'help' lists them"}, \
	{.type = OPTION_UINT, \
	 .name = "max-depth", \
	 .argument = "N", \
	 .offset = at(max_depth), \
	 .min = 1, \
	 .max = 10000000, \
	 .help = "keep at most N frames of a stack, from both ends (default: 65536)"}, \
	{.type = OPTION_CHOICE, \
	 .name = "unwinder", \
	 .argument = "WHICH", \
	 .offset = at(unwinder), \
	 .choices = record_unwinder_choices, \
	 .help = "auto, cfi, libunwind or fp, which follows frame pointers (default: auto)"}
/* clang-format on */

/* The defaults; frequency_hz is 0 until record_options_settle(). */
void record_options_init(struct record_options *options);
/* The defaults that depend on other options. */
void record_options_settle(struct record_options *options);
/*
 * For commands that take only processes: ERR_INVALID if none is named, or if there are words
 * besides. `words` is NULL-ended.
 */
int record_options_check_words(const struct record_options *options, char *const *words,
			       struct err *err);
/*
 * Set *attached to the processes of the -p texts and, if children are followed, their descendants.
 * The caller releases it.
 */
int record_options_attached(const struct record_options *options, struct attached *attached,
			    struct err *err);
/* Do they name running processes: by -p, --unit or --comm? */
bool record_options_attach(const struct record_options *options);
/* They do, and there is a command. */
int record_options_refuse_command(const struct record_options *options, struct err *err);
/*
 * Refuse, with what to do instead, what cannot be had of a recording that keeps only its last time:
 * `with` is the option that makes it one, --keep or --every.
 */
int record_options_check_lasting(const struct record_options *options, const char *with,
				 struct err *err);
/* Set *joiners, all 0 before, to those of --unit and --comm. The caller releases it anyway. */
int record_options_joiners(const struct record_options *options, struct joiners *joiners,
			   struct err *err);
/* The --threads text, compiled. The caller regfree()s it. */
int record_options_threads(const struct record_options *options, regex_t *threads, struct err *err);

#endif
