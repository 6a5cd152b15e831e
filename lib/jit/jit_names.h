/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_JIT_JIT_NAMES_H
#define PROFC_JIT_JIT_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stack/stack.h"

struct profile;

/*
 * The names of JIT-compiled code. A just-in-time compiler describes its code for profilers in
 * /tmp/perf-PID.map or in a jitdump. Both are read while the program runs, as soon as frames of its
 * code are in the profile: at its end they may be gone, with the program's private /tmp or deleted
 * by it, and other code may have replaced the code at the same address. The names of a profile's
 * frames are put into its tables jit_names and jit_sources.
 *
 * Independent of sampling: code that interns frames calls jit_names_frame(), and jit_names_poll()
 * now and then. Used by one thread at a time.
 */
struct jit_names;

/* `profile` is borrowed. */
struct jit_names *jit_names_new(struct profile *profile);
void jit_names_free(struct jit_names *names);

/*
 * The current frame for an address: the frame itself, unless other code was sampled there before.
 * Stacks need this frame.
 */
struct frame_id jit_names_frame(const struct jit_names *names, struct frame_id frame);

/*
 * A program starts in this process, by fork or exec, or profc attaches to it, and it is in the
 * profile: earlier facts about the process id belong to another program.
 */
void jit_names_begin(struct jit_names *names, pid_t pid);

/*
 * Read programs' new entries, for each program about every 100 ms of clock_monotonic_ns(), and more
 * rarely the longer that takes or the longer nothing is found.
 */
void jit_names_poll(struct jit_names *names, uint64_t now_ns);
/* As above, at once, for processes with frames that have not been looked up yet. */
void jit_names_catch_up(struct jit_names *names);
/* The program or the recording has ended: read the rest, including an incomplete last line. */
void jit_names_end(struct jit_names *names, pid_t pid);
void jit_names_end_all(struct jit_names *names);

#endif
