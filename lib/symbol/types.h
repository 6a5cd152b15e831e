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

struct module;

/* The plain values that symbol.h takes and gives, for the files below it too. */

/* Where symbols are looked for, besides where gdb does. Borrowed strings. */
struct symbol_options {
	const char *const *debug_dirs; /* searched before /usr/lib/debug */
	size_t nr_debug_dirs;
	const char *sysroot; /* put before every path of a target, or NULL */
	bool debuginfod;     /* query the servers of DEBUGINFOD_URLS */
	/*
	 * For all queries of one resolution together, of one file or of a profile: a
	 * server that does not answer delays it once.
	 */
	unsigned int debuginfod_timeout_ms;
	/* Private, 0 from outside: when that time is over, on CLOCK_MONOTONIC. */
	uint64_t debuginfod_deadline_ns;
	/*
	 * NULL, or called, by any thread, before a server is queried for the file known
	 * as `path`, which is borrowed for the call.
	 */
	void (*asks_server)(void *context, const char *path);
	void *asks_server_context;
	/*
	 * NULL, or borrowed: once another thread sets it, all that takes long ends within some
	 * tenths of a second: waiting for servers, reading of debug information. What was not
	 * found by then is not.
	 */
	const atomic_bool *ended;
	/*
	 * Likewise, for debug information alone: functions still get the names that symbol tables
	 * have for them. NULL: as `ended`.
	 */
	const atomic_bool *hurried;
	/*
	 * As the tables say it, for comparison with other tools: line 0 for code
	 * that belongs to no line, and bare names where there is no linkage name.
	 * Otherwise the line before it in the same function, its call or its
	 * beginning stand in, and names get the scopes around them.
	 */
	bool verbatim;
	/* The recording ends now, so that its source files are those that were compiled. */
	bool notes_sources;
	/* How many threads one file may be read by; 0 is 1. */
	unsigned int nr_threads;
};

static inline const atomic_bool *symbol_debug_ended(const struct symbol_options *options)
{
	return options->hurried ? options->hurried : options->ended;
}

/* What is to be resolved. Borrowed. */
struct symbol_request {
	const char *path;	 /* as the target saw it; for messages and debug-file search */
	struct owner chooser;	 /* of the path */
	int fd;			 /* open on the very file that was mapped, or -1: open `path` */
	const uint8_t *build_id; /* what the file must carry; nr 0: not known */
	size_t nr_build_id_bytes;
	/* NULL, or what was recorded of the file, by which it is known without a build-id. */
	const struct module *recorded;
	/*
	 * Sorted ascending, distinct ELF virtual addresses, each inside the
	 * instruction it stands for (return addresses already moved back).
	 */
	const uint64_t *addresses;
	size_t nr_addresses;
};

/* One level of a chain. Texts belong to the result. */
struct symbol_location {
	/* Demangled, with template arguments and parameters; NULL when only the line is known. */
	const char *name;
	const char *linkage_name;  /* NULL when the same or unknown */
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
	 * Where the functions of addresses without a chain begin, by the unwind
	 * information, or SYMBOL_NO_START. One for each address; NULL: not known.
	 */
	uint64_t *starts;
	struct symbol_location *locations;
	size_t nr_locations;
	enum symbol_source source;
	char *debug_path;   /* the separate debug file used, or NULL */
	char *problem;	    /* why it is not better, for a user to read; or NULL */
	struct owner owner; /* of the files that it was read from, joined */
	bool mismatched;    /* the file found is not the one that was mapped: nothing resolved */
	void *arena;	    /* private: owns the texts */
};

void symbol_result_free(struct symbol_result *result); /* may be NULL */

#endif
