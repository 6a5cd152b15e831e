/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_NAMING_NAMING_PRIV_H
#define PROFC_NAMING_NAMING_PRIV_H

#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "naming/pool_functions.h"
#include "symbol/function_pattern.h"
#include "symbol/symbol.h"
#include "symbol/written_in.h"

struct elf_image;
struct probe_file;
struct symbol_file;
struct symbol_functions;

/* Lines of a source file, or a function by its name. */
struct calls_wanted {
	const char *text;     /* as the user gave it */
	const char *function; /* NULL: the lines */
	struct source_lines lines;
	char *path; /* owned: of the lines */
	bool is_found;
};

/*
 * A function inside of which calls count, or that is timed call by call; or the first and the
 * second of two between which time is measured.
 */
struct gate_wanted {
	char *provider; /* owned: of two static probes, rather than functions; or NULL */
	struct gate_function {
		char *name; /* owned; NULL, of the second: there is none */
		bool is_found;
		unsigned int nr_inlined; /* places where it is inlined, if it was not found */
	} functions[2];
};

struct gates_wanted {
	struct gate_wanted *at; /* owned */
	size_t nr, cap;
	bool are_timed; /* several then, each alone */
	bool is_pair;	/* one, both functions of which are counted */
};

/* Calls of futex(2). */
struct futexes_wanted {
	bool are_wanted, are_found;
};

struct naming {
	struct symbol_options symbols;
	struct function_pattern *patterns; /* owned */
	bool *is_found;			   /* of each */
	bool *has_module;		   /* for each: some file was searched for it */
	size_t nr_patterns, cap_patterns, cap_found, cap_modules;
	struct calls_wanted *calls; /* owned */
	size_t nr_calls, cap_calls;
	struct gates_wanted gates;
	char *nearest; /* owned: a name similar to a pattern that was not found; or NULL */
	size_t nr_files;
	bool wants_allocators, has_allocator;
	bool wants_wrappers, has_wrappers;
	struct futexes_wanted futexes;
	regex_t wrappers; /* where they are wanted */
	struct pool_functions pools;
	pthread_mutex_t lock;	   /* for all members but settings; files are searched with it */
	struct searched *searched; /* owned */
	size_t nr_searched, cap_searched;
};

/* A file that was searched, with names that may be asked for. */
struct searched {
	const struct elf_image *image; /* which tells files apart */
	struct symbol_file *symbols;   /* owned, as functions */
	struct symbol_functions *functions;
};

/*
 * naming_search.c: open a file for its functions, as they are searched; the caller owns `symbols`.
 * Returns 0, or a code of base/err.h. Under the lock.
 */
int naming_open_file(const struct naming *naming, const struct probe_file *file,
		     struct symbol_file **symbols);

#endif
