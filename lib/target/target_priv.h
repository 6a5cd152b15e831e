/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_TARGET_PRIV_H
#define PROFC_TARGET_TARGET_PRIV_H

#include "proc/range.h"
#include "target/backing.h"
#include "target/cpu_clocks.h"
#include "target/known_timers.h"
#include "target/machine.h"
#include "target/senders.h"
#include "target/target.h"

/* What a held thread waits for: how target_resume() has to let it go on. */
enum hold {
	HOLD_NONE,   /* not held */
	HOLD_CONT,   /* PTRACE_CONT without a signal */
	HOLD_REPAIR, /* the same, after repairing the system call we broke off */
	HOLD_LISTEN, /* PTRACE_LISTEN: job control has stopped it */
	HOLD_PART,   /* PTRACE_DETACH: it ends, and somebody watches: target_parting.c */
	HOLD_UNSURE, /* either that or PTRACE_CONT */
};

/* How far a call that was taken up again is followed: target_timeout.c. */
enum follow {
	FOLLOW_NONE,
	FOLLOW_ENTRY,  /* up to its entry */
	FOLLOW_EXIT,   /* up to its return */
	FOLLOW_BROKEN, /* it was broken off again: a stop follows in which it is repaired */
};

/*
 * A stack that a thread was seen on, known by where its mapping ends. Most threads have one;
 * with signal handlers on a stack of their own, or coroutines, there are more, and a walk
 * leads from one into the other.
 */
struct seen_stack {
	uint64_t start; /* of its mapping; 0: not known */
	uint64_t end;	/* 0: none */
	uint64_t low;	/* the last stack pointer seen on it */
};

#define SEEN_STACKS 2

/* The system call that a thread was last seen asleep in. */
struct seen_sleep {
	struct proc_syscall call;
	uint64_t pcount, cpu_ns; /* its clocks */
	uint64_t since_ns;	 /* when that was, first, or it began; 0: never */
	uint64_t not_before_ns;	 /* when it was not in that yet; 0: not known */
	uint64_t last_ns;	 /* when it was last found in that still, or awake after it */
	uint64_t nr_yielded;	 /* times it had left its CPU of its own, where it matters */
	bool knows_yielded;
	uint64_t left_cpu_ns; /* when it left its CPU, by the clock of that; 0: not known */
	int left_cpu;
};

/* Where a thread has run, in ticks of the kernel's (proc_pid_stat(5), utime and stime). */
struct run_ticks {
	uint64_t user, system;
	uint64_t nr_interrupts; /* that we sent to it meanwhile */
};

/* target_spoil.c: where the latest stops met a thread. */
struct judged_stops {
	uint32_t nr, nr_in_calls;
	bool few_in_calls; /* of those before */
};

/* target_hidden.c: how a thread sleeps, as it was last asked about. */
struct known_sleeps {
	bool are_known;
	uint64_t nr, cpu_ns;	  /* times it had gone to sleep of its own; its clock then */
	uint32_t nr_seen;	  /* looks that found it asleep in a call */
	uint32_t nr_waited_for;	  /* times it was not stopped while they were too few */
	uint32_t nr_refused;	  /* times in a row that it was not stopped at all */
	bool computes;		  /* of late it ran outside the kernel for the most part */
	uint64_t asked_cpu_ns;	  /* its clock when it was to be stopped last */
	uint64_t pause_ns;	  /* so long it runs until then; 0: no stop has cut a transfer */
	bool is_cut_anywhere;	  /* what was cut last, wherever a stop meets it */
	uint64_t nr_stops_to_cut; /* when one did last */
	/* Of a first thread: when one of its process was last met in a transfer; 0: never. */
	uint64_t process_sent_ns;
};

/* What is read of a thread again and again: target_watch_closely(). */
enum kept_file {
	KEPT_STAT,
	KEPT_SYSCALL,
	KEPT_MAPS,
	KEPT_STACK,  /* the kernel's */
	KEPT_MEMORY, /* of the process: with its first thread only */
	KEPT_FILES,
};

/* target_filter.c: does a filter of system calls allow restart_syscall(2)? */
enum restart {
	RESTART_UNKNOWN,
	RESTART_ALLOWED,
	RESTART_KILLS, /* or makes it fail */
};

/* target_asker.c: system call stops in the time that began then. */
struct asker_budget {
	uint64_t since_ns;
	unsigned int nr;
};

struct tracee_private {
	struct target *target;		       /* that it is of */
	struct seen_stack stacks[SEEN_STACKS]; /* the latest first */
	uint64_t first_sp;  /* of the program, in its main thread; 0: not known */
	uint64_t root_sp;   /* of the outermost frame; 0: not known */
	uint64_t behind_sp; /* on the stack that the one in use was switched to from; 0: none */

	struct proc_range mapping; /* of the last stack whose mapping was asked for */
	bool is_elsewhere;	   /* its thread is about to be stopped on another CPU */
	bool maps_are_slow;	   /* this kernel finds a mapping in the text only */

	bool is_watched;	 /* closely */
	int kept[KEPT_FILES];	 /* descriptors; -1: not open */
	bool hides_memory;	 /* KEPT_MEMORY cannot be had */
	bool fills_pages;	 /* was met waiting for a page that the target itself fills */
	uint64_t thread_pointer; /* as of the last stop; 0: not known */

	enum hold hold;
	uint64_t nr_stops;    /* that it was met in */
	bool is_to_stop;      /* it was asked to, for whatever reason, and has not yet */
	bool is_new;	      /* its first stop has not come yet */
	bool is_unlinked;     /* its id is another's now; only its end is left to be told */
	bool is_foreign;      /* of a process that is none of ours: to be let go */
	bool wants_exit_stop; /* PTRACE_O_TRACEEXIT is to be set at its first stop */
	bool has_exited;      /* it was in that stop, and comes to no other */
	bool has_left;	      /* it is traced no more, as the recording ends */
	/*
	 * The registers of a call that a stop has broken off, if it has not been seen since:
	 * should a caught signal come before it is taken up again, the handler's EINTR is real.
	 */
	bool broken_off;
	struct machine_regs broken;
	/* The call was ended because its time was up; until then it had a mask of its own. */
	uint64_t repaired_pcount; /* times scheduled in when a signal had broken it off; 0: not */
	bool was_timed_out;
	struct machine_regs timed_out;
	enum follow follow;	 /* of that call */
	struct carried *carried; /* target_carry.c; NULL: none, or let go of */
	bool has_dear_ring;	 /* io_uring tells of so much that nobody shall wait for it */
	uint64_t time_is_up_ns;	 /* when its timeout would have been over, if it is followed, */
	uint64_t followed_ns;	 /* which it is since then */
	struct seen_sleep sleep;
	bool asked_in_sleep;	 /* to stop, before it had run since it was seen in that */
	uint64_t asked_awake_ns; /* but it had right after: when that was; 0: it had not */

	/* target_bystander.c */
	uint64_t bystander_of; /* the how-manieth signal it is not to be woken for; 0: none */
	unsigned nr_meetings;  /* tries to learn what it sleeps in, before it is looked at */
	bool was_found_awake;  /* it was asked to stop for that */
	pid_t last_bystander;  /* of a first thread: who of its process was, or took a signal */
	uint64_t ask_woken_ns; /* likewise: not asked before who was woken in vain */
	uint64_t left_pcount;  /* times scheduled in as it was last let go, once it was one */
	uint64_t asker_pcount; /* times scheduled in right before a reaping */

	/* target_filter.c */
	bool is_filtered;	  /* has a seccomp filter */
	uint64_t ask_filter_ns;	  /* not asked for that before */
	uint64_t filter_pause_ns; /* and so much later then */
	enum restart restart;	  /* of a first thread: of its process */
	uint64_t ask_restart_ns;  /* the same: not asked for that before */
	uint64_t search_ns;	  /* of a first thread: not before, for who may die of it */

	/* target_asker.c */
	bool is_asker;		 /* was met in a call that asks for signals */
	bool is_endangered;	 /* was met in one that it may die of (target_filter.c), */
	uint64_t blocked_asleep; /* the signals that it always blocked there, a bit each */
	bool is_suspected;	 /* or may come to such a call, which nobody has seen yet */
	size_t endangered_at;	 /* its place among those */
	bool is_followed_asker;	 /* let go to system call stops for that */
	bool is_in_call;	 /* such a stop has shown its entry, and none its exit yet */
	bool entered_spoilt;	 /* of that call: a stop would spoil it */
	bool entered_restarted;	 /* of that call: it never fails with EINTR, if nobody catches */
	bool follows_next_call;	 /* it is asked to stop to be followed */
	bool lets_in;		 /* by a mask of its own, what it blocks and nobody catches */
	bool knows_waiting;	 /* the signals that waited at the entry of its call are: */
	uint64_t waiting;	 /* a bit each */
	uint64_t entered_ns;  /* when it began that call, or the one repaired now; 0: not known */
	uint64_t vain_ns;     /* of a first thread: when a signal came that nobody catches, */
	uint64_t vain_gap_ns; /* and from one of these to the next, in the mean */
	uint64_t rouse_again_ns; /* not stopped in its sleep before, to be followed */
	struct asker_budget budget, danger_budget; /* of its own */
	struct proc_schedstat asker_clocks;	   /* when this was last asked: */
	bool waits_for_cpus;

	/* target_reaping.c */
	uint64_t spared_until_ns; /* not interrupted before: a child of its is about to be reaped */
	pid_t parent_tid;	  /* of a process: the thread whose fork made it; 0: not known */
	bool is_untold;		  /* that thread is yet to tell of the fork: it is in a stop */
	unsigned nr_ns_pids;	  /* PID namespaces that it has an id in; 0: not known */
	pid_t ns_pid;		  /* in the innermost of them */

	/* target_parting.c: of a first thread, what is known of its process: */
	uint64_t watched_ns;	      /* when it was last seen to watch a child; 0: never */
	uint64_t parted_ns;	      /* when a child of it last parted; 0: never */
	uint64_t endangered_until_ns; /* since one died, or a signal came; */
	uint64_t endangering;	      /* the signals of that time, a bit each */
	uint64_t look_at_dead_ns;     /* not before then */
	unsigned int nr_vain_waits;   /* for it to come to that, in a row */
	/* and of one's own: */
	uint64_t met_ns;	  /* when it was met, if it was born meanwhile */
	uint64_t unsure_since_ns; /* its stop at the end */
	bool has_executed;	  /* since it was made */

	/* target_end.c */
	uint64_t signalled_ns; /* of a first thread: when it last stopped for a signal; 0: never */

	/* target_capture.c */
	bool met_asleep;	 /* by attaching, which read its stat; never looked at since */
	uint64_t met_pcount;	 /* times scheduled in, then */
	uint64_t stat_read_ns;	 /* when the last target_look() was that did */
	uint32_t nr_short_looks; /* since then, which did not */

	/* target_spoil.c */
	bool looked_awake;	  /* the last target_look() found it running or runnable */
	bool hides_kernel_stack;  /* /proc/PID/stack is not for us */
	bool makes_transfers;	  /* was met in a system call that a stop would cut short */
	bool makes_waits;	  /* of late, in one that a stop would end too early */
	uint64_t transfer_cpu_ns; /* its CPU clock when it last was in either */
	struct run_ticks ticks;	  /* as of the last target_look() */
	struct run_ticks late;	  /* as of some time ago, from when on it is judged: */
	bool makes_few_calls;
	struct judged_stops stops;
	struct known_sleeps sleeps;

	struct tracee *hash_next;
};

#define ASKER_IS_ASKED UINT64_MAX /* to stop, or it is not concerned */

#define TRACEE_BUCKETS 4096

/* A fork that was told of before the child was met, which comes to its stop about as soon. */
struct birth {
	pid_t child;
	pid_t parent_tid, parent_tgid; /* 0: none is known */
	bool is_forked;		       /* of fork(2) or vfork(2), or a clone(2) like them */
};

#define BIRTHS_MAX 1024 /* on a busy machine hundreds may wait for a CPU to come to their stop */
#define UNMET_MAX  16	/* asked after at once */

/* Who told of one of late. */
struct recent_parent {
	pid_t tid; /* 0: none */
	uint64_t told_ns;
};

#define PARENTS_MAX 8

#define TRACEE_LIST_MAX 64

/* Threads that something is the matter with; those that there is no room for go without. */
struct tracee_list {
	struct tracee *at[TRACEE_LIST_MAX];
	size_t nr;
};

/* Says whether it is new to the list. */
bool tracee_list_add(struct tracee_list *list, struct tracee *tracee);
bool tracee_list_has(const struct tracee_list *list, const struct tracee *tracee);
/* If it is there; the last of the list takes its place. */
void tracee_list_remove(struct tracee_list *list, const struct tracee *tracee);

/* A child that has died and is not reaped yet, for its parent's sake. */
struct postponed {
	pid_t tid;
	pid_t parent_tid; /* 0: it is yet to be heard of */
	uint64_t dead_since_ns;
	/* How often that one had left its CPU, and its clocks, when it was not ready last. */
	uint64_t nr_left;
	struct proc_schedstat clocks;
};

#define POSTPONED_MAX 64
#define DYING_MAX     64

struct target {
	struct target_options options;
	struct tracee *buckets[TRACEE_BUCKETS]; /* by tid */
	size_t nr_tracees;
	size_t max_open; /* clocks kept open; those of more threads are opened for each read */
	size_t nr_open;
	struct target_event *pending; /* to be told before anything else; a heap array */
	size_t nr_pending, cap_pending, next_pending;

	/* target_bystander.c */
	size_t nr_unmet;	   /* of whom it is not known what they sleep in */
	bool any_unrestarted;	   /* somebody was met in such a call (struct target_care) */
	struct tracee_list askers; /* who was met in a call that asks for signals */

	/* target_asker.c */
	struct asker_budget asker_budget; /* of all */
	struct tracee **endangered;	  /* all of them, in no order */
	size_t nr_endangered, cap_endangered;

	/* target_reaping.c */
	struct postponed postponed[POSTPONED_MAX];
	size_t nr_postponed;
	uint64_t next_reaping_ns;
	pid_t untold; /* met last of those whose parent is yet to tell of the fork; 0: none */
	uint64_t untold_since_ns, ask_parents_ns;
	pid_t dying[DYING_MAX]; /* first threads that were met at their end; 0: none */
	size_t next_dying;
	struct senders senders; /* of a SIGCHLD, as we reaped them */

	/* target_ignored.c */
	struct known_timers timers;

	/* target_bystander.c */
	uint64_t rouse_again_ns; /* no other sleeper is stopped before, to be followed; */
	size_t next_roused;	 /* in which bucket it is looked for */

	/* target_births.c */
	struct birth births[BIRTHS_MAX];
	size_t nr_births, next_birth, next_unmet;
	struct recent_parent parents[PARENTS_MAX];

	/* target_parting.c */
	struct tracee_list unsure; /* if somebody watches them; held at their end */
	uint64_t settle_ns;	   /* when to ask again */

	/* target_timeout.c */
	struct tracee_list followed;

	/* target_carry.c */
	struct tracee_list carrying;
	bool carries_no_more;
	uint64_t carries_until_ns;

	/* target_sleep.c */
	struct tracee_list sleepers; /* at which glances are thrown */
	uint64_t glance_again_ns;
	struct cpu_clocks *cpu_clocks; /* NULL: none wanted yet */
	uint64_t left_read_ns;	       /* spent, of the time that passes, on reading of sleepers */

	struct backings backings; /* of the files that stacks were in */

	/* target_stack.c: while a process is attached to, a descriptor on its maps for all looks */
	pid_t attaching;       /* 0: none is */
	int attaching_maps_fd; /* -1: not open */

	bool is_ending;		      /* target_end.c: who dies now stays where it ends */
	struct tracee_list signalled; /* first threads that have stopped for one, not long ago */
	/* When another thread last stopped for one that was sent to it alone, or to its process. */
	uint64_t last_own_signal_ns, last_shared_signal_ns;

	pid_t command_pid;	/* 0: none spawned */
	int command_errno_pipe; /* read end; -1: none */
	int command_stop;	/* the signal by which job control has stopped it, or 0 */
	struct target_stats stats;
};

struct tracee *target_find(const struct target *target, pid_t tid);
/* A tracee for a thread that is seized already. */
struct tracee *target_add(struct target *target, pid_t tgid, pid_t tid);
/* The same, with a descriptor on its schedstat or -1, which is taken over. */
struct tracee *target_add_opened(struct target *target, pid_t tgid, pid_t tid, int schedstat_fd);
/* The thread took over another id (exec by a non-leader). */
void target_rename(struct target *target, struct tracee *tracee, pid_t tid);

/*
 * Events that did not come from waiting, in order. A GONE takes its tracee out of the table
 * at once.
 */
void target_add_pending(struct target *target, const struct target_event *event);
bool target_take_pending(struct target *target, struct target_event *event);
/* The same, if the next is of this thread. */
bool target_take_pending_of(struct target *target, pid_t tid, struct target_event *event);
/* Its process has executed a program: what is known of it from the one before is not so now. */
void target_forget_program(struct tracee *tracee);

/* False if it is gone. */
bool target_ask_to_stop(const struct tracee *tracee);
/* The same, and if it is asleep, note that it comes out of the call that it was seen asleep in. */
bool target_ask_to_stop_as_seen(struct tracee *tracee);

/* The options of PTRACE_SETOPTIONS; exit stops are for first threads only. */
uintptr_t target_ptrace_options(const struct target *target, bool first_thread);

/*
 * target_stack.c: copying what a walk of a thread's stack may need into a snapshot.
 * All, from the stack pointer of the snapshot on.
 */
void target_copy_stacks(struct tracee *tracee, size_t max_bytes, struct snapshot *snapshot);
/*
 * The one stack that `sp` is on; *range is its mapping, all 0 if that is not known. Returns where
 * it ends, or 0 if that was not reached.
 */
uint64_t target_copy_stack(const struct tracee *tracee, uint64_t sp, size_t max_bytes,
			   struct snapshot *snapshot, struct proc_range *range);
/*
 * All threads of a process are about to be met, and then have been, or it executes a program: until
 * then one descriptor tells where the stacks of all of them are.
 */
void target_begin_attaching(struct target *target, pid_t tgid);
void target_end_attaching(struct target *target);
/* May who reads the target's memory there wait for anybody? False also where nothing is mapped. */
bool target_may_wait_at(const struct tracee *tracee, uint64_t address);
/* Copy it from where it was the last time; was that the stack that it turns out to stand on? */
bool target_copy_ahead(const struct tracee *tracee, size_t max_bytes, struct snapshot *snapshot);
bool target_use_ahead(struct tracee *tracee, struct snapshot *snapshot);
/*
 * Attaching has read its stat, and then its clocks: if it slept, the first look need not read the
 * former once more. Says whether that is so.
 */
bool target_note_met(struct tracee *tracee, const struct proc_stat *stat,
		     const struct proc_schedstat *clocks);
/* What is known of its mapping may be outdated. */
void target_forget_mapping(struct tracee_private *priv);
/* Where the program began, which the kernel tells. */
void target_know_first_stack(struct tracee *tracee, uint64_t first_sp);

/* target_care.c: what a stop would do to a system call in progress. */
struct target_care target_care_of(pid_t tid, const struct proc_syscall *syscall);
/* Was it given a mask of what is to be blocked, until it returns? */
bool target_has_own_mask(const struct proc_syscall *syscall);

/* Does its result show that a stop broke off a transfer that would have come out whole? */
bool target_call_was_cut(pid_t tid, const struct proc_syscall *syscall, int64_t result);

/* Does a file give all that is asked for, or take it; do its transfers depend on somebody else? */
bool target_is_endless(pid_t tid, uint64_t fd);
bool target_is_bottomless(pid_t tid, uint64_t fd);
bool target_is_stream(pid_t tid, uint64_t fd);

/* target_hidden.c: learn from the call that a held thread is about to leave; NULL: it is in none.
 */
void target_learn_of_stop(struct tracee *tracee, const struct proc_syscall *syscall,
			  int64_t result);
/* Of an awake thread whose kernel stack is hidden. Once for each time that it is to be stopped. */
bool target_may_be_in_transfer(struct tracee *tracee);
/* A thread was met in a long one: others of its process may make some, too. */
void target_note_transfer(const struct tracee *tracee);
/* target_spoil.c: it was, in one that a stop would cut short, or has. */
void target_met_in_transfer(struct tracee *tracee);
/* 0: it is gone. */
uint64_t target_cpu_ns(struct tracee *tracee);
/* Keep what a stop would do to the call that a thread is in. */
void target_take_care(struct tracee *tracee, const struct proc_syscall *syscall);
/* Where a stop met it, for judging how much of its time it is in calls. */
void target_note_stop(struct tracee *tracee, bool in_call);
/* It has executed a program: what the one before did says nothing of this one. */
void target_judge_anew(struct tracee *tracee);
/* Would a stop now cut short what an awake thread does, or make it wait once more? */
bool target_stop_would_spoil(struct tracee *tracee);
/* The same where it was not looked at just now; it counts as no stop that was not made. */
bool target_is_in_what_would_spoil(struct tracee *tracee);
/* Leaving out a wait that it may begin anew. */
bool target_is_in_what_would_cut(struct tracee *tracee);

/* Once nobody needs them any more. */
void target_may_close_files(struct target *target, struct tracee *tracee);
/* The descriptor of one of the files that are kept open, or -1. */
int target_kept_file(const struct tracee *tracee, enum kept_file file);
/* Like read(2) of one that is opened for it, if it is not kept open. */
ssize_t target_read_file(const struct tracee *tracee, enum kept_file file, char *text,
			 size_t size_bytes);
/* KEPT_MEMORY of its process. */
int target_kept_memory(const struct tracee *tracee);
/* Through it, if it is. */
bool target_read_stat(const struct tracee *tracee, struct proc_stat *stat);
bool target_read_syscall(const struct tracee *tracee, struct proc_syscall *syscall);

/*
 * target_bystander.c: nobody is to be woken in vain for a signal that another thread takes.
 * Before a held thread is let go.
 */
void target_before_letting_go(struct target *target, struct tracee *tracee);
/* Stop those of a process that are awake and may be in a call that fails with EINTR. */
void target_stop_bystanders(const struct target *target, pid_t tgid);
/*
 * One was told of a signal that nobody catches, and goes on: those that are awake, whom the kernel
 * may have woken for it, as that one blocked it or was held when it came. As far as time allows.
 */
void target_stop_woken_in_vain(const struct target *target, const struct tracee *taker, int signal);
/* A thread was met asleep in a call: what it sleeps in is known. Or awake, which tells nothing. */
void target_note_met_asleep(struct tracee *tracee);
void target_note_met_awake(struct tracee *tracee);
/* Learn what those of a process sleep in that nobody has met yet; none is stopped for it. */
void target_meet_sleepers(const struct target *target, pid_t tgid);
/* It was woken for a signal to its process: so will be whom the kernel finds from it on. */
void target_note_woken(struct tracee *tracee);
/* In state D, too. */
bool target_is_awake(const struct tracee *tracee);
/* Of its process. */
bool target_is_only_thread(const struct tracee *tracee);
/* It is asked to stop, which nobody is told of: its call is repaired then. */
void target_stop_to_repair(struct tracee *tracee);
/* Stop one that has just been woken for a signal. */
void target_stop_woken(const struct target *target, struct tracee *tracee);
/* It was met in a call that asks for waiting signals itself. */
void target_note_asker(struct target *target, struct tracee *tracee);
/*
 * A child is about to be reaped: stop those of a process that are awake and make such calls, but
 * for the one that is to be told. And right after it, those that have woken up since.
 */
void target_stop_askers(const struct target *target, pid_t tgid, const struct tracee *taker);
void target_stop_woken_askers(const struct target *target);
/* May a call of its fail with EINTR for a signal that another thread takes? (target_asker.c) */
bool target_may_fail_in_vain(const struct tracee *tracee);
/* Has a signal come to its process of late that nobody catches? */
bool target_is_woken_in_vain(const struct tracee *tracee);
/* Stop one of those who may, and are not followed yet: it sleeps in that call. */
void target_rouse_one(struct target *target, const struct tracee *taker);
/* Those that are awake and are not followed yet (target_asker.c). */
void target_stop_unfollowed_askers(const struct target *target, pid_t tgid);

/*
 * target_asker.c. It is about to be let go: is it to come to system call stops, since it might fail
 * with EINTR in one that nothing else tells of? Then this is such a stop, and it is held in it.
 */
bool target_follows_asker(struct tracee *tracee);
void target_asker_stop(struct tracee *tracee);
/*
 * A signal is about to be delivered: if nobody catches it, the next like it may do that. Says
 * whether others may have been woken for this one.
 */
bool target_signal_to_nobody(const struct target *target, const struct tracee *taker, int signal);
/* Has it not come to too many of them already? */
bool target_asker_has_budget(struct tracee *asker);
/* It was met in a call that it may die of if it is woken in vain. */
void target_note_endangered(struct tracee *tracee);
/* It may come to such a call. */
void target_note_suspect(struct tracee *tracee);
/* It is gone, or executes another program. */
void target_forget_endangered(struct tracee *tracee);
/*
 * A child of a process is about to die: have all of those brought to where they are followed that
 * were met in such a call, or those too that may come to one. Says whether any was not yet.
 */
bool target_follow_endangered(const struct target *target, pid_t tgid);
bool target_follow_suspects(const struct target *target, pid_t tgid);
/* A signal has come that nobody catches: the same, for the next like it. */
void target_follow_signalled(const struct target *target, pid_t tgid, int signal);
/* Likewise the one whose child it is, where nobody else will be woken for it. */
bool target_follow_parent(struct tracee *parent);
/* Is it one whom a child endangers that parted of late, and may be dying? */
bool target_may_die_of_parted(const struct tracee *tracee);
/* Of a process. */
bool target_any_endangered(const struct target *target, pid_t tgid);
/* A child of a process is about to part. */
void target_child_parts(const struct target *target, pid_t tgid);
/* May it, or is somebody endangered by that who is not followed yet? */
bool target_child_may_part(const struct target *target, pid_t tgid);

/* target_filter.c. A thread is held: has it a filter that may not allow restart_syscall(2)? */
bool target_may_not_restart(struct tracee *held);
/* Is that a call which the kernel takes up again by restart_syscall(2)? */
bool target_is_taken_up_by_restart(const struct machine_regs *regs);
/*
 * It is in this call: may it die of it if it is woken in vain? Where its filter is known to kill
 * for that it is kept in mind. A filter of the last second may not be known yet.
 */
bool target_note_danger(struct tracee *tracee, const struct proc_syscall *syscall);
/* It is held where it has made a child, for which it may come to such a call. */
void target_forks_in_danger(struct tracee *tracee);
/* A signal is about to be delivered, and the next like it might be taken by another. */
void target_signal_endangers(const struct target *target, struct tracee *taker, int signal);
/* One of those that are: is it in such a call, or may come to one now, and is not followed? */
enum danger {
	DANGER_NONE,
	DANGER_AFTER_CALL, /* not yet: it is in a call that a stop would spoil */
	DANGER_NOW,
};

enum danger target_danger_of(struct tracee *tracee, int signal);
/* Is it in such a call, of a filter that is known to kill, and not followed? */
bool target_sleeps_in_danger(struct tracee *tracee);
/* Does the target feel it if that call is broken off, and no stop comes of it? */
bool target_may_fail_in(const struct tracee *tracee, const struct proc_syscall *syscall);
/* Would the signal not wake it, as it is now? */
bool target_blocks_now(const struct tracee *tracee, int signal);
/* As in the masks of /proc/PID/status. */
static inline uint64_t target_signal_bit(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

/* All of these, a bit each, now and whenever it was met in such a call: none would wake it. */
bool target_blocks(const struct tracee *tracee, uint64_t signals);

/*
 * target_reaping.c: when to reap a child, which sends its parent a signal. If it is to wait it is
 * asked for again, by target_next_postponed(). Otherwise `reaping` is for what has to be done
 * right before and right after it.
 */
struct reaping {
	struct tracee *parent; /* whose child it is; NULL: nobody can be woken in vain */
	bool is_overdue;       /* and another may be woken in its stead */
	bool is_safe;	       /* it sleeps where being woken in vain does it no harm */
};

/* Its ids in PID namespaces, which never change but where another becomes the first thread. */
void target_note_namespaces(struct tracee *tracee, const struct proc_status *status);
bool target_postpones_reaping(struct target *target, struct tracee *child, struct reaping *reaping);
/* None of them was to be reaped: they are asked for again after a pause. */
void target_pause_reaping(struct target *target);
void target_before_reaping(const struct target *target, const struct reaping *reaping);
void target_after_reaping(const struct target *target, const struct reaping *reaping);
/*
 * A process is about to end. The thread whose child it is should not be interrupted before it is
 * reaped: it could not be the one that is woken for it.
 */
void target_child_dies(struct target *target, const struct tracee *child);
bool target_awaits_signal(const struct tracee *tracee);
/*
 * A signal to process `tgid`: is it of the end of a child that was reaped when only its maker could
 * be woken, in no danger?
 */
bool target_is_sender(const struct target *target, pid_t tgid, const siginfo_t *info);
/* Of the end of a child that was reaped: the thread that had made it; otherwise 0. */
pid_t target_parent_of_reaped(const struct target *target, pid_t tgid, const siginfo_t *info);
/*
 * One was met whose parent has not told of it: that is in a stop, of which the signal may have been
 * lost in another one. Is it still to be heard of, and nobody has asked for a while?
 */
void target_met_untold(struct target *target, const struct tracee *child);
bool target_shall_ask_parents(struct target *target);

/*
 * target_end.c. Somebody has stopped for a signal: shall it be traced no more from then on? And it
 * is not.
 */
void target_note_signal(struct target *target, struct tracee *taker, int signal);
bool target_may_leave(const struct target *target, const struct tracee *taker, int signal);
void target_note_left(struct target *target, struct tracee *taker);
/* Is it a first thread that often stops for signals, so that it is to leave at the end? */
bool target_is_signalled(const struct tracee *tracee);

/*
 * target_births.c. A thread has told that it made a child; and what was told of one that is met
 * now, or zeroes.
 */
void target_note_birth(struct target *target, const struct tracee *parent, pid_t child,
		       bool is_forked);
struct birth target_take_birth(struct target *target, pid_t child);
/*
 * Who may have stopped though no signal has named it; these return how many there are. Of many
 * children, others the next time.
 */
size_t target_recent_parents(const struct target *target, pid_t tids[PARENTS_MAX]);
size_t target_unmet_children(struct target *target, pid_t tids[UNMET_MAX]);
bool target_is_expected(struct target *target, pid_t tid);

/*
 * target_parting.c. A process' first thread is held at its end: how shall it be let go? With
 * HOLD_PART it shall end untraced; it is let go so as soon as it is the last of its threads;
 * target_after_end_of() says that another was reaped. Nobody may know yet whether it shall.
 */
enum hold target_hold_at_end(struct tracee *tracee);
/* False if it is to be let go as any: it ends traced, or is gone already. */
bool target_part(struct target *target, struct tracee *tracee);
/* It has died traced, and is about to be reaped. */
void target_before_end_of(const struct tracee *child);
void target_after_end_of(struct target *target, pid_t tgid);
/* When to ask again after those of whom it is not known (CLOCK_MONOTONIC; 0: there are none). */
uint64_t target_settle_ns(const struct target *target);
void target_settle_unsure(struct target *target);

/*
 * target_timeout.c: the time that a call waits is not to grow. A call was repaired, and nothing
 * but a timeout or its object shall end it now: follow it. If its time is up by now, `regs`, yet
 * to be set, say so, and so does the result.
 */
bool target_follow_call(struct target *target, struct tracee *tracee, struct machine_regs *regs,
			bool by_signal);
/* Taken up again by the kernel itself, does it begin its timeout anew? */
bool target_begins_anew(const struct machine_regs *regs);
/* It is held at a system call stop: how far it is followed once it has been let go. */
enum follow target_followed_stop(const struct tracee *tracee);
/*
 * How long may io_uring_enter(2) wait, counted from its beginning? 0: no such timeout. False if
 * that is not known.
 */
bool target_ring_timeout(const struct tracee *tracee, const struct proc_syscall *syscall,
			 uint64_t *timeout_ns);
/* Does a call ask for signals before it asks whether its time is up? Of sockets, some do. */
bool target_asks_for_signals_first(int64_t nr);
/* Is the time of the call about up that it was last seen asleep in, and asks that for signals? */
bool target_is_timing_out(const struct tracee *tracee);
/* Stopped in that call, would it last markedly longer: was it seen late, or can nobody end it? */
bool target_would_be_stretched(const struct tracee *tracee);

/*
 * target_sleep.c: when calls began. A thread was found off its CPU, in this call, at these clocks.
 */
void target_saw_asleep(struct tracee *tracee, const struct proc_syscall *syscall,
		       const struct proc_schedstat *clocks);
/* It was seen late: learn when it began, if that can be known by now. */
void target_know_sleep(struct tracee *tracee);
/* In the call that it was seen in, and has not run since. */
bool target_sleeps_as_seen(struct tracee *tracee);
/* Awake, it may be leaving a call whose time is up; asked now to stop, it would wait once more. */
bool target_may_be_timing_out(struct tracee *tracee);
/*
 * It comes out of this call, by our asking or by a signal: when had that begun, at the latest? Now,
 * where it cannot be told from a later one.
 */
uint64_t target_call_began_ns(struct tracee *tracee, const struct proc_syscall *syscall,
			      uint64_t timeout_ns, bool by_signal);
/* Seen asleep in this call, has it run no longer since than it takes to leave that? */
bool target_comes_out_of(const struct tracee *tracee, const struct proc_syscall *syscall,
			 const struct proc_schedstat *clocks);
/* Is the time about up of the call that it was last seen asleep in, which has this timeout? */
bool target_time_may_be_up(const struct seen_sleep *seen, uint64_t timeout_ns);
/* It comes out of a call that may have ended by itself: was it seen asleep in it for so long? */
bool target_slept_until_timeout(struct tracee *tracee, const struct proc_syscall *syscall,
				uint64_t timeout_ns);

/*
 * target_ignored.c: it is held in a call that a signal has broken off which nobody catches. Had
 * that waited since before the call, until its mask let it in? And that it was repaired.
 */
bool target_waited_to_be_let_in(struct tracee *held, const struct machine_regs *regs, int signal);
void target_note_repaired(struct tracee *held);
/* The signal that it has stopped for: was it sent to it by pthread_kill(3), say, or raise(3)? */
bool target_is_sent_to_thread(const struct tracee *held);
/* It stands at the entry of that call: learn which signals wait now. */
void target_note_waiting(struct tracee *held, const struct proc_syscall *syscall);
/* It is about to be told of a signal that stops others: would an untraced one not be? */
bool target_is_unstoppable(const struct tracee *held, int signal);

/*
 * target_carry.c: cut transfers are carried on. May a held thread leave one?
 */
bool target_may_be_cut(const struct machine_regs *regs);
/* Has it yet to make its call for the rest? Then it is awake, though it stands in one broken off.
 */
bool target_is_to_carry_on(const struct tracee *tracee);
/* Is it in that call? */
bool target_carries_on_inside(const struct tracee *tracee);
/*
 * It is about to be let go: if a stop has cut its call, it makes another for the rest, up to whose
 * return it is let go to system call stops (`carried` is set). Says whether it does.
 */
bool target_carry_on(struct target *target, struct tracee *tracee, const struct machine_regs *regs,
		     bool by_signal);
/* It is held at one of these. FOLLOW_BROKEN if it came back early, and stops once more. */
enum follow target_carried_stop(struct tracee *tracee);
/* Before that call: what it has done is all, as a handler runs now, or job control stops it. */
void target_carry_no_further(struct tracee *tracee);
/* It is gone. */
void target_forget_carried(struct tracee *tracee);

/* Does this signal stop a process, if nothing is said about it? */
bool target_is_job_control_stop(int signal);

/*
 * target_repair.c. A thread is held: have the kernel take up again the system call that
 * our stop broke off, unless a handler runs first.
 */
void target_repair_interrupted(struct target *target, struct tracee *tracee);
/* A thread is held before the delivery of `signal`: undo or make a repair accordingly. */
void target_repair_for_signal(struct target *target, struct tracee *tracee, int signal);
/* Sent to the process, and nobody catches it: untraced, no thread would have been woken. */
bool target_is_only_ours(pid_t tid, int signal);
/* Has it a handler? Not if that cannot be asked. */
bool target_is_caught(pid_t tid, int signal);
/* A thread is held because job control stops it: an EINTR of that is not ours to hide. */
void target_repair_for_job_control(struct target *target, struct tracee *tracee);

#endif
