/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's counters of threads and processes, read with each sample if some were asked for, and
 * published. Nothing is stopped meanwhile. With the lock.
 */
#ifndef PROFC_SAMPLER_ADVANCES_PRIV_H
#define PROFC_SAMPLER_ADVANCES_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/kernel_counters.h"

struct collector;
struct event_opener;
struct sampled_process;
struct sampled_thread;

/* How well events (kernel_counters_of_events()) were counted. */
struct event_coverage {
	uint64_t nr_without_descriptor;	 /* threads for which there were no descriptors, */
	uint64_t nr_refused;		 /* and for which the kernel opened none */
	uint64_t late_cpu_ns;		 /* that new threads had used before events were counted */
	struct kernel_event_times times; /* of threads that have ended */
};

struct advance_reader {
	unsigned int wanted;		   /* the set of KERNEL_COUNTER_BIT() */
	struct collector *collector;	   /* borrowed: receives the messages */
	const struct event_opener *opener; /* borrowed */
	struct event_coverage coverage;
	struct handed_events {
		struct kernel_events *events; /* owned, until this thread begins; or NULL */
		pid_t tid;
		struct kernel_counters published; /* of them */
	} handed_on;
};

/*
 * Count the events of a command from its exec on: it is a child of ours that waits for it. Without
 * descriptors for that its events are opened, like those of others, when its thread begins.
 */
void advances_await_exec(struct advance_reader *reader, pid_t command);
void advances_end(struct advance_reader *reader);

/* `former`: it has executed a program, and was that before. Else `is_born`: in the recording. */
void advances_begin_process(const struct advance_reader *reader, struct sampled_process *process,
			    const struct sampled_process *former, bool is_born);
/* `cpu_ns`: that it has used since its birth. */
void advances_begin_thread(struct advance_reader *reader, struct sampled_thread *thread,
			   bool is_new, uint64_t cpu_ns);
/*
 * Its time is over. `is_readable`: its files of /proc are its own still; `counts`: what its
 * counters have advanced by is published.
 */
void advances_end_thread(struct advance_reader *reader, struct sampled_thread *thread,
			 uint64_t now_ns, bool is_readable, bool counts);
/* Leave out the amounts up to now. */
void advances_count_from_now(struct advance_reader *reader, struct sampled_thread *thread);
void advances_count_process_from_now(const struct advance_reader *reader,
				     struct sampled_process *process);
/* It is about to be stopped: what advances until it is published was seen to. */
void advances_before_visit(const struct advance_reader *reader, struct sampled_thread *thread);
/* The visit has brought no sample. */
void advances_not_visited(struct sampled_thread *thread);
/* is_sampled: the last message was its sample. */
void advances_publish(const struct advance_reader *reader, struct sampled_thread *thread,
		      uint64_t now_ns, bool is_sampled);
/* Publish the amounts of threads that ended before they were read again. */
void advances_publish_rest(struct advance_reader *reader, struct sampled_process *process,
			   uint64_t now_ns);

#endif
