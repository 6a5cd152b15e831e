/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds code whose own calls are not seen. */
#ifndef PROFC_PROFILE_LONE_CODE_H
#define PROFC_PROFILE_LONE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "mapping/module.h"

struct profile;

/*
 * The JIT memory with the most CPU time in which no function was ever seen to call another one,
 * though much was sampled there: runtimes as Chez and Racket keep their calls on a stack of their
 * own, so that stacks go on to the caller in C from wherever they are.
 */
struct lone_code {
	struct module_id module;
	uint64_t cpu_ns; /* in stacks that begin there */
};

/* False: there is none. */
bool profile_find_lone_code(const struct profile *profile, struct lone_code *found);

#endif
