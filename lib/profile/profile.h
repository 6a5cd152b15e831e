/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_PROFILE_H
#define PROFC_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/owner.h"
#include "base/strtab.h"
#include "mapping/module.h"
#include "profile/advances.h"
#include "profile/heap.h"
#include "profile/ids.h"
#include "profile/labels.h"
#include "profile/metric.h"
#include "profile/probes.h"
#include "profile/spans.h"
#include "profile/symbol_source.h"
#include "profile/waits.h"
#include "stack/stack.h"
#include "stack/stack_end.h"

struct buf;

/*
 * The in-memory profile, which a recording fills and every view reads. Tables of plain rows, ids
 * are indexes, texts are str_ids of profile.strings. Rows are only ever appended; members that say
 * so are updated in place. The struct is open because its readers are loops over tables; functions
 * exist where an invariant has to be kept.
 */

#define PROCESS_NONE UINT32_MAX
/*
 * The name of rows with the CPU time of processes that ended before they were found, with a pid of
 * 0, and in a process of such threads, with a tid of 0.
 */
#define SHORT_LIVED_NAME "[short-lived]"

struct profile;
/*
 * The default metric: CPU time; wall time if there is none; or allocations where only memory was
 * recorded.
 */
enum metric metric_of_profile(const struct profile *profile);
/* Was it recorded: is there a sample with some of it, or are there blocks? */
bool profile_has_metric(const struct profile *profile, enum metric metric);

/*
 * User and system CPU time as the kernel accounts them, in whole clock ticks: their sum may be less
 * than the exact CPU time. Unknown: all 0.
 */
struct cpu_split {
	uint64_t user_ns, system_ns;
	uint64_t nr_faults; /* page faults in that time; 0: none, or an older file */
	bool known;
};

/* One process between two execs: an exec ends one row and starts another with the same pid. */
struct profile_process {
	pid_t pid;
	uint32_t parent;       /* index of the forking or exec'ing process row, or PROCESS_NONE */
	struct str_id name;    /* comm; updated when it changes */
	struct str_id exe;     /* path as the target sees it */
	struct str_id command; /* arguments joined by spaces; may be empty */
	uint64_t start_ns, end_ns; /* of the recording's clock; end 0 while it lives */
	struct cpu_split split;	   /* of all its threads, including those without samples */
	/*
	 * CPU time of its reaped children and of theirs, since its birth, as last read: the kernel
	 * rounds user and system time down to its ticks.
	 */
	uint64_t children_ns;
	uint64_t nr_unseen; /* the row is of so many processes that no sample found; 0: of one */
	/*
	 * Without its last sample, the kernel alone would have the CPU time around that: no other
	 * tick met the process, or no later one, and its clock was not read after its end. So this
	 * sample stands for time of processes that no sample found.
	 */
	bool stands_for_unseen;
	/*
	 * The schema of the contexts that its threads publish (labels.h), as the program names it;
	 * empty: they publish none. And why those are not read; empty: they are.
	 */
	struct str_id context, context_problem;
	bool is_unseen; /* or of none, once profile_estimate_short_lives() was run; no file has it
			 */
};

/* The share of system time in the CPU time of a thread's samples: see cpu_modes.h. */
struct cpu_modes {
	double in_kernel;  /* of samples in a system call or a page fault */
	double in_program; /* of other samples */
	double elsewhere;  /* of time without a sample */
};

struct profile_thread {
	uint32_t process;
	pid_t tid;
	struct str_id name; /* comm of the thread; updated when it changes */
	uint64_t start_ns, end_ns;
	struct cpu_split split;
	struct cpu_modes modes; /* once profile_prepare() has found them; no file has them */
	uint64_t nr_switches;	/* how often the thread was given a CPU; 0: not known */
	bool stands_for_unseen; /* as that of a process: for time of threads that no sample found */
	/*
	 * It stands for that time without a sample: the last tick that found it on a CPU saw it end
	 * before it could be stopped.
	 */
	bool was_missed;
};

/* A distinct code address of frames, already moved into the call instruction. */
struct frame {
	struct code_address where;
};

/* A source function. `name` is demangled; `linkage_name` as in the object file, may be empty. */
struct function {
	struct str_id name, linkage_name;
	struct str_id shared; /* other functions that have the same code, one a line; or empty */
	struct str_id file;   /* empty when unknown */
	uint32_t line;	      /* of its definition, 0 when unknown */
};

/*
 * A name that a program gave to its JIT-compiled code during the recording: function and line of a
 * frame. Or the name of a function of the kernel. Of several rows for one frame, the last one is
 * valid. Resolution makes symbols of them.
 */
struct jit_name {
	struct frame_id frame;
	struct str_id name;
	struct str_id file; /* of the line; empty: unknown */
	uint32_t line;	    /* 0: unknown */
	struct str_id function_file;
	uint32_t function_line; /* of its first code */
};

/* The source of such names for a module. Of several rows, the last one is valid. */
struct jit_source {
	struct module_id module;
	enum symbol_source source; /* SYMBOL_SOURCE_NONE: the program gives no names */
	struct str_id path;	   /* of the file, or empty */
	struct str_id problem;	   /* why no more is known, for users; or empty */
	struct owner owner;	   /* chose the names of source files */
};

/*
 * One level of an inline chain: the function and the line inside it (the line of
 * the call for all but the innermost level). line 0: unknown. `file` is the
 * file of that line, which may differ from the function's own.
 */
struct location {
	struct function_id function;
	struct str_id file;
	uint32_t line;
};

/* The chain of a frame, innermost first: locations[first] … locations[first + nr - 1]. nr 0: not
 * resolved, shown as [module+0xaddress]. */
struct frame_symbols {
	uint32_t first, nr;
};

struct module_symbols {
	enum symbol_source source;
	struct str_id debug_path; /* the separate file, or empty */
	struct str_id problem;	  /* why there is no better source, for users; or empty */
	/*
	 * The mapped file is not the one that was resolved (other build-id). Its
	 * frames keep no names.
	 */
	bool mismatched;
	struct owner owner; /* chose these paths: the owner of the files that name the sources */
};

/* How a sample came about. Numbers are part of the file format: append only. */
enum sample_kind {
	SAMPLE_RUNNING = 0,	 /* the thread was on a CPU or runnable */
	SAMPLE_BLOCKED = 1,	 /* off the CPU */
	SAMPLE_UNATTRIBUTED = 2, /* time without a known stack: stack is empty */
	SAMPLE_KIND_COUNT,
};

/*
 * The moments of samples are rounded down to a multiple of this: finer ones are noise that costs
 * more than a byte a sample in the file. Weights are not rounded, so moments and weights agree only
 * within this.
 */
#define SAMPLE_TIME_GRAIN_NS UINT64_C(1024)

/*
 * One observation, or several equal ones in a row: the weights cover the time
 * since this thread's previous sample, up to time_ns.
 */
#define SAMPLE_PAGE_FAULT	(-2)
#define SAMPLE_KERNEL_DEPTH_MAX 64

struct sample {
	uint64_t time_ns; /* since the recording began */
	uint64_t cpu_ns, runq_ns, blocked_ns;
	struct thread_id thread;
	struct stack_id stack;
	/*
	 * Number of observations that it represents. 0 when unattributed, and when the sample
	 * continues an earlier one of the thread: a SAMPLE_BLOCKED is known to, a RUNNING one is
	 * not.
	 */
	uint32_t nr;
	/* The call in which the thread blocked or ran; -1: none; or SAMPLE_PAGE_FAULT. */
	int16_t syscall_nr;
	uint8_t kind;  /* enum sample_kind */
	uint8_t end;   /* enum stack_end */
	uint32_t wait; /* BLOCKED: row of the awaited object + 1; 0: unknown */
	/*
	 * BLOCKED: the functions of the kernel below `stack`, which does not have them; at most
	 * SAMPLE_KERNEL_DEPTH_MAX.
	 */
	struct stack_id kernel;
	uint32_t labels; /* number of a label (labels.h); 0: none is known */
	/*
	 * CPU time that the observation stands for, if samples without one have a part of it:
	 * short_lives.h. Each of these has it as well; 0: cpu_ns alone. No file has it.
	 */
	uint64_t stands_ns;
	/*
	 * Its cpu_ns when it was added to the profile: what the thread's clock had advanced by
	 * since its sample before. Views share CPU time with other samples. No file has it.
	 */
	uint64_t recorded_cpu_ns;
};

/* 0 for metrics of memory. */
uint64_t sample_weight(const struct sample *sample, enum metric metric);

/* Losses, perturbation and overhead: counters by name, so that old readers show new ones. */
struct profile_counter {
	struct str_id
		name; /* "late_ticks", "stops", "hold_ns_median", …: see lib/sampler/sampler.h */
	uint64_t value;
};

/* Facts of the whole recording. */
struct profile_meta {
	struct str_id version;	/* of the profc that wrote it */
	struct str_id *command; /* argv of record, or of the first process attached to */
	size_t nr_command, cap_command;
	struct str_id hostname, kernel, cpu_model, arch, unwinder;
	struct str_id within; /* the function that recording was limited to; or empty */
	uint32_t nr_cpus, frequency_hz;
	uint64_t start_realtime_ns; /* since the epoch */
	uint64_t duration_ns;
	uint32_t max_overhead_ppm;
	bool attached;	     /* else spawned */
	bool knows_freeing;  /* freeing stacks of memory were recorded */
	bool knows_calls;    /* samples of running threads have their system calls, too */
	bool knows_faults;   /* samples tell page faults from the program's own time */
	bool knows_waits;    /* samples of blocked threads have the awaited object */
	bool complete;	     /* the recording was finished; false if it was salvaged */
	int32_t exit_status; /* wait status of the command; -1 unknown */
	struct owner owner;  /* of the file that it was read from; else the caller */
};

/* The beginning of the text of a mark that a trigger of a flight recorder has set. */
#define PROFILE_TRIGGER_MARK "trigger:"

/* A user's mark in time (`--control`: mark TEXT). */
struct profile_mark {
	uint64_t time_ns;
	struct str_id text;
};

/* A source file as it was when symbols were resolved, at the end of the recording. */
struct profile_source {
	struct str_id file;		/* the path, as locations have it */
	uint64_t nr_bytes, modified_ns; /* since the epoch, for the latter */
	struct str_id text;		/* empty: not kept */
};

/* The instructions of a function, or of a part of one, as they were executed. */
struct profile_listing {
	struct module_id module;
	uint64_t start, end; /* addresses as in the ELF file of the module */
	struct str_id text;  /* as view/disassembly.h takes it */
};

/* Names of addresses. */
struct profile_symbols {
	struct frame_symbols *frames; /* of all frames, or of none before resolution */
	size_t nr_frames;
	size_t nr_asked; /* the names of so many frames were looked up; no file has it */
	struct location *locations;
	size_t nr_locations, cap_locations;
	struct function *functions; /* distinct */
	size_t nr_functions, cap_functions;
	struct module_symbols *modules; /* by module_id, or NULL before resolution */
	size_t nr_modules;
	/* Merged recordings may have several of one file. They remain when symbols are dropped. */
	struct profile_source *sources;
	size_t nr_sources;
	struct profile_listing *listings; /* stay as well */
	size_t nr_listings;
};

/* One of the recordings that were merged into this one. */
struct profile_run {
	struct str_id command;	    /* its title (profile_append_title()); may be empty */
	struct str_id hostname;	    /* may be empty */
	uint64_t start_realtime_ns; /* since the epoch; 0: not known */
	uint64_t duration_ns;
	/* The number of its processes and marks. Their rows follow those of the runs before. */
	uint64_t nr_processes, nr_marks;
};

/* What other programs of the machine used of the CPUs meanwhile: processes of one name. */
struct profile_other {
	struct str_id name;
	bool is_of_children; /* processes that these began, and that were not seen themselves */
	uint64_t cpu_ns;
};

/* More programs are not kept. */
#define PROFILE_OTHERS_MAX 1024

struct profile_others {
	struct profile_other *rows; /* owned by the profile */
	size_t nr, cap;
};

/* In the order in which they were merged; none in a recording that was not. */
struct profile_runs {
	struct profile_run *rows; /* owned by the profile */
	size_t nr, cap;
};

/* The names of JIT-compiled code, and their sources. */
struct profile_jit {
	struct jit_name *names;
	size_t nr_names;
	struct jit_source *sources;
	size_t nr_sources;
};

struct profile {
	struct profile_meta meta;
	struct strtab *strings; /* owned, as everything here */
	struct module_table *modules;
	struct stack_trie *stacks;
	struct profile_process *processes;
	size_t nr_processes;
	struct profile_thread *threads;
	size_t nr_threads;
	struct frame *frames; /* distinct; by frame_id */
	size_t nr_frames;
	struct sample *samples; /* in time order within each thread */
	size_t nr_samples;
	struct profile_counter *counters;
	size_t nr_counters;
	struct profile_mark *marks;
	size_t nr_marks;
	struct profile_jit jit;
	struct profile_probes probes;
	struct profile_spans spans;
	struct profile_heap heap;
	struct profile_runs runs;
	struct profile_advances advances;
	struct profile_others others; /* those that used most; with the counters machine_… */

	struct profile_symbols symbols;	 /* filled by resolution */
	struct profile_private *private; /* hash sets of the interners, room of the tables */
};

struct profile *profile_new(void);
void profile_free(struct profile *profile);

const char *profile_str(const struct profile *profile, struct str_id id);
/* The objects that blocked threads waited for: waits.h. Borrowed. */
struct profile_waits *profile_waits(const struct profile *profile);
/* The labels of samples: labels.h. Borrowed. */
struct profile_labels *profile_labels(const struct profile *profile);
struct str_id profile_intern(struct profile *profile, const char *text);

struct process_id profile_add_process(struct profile *profile, const struct profile_process *row);
struct thread_id profile_add_thread(struct profile *profile, const struct profile_thread *row);
/* Equal places get equal ids. */
struct frame_id profile_intern_frame(struct profile *profile, struct code_address where);
/* Equal (name, linkage name, file, line) get equal ids. */
struct function_id profile_intern_function(struct profile *profile, const struct function *row);
void profile_add_sample(struct profile *profile, const struct sample *sample);
/* Replace all samples by those in an array from xmalloc(), which the profile owns from now on. */
void profile_take_samples(struct profile *profile, struct sample *samples, size_t nr);
/* Forget all samples and advances of counters: a file has them. */
void profile_drop_samples(struct profile *profile);
void profile_add_mark(struct profile *profile, uint64_t time_ns, const char *text);
void profile_add_jit_name(struct profile *profile, const struct jit_name *row);
void profile_add_jit_source(struct profile *profile, const struct jit_source *row);
/*
 * A new frame for JIT-compiled code that replaced other code at `where`, which was sampled before:
 * in a module that differs in its number only (module_table_first()). False if code was replaced
 * there too often.
 */
bool profile_add_jit_frame(struct profile *profile, struct code_address where,
			   struct frame_id *frame);
/* Add to the row of that name, or a new one; it is left out if there are too many. */
void profile_add_other(struct profile *profile, const struct profile_other *row);
void profile_add_run(struct profile *profile, const struct profile_run *row);
void profile_add_source(struct profile *profile, const struct profile_source *row);
void profile_add_listing(struct profile *profile, const struct profile_listing *row);
/* The listing that has the instruction at an address, or NULL; borrowed. */
const struct profile_listing *profile_find_listing(const struct profile *profile,
						   struct code_address where);
/* Set a counter; counters that exist are overwritten. */
void profile_set_counter(struct profile *profile, const char *name, uint64_t value);
uint64_t profile_counter(const struct profile *profile, const char *name); /* 0 when absent */
/* The trigger upon which a flight recorder has written it, such as "cpu>180%/5s"; NULL: none. */
const char *profile_trigger(const struct profile *profile);
void profile_add_command_word(struct profile *profile, const char *word);
/*
 * Append the subject of the recording, raw: the words of the command joined by spaces; for an
 * attached recording, which has none, the command or else the name of its first process; nothing
 * when there is none. For a merged one, how many runs of which command.
 */
void profile_append_title(struct buf *out, const struct profile *profile);

/*
 * Restart resolution: drops all symbols, makes frame_symbols for every frame and module_symbols for
 * every module, zeroed.
 */
void profile_reset_symbols(struct profile *profile);
/*
 * Set the owner of the file that it was read from. An untrusted owner chose every path in it, so no
 * other owner that it records is believed.
 */
void profile_set_owner(struct profile *profile, struct owner owner);
/* The owner that chose this source's path: those of all modules with code in it, joined. */
struct owner profile_source_owner(const struct profile *profile, const char *file);
/* Have symbols been resolved, whether or not any was found? */
bool profile_is_resolved(const struct profile *profile);
/* Append a chain (innermost first) for a frame. */
void profile_set_chain(struct profile *profile, struct frame_id frame, const struct location *chain,
		       size_t nr);

/* The sum over all processes for which it is known; false if there are none. */
bool profile_cpu_split(const struct profile *profile, struct cpu_split *split);
/* Sum of both parts into a, which is known if either is. */
void cpu_split_add(struct cpu_split *a, const struct cpu_split *b);

/* Sum of a metric over all samples, the unattributed ones included. */
uint64_t profile_total(const struct profile *profile, enum metric metric);

#endif
