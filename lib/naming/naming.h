/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_NAMING_NAMING_H
#define PROFC_NAMING_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct probe_file;
struct symbol_options;
struct wanted;

/*
 * Functions and lines that users name, as places for probes in the files of a process. All texts
 * and options are borrowed, and must outlive it.
 */
struct naming;

struct naming *naming_new(const struct symbol_options *symbols);
void naming_free(struct naming *naming); /* may be NULL */

/* Functions, as "REGEX" or "MODULE!REGEX" (function_pattern.h). ERR_INVALID: it is wrong. */
int naming_add_functions(struct naming *naming, const char *text, struct err *err);
/* The calls in a function of that name, or in lines FILE:A-B. ERR_INVALID: it is wrong. */
int naming_add_calls(struct naming *naming, const char *text, struct err *err);
/* Add the calls written in a source file. */
void naming_add_file(struct naming *naming, const char *path);
/* Add all paths into and out of a function of that name. */
void naming_set_within(struct naming *naming, const char *function);
/*
 * Likewise, but calls of the function are timed, or the time from its entry to that of `to`, if
 * that is not NULL; both must be there. At most PATCH_SPANS_MAX of these, and not with
 * naming_set_within(). A name is in one of them.
 */
void naming_add_span(struct naming *naming, const char *function, const char *to);
/* Likewise, the time between two static probes of a provider (elf/elf_sdt.h). */
void naming_add_sites(struct naming *naming, const char *provider, const char *probe,
		      const char *to);
/*
 * Calls of both functions are counted, each by itself: wanted_place.gate is 0 and 1. Once, and
 * alone.
 */
void naming_add_pair(struct naming *naming, const char *first, const char *second);
/* Is that function in one of them, or that probe? `provider` is NULL for a function. */
bool naming_has_span(const struct naming *naming, const char *provider, const char *function);
/* Add the functions of allocators, to record allocations. */
void naming_add_allocators(struct naming *naming);
/* Add the functions of C libraries that make a system call each. */
void naming_add_wrappers(struct naming *naming);
/* Add the calls of futex(2) that C libraries make. */
void naming_add_futexes(struct naming *naming);
/* Add functions of a pool as well, as pool_functions_add() reads them. ERR_INVALID: it is wrong. */
int naming_add_pools(struct naming *naming, const char *text, struct err *err);
/* Is nothing wanted? */
bool naming_is_empty(const struct naming *naming);

/*
 * profile_show_asked()'s question, with the naming as its context: are calls of a function of this
 * name to be counted?
 */
bool naming_asks(const void *naming, const char *name);

/* prober_options.find, with the naming as its context. */
void naming_find(void *context, const struct probe_file *file, struct wanted *wanted);
/* prober_options.name and prober_options.forget, likewise. */
void naming_name(void *context, const struct probe_file *file, const uint64_t *addresses, size_t nr,
		 char **names);
void naming_forget(void *context);

/*
 * Was everything found in the files up to now? Else ERR_NOT_FOUND, with a message and a similar
 * name. `command`: the launched command, or NULL.
 */
int naming_check(const struct naming *naming, const char *command, struct err *err);

#endif
