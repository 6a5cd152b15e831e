/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_PRIV_H
#define PROFC_CMD_RECORDING_PRIV_H

#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/end_listener.h"
#include "cmd/recording_control.h"
#include "cmd/recording_file.h"
#include "cmd/recording_keep.h"
#include "cmd/recording_snapshots.h"
#include "cmd/signal_pipe.h"
#include "roster/attached.h"
#include "roster/joiners.h"
#include "sampler/sampler.h"
#include "tracee/launch.h"

struct agent;
struct code_filter_options;
struct named_code;
struct profile;
struct record_options;
struct use_options;
struct store_writer;

/* The command that is recorded, as a child of ours. */
struct recorded_command {
	struct launch launch;
	int fd;	    /* readable once it has ended; -1: attached */
	int status; /* as of waitpid(2), once it was reaped */
	bool is_reaped;
	int exec_errno; /* not 0: it could not be executed */
};

/* Signals of the end; 0: there was none. */
struct recording_ending {
	unsigned int nr_asked; /* how often the user asked for the end */
	int asked_by;	       /* the signal that asked */
	int dies_of;	       /* the signal that profc is to end by */
	int late_signal;       /* to pass on to a command that outlives its recording */
	/*
	 * Listens while the recording begins and after its end. A request then means the end at
	 * once: long work is left out.
	 */
	struct end_listener listener;
};

struct count_options;
struct verdict;

/* The results of a recording: its file, its profile, and how it ended. */
struct recorded {
	struct recording_file file;
	struct profile *profile;
	struct store_writer *writer;
	struct named_code *within;	/* of --within; NULL: it was not given */
	struct sampler_result result;	/* of the last sampler */
	struct sampler_refusal refusal; /* of all of them */
	bool ended_paused;
};

/* Processes that join a recording: --unit, --comm. */
struct recording_joining {
	struct joiners joiners; /* empty: none do */
	bool has_told_of_waiting, has_told_of_refusal;
	bool is_waiting;   /* as the service manager knows it */
	size_t nr_gone;	   /* of the sampler of now, that are noted */
	size_t nr_told;	   /* of refused ones */
	size_t nr_refused; /* by former samplers */
	size_t nr_known;   /* by the one of now, and by those before */
};

/*
 * A recording, from the arguments to the exit status. Its sampler, which begins later and ends
 * earlier, is handed to the functions that use it.
 */
struct recording {
	const struct record_options *options;
	char **argv; /* NULL: attached */
	struct attached attached;
	struct recording_joining joining;
	regex_t threads; /* of --threads, if it was given */
	struct child_signals former_signals;
	struct signal_pipe signals;
	struct recorded_command command; /* of argv */
	struct control control;
	struct snapshots snapshots;	 /* from begin() to end() */
	struct keep *keep;		 /* NULL: there is a file */
	struct agent *agent;		 /* NULL: none */
	unsigned int nr_control_refused; /* lines of --control that could not be obeyed */
	struct recording_ending ending;
	uint64_t nr_former_samples;   /* before it began again, with another sampler */
	uint64_t command_ended_ns;    /* by CLOCK_MONOTONIC; 0: it has not */
	bool has_told_of_left_behind; /* it has said that other processes are still recorded */
	bool is_over; /* the sampler has finished: the command may be reaped, and its pid reused */
	bool shows_progress;
};

/*
 * recording_sampler.c: options for the processes that are attached. `within` is used if --within
 * was given.
 */
struct sampler_options recording_sampler_options(struct recording *recording,
						 const struct recorded *recorded,
						 const struct code_filter_options *within);
/* recorded->result has its end, and the command what it has reaped. */
void recording_finish_sampler(struct recording *recording, struct recorded *recorded,
			      struct sampler *sampler, struct err *failure);
/*
 * For keep_is_full(), finish the sampler and attach again to all processes, in a new profile. They
 * go on without us for a moment. NULL: the recording has ended meanwhile, or could not begin again.
 */
struct sampler *recording_begin_again(struct recording *recording, struct recorded *recorded,
				      struct sampler *former);

/*
 * recording_agent.c: the agent of a recording (agent/agent.h), if --agent names one; else these do
 * nothing.
 */
int recording_agent_start(struct recording *recording, bool prints_on_stderr, struct err *err);
/* A descriptor that becomes readable when the agent ends too early; -1: none. */
int recording_agent_fd(const struct recording *recording);
/* Say that it has ended. */
void recording_agent_say_ended(const struct recording *recording);
/*
 * Call this when the sampler has finished: the agent reads the rest, for some seconds or until a
 * signal asks for the end. Sets the counter agent_lost.
 */
void recording_agent_finish(struct recording *recording, struct profile *profile);

/* recording_joining.c: what is selected; NULL: nothing is. */
const struct joiners *recording_joiners(const struct recording *recording);
/* The first unit; NULL: there is none. */
const char *recording_unit(const struct recording *recording);
/* Say once that it waits for a process, and why some may not be traced. */
void recording_say_joined(struct recording *recording, struct sampler *sampler);
/* Say how many more may not be traced. */
void recording_end_joined(struct recording *recording, struct sampler *sampler);
/* Another sampler goes on: before the former one finishes, and when the other one has begun. */
void recording_leave_joined(struct recording *recording, struct sampler *former);
void recording_rejoin(struct recording *recording, struct sampler *sampler);

/*
 * recording_words.c: messages about a recording, on standard error. Functions that return an int
 * return the exit status of profc, for a recording whose command has none.
 */
int recording_failed_status(const struct recording *recording);
/* Before a message: take the line of progress away. */
void recording_clear_progress(const struct recording *recording);
/* Was no sample taken, no call counted and no memory recorded? */
bool recording_is_empty(const struct record_options *options, const struct recorded *recorded);
/* Say in one line what was recorded. Call it when the writer has finished. */
void recording_say_done(const struct recording *recording, const struct recorded *recorded);
/* Print the verdict, which may be NULL, and the command that shows more. */
void recording_say_next(const struct count_options *count, const struct recorded *recorded,
			const char *path, const struct verdict *verdict);
/* Say why the file could not be written to its end. */
void recording_say_unwritten(const struct record_options *options, const struct recorded *recorded,
			     struct err *err);
int recording_say_empty(const struct recording *recording, const struct recorded *recorded);
int recording_say_exec_failed(const struct recording *recording);
/* Name the processes that could only be peeked at, as profc may not trace them. */
void recording_say_refused(const struct sampler_refusal *refusal);
/* Say how many descendants of the named processes are recorded. */
void recording_say_descendants(const struct recording *recording, const struct sampler *sampler);
/*
 * Warn of a recorded process that waits for the end of profc, which waits for the end of that
 * process: only a request of the user ends such a recording.
 */
void recording_warn_of_waiting(const struct recording *recording);
/* Prints the result of --check-unwinder, for the search for errors in an unwinder. */
void recording_say_check(const struct recorded *recorded);

/*
 * recording_use.c: say what stands out in the file, which is read from that descriptor (-1: it
 * cannot be read), and which command shows more of the file of that path.
 */
void recording_explain(const struct recording *recording, const struct recorded *recorded,
		       const char *path, int fd);
/*
 * recording_use.c: use the file of that path once it is complete: keep sources in it, write a page.
 * Does neither if the user wants the end at once. Returns an exit status as above.
 */
bool recording_has_uses(const struct use_options *use);
int recording_use(const struct recording *recording, const char *path, bool shows_progress);

#endif
