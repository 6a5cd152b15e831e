/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_SENDERS_H
#define PROFC_TARGET_SENDERS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The children that were reaped of late, each of which has sent a SIGCHLD to its parent then. That
 * names it as the parent sees it: by its id in the PID namespace of that, not by the one that it
 * has here.
 */
struct sender {
	pid_t pid; /* as in si_pid */
	pid_t parent_tid, parent_tgid;
	bool is_safe; /* only that thread could be woken, and it was in no danger */
	uint64_t reaped_ns;
};

#define SENDERS_MAX 64 /* the latest of them */

struct senders {
	struct sender at[SENDERS_MAX];
	size_t next;
};

void senders_note(struct senders *senders, const struct sender *sender);
/*
 * Who has sent this signal to that process: the last child of it with that id, as ids are used
 * again. NULL if it is not of a child's end, or of none that was reaped within the last second.
 */
const struct sender *senders_find(const struct senders *senders, pid_t tgid, const siginfo_t *info,
				  uint64_t now_ns);

#endif
