/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_RECORDER_TRIGGER_H
#define PROFC_RECORDER_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/* Conditions upon which a flight recorder writes what it has kept. */
enum trigger_kind {
	TRIGGER_SIGNAL,	 /* SIGUSR2 */
	TRIGGER_CONTROL, /* a line of --control */
	TRIGGER_EXIT,	 /* the end of the recording */
	TRIGGER_CPU,
	TRIGGER_RSS,
	TRIGGER_STALL,
	TRIGGER_RUNQ,
	TRIGGER_MARK,
	TRIGGER_SPAN,  /* a call of a function that is timed took long */
	TRIGGER_CRASH, /* a core is written, or the command dies of such a signal */
	TRIGGER_GONE,  /* no process of --unit or --comm is left */
	TRIGGER_KIND_COUNT,
};

struct trigger {
	enum trigger_kind kind;
	char *text;	  /* as it was given; owned */
	char *name;	  /* MARK: the text that begins the phase; SPAN: the function; owned */
	double threshold; /* a share, or bytes; not to be exceeded */
	uint64_t span_ns; /* of a share, a stall, a phase or a call */
	bool holds;	  /* as of the last evaluation */
	uint32_t number;  /* SPAN: profile_span.number; set by the caller */
	uint64_t call_ns; /* likewise, of the last call that was noted: its length, */
	uint64_t at_ns;	  /* and its end by any clock */
};

/* All processes of the recording at one moment. Sums count from any moment on. */
struct trigger_reading {
	uint64_t time_ns;	  /* CLOCK_MONOTONIC */
	uint64_t ran_ns;	  /* sum of the CPU clocks of the processes */
	uint64_t rss_bytes;	  /* resident memory */
	bool has_processes;	  /* one is alive */
	uint64_t sampled_ns;	  /* the recording's clock, up to which there are samples */
	uint64_t cpu_ns, runq_ns; /* sums of all samples up to then */
};

/* Zero-initialised is empty. */
struct triggers {
	struct trigger *rows; /* owned, as are the readings */
	size_t nr, cap;
	struct trigger_reading *readings; /* as far back as the triggers need, the oldest first */
	size_t nr_readings, cap_readings;
	char *phase; /* the text of the last mark; owned; NULL: there was none */
	uint64_t phase_from_ns;
};

/*
 * Add one by its text, such as "cpu>180%/5s". ERR_INVALID: it is none, or one of its numbers is of
 * no use.
 */
int triggers_add(struct triggers *triggers, const char *text, struct err *err);
void triggers_release(struct triggers *triggers);
/* The trigger of this kind; NULL: there is none. */
const struct trigger *triggers_find(const struct triggers *triggers, enum trigger_kind kind);
/* The name of a kind, for the names of files: "cpu". */
const char *trigger_name(enum trigger_kind kind);
/* "signal, control, exit, cpu>PCT%/TIME, ..." */
void triggers_append_syntax(struct buf *out);

/* Whether readings are needed. */
bool triggers_need_readings(const struct triggers *triggers);
/* How often to take one. */
uint64_t triggers_period_ns(const struct triggers *triggers);
void triggers_note_reading(struct triggers *triggers, const struct trigger_reading *reading);
/* A mark: the phase that it names begins, and the one before is over. */
void triggers_note_mark(struct triggers *triggers, const char *text, uint64_t time_ns);
/* TRIGGER_SPAN: one of its calls has ended, whatever its length. */
void trigger_note_call(struct trigger *trigger, uint64_t length_ns, uint64_t at_ns);
/* When a phase will have taken too long, if no mark ends it; UINT64_MAX: none is awaited. */
uint64_t triggers_due_ns(const struct triggers *triggers);

/*
 * The next trigger whose condition did not hold before and holds now; NULL: there is no further
 * one. Borrowed.
 */
const struct trigger *triggers_next(struct triggers *triggers, uint64_t now_ns);

#endif
