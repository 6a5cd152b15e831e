/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds code that hides the calls between its functions. */
#ifndef PROFC_PROFILE_LONE_CODE_H
#define PROFC_PROFILE_LONE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "mapping/module.h"

struct profile;

/*
 * The JIT memory with the most CPU time in which no function was ever seen to call another one, in
 * many samples. Runtimes such as those of Chez and Racket have a stack of their own for these
 * calls: a walk continues with the caller in C from any of their functions.
 */
struct lone_code {
	struct module_id module;
	uint64_t cpu_ns; /* in stacks that have it as their innermost JIT memory */
};

/* False: there is none. */
bool profile_find_lone_code(const struct profile *profile, struct lone_code *found);

#endif
