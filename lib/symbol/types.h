/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_TYPES_H
#define PROFC_SYMBOL_TYPES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ended.h"
#include "base/owner.h"
#include "profile/symbol_source.h"

struct kept_files;
struct module;

/* Plain values: arguments and results of symbol.h, also for the files below it. */

/* Where to search for symbols, besides gdb's places. Borrowed strings. */
struct symbol_options {
	const char *const *debug_dirs; /* searched before /usr/lib/debug */
	size_t nr_debug_dirs;
	const char *sysroot; /* put before every path of a target, or NULL */
	bool debuginfod;     /* query the servers of DEBUGINFOD_URLS */
	/*
	 * For all queries of one resolution together, of a file or of a profile: a server that
	 * does not answer delays it only once.
	 */
	unsigned int debuginfod_timeout_ms;
	/* Private, 0 from outside: the end of that time, on CLOCK_MONOTONIC. */
	uint64_t debuginfod_deadline_ns;
	/*
	 * NULL, or called by any thread before it asks a server for the file known as `path`,
	 * which is borrowed for the call.
	 */
	void (*asks_server)(void *context, const char *path);
	void *asks_server_context;
	/*
	 * NULL, or borrowed: once another thread sets it, all long work ends within some tenths of
	 * a second: waits for servers, reading of debug information. Results are then incomplete.
	 */
	const atomic_bool *ended;
	/*
	 * Likewise, for debug information alone: functions still get names from symbol tables.
	 * NULL: as `ended`.
	 */
	const atomic_bool *hurried;
	/*
	 * Results exactly as in the tables, for comparison with other tools: line 0 for code of no
	 * particular line, and unqualified names for functions without a linkage name. Otherwise
	 * such code gets the previous line of the function, its call or its start, and names are
	 * qualified.
	 */
	bool verbatim;
	/* Note the source files: the recording ends now, so that they are unchanged. */
	bool notes_sources;
	/* The number of threads that may read one file; 0 is 1. */
	unsigned int nr_threads;
	/*
	 * For a profile: NULL, or borrowed files that a search, or the resolution of an earlier
	 * profile, has left open (kept_files.h). It leaves its own there.
	 */
	struct kept_files *kept;
};

static inline const atomic_bool *symbol_debug_ended(const struct symbol_options *options)
{
	return options->hurried ? options->hurried : options->ended;
}

/* A request to resolve addresses of a file. Borrowed. */
struct symbol_request {
	const char *path;	 /* as the target saw it; for messages and debug-file search */
	struct owner chooser;	 /* of the path */
	int fd;			 /* open on the mapped file itself, or -1: open `path` */
	const uint8_t *build_id; /* that the file must have; nr 0: not known */
	size_t nr_build_id_bytes;
	/*
	 * Read the symbol tables alone, of the file and of its debug file. Debug information, which
	 * takes most of the time, is not read: the file is as one without.
	 */
	bool tables_only;
	/* NULL, or the recorded module, which identifies the file without a build-id. */
	const struct module *recorded;
	/*
	 * Ascending, distinct ELF virtual addresses, each inside its instruction (return addresses
	 * already moved back into the call).
	 */
	const uint64_t *addresses;
	size_t nr_addresses;
};

/* One level of a chain. Texts belong to the result. */
struct symbol_location {
	/* Demangled, with template arguments and parameters; NULL when only the line is known. */
	const char *name;
	const char *linkage_name;  /* NULL when it is the same, or unknown */
	const char *shared;	   /* other functions of the same code, one a line; or NULL */
	const char *file;	   /* of the line; NULL when unknown */
	const char *function_file; /* of the definition; NULL when unknown */
	uint32_t line;		   /* 0 when unknown */
	uint32_t column;	   /* 0 when unknown */
	uint32_t function_line;	   /* of the definition; 0 when unknown */
	uint32_t discriminator;	   /* of the line table's row; 0 when none */
};

struct symbol_chain {
	uint32_t first, nr; /* locations[first … first + nr - 1], innermost first; nr 0: nothing */
};

#define SYMBOL_NO_START UINT64_MAX

struct symbol_result {
	struct symbol_chain *chains; /* one for each requested address, in its order */
	/*
	 * For each address without a chain, the start of its function by unwind information, or
	 * SYMBOL_NO_START. NULL: not known.
	 */
	uint64_t *starts;
	struct symbol_location *locations;
	size_t nr_locations;
	enum symbol_source source;
	char *debug_path;   /* the separate debug file used, or NULL */
	char *problem;	    /* message for the user about missing symbols; or NULL */
	struct owner owner; /* of all files that were read, joined */
	bool mismatched;    /* the file is not the mapped one: nothing is resolved */
	void *arena;	    /* private: owns the texts */
};

void symbol_result_free(struct symbol_result *result); /* may be NULL */

#endif
