/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_RECORDS_H
#define PROFC_SAMPLER_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/due_queue.h"
#include "base/minmax.h"
#include "base/process_clock.h"
#include "overhead/governor.h"
#include "proc/cpu_split.h"
#include "proc/task.h"
#include "roster/roster.h"
#include "wait/wait.h"

/* The sampler's own records of processes and threads. */

struct roster_process;
struct roster_thread;
struct process_hints;
struct thread_hints;
struct visitor;
struct code_places;
struct descriptors;

/* The CPU time of a process by its own clock, and by the clocks of its threads. */
struct process_cpu {
	struct process_clock clock;
	uint64_t base_ns;	 /* where counting began */
	uint64_t latest_ns;	 /* as last read */
	uint64_t credited_ns;	 /* of that, credited to the governor */
	uint64_t covered_ns;	 /* by the clocks of threads, since the base */
	uint64_t known_rest_ns;	 /* not covered, just after the clocks of all threads were read */
	uint64_t handed_out_ns;	 /* the part of it that was published as the rest of the process */
	uint64_t rest_read_ns;	 /* when it was last looked for more */
	uint64_t sweep_again_ns; /* not before: go through its threads again */
	struct cpu_split_meter split;
	struct proc_cpu_split split_of_threads; /* of threads that have ended */
	struct proc_cpu_split split_seen;	/* of the whole process, as last read, */
	uint64_t split_seen_ns;			/* and the value of its clock then; 0: not read */
	bool had_threads;			/* more than one at a time */
	bool had_short_threads;			/* one has ended that few ticks had met */
	bool counts;				/* counting is on */
	bool is_continued;			/* by the same process after an exec */
};

/* When we read its memory map, before the collector comes to it. */
struct maps_reading {
	uint64_t again_ns;
	bool has_new_code;  /* code was replaced, and that is not published yet */
	bool has_more_code; /* the collector was woken for it */
};

/* The ticks that met a process, or a thread. */
struct meetings {
	uint64_t nr;	    /* that found it alive; a process before its last exec as well */
	uint64_t last_ns;   /* the last one that read a clock of it, */
	uint64_t ran_ns;    /* the last one that sampled it on a CPU, */
	uint64_t missed_ns; /* and the last one that found it there, and was too late for a stop */
	uint64_t born_ns;   /* of a thread: it had had a CPU when it was found, then; 0: not yet */
	bool was_read_last; /* of a process: as its last thread ended, that one's clock was read */
};

/* Which stops of its threads would harm a process. See guard_priv.h. */
struct stop_guard {
	bool makes_transfers;	   /* one of its threads was seen in a long one */
	bool forbids_restart;	   /* filters do, for restart_syscall(2) */
	uint32_t nr_filters;	   /* of system calls, that one of its threads has; */
	uint64_t filters_again_ns; /* they are counted again then */
	uint32_t nr_known;	   /* so many of one thread were read */
	bool reads_anyway;	   /* at the next stop of one that gets signals */
	uint64_t unread_from_ns;   /* some are not read since then; 0: none were, when counted */
};

/* A process between two execs. */
struct sampled_process {
	uint32_t serial;
	struct roster_process *roster;
	uint64_t start_ns;
	struct due due;		 /* when its clock is read */
	size_t nr_active;	 /* threads that ran when last sampled */
	bool is_quiet;		 /* its clock did not move when last read */
	uint64_t read_ns;	 /* when that was */
	uint64_t quiet_since_ns; /* its clock last began to stand still then, */
	uint64_t quiet_until_ns; /* and did so at least until then */
	uint64_t unseen_ns; /* the last tick that did not show the clocks of a thread that ran */
	struct process_cpu cpu;
	struct meetings met;
	uint64_t children_ns; /* profile_process.children_ns */
	struct maps_reading maps;
	struct code_places *places;	   /* owned; NULL: no code was asked about yet */
	uint64_t place_met_ns;		   /* when new code was asked about */
	uint64_t thread_pointer;	   /* of its main thread, as last seen */
	struct descriptors *descriptors;   /* owned; NULL: no thread was seen waiting for one */
	struct process_advances *advances; /* owned; NULL: no counter was requested */
	struct process_hints *hints;	   /* shared with those of its threads */
	bool is_forked;			   /* born in its parent's program */
	struct stop_guard guard;
	bool dumps_core; /* the kernel writes its core, or has: no thread returns to its code */
	bool is_refused; /* may not be traced: its threads are only peeked at, */
	uint64_t refused_until_ns; /* until then */
};

/* A process that a tick finds begins for us after the tick: then it is 0. */
static inline uint64_t process_age_ns(const struct sampled_process *process, uint64_t now_ns)
{
	return now_ns - min_u64(now_ns, process->start_ns);
}

/* A sleeping thread is looked at again after this part of its sleep so far. */
#define SLEEP_PART 8

/* A sleep without a copy of the stack, to save the cost. */
struct unseen_sleep {
	uint64_t pcount;  /* times scheduled in */
	uint64_t from_ns; /* when it was found; 0: none */
};

/* The sleep in which a thread was last seen. */
struct seen_sleep {
	bool is_known;	    /* it was off the CPU at the count below, */
	bool is_asleep;	    /* and asleep; else a visit has stopped it while it ran */
	bool is_over;	    /* the next sample takes what is known of it */
	bool has_registers; /* a visit has shown all registers */
	uint64_t pcount;    /* times scheduled in */
	uint64_t from_ns, until_ns;
	uint64_t sure_ns;	  /* up to then it is a fact, and later an average */
	uint64_t cpu_ns, runq_ns; /* its clocks then */
	uint32_t nr;		  /* observations that confirmed it, since the last message */
	int64_t syscall_nr;
	uint64_t sp;
	bool is_visited; /* a visit has woken it there, and it returns there */
	struct seen_wait wait;
	struct unseen_sleep unseen; /* after it */
};

/* The cost of its visits. */
struct visit_cost {
	struct stop_budget budget;
	uint64_t held_ns;     /* since the last sample */
	bool is_alone;	      /* no other thread of ours was found running on its CPU, */
	bool was_asked;	      /* so the lot was drawn before the look at it: */
	bool is_drawn;	      /* is it to be visited in this tick? */
	bool is_exiting;      /* it costs no visit: its place is known, do_exit() of the kernel, */
	bool is_spared;	      /* or no stack of it may be taken: see guard_addressee() */
	uint8_t nr_unseen;    /* ticks in a row without a look at it, this one the last */
	size_t lacking_bytes; /* the room for which its last stack was dropped; 0: none was */
};

/* How often a thread was stopped in system calls. */
struct call_habits {
	uint32_t in_calls;     /* in units of 2^-20; the latest stops count most */
	bool makes_calls;      /* often: it is better stopped from its own CPU */
	bool waits;	       /* was stopped in a call that waits */
	bool runs_much;	       /* if it runs now: see placement_runs_much() */
	bool has_children;     /* had, when last asked: see guard_addressee() */
	uint32_t nr_guarded;   /* visits for which it still counts as one that makes transfers */
	uint64_t nr_preempted; /* as last read */
	uint64_t user_ticks;   /* when it last counted as being in a transfer */
};

struct name_pause {
	uint64_t again_ns, pause_ns;
};

/* A thread, and the results of its last sample. */
/* How a thread's CPU time is known to be divided. */
struct split_reading {
	struct proc_cpu_split seen; /* as last read: that of an ended thread cannot be read */
	uint64_t from_cpu_ns;	    /* its clock when that began to count */
};

struct sampled_thread {
	struct due due;
	struct due_queue *queue; /* the one that it is in, or was last */
	uint32_t serial;
	struct sampled_process *process;
	struct roster_thread *roster;
	struct thread_hints *hints;	  /* the collector's */
	struct visitor *visitor;	  /* the one that visits it now, or NULL */
	bool is_active;			  /* it counts in nr_active of its process */
	bool is_gone;			  /* it ended during a visit: the visitor frees it */
	bool is_chosen;			  /* its name fits options.threads, or all do */
	struct name_pause name_pause;	  /* if not, its name is read again later */
	struct thread_advances *advances; /* owned; NULL: no counter was requested */
	struct proc_schedstat clocks;	  /* as last read, */
	uint64_t read_ns;		  /* at that time */
	int cpu;			  /* where it was; -1: not known */
	bool was_running;		  /* when last sampled */
	uint64_t nr_arrivals; /* times that it came to a CPU, between the last two readings */
	struct seen_sleep sleep;
	struct visit_cost cost;
	struct call_habits habits;
	struct cpu_split_meter split;
	struct split_reading split_read;
	struct meetings met;
	uint64_t published_ns; /* the time of the last message about it */
	uint64_t name;	       /* hashed; 0: its stat shows another name than was published */
};

/* Does it still sleep as it did when its sleep was left without a sample? */
static inline bool sleeps_unseen(const struct sampled_thread *thread, uint64_t pcount)
{
	return thread->sleep.unseen.from_ns && thread->sleep.unseen.pcount == pcount;
}

/* Which allocations are recorded: those of a span of time. */
struct heap_session {
	uint64_t from_ns; /* CLOCK_MONOTONIC; changed by the collector's thread, as it reads */
	_Atomic uint64_t to_ns; /* likewise, or at the end of the recording */
	bool is_off;		/* the user has turned it off, while the rest continues */
	/* heap_run(): the lock's holder waits, so the collector's thread may use the sampler. */
	_Atomic bool is_lent;
	_Atomic uint64_t nr_lost_stacks;
	uint32_t nr_children;	    /* that had ended when a record named them */
	struct heap_reader *reader; /* owned; NULL: no allocations are recorded */
};

#endif
