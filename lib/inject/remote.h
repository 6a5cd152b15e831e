/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_REMOTE_H
#define PROFC_INJECT_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct probe_access;
struct target_memory;
struct err;
struct stopped;

/*
 * System calls that a thread of another process makes for us. Only this thread is traced; the
 * others run on. Afterwards it continues as after any stop, also in an interrupted system call,
 * with the rest of its time-out. Its state is also in a signal frame on its own stack, as the
 * kernel makes them for handlers, and the code that it is sent through ends in rt_sigreturn(2): so
 * it returns by itself if profc is killed at any moment. Only then a wait with a time-out restarts
 * with all of it.
 */
struct remote;

/* Code of a process that can make system calls; found by remote_find_code(). */
struct remote_code {
	uint64_t call;	  /* a system call instruction and a return */
	uint64_t restore; /* a call of rt_sigreturn */
};

/*
 * Where the code was in the file of the last process. It is looked for there first, and believed
 * only if its bytes are in the memory of the process. Zeros: nowhere yet.
 */
struct remote_hint {
	uint64_t dev, inode; /* of the file */
	uint64_t call_offset, restore_offset;
};

/*
 * Nothing is stopped. `hint` is read and written; it may be NULL. ERR_UNSUPPORTED: the process has
 * no such code.
 */
int remote_find_code(pid_t pid, struct target_memory *memory, struct remote_hint *hint,
		     struct remote_code *code, struct err *err);

/*
 * Stop a thread of the process with room on its stack: the main thread, or one on a stack that the
 * C library has made. Not in a handler on a signal stack, not in 32-bit code, and not with a filter
 * of system calls that we do not have (willing_to_call()). Threads that would wait again with all
 * of their time-out come last. ERR_GONE, ERR_PERMISSION, ERR_UNSUPPORTED: none was found for
 * access->patience_ns. Where the caller has stopped the only thread of a command (is_stopped), it
 * is that one, and the caller will resume it.
 */
int remote_begin(struct remote **remote, const struct probe_access *access,
		 const struct remote_code *code, struct err *err);
/*
 * As above with the only thread of a process, which the caller has stopped, and will resume.
 * ERR_UNSUPPORTED: it will not do. Calls can be made in a row then, see remote_calls().
 */
int remote_adopt(struct remote **remote, const struct probe_access *access,
		 const struct remote_code *code, pid_t tid, struct err *err);
/* The result of the call: negative for -errno; -ESRCH also if the thread is gone. */
int64_t remote_call(struct remote *remote, long nr, const uint64_t *args, unsigned int nr_args);

struct remote_step {
	long nr;
	uint64_t args[6];
};

#define REMOTE_STEPS_MAX 32

/* Can threads of this processor make calls in a row? */
bool remote_knows_rows(void);
/* Could this one? Only one that remote_adopt() has taken. */
bool remote_may_make_row(const struct remote *remote);
/*
 * Make calls one after another, without a stop in between, which takes a fraction of the time of
 * as many remote_call(). All are made, also if one fails: their results are not known, and the
 * caller looks at what has become of the process. If profc is killed the thread makes them all by
 * itself, and returns. False: none was made.
 */
bool remote_calls(struct remote *remote, const struct remote_step *steps, size_t nr);
/* The id of its process in the PID namespace of that. */
pid_t remote_own_pid(const struct remote *remote);
/* Has the thread a filter of system calls (seccomp)? Then it makes only those that we tried. */
bool remote_is_filtered(const struct remote *remote);
/* Write a short text for an argument; returns its address in the process. */
uint64_t remote_text(struct remote *remote, const char *text);
/*
 * Release the thread or, if the caller has stopped it, restore it. Returns how long it was stopped,
 * in ns.
 */
uint64_t remote_end(struct remote *remote);

#endif
