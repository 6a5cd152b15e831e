/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_REMOTE_H
#define PROFC_INJECT_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target_memory;
struct err;
struct stopped;

/*
 * System calls that a thread of another process makes for us, while that thread alone is traced
 * and the others run on. Then it goes on as after any stop: in the system call that it was in, too,
 * with what is left of its time-out. What it was doing is kept in a signal frame on its own stack
 * as well, as the kernel makes them for handlers: the code that it is sent through ends in
 * rt_sigreturn(2), so that it finds back by itself, should profc be killed at any moment. Only then
 * a wait with a time-out begins anew.
 */
struct remote;

/* Code of a process that system calls can be made with; found by remote_find_code(). */
struct remote_code {
	uint64_t call;	  /* a system call instruction and a return */
	uint64_t restore; /* a call of rt_sigreturn */
};

/* Nothing is stopped. ERR_UNSUPPORTED: it has no such code. */
int remote_find_code(pid_t pid, struct target_memory *memory, struct remote_code *code,
		     struct err *err);

/*
 * Stop a thread of `pid` on whose stack there is room: the main thread, or one on a stack that the
 * C library has made for it; none that is in a handler on a stack for signals, or in 32-bit code,
 * and none that has a filter of system calls which we have not (willing_to_call()). One that would
 * wait again with all of its time-out is taken only where there is no other.
 * ERR_GONE, ERR_PERMISSION, ERR_UNSUPPORTED: there was none for `patience_ns`.
 */
int remote_begin(struct remote **remote, pid_t pid, pid_t command, struct target_memory *memory,
		 const struct remote_code *code, uint64_t patience_ns, struct err *err);
/* The same with the only thread of a command, which the caller has stopped, and resumes. */
int remote_begin_stopped(struct remote **remote, pid_t command, struct target_memory *memory,
			 const struct remote_code *code, struct err *err);
/* What the call returns: negative for -errno; -ESRCH also where the thread is gone. */
int64_t remote_call(struct remote *remote, long nr, const uint64_t *args, unsigned int nr_args);
/* Room of some bytes for an argument; its address in the process. */
uint64_t remote_text(struct remote *remote, const char *text);
/* Let it go, or, after remote_begin_stopped(), be as it was. How long it stood, in ns. */
uint64_t remote_end(struct remote *remote);

#endif
