/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_RECORDS_H
#define PROFC_SAMPLER_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/due_queue.h"
#include "base/process_clock.h"
#include "overhead/governor.h"
#include "proc/cpu_split.h"
#include "proc/task.h"
#include "roster/roster.h"
#include "wait/wait.h"

/* The sampler's own records of processes and threads. */

struct roster_process;
struct roster_thread;
struct thread_hints;
struct visitor;
struct code_places;
struct descriptors;

/* The CPU time of a process by its own clock, beside what the clocks of its threads showed. */
struct process_cpu {
	struct process_clock clock;
	uint64_t base_ns;	 /* where counting began */
	uint64_t latest_ns;	 /* as last read */
	uint64_t credited_ns;	 /* of that, to the governor */
	uint64_t covered_ns;	 /* since the base, by the clocks of threads */
	uint64_t known_rest_ns;	 /* not covered, when all threads had just been asked */
	uint64_t handed_out_ns;	 /* of that, published as the rest of the process */
	uint64_t sweep_again_ns; /* when its threads may be gone through again */
	struct cpu_split_meter split;
	struct proc_cpu_split split_of_threads; /* that have ended */
	struct proc_cpu_split split_seen;	/* of the whole process, as last read, */
	uint64_t split_seen_ns;			/* when its clock showed that; 0: not yet */
	bool had_threads;			/* more than one at a time */
	bool counts;				/* between base and rest */
	bool is_continued;			/* by the same process after an exec */
};

/* When its memory map is read by us, before the collector comes to it. */
struct maps_reading {
	uint64_t again_ns;
	bool has_new_code;  /* in the place of other code, and not published yet */
	bool has_more_code; /* for which the collector was woken */
};

/* A process between two execs. */
struct sampled_process {
	uint32_t serial;
	struct roster_process *roster;
	uint64_t start_ns;
	struct due due;		 /* its clock is read */
	size_t nr_active;	 /* threads that ran when last sampled */
	bool is_quiet;		 /* its clock did not move when last read */
	uint64_t read_ns;	 /* that time */
	uint64_t quiet_since_ns; /* when it stood still, of late, */
	uint64_t quiet_until_ns; /* up to then at least */
	uint64_t unseen_ns;	 /* the last tick that has not shown the clocks of one that ran */
	struct process_cpu cpu;
	struct maps_reading maps;
	struct code_places *places;	   /* owned; NULL: none was asked about yet */
	uint64_t place_met_ns;		   /* when a new one was asked about */
	uint64_t thread_pointer;	   /* of its main thread, as last seen */
	struct descriptors *descriptors;   /* owned; NULL: no thread was seen to wait for one */
	struct process_advances *advances; /* owned; NULL: no counter was asked for */
	bool is_forked;			   /* born in its parent's program */
	bool makes_transfers;		   /* one of its threads was seen in a long one */
	bool is_refused;		   /* may not be traced: its threads are peeked at only, */
	uint64_t refused_until_ns;	   /* up to then */
};

/* A thread that sleeps is asked after again when so small a part of its sleep has passed. */
#define SLEEP_PART 8

/* A sleep of which no copy was taken, to save the cost. */
struct unseen_sleep {
	uint64_t pcount;  /* times scheduled in */
	uint64_t from_ns; /* when it was found; 0: there is none */
};

/* The sleep that a thread was last seen in. */
struct seen_sleep {
	bool is_known;	    /* it was seen off the CPU at the count below, */
	bool is_asleep;	    /* and asleep; else a visit has stopped it while it ran */
	bool is_over;	    /* what is known of it goes out with the next sample */
	bool has_registers; /* a visit has shown all registers */
	uint64_t pcount;    /* times scheduled in */
	uint64_t from_ns, until_ns;
	uint64_t sure_ns;	  /* up to then that is a fact, later in the mean */
	uint64_t cpu_ns, runq_ns; /* its clocks then */
	uint32_t nr;		  /* times it was found to hold, since the last message */
	int64_t syscall_nr;
	uint64_t sp;
	bool is_visited; /* a visit has woken it from there, to which it returns */
	struct seen_wait wait;
	struct unseen_sleep unseen; /* after it */
};

/* What its visits have cost it. */
struct visit_cost {
	struct stop_budget budget;
	uint64_t held_ns;  /* since the last sample */
	bool is_alone;	   /* no other of ours was found running on its CPU, */
	bool was_asked;	   /* so that the lot was asked before it was looked at: */
	bool is_drawn;	   /* shall it be visited in this tick? */
	uint8_t nr_unseen; /* ticks in a row in which it was not looked at, this one the last */
};

/* How often it was stopped in system calls. */
struct call_habits {
	uint32_t in_calls;     /* of 2^20, the latest stops counting most */
	bool makes_calls;      /* often: it is better stopped from its own CPU */
	bool waits;	       /* was stopped in a call that waits */
	bool runs_much;	       /* and neither slept nor waited most of the time */
	uint32_t nr_guarded;   /* visits yet for which it counts as one that makes transfers */
	uint64_t nr_preempted; /* as last read */
	uint64_t user_ticks;   /* when it was last taken to be in a transfer */
};

struct name_pause {
	uint64_t again_ns, pause_ns;
};

/* A thread, and what the last sample of it showed. */
struct sampled_thread {
	struct due due;
	struct due_queue *queue; /* that it is in, or was last */
	uint32_t serial;
	struct sampled_process *process;
	struct roster_thread *roster;
	struct thread_hints *hints;	  /* the collector's */
	struct visitor *visitor;	  /* that visits it now, or NULL */
	bool is_active;			  /* counted among its process' */
	bool is_gone;			  /* meanwhile: the visitor frees it */
	bool is_chosen;			  /* its name fits options.threads, or all are */
	struct name_pause name_pause;	  /* until its name is read again if it does not */
	struct thread_advances *advances; /* owned; NULL: no counter was asked for */
	struct proc_schedstat clocks;	  /* as last read, */
	uint64_t read_ns;		  /* at that time */
	int cpu;			  /* where it was; -1: not known */
	bool was_running;		  /* when last sampled */
	uint64_t nr_arrivals;		  /* on a CPU, between the last two readings */
	struct seen_sleep sleep;
	struct visit_cost cost;
	struct call_habits habits;
	struct cpu_split_meter split;
	struct proc_cpu_split split_seen; /* as last read: none can be of a thread that has ended */
	uint64_t split_cpu_ns;		  /* its clock where that began to count */
	uint64_t published_ns;		  /* when the last message about it went out */
	uint64_t name; /* hashed; 0: another one than was published, as its stat shows */
};

/* A forked child that has ended before it was found: its allocations tell of it. */
struct heap_child {
	struct roster_process roster; /* its pid, 0: there is none */
	struct sampled_process process;
	uint64_t last_ns; /* when it was heard of */
	bool is_met;	  /* since the last end of a drain */
};

#define HEAP_CHILDREN 32
/* In one recording: what says that it is of a process is not always true. */
#define HEAP_CHILDREN_MAX (1 << 17)

/* Which allocations are recorded: those of a time, of which others may still be on their way. */
struct heap_session {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	uint64_t adapt_again_ns;
	bool is_off; /* as the user wants it, while the rest goes on */
	struct heap_child children[HEAP_CHILDREN];
	uint32_t nr_children; /* that there were */
	uint32_t next_child;  /* the one that gives way */
	pid_t waited_for;     /* the last of which the roster was to tell */
};

#endif
