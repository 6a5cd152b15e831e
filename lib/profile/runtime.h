/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_RUNTIME_H
#define PROFC_PROFILE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Interpreters and virtual machines: the functions of the programs they run have no names for a
 * profiler unless the runtime is started with an option that provides them.
 */
struct runtime {
	const char *file;   /* the beginning of its program's or library's name */
	const char *name;   /* its usual name */
	const char *advice; /* how to start it so that it names its functions, and since when; NULL:
			       it cannot */
	const char *versions; /* those whose functions are read without it; NULL: none */
	const char *jcmd;    /* how to make a running one name them: after `jcmd PID`; NULL: none */
	const char *no_pool; /* NAME=VALUE of the environment, with which it asks the C library for
				each block; NULL: it has no such setting, or needs none */
};

/* The runtime that a program or library belongs to, by its path; NULL: none that is known. */
const struct runtime *runtime_of_file(const char *path);
/* Has such an environment, of entries that end in NUL, the runtime's `no_pool`? */
bool runtime_is_without_pool(const struct runtime *runtime, const char *environment,
			     size_t nr_bytes);
/* The versions of a runtime with this usual name, or NULL. */
const char *runtime_known_versions(const char *name);

#endif
