/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PHP_NAMES_H
#define PROFC_SCRIPT_PHP_NAMES_H

#include <stddef.h>

struct php;
struct php_functions;
struct script_frame;
struct script_place;
struct snapshot;
struct space;

/*
 * The functions of scripts in one process, as they were read while it ran on. A function is known
 * by what the stop has shown of it: each time that one is asked for, its texts are looked at again,
 * and if they are others it is gone. Closures are known by the code that all of their kind have.
 */
struct php_names;

struct php_names *php_names_new(void);
void php_names_free(struct php_names *names);
/* The objects that were found so far; borrowed. */
const struct php_functions *php_names_functions(const struct php_names *names);

/* The places of frames in their sources; texts are borrowed until the next call. */
void php_names_find(struct php_names *names, const struct php *php, struct space *space,
		    const struct snapshot *snapshot, const struct script_frame *frames, size_t nr,
		    struct script_place *places);

#endif
