/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORD_OPTIONS_H
#define PROFC_CMD_RECORD_OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/options.h"
#include "cmd/symbol_options.h"

struct err;

/* The options of everything that records: record, attach. */
struct record_options {
	uint64_t frequency_hz;
	double max_overhead_percent;
	const char *output;
	uint64_t duration_ns, delay_ns;
	const char *control; /* "fifo:PATH", or NULL */
	bool paused;
	struct option_list pid_texts;
	bool no_children;
	const char *threads; /* a regular expression, or NULL */
	uint64_t max_depth;
	bool check_unwinder;
	int unwinder; /* index into the choices: enum unwinder_kind */
	bool no_symbols;
	bool quiet, verbose;
	struct symbol_option_values symbols;
};

extern const struct option_row record_option_rows[];

/* The defaults. */
void record_options_init(struct record_options *options);
/* The -p texts as numbers. The caller frees *pids. */
int record_options_pids(const struct record_options *options, pid_t **pids, size_t *nr,
			struct err *err);
/* The --threads text, compiled. The caller regfree()s it. */
int record_options_threads(const struct record_options *options, regex_t *threads, struct err *err);

#endif
