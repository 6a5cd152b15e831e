/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_SAMPLES_H
#define PROFC_COLLECTOR_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/account.h"
#include "profile/profile.h"
#include "stack/stack_end.h"

struct message_sample;

/*
 * What was sampled becomes samples of the profile, with their weights. The last one of a thread is
 * held back: the same sleep may be seen again, and a run may turn out to have been the last.
 */

/* What is not in the profile, as only what is inside of some function is wanted. */
struct left_out {
	uint64_t cpu_ns, blocked_ns; /* of samples outside of it */
	uint64_t nr_samples;
	uint64_t nr_cut;	 /* of these: of stacks that may have lost it */
	uint64_t unknown_cpu_ns; /* without a sample: inside or not, nobody knows */
};

/* Where the samples of all threads go. */
struct sample_sink {
	struct profile *profile; /* borrowed */
	uint64_t start_ns;	 /* CLOCK_MONOTONIC: time 0 of the profile */
	uint64_t period_ns;
	uint64_t nr_samples; /* observations, those that are held back included */
	uint64_t cpu_ns;     /* in the profile, attributed or not */
	uint64_t unattributed_cpu_ns, unattributed_blocked_ns;
	bool is_within; /* time that no sample took is left out, too */
	struct left_out left_out;
};

/* The CPU time of a thread that samples of it stand for, and their number. */
struct sampled_runs {
	uint64_t cpu_ns, nr;
};

/* What it was last seen running, which may get the time up to its end. */
struct last_run {
	struct sample sample;
	bool is_held;	    /* and not in the profile yet */
	bool is_outside;    /* and not to be in it */
	bool is_latest;	    /* it has not been seen blocked since */
	bool was_preempted; /* seen runnable outside system calls: there it ran last */
};

/*
 * The stack it was last seen blocked in. Its sample takes the time up to where it was first seen,
 * some of which may be that of other sleeps; what is known to be of this one comes after that.
 */
struct last_sleep {
	struct sample sample;
	uint64_t known_ns, known_until_ns;
	uint64_t pcount; /* times scheduled in, by then */
	bool is_held, is_outside;
	bool is_known; /* false before the first, and after one whose stack was dropped */
};

struct thread_samples {
	struct thread_id row;
	struct account account;
	struct sampled_runs runs;
	struct last_run run;
	struct last_sleep sleep;
};

uint64_t samples_profile_time(const struct sample_sink *sink, uint64_t time_ns);

/* It was sampled. The sample has its snapshot. */
void samples_add(struct sample_sink *sink, struct thread_samples *thread,
		 const struct message_sample *seen, struct stack_id stack, enum stack_end end);
/* It was sampled where nobody wants to know of: that takes the time that it stands for away. */
void samples_leave_out(struct sample_sink *sink, struct thread_samples *thread,
		       const struct message_sample *seen, enum stack_end end);
/* Its last sleep went on, as the message says. */
void samples_lengthen_sleep(struct sample_sink *sink, struct thread_samples *thread,
			    const struct message_sample *seen);
/* It was sampled blocked, and the stack dropped: what it sleeps in now is not known. */
void samples_forget_sleep(struct thread_samples *thread);

/* What is held back goes into the profile: it is over, or has to be written. */
void samples_emit_held(struct sample_sink *sink, struct thread_samples *thread);
/* Counting ends here: what no sample took is the unattributed rest. */
void samples_rest(struct sample_sink *sink, struct thread_samples *thread,
		  const struct account_clocks *clocks);
/*
 * The thread has ended at these clocks. One that ends before its next sample was due has not been
 * missed: what it ran since the last one is what that one stands for, as if it had been later. And
 * what is unattributed of one that was last seen preempted, it ran up to there.
 */
void samples_end(struct sample_sink *sink, struct thread_samples *thread,
		 const struct account_clocks *clocks);
/* CPU time of a thread, or of one of its siblings, that no sample and no clock of theirs covers. */
void samples_add_unattributed(struct sample_sink *sink, struct thread_id row, uint64_t time_ns,
			      const struct account_weights *weights);

#endif
