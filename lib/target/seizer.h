/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_SEIZER_H
#define PROFC_TARGET_SEIZER_H

#include <stdint.h>
#include <sys/types.h>

/*
 * PTRACE_SEIZE of a process that executes another program waits in the kernel until that is done
 * (cred_guard_mutex). The exec itself may wait for us: until threads that we trace have been
 * reaped, or for a process that serves its file system (FUSE) and is in a stop. So who seizes must
 * not wait for long. The kernel takes the call up again after every signal, whatever its handler
 * is to do (ERESTARTNOINTR); the one of ours steps over the call.
 */
struct seizer;

/*
 * For the thread that traces, of which there is one at a time: it gets a handler of SIGURG, which
 * is not blocked meanwhile. Never fails: where no thread can be started, to seize waits.
 */
struct seizer *seizer_start(void);
/* Puts signals as they were and frees all. */
void seizer_end(struct seizer *seizer);

/* Seize a thread, with PTRACE_O_ `options`. 0, or the errno; EINTR: it would have to wait. */
int seizer_seize(struct seizer *seizer, pid_t tid, uintptr_t options);

#endif
