/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_SAMPLER_PRIV_H
#define PROFC_SAMPLER_SAMPLER_PRIV_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/err.h"
#include "collector/message.h"
#include "proc/range.h"
#include "sampler/displacer.h"
#include "sampler/governor.h"
#include "sampler/histogram.h"
#include "sampler/placement.h"
#include "sampler/process_clock.h"
#include "sampler/sampler.h"
#include "sampler/schedule.h"

struct target;
struct target_event;
struct target_met;
struct tracee;

/* places.c: a mapping of code that threads were seen in. */
#define CODE_PLACES 4
#define CODES_MET   128

struct code_place {
	struct proc_range range; /* as of the last time that the kernel was asked */
	uint64_t address;	 /* in it */
	uint64_t code;		 /* which file, at which place */
	uint64_t asked_ns, restless_until_ns;
};

struct code_places {
	struct code_place at[CODE_PLACES];
	uint64_t met[CODES_MET]; /* the code of which the worker was told in time, of late */
	uint32_t nr_met;
};

/* A process between two execs, as the sampling thread knows it. */
struct sampled_process {
	uint32_t serial;
	pid_t pid;
	uint64_t program; /* proc_program_id(); 0: not known */
	size_t nr_threads;
	size_t index;			  /* in sampler.processes */
	uint64_t start_ns, maps_again_ns; /* young.c: when its map is read again */
	bool wants_maps;		  /* stacks were told since its map was */
	struct code_places *places;	  /* owned; NULL: none asked about yet */
	uint64_t place_met_ns;		  /* when a new one was asked about */
	bool has_new_code;		  /* in the place of other code, and not told yet */
	bool has_more_code;		  /* for which the worker was called */
	/* hunt.c: its CPU time that looks have found, and its clock beyond that when all had been.
	 */
	uint64_t seen_cpu_ns, unseen_cpu_ns;
	bool is_settled; /* the latter is known */
	bool is_suspect; /* at the last reading more was */
	struct process_clock clock;
	struct cpu_split_meter split;
};

/* A thread, and what the last look at it found. */
struct sampled_thread {
	uint32_t serial;
	size_t index; /* in sampler.threads */
	struct sampled_process *process;
	struct tracee *tracee; /* NULL when gone */
	struct thread_hints *hints;
	struct cpu_split_meter split;
	uint64_t split_cpu_ns;		       /* its clock where that began to count */
	bool is_chosen;			       /* its name fits options.threads */
	uint64_t name_again_ns, name_pause_ns; /* when its name is read again if it does not */
	bool was_seen;			       /* off the CPU, at the count below */
	bool asleep;			       /* so seen; else held by us while running */
	uint64_t pcount;		       /* times scheduled in, when last seen off the CPU */
	/*
	 * It was stopped in a system call, at the count above: one more, and it sleeps in
	 * that call again, if it stands at the same place.
	 */
	bool returns_to_sleep;
	int32_t sleep_syscall;
	uint64_t sleep_sp;
	bool has_registers;	 /* the last look was at a stop: all registers were known */
	uint64_t awake_pcount;	 /* the count when it was last found awake and spared */
	uint64_t awake_ns;	 /* the last look at which its present sleep had not begun */
	uint64_t looked_ns;	 /* the tick at which it was asked to stop */
	uint64_t looked_late_ns; /* so long after its time that was taken */
	bool rested;		 /* it was not active then */
	bool found_awake;	 /* and by then was, or since */
	uint64_t looked_runq_ns; /* its clock of waits then */
	uint64_t looked_cpu_ns;	 /* that of CPU time */
	uint64_t looked_pcount;	 /* and the times it had been scheduled in, */
	uint64_t stopped_pcount; /* and when it had stopped for that, or gone on since */
	uint64_t counted_cpu_ns; /* its CPU clock from which on it is counted */
	/* look_kind.c: it was met where it ran, without doubt, and the last time by that clock. */
	bool surely_ran;
	uint64_t sure_cpu_ns;
	bool makes_waits;      /* was stopped in a call that waits */
	uint64_t nr_preempted; /* as last read */
	bool from_elsewhere;   /* asked to stop by a sampling thread on another CPU */
	bool asked_at_once;    /* there, though it would better be asked from its own */
	uint64_t displaced_ns; /* driven off its CPU for that since then; 0: it was not */
	uint32_t nr_put_off;   /* looks in a row that found it running on another CPU */
	/*
	 * Of its stops so asked for, how many were in system calls, the latest counting most.
	 * While it is unknown, or more than it should be, it is looked at from its own CPU: for so
	 * many looks yet, of so many in all, of which so many were in system calls.
	 */
	uint32_t in_calls, true_calls; /* of 2^20; the latter: as seen from its own CPU */
	uint32_t nr_beside, nr_beside_all, nr_beside_calls;
	uint32_t burst_calls; /* of 2^20: of its stops that were asked for at once */
	/* Page faults and CPU time when the former were last counted. */
	uint64_t faults_counted, faults_cpu_ns;
	bool counts_faults;
	uint32_t makes_faults; /* they were many: for so many counts more it is taken for granted */
	uint32_t faults_last;  /* how many those were the last time */
	uint64_t slept_from_ns, slept_until_ns;
	uint64_t slept_cpu_ns;	 /* its CPU clock when last seen off the CPU */
	uint64_t slept_runq_ns;	 /* and that of its waits */
	bool sleep_is_over;	 /* what it was last seen in, when is told with the next */
	bool woke_for_work;	 /* found awake within some looks after; no other sleep was seen */
	uint32_t nr_slept;	 /* looks that found it still asleep, since the last message */
	uint32_t nr_quiet;	 /* looks in a row that found it unchanged */
	uint64_t quiet_since_ns; /* the look before those */
	uint32_t nr_told;	 /* new looks */
	bool name_is_new;	 /* it was read when the thread was met, and not since */
	uint32_t nr_sleeps;	 /* that looks have met it in */
	bool naps;		 /* naps.c: it is in sampler.naps, at nap_index */
	size_t nap_index;
	uint64_t nap_due_ns;
	bool is_unseen;
	size_t unseen_index;  /* in sampler.unseen, if it is */
	uint64_t seen_cpu_ns; /* hunt.c: its CPU clock as last read */
	uint64_t told_ns;     /* when the last message about it was sent */
	uint64_t held_ns;     /* since the last sighting */
	/* Of its stops, in the governor's window that began then: look_window_cost(). */
	struct governor_cost window_cost;
	uint64_t window_start_ns;
};

/*
 * alarm.c: the sampling thread sleeps until its target has something to say or a moment has come.
 * A tick has several such sleeps, and to set and clear a timer for each takes a virtual machine
 * longer than all else that a stop takes: so one is set, and left as it is. What takes so long is
 * to tell the hardware which is the first to come. The interrupt of one timer does that for the
 * next anyway: another one behind it, set in good time, costs nothing.
 *
 * Where stops are spun for, a tick has but one sleep, which nothing ends before its time: to wait
 * with a timeout then takes less than to set a timer and to take its signal.
 */
#define ALARM_TIMERS 2

struct alarm_timer {
	timer_t id;
	uint64_t at_ns; /* that it is set for; 0: it is not */
	int cpu;	/* on which it was set */
};

struct alarm {
	struct alarm_timer timers[ALARM_TIMERS];
	bool is_open;
	uint32_t nr_undisturbed; /* waits in a row that lasted until their time */
	sigset_t signals;	 /* SIGCHLD and its own */
};

/* By the thread that is going to wait; never fails: at worst a timer is set for each wait. */
void alarm_open(struct alarm *alarm);
void alarm_close(struct alarm *alarm);
/*
 * Ahead of the waits that will last until then: it takes as long as a stop, unless it had been set
 * behind another one. An earlier one does as well; set_behind() is for a time after that of set().
 */
void alarm_set(struct alarm *alarm, uint64_t at_ns);
void alarm_set_behind(struct alarm *alarm, uint64_t at_ns);
/* A SIGCHLD came that names nobody. */
#define ALARM_NAMELESS (-1)

/*
 * Wait for a SIGCHLD until then, CLOCK_MONOTONIC, or a little less; 0 does not wait. Says which
 * process or thread it names; 0 if none came.
 */
pid_t alarm_wait(struct alarm *alarm, uint64_t until_ns);

/* Counts that only the sampling thread changes. */
struct sampling_counts {
	uint64_t nr_ticks, nr_late_ticks, nr_unfinished_stops;
	uint64_t nr_interrupted, nr_blocked_looks, nr_torn_looks, nr_waiting_looks;
	uint64_t nr_resting_looks; /* at who slept, and sleeps on */
	uint64_t nr_elsewhere, nr_spun;
	uint64_t nr_dropped_stacks, nr_spared;
	uint64_t cost_ns, cpu_ns, stolen_ns;
	bool realtime;
	struct histogram lateness_ns, hold_ns;
};

/* round.c: how fast a crowd is gone through. */
struct round_pace {
	uint64_t per_sec;
	uint64_t due_ns;	     /* a look for each second of it */
	uint32_t nr_looks, nr_woken; /* since it was chosen */
};

/*
 * naps.c: threads that sleep, but were seen to wake: in a crowd, where it takes seconds until each
 * has had its turn, they are looked at again after a part of the time they have slept, so that it
 * is known how long they did. In the order of their times.
 */
struct naps {
	struct sampled_thread **heap;
	size_t nr, cap;
};

/* Also where it is there already. */
void naps_put(struct naps *naps, struct sampled_thread *thread, uint64_t due_ns);
/* If it is there. */
void naps_remove(struct naps *naps, struct sampled_thread *thread);
/* The first whose time has come, no longer among them; or NULL. */
struct sampled_thread *naps_take_due(struct naps *naps, uint64_t now_ns);
void naps_release(struct naps *naps);

struct sampler {
	struct sampler_options options;
	struct profile *profile;     /* borrowed; the worker's while it runs */
	struct store_writer *writer; /* likewise */
	uint64_t start_ns;	     /* CLOCK_MONOTONIC: time 0 of the profile */
	uint64_t ended_ns;	     /* when nothing is recorded any more */
	int done_fd;

	/* The sampling thread's own. */
	pthread_t sampling_thread;
	struct target *target;
	uint64_t begun_ns; /* all were attached to: what the user's times count from */
	struct schedule schedule;
	struct governor governor;
	/* Those that ran lately come first and are looked at in every tick. */
	struct sampled_thread **threads;
	size_t nr_threads, cap_threads;
	size_t nr_active;
	size_t last_asked[2];		/* look_at_active(): where it goes on; by its on_own_cpu */
	size_t next_idle;		/* where the round through the others goes on */
	struct sampled_thread **unseen; /* never looked at yet */
	size_t nr_unseen, cap_unseen;
	struct naps naps;
	struct round_pace pace;
	uint64_t haste_ns, haste_credit_ns; /* round.c: CPU time, of this tick and still allowed */
	size_t nr_hunted;		    /* idle ones to be looked at soon: one of them runs */
	uint64_t hunt_again_ns;		    /* when to ask whether one does */
	uint64_t hunts_paid_ns;		    /* when the pauses of all hunts so far are over */
	uint64_t hunt_debt_ns;		    /* so much earlier the next one may be */
	struct sampled_process **processes;
	size_t nr_processes, cap_processes;
	struct sampled_thread **awaited; /* asked to stop */
	size_t nr_awaited, cap_awaited;
	uint64_t heard_ns; /* whoever is awaited had not stopped by then, unless it was served */
	size_t next_early, nr_early; /* of them: asked after in this tick already, and how many */
	uint64_t swept_ns, sweep_cost_ns; /* the last time everybody was asked for events */
	uint64_t nr_swept, nr_found;	  /* of those: in that sweep, and in the present one */
	uint64_t looks_ns;		  /* how long the last tick's looks took */
	bool sweep_owed, sweep_goes_on;	  /* the latter: one has begun, and is not done yet */
	uint64_t sleepers_again_ns;	  /* when a sleeping thread needs something of us */
	uint64_t nr_other_stops, eventful_until_ns; /* stops that were not asked for */
	bool eventful;				    /* there have been some within a second */
	uint32_t next_process_serial, next_thread_serial;
	struct sampling_counts counts;
	bool counting;				/* false while paused or delayed */
	uint64_t counting_since_ns, counted_ns; /* the latter: in all, but for since then */
	bool stood_by;				/* when last asked whether to */
	bool spinning;
	struct spin_choice spin;
	uint64_t window_start_ns;
	struct governor_cost worst_cost; /* of the thread stopped most in it */
	unsigned int nr_cpus;		 /* that we, and so most likely the target, may use */
	uint64_t ticks_cpu_ns, nr_measured_ticks; /* of those measured in the governor's window */
	uint64_t mean_tick_cpu_ns;		  /* of the last window that had any; 0: none had */
	struct governor_cost ended_cost;	  /* of the threads that ended in the window */
	uint64_t ended_cpu_ns;
	uint64_t tick_ns;	/* when the last tick began */
	uint64_t tick_late_ns;	/* so long after its time */
	uint64_t tick_cpu_ns;	/* CPU clock of the sampling thread then; 0: not read */
	uint64_t tick_slept_ns; /* since then */
	struct alarm alarm;
	struct displacer displacer;
	struct idle_meter idle;
	uint64_t watch_again_ns;   /* when to look whether CPUs are idle */
	uint64_t tell_counters_ns; /* when to tell what has been counted */
	struct placement placement;
	bool move_owed;				   /* after each tick, once nobody is awaited */
	struct snapshot *spare;			   /* the next one to be filled */
	struct proc_range places[CODE_PLACES + 1]; /* of the process of whom it was filled with */
	size_t nr_places;
	bool cannot_ask_places;		  /* this kernel does not tell */
	struct sampled_thread **revisits; /* to be looked at again within this tick */
	size_t nr_revisits, cap_revisits;
	struct sampled_thread **chased; /* to be looked at from their CPUs within this tick */
	size_t nr_chased, cap_chased;
	size_t nr_chases; /* in this tick */
	bool chasing;

	/* Shared. */
	struct collector *collector;
	struct sampled_process *owes_maps_of; /* to be told once nobody is awaited; or NULL */
	uint64_t late_maps_again_ns; /* young.c: while the worker is late, of all processes */
	_Atomic bool stop_asked;
	_Atomic bool paused;
	_Atomic bool stand_by_asked, stands_by;
	_Atomic uint64_t command_stop; /* control.c: as a struct command_stop */
	int command_stop_fd, command_end_fd;
	_Atomic uint64_t nr_resting; /* looks that found who slept asleep yet */
	sem_t started;		     /* posted when the target runs, or could not be brought to */
	int start_status;
	struct err start_err;

	/* The outcome, written by the sampling thread before it ends. */
	struct sampler_result result;
	bool command_ran; /* its exec was seen */
};

/* sampling_thread.c: what runs in it; the argument is the struct sampler. */
void *sampling_thread_main(void *argument);

/* follow.c: the book of processes and threads. */
void follow_event(struct sampler *sampler, struct target_event *event);
int follow_start(struct sampler *sampler, struct err *err);
void follow_end(struct sampler *sampler, uint64_t now_ns);
/* Counting is to end, or to pause: those that go on are looked at once more, as far as time allows.
 */
void follow_look_last(struct sampler *sampler);
/* After that: what happens until everybody is let go. */
void follow_last_event(struct sampler *sampler, const struct target_event *event);
void follow_pause_counting(struct sampler *sampler, uint64_t now_ns);
void follow_resume_counting(struct sampler *sampler, uint64_t now_ns);
/* What a thread did before is nobody's time. */
void follow_count_from(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns);

/*
 * serve.c: what the target has to say, as it comes: stops that were asked for, others, ends.
 */
#define LONGEST_SLEEP_NS (NS_PER_SEC / 2)
/* All that has happened; says whether there was anything. Never waits. */
bool serve_all(struct sampler *sampler);
/* While others are being seized, from time to time. */
void serve_between(struct sampler *sampler);
/* With an idle CPU: wait for the stops that were asked for without giving up our own. */
void serve_spinning(struct sampler *sampler, uint64_t now_ns);
/*
 * Between the looks of a tick: have those stopped by now that were asked to first, and run on other
 * CPUs? They would stand still until all others have been looked at, and ours has stopped.
 */
void serve_begin_tick(struct sampler *sampler);
void serve_early(struct sampler *sampler);
/*
 * Of many: who has stopped for another reason, as to tell of a birth. First looks at new threads
 * take long, and more are born meanwhile.
 */
void serve_amid_looks(struct sampler *sampler);
/* After the last look of the tick that began then. */
void serve_rest_early(struct sampler *sampler, uint64_t tick_ns);
/* Sleep until something happens to the target, somebody asks, or the time has come. */
void serve_asleep(struct sampler *sampler, uint64_t until_ns);
/* At each tick: did threads stop for other reasons than our asking? */
void serve_note_others(struct sampler *sampler, uint64_t now_ns);
/* Some times a second: should a SIGCHLD ever get lost. */
void serve_watch(struct sampler *sampler, uint64_t now_ns);

/*
 * choose.c: does the user want this thread? Its name is read until it fits; from then on it is
 * counted, whatever it calls itself.
 */
bool choose_thread(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns);
/* Did they, as far as is known? Reads nothing. */
bool choose_is_counted(const struct sampler *sampler, const struct sampled_thread *thread);

/*
 * chase.c: threads that run where we are not, but are better looked at from their own CPU. Most
 * will be met there at another tick. One that is new, or was put off before, may never be: each
 * stop at a fork, exec or exit wakes a thread on the CPU that we have just left idle.
 */
void chase_begin_tick(struct sampler *sampler);
/* It was not asked to stop: it runs on another CPU. */
void chase_later(struct sampler *sampler, struct sampled_thread *thread);
/* Go to where one of them runs and ask it to stop. False when none is left. */
bool chase_next(struct sampler *sampler);
void chase_remove_thread(struct sampler *sampler, const struct sampled_thread *thread);

/* look.c: one look at the threads. */
void look_at(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns);
void look_at_all(struct sampler *sampler, uint64_t now_ns);
/*
 * The first look at a thread of a crowd that is being attached to, if it sleeps: all that is read
 * of it has just been in use, which makes that twice as quick as in a tick. Those that are not
 * looked at here are in the ticks to come.
 */
void look_at_met(struct sampler *sampler, struct sampled_thread *thread,
		 const struct target_met *met);
/* look_cost.c: a thread was held: when it was let go, and what it was met in. */
struct look_held {
	struct sampled_thread *thread;
	struct snapshot *snapshot;
	uint64_t asked_ns, waited_ns, let_go_ns;
	enum seen_state kind;
};

/* When it stopped, or the time up to which it certainly had not. */
uint64_t look_stopped_ns(const struct sampler *sampler, const struct look_held *held);
/* What that has cost it. */
void look_count_cost(struct sampler *sampler, const struct look_held *held);
/* What the stops of a thread have cost it in the governor's present window. */
struct governor_cost look_window_cost(const struct sampler *sampler,
				      const struct sampled_thread *thread);
/*
 * look_kind.c: what it was doing when it was looked at. Asked while it is held, or once when it has
 * just been let go; its clocks have been read.
 */
enum seen_state look_kind(const struct sampler *sampler, const struct look_held *held);
/* And as what that is told: once for each stop. */
enum seen_state look_kind_to_tell(const struct sampler *sampler, const struct look_held *held);
/* A held thread: copy it, let it go, tell. */
void look_at_held(struct sampler *sampler, struct tracee *tracee);
/* One that job control stops: where it ran is where it stands. It stays held. */
void look_at_stopped(struct sampler *sampler, struct tracee *tracee);

/* The copy to be filled next; and how much of a stack is of use. */
struct snapshot *look_spare_snapshot(struct sampler *sampler);
size_t look_stack_limit(const struct sampled_thread *thread);

/* look_ask.c: a thread that was just looked at is asked to stop. */
void look_interrupt(struct sampler *sampler, struct sampled_thread *thread);
/* It runs. Maybe it is asked later in this tick, or not at all. */
void look_ask_to_stop(struct sampler *sampler, struct sampled_thread *thread,
		      const struct proc_schedstat *clocks);

/* look_tell.c: what sampler->spare was filled with, and the sleep before it. */
void look_tell_new(struct sampler *sampler, struct sampled_thread *thread, enum seen_state kind);
/* It runs, and what it was last seen in is over. */
void look_found_awake(const struct sampler *sampler, struct sampled_thread *thread,
		      const struct proc_schedstat *clocks, uint64_t now_ns);
/*
 * It is over: how long the sleep lasted that it was last seen in. Where it was scheduled in no more
 * than once since then, all the time off its CPU is that of this one.
 */
void look_slept_until_end(const struct sampler *sampler, struct sampled_thread *thread,
			  const struct proc_schedstat *clocks, uint64_t now_ns);
/* The same of one that goes on, and may sleep elsewhere by now: the last that is said of it. */
void look_may_sleep_on(const struct sampler *sampler, struct sampled_thread *thread,
		       const struct proc_schedstat *clocks, uint64_t now_ns);
/* Counting is to end: where is it now, if that can be seen without a stop? */
void look_last(struct sampler *sampler, struct sampled_thread *thread);
/* Tell that a thread slept until its last look, if so. */
void look_tell_sleep(struct sampler *sampler, struct sampled_thread *thread);

/*
 * beside.c: whether a thread is better looked at from its own CPU. Asked from another one it may
 * begin a system call, or a page fault, before it learns of it, and then stops in that.
 */
bool beside_is_better(const struct sampled_thread *thread);
/* Asked from another CPU just after it slept, did it stop in calls far more often? */
bool beside_calls_in_bursts(const struct sampled_thread *thread);
/* From beside for the next looks, as for a thread of which nothing is known. */
void beside_begin(struct sampled_thread *thread);
/*
 * It stopped: how often that is in calls when it is looked at from elsewhere is how often it is
 * in calls, and as often again as it began one before it learnt of the interrupt.
 */
void beside_count_stop(struct sampled_thread *thread, bool in_call);
/* Its page faults, as far as looks have seen them. */
void beside_count_faults(struct sampled_thread *thread);

/*
 * young.c: what changes quickly when a process or thread begins, and is gone when it ends: the
 * worker, which runs when there is time, may come too late to read it.
 */
/*
 * The memory map of the process that a message is about, into it, if it can be read and the queue
 * has room for it: else the worker reads it itself, if it is still there by then.
 */
void young_read_maps(struct sampler *sampler, struct message *message);
/* A child was forked, with the map that its parent has. */
void young_inherit_maps(struct sampled_process *child, const struct sampled_process *parent);
/*
 * A process is held at its end, while the memory is still there: tell its map, for the stacks that
 * wait to be walked, if there are any; and the name, which a short-lived child may have changed
 * since it was last read.
 */
void young_tell_last_maps(struct sampler *sampler, const struct sampled_process *process,
			  uint64_t now_ns);
/* A thread's name in that program (proc_program_read_comm()); owned, NULL: not to be had. */
char *young_name(uint64_t program, pid_t pid, pid_t tid);
/* A thread was looked at, and let go: read and tell its process' map if that is likely new. */
void young_tell_maps(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns);
/* Where that would have kept threads that are asked to stop; the worker waits for it. */
void young_tell_owed_maps(struct sampler *sampler);
/*
 * Its name at the looks that ask for it, else NULL: threads name themselves when they begin.
 * `pcount` is the times it had been scheduled in then: who has not run since it was met has the
 * same name.
 */
char *young_name_at_look(struct sampled_thread *thread, uint64_t pcount);

/*
 * places.c: which code is mapped where threads run. The worker walks a stack some time after it was
 * taken, and by then another library may have come to stand where one stood: so the kernel is asked
 * at the look, now and then, and at each look while that happens. Of what sampler->spare holds, of
 * a thread that is held, or was until now, or was asleep just now.
 */
void places_ask(struct sampler *sampler, const struct sampled_thread *thread,
		const struct snapshot *snapshot);
/* Has no code been replaced of late? */
bool places_are_calm(const struct sampled_process *process, uint64_t now_ns);
/* What was asked last, with that look. */
void places_tell(struct sampler *sampler, struct message *message);

/* look.c: the order of sampler.threads. */
void look_add_thread(struct sampler *sampler, struct sampled_thread *thread);
void look_remove_thread(struct sampler *sampler, struct sampled_thread *thread);
/* How many threads that were asked to stop have not. */
size_t look_nr_awaited(struct sampler *sampler);

/* round.c: the threads that sleep on, some in each tick. */
void round_begin(struct sampler *sampler);
void round_go_on(struct sampler *sampler, uint64_t now_ns);
/* Are there so many threads that most of them are best left alone? */
bool round_is_crowded(const struct sampler *sampler);
bool round_is_crowd(size_t nr_threads);

/* hunt.c: does a thread run that passes for idle? If so, all are looked at soon. */
void hunt_now_and_then(struct sampler *sampler, uint64_t now_ns);
/* A thread's CPU clock was read. */
void hunt_saw_clock(struct sampled_thread *thread, uint64_t cpu_ns);

#define COUNTERS_MAX 32

/*
 * counters.c: what the sampling thread and the target have counted, as rows of the profile;
 * there is room for COUNTERS_MAX. Not while the sampling thread runs, but by itself.
 */
size_t counters_read(const struct sampler *sampler, struct message_counter *out);
/* Tell the worker, so that a recording that is cut short has them too; ever more rarely. */
void counters_tell(struct sampler *sampler, uint64_t now_ns);

/* control.c: for target_options.command_stops; the context is the struct sampler. */
void control_command_stops(void *context, int signal);
/* Are there to be no looks for now? The sampling thread's, each time it could begin one. */
bool control_stands_by(struct sampler *sampler, uint64_t now_ns);
/* Whether the queue still takes so many bytes of a stack; counts it as dropped if not. */
bool sampler_has_room(struct sampler *sampler, size_t nr_bytes);
/* Does the worker not keep up with what it is told? */
bool sampler_is_behind(const struct sampler *sampler);
/* Can it be told maps beyond those that have to be, and none of the stacks is dropped for it? */
bool sampler_has_room_for_maps(const struct sampler *sampler);
void sampler_tell(struct sampler *sampler, struct message *message);
#endif
