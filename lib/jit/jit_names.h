/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_JIT_JIT_NAMES_H
#define PROFC_JIT_JIT_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stack/stack.h"

struct profile;

/*
 * The names of code that programs make while they run. A just-in-time compiler
 * describes its code for profilers in /tmp/perf-PID.map or in a jitdump. Both are
 * read while the program runs, as soon as frames of its code are in the profile:
 * at its end they may be gone, with the program's private /tmp or by its own hand,
 * and other code may have come to stand at the same address. What they say of the
 * frames of a profile is put into its tables jit_names and jit_sources.
 *
 * Knows nothing of who samples. Whoever interns frames asks jit_names_frame(), and
 * calls jit_names_poll() now and then. Used by one thread at a time.
 */
struct jit_names;

/* `profile` is borrowed. */
struct jit_names *jit_names_new(struct profile *profile);
void jit_names_free(struct jit_names *names);

/*
 * The frame that stands for a place in code now: the frame itself, unless other code was seen
 * there before. Whoever puts frames into stacks puts this one.
 */
struct frame_id jit_names_frame(const struct jit_names *names, struct frame_id frame);

/*
 * A program begins in this process, by fork or exec, or is attached to, and the profile has it:
 * what was known of the process id is of another.
 */
void jit_names_begin(struct jit_names *names, pid_t pid);

/*
 * Read what programs have added of late, of each about every 100 ms of the clock that
 * clock_monotonic_ns() tells, and the more rarely the longer that takes or nothing is found.
 */
void jit_names_poll(struct jit_names *names, uint64_t now_ns);
/* The same at once where frames have come that were not looked up yet. */
void jit_names_catch_up(struct jit_names *names);
/* The program is over, or the recording is: read the rest, be its last line whole or not. */
void jit_names_end(struct jit_names *names, pid_t pid);
void jit_names_end_all(struct jit_names *names);

#endif
