/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of a whole run on one screen. */
#ifndef PROFC_VIEW_STAT_TEXT_H
#define PROFC_VIEW_STAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flat;
struct long_waits;
struct profile;
struct sink;
struct view;

#define STAT_STATUS_NONE (-1)

/* Numbers of the kernel, without sampling. */
struct stat_usage {
	bool is_known;		 /* of the others but peak_rss_bytes */
	uint64_t peak_rss_bytes; /* of the largest process; 0: not known */
	uint64_t nr_minor_faults, nr_major_faults;
	uint64_t nr_voluntary_switches, nr_involuntary_switches;
};

/* All is borrowed. */
struct stat_facts {
	const struct profile *profile; /* prepared (profile/prepare.h) */
	const struct flat *functions;  /* of METRIC_CPU */
	const struct long_waits *waits;
	uint64_t elapsed_ns, cpu_ns;
	struct stat_usage usage;
	int status;   /* of the command, as of waitpid(2); or STAT_STATUS_NONE */
	size_t limit; /* the number of functions and of waits; 0: all */
};

/* With the default limit at most 24 lines. */
void stat_print_text(const struct stat_facts *facts, const struct view *view, struct sink *sink);
void stat_print_json(const struct stat_facts *facts, struct sink *sink);

#endif
