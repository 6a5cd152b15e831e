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
 * Samples of threads become samples of the profile, with their weights. The last one of a thread is
 * held back: the same sleep may be observed again, and a run may turn out to have been the last.
 */

/* Time that is not in the profile, as only time inside of some function is wanted. */
struct left_out {
	uint64_t cpu_ns, blocked_ns; /* of samples outside */
	uint64_t nr_samples;
	uint64_t nr_cut;	 /* of these: with truncated stacks, which may have lost it */
	uint64_t unknown_cpu_ns; /* without a sample: inside or outside is not known */
};

/* The destination of the samples of all threads. */
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

/* The CPU time that samples of a thread represent, and their number. */
struct sampled_runs {
	uint64_t cpu_ns, nr;
};

/* The last sample of a thread that ran: it may get the time up to the thread's end. */
struct last_run {
	struct sample sample;
	bool is_held;	    /* not in the profile yet */
	bool is_outside;    /* not to be in the profile */
	bool is_latest;	    /* the thread was not seen blocked since */
	bool was_preempted; /* runnable outside of system calls: it ran there last */
};

/*
 * The last stack in which a thread was seen blocked. Its sample takes the time up to the first look
 * at it, some of which may belong to other sleeps; known_ns is the time after that, which belongs
 * to this one.
 */
struct last_sleep {
	struct sample sample;
	uint64_t known_ns, known_until_ns;
	uint64_t pcount; /* times scheduled in, by then */
	bool is_held, is_outside;
	bool is_known; /* false before the first, and after one without a stack */
};

struct thread_samples {
	struct thread_id row;
	uint32_t labels; /* of the next sample (profile/labels.h); set by the caller */
	struct account account;
	struct sampled_runs runs;
	struct last_run run;
	struct last_sleep sleep;
};

uint64_t samples_profile_time(const struct sample_sink *sink, uint64_t time_ns);

/* The thread was sampled, with a snapshot. */
void samples_add(struct sample_sink *sink, struct thread_samples *thread,
		 const struct message_sample *seen, struct stack_id stack, enum stack_end end);
/* The thread was sampled outside of the wanted function: the sample and its time are left out. */
void samples_leave_out(struct sample_sink *sink, struct thread_samples *thread,
		       const struct message_sample *seen, enum stack_end end);
/* The thread's last sleep continued, as the message says. */
void samples_lengthen_sleep(struct sample_sink *sink, struct thread_samples *thread,
			    const struct message_sample *seen);
/* The thread was sampled blocked, without a stack: where it sleeps now is not known. */
void samples_forget_sleep(struct thread_samples *thread);

/* Put samples that are held back into the profile: they are over, or must be written. */
void samples_emit_held(struct sample_sink *sink, struct thread_samples *thread);
/* Counting ends here: time that no sample has taken is the unattributed rest. */
void samples_rest(struct sample_sink *sink, struct thread_samples *thread,
		  const struct account_clocks *clocks);
/*
 * The thread has ended at these clocks. If it ended before its next sample was due, none was
 * missed: the time that it ran since its last sample goes to that, as if it had been taken later.
 * So does the unattributed time of a thread that was last seen preempted.
 */
void samples_end(struct sample_sink *sink, struct thread_samples *thread,
		 const struct account_clocks *clocks);
/* CPU time of a thread, or of one of its siblings, that no sample and no clock of theirs covers. */
void samples_add_unattributed(struct sample_sink *sink, struct thread_id row, uint64_t time_ns,
			      const struct account_weights *weights);

#endif
