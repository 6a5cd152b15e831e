/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_WORKER_PRIV_H
#define PROFC_SAMPLER_WORKER_PRIV_H

#include "profile/profile.h"
#include "sampler/account.h"
#include "sampler/worker.h"
#include "stack/stack_end.h"

struct jit_names;
struct snapshot;

struct worker_process {
	struct process_id id;
	pid_t pid;
	uint64_t program;    /* proc_program_id(); 0: not known */
	struct space *space; /* NULL once it has ended */
	/*
	 * Stacks in code that no known map shows, of a process that is gone: they, and what
	 * came after them, wait for the map that was read at its exit, or the news of its exec.
	 */
	struct message **waiting;
	size_t nr_waiting, cap_waiting;
	bool final_maps;	   /* no better map will come */
	uint64_t refresh_again_ns; /* not before: reading the map anew did not help */
	uint64_t refresh_pause_ns;
	uint64_t watch_again_ns;      /* not before: whether the map is still right */
	uint64_t read_whole_again_ns; /* before, asking after its code will do */
	bool is_to_watch;	      /* is in worker.to_watch */
	uint64_t restless_until_ns;   /* libraries have changed places */
	uint32_t nr_replaced;	      /* of the space, as of the last time */
};

struct worker_thread {
	struct thread_id id;
	uint32_t process;		  /* index of worker.processes */
	struct thread_hints *hints;	  /* owned; NULL once it has ended */
	uint32_t nr_walks, deepest_bytes; /* the latter: that any of them needed of a stack */
	uint64_t root_sp;		  /* where the last whole walk ended, */
	uint32_t nr_to_root;		  /* so many of them in a row */
	bool has_other_roots;		  /* it cannot be told beforehand where one will */
	struct account account;
	/* The stack it sleeps in, if it was last seen asleep, and the sample that gathers. */
	struct stack_id sleep_stack;
	int16_t sleep_syscall;
	uint8_t sleep_end;
	bool has_sleep;
	bool is_asleep; /* when last seen */
	bool ended;
	bool ran_since_flush;
	bool is_touched; /* is in worker.touched */
	struct sample sleep;
	/* What it was last seen running, which may get the time up to its end. */
	bool has_run;	    /* and is not in the profile yet */
	bool was_running;   /* and it has not been seen asleep since */
	bool was_preempted; /* that one is of a wait outside system calls: there it ran last */
	struct sample run;
};

struct worker {
	uint64_t restless_until_ns; /* of any process */
	struct worker_options options;
	struct profile *profile;
	struct unwinder *unwinder;
	struct jit_names *jit_names;
	struct worker_process *processes; /* by serial */
	size_t nr_processes, cap_processes;
	struct worker_thread *threads; /* by serial */
	size_t nr_threads, cap_threads;
	uint32_t *to_watch; /* processes of which stacks were walked of late */
	size_t nr_to_watch, cap_to_watch;
	uint32_t *touched; /* threads that were seen since the last flush: of thousands a few */
	size_t nr_touched, cap_touched;
	size_t first_live_thread; /* all before have ended */
	struct unwind_walk walk;
	struct worker_progress progress;
	uint64_t nr_samples, cpu_ns;
	uint64_t unattributed_cpu_ns, unattributed_blocked_ns;
	uint64_t nr_stacks_by_end[STACK_END_COUNT];
};

/* An interned stack and why its walk ended. */
struct worker_stack {
	struct stack_id id;
	enum stack_end end;
};

/*
 * worker_walk.c: walk the snapshot of a sighting and intern its stack. False when that has to wait
 * for the last memory map of its process.
 */
bool worker_walk(struct worker *worker, struct worker_process *process,
		 struct worker_thread *thread, const struct message_sighting *sighting,
		 struct worker_stack *stack);
void worker_read_thread_name(struct worker *worker, struct worker_thread *thread);
void worker_name_thread(struct worker *worker, struct worker_thread *thread, const char *name);

/*
 * worker_samples.c: sightings into samples with weights. The last one of a thread is held back:
 * the same sleep may be seen again, and a run may turn out to have been the last.
 */
uint64_t worker_profile_time(const struct worker *worker, uint64_t time_ns);
void worker_add_running(struct worker *worker, struct worker_thread *thread,
			const struct message_sighting *sighting, const struct worker_stack *stack);
/* The sighting has its snapshot. */
void worker_add_blocked(struct worker *worker, struct worker_thread *thread,
			const struct message_sighting *sighting, const struct worker_stack *stack);
/* Repeats of the same sleep gather in one sample between two flushes. */
void worker_add_sleep(struct worker_thread *thread, uint64_t until_ns, uint32_t nr);
/* What was seen last is over, or has to be written: one sample of it. */
void worker_emit_gathered(struct worker *worker, struct worker_thread *thread);
/*
 * A thread that ends before its next look was due has not been missed: what it ran since the
 * last one is what that look stands for, as if it had been later. And what is owed to one that was
 * last seen driven off its CPU, it ran up to there: no better look will come.
 */
void worker_lengthen_last_run(struct worker *worker, struct worker_thread *thread,
			      const struct account_clocks *end);
/* Counting ends here: what no sighting took is the unattributed rest. */
void worker_hand_out_rest(struct worker *worker, struct worker_thread *thread,
			  const struct account_clocks *clocks);

#endif
