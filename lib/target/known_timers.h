/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_KNOWN_TIMERS_H
#define PROFC_TARGET_KNOWN_TIMERS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Of the timers whose signals came of late, whether those go to a thread: a file tells, which is
 * not to be read for each signal. It is asked again after a second, as a timer made anew may have
 * the id of one before, if rarely: the kernel gives ids away in turn, but for who asks for one
 * (PR_TIMER_CREATE_RESTORE_IDS). With another signal or value it is another timer at once.
 */
struct known_timer {
	pid_t tgid; /* 0: none */
	int id, signal;
	void *value;
	bool is_of_thread;
	uint64_t read_ns;
};

#define KNOWN_TIMERS_MAX 32 /* the latest of them */

struct known_timers {
	struct known_timer at[KNOWN_TIMERS_MAX];
	size_t next;
};

/* `info` is of a signal of a timer of that process; NULL if the file is to be asked. */
const struct known_timer *known_timers_find(const struct known_timers *timers, pid_t tgid,
					    const siginfo_t *info, uint64_t now_ns);
/* What it has told. */
void known_timers_note(struct known_timers *timers, pid_t tgid, const siginfo_t *info,
		       bool is_of_thread, uint64_t now_ns);
/* Those of a process, which executes another program, are no more. */
void known_timers_forget(struct known_timers *timers, pid_t tgid);

#endif
