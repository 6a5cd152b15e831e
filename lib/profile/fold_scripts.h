/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_FOLD_SCRIPTS_H
#define PROFC_PROFILE_FOLD_SCRIPTS_H

#include <stdbool.h>

struct profile;

/* Are there functions of scripts in its stacks? */
bool profile_has_scripts(const struct profile *profile);

/*
 * Leave the machinery of interpreters out of the stacks of all samples, and of those that counters
 * are attributed to, for views and exports: once, after profile_prepare(). It is code of the
 * interpreter's own module, that of the native frame which evaluates a script's function: all of it
 * between two functions of scripts, what directly leads to the outermost of them, and, below the
 * innermost, all but the first function that each evaluation or other module has called, and
 * evaluations of functions that are not known. A stub that the interpreter has made for a function
 * (-X perf) is left out before that function. Where each function of a script has code of its own,
 * the native frame of that is left out, and nothing else. The time of all this goes to what is
 * above it. Other code stays. A file is written without this.
 */
void profile_fold_scripts(struct profile *profile);

#endif
