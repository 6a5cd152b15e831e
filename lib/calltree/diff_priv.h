/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a comparison: matching modules, then rows, then comparing their values. */
#ifndef PROFC_CALLTREE_DIFF_PRIV_H
#define PROFC_CALLTREE_DIFF_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "calltree/diff.h"

/* The modules of one side, with their names in the comparison. */
struct diff_modules {
	const struct diff_side *side; /* borrowed */
	struct str_id *keys;	      /* run after run, each by module_id; owned */
	uint32_t *first;	      /* by run: its first module's index; owned */
	uint32_t nr;
	uint32_t
		main; /* of the program that used most of the time in the first run; 0: not known */
};

/*
 * diff_modules.c: modules with equal keys are partners. Partners are first those with one file
 * name, after renames; of the rest those with names that differ by a hash or a version alone; of
 * the rest the main programs. `names` holds the keys.
 */
void diff_match_modules(struct diff_modules *old_modules, struct diff_modules *new_modules,
			struct strtab *names, struct diff_rename *renames, size_t nr_renames);
void diff_modules_release(struct diff_modules *modules);
/* The new name of an old one; the name itself if it was not renamed. */
const char *diff_renamed(const char *name, struct diff_rename *renames, size_t nr_renames);

/* diff_match.c: at first each row of `diff` is of one side and one run; join equal ones. */
void diff_match_rows(struct diff *diff, struct diff_rename *renames, size_t nr_renames);

/* The compared values: the parts of the totals of both sides, of all runs, and of each. */
struct diff_parts {
	const struct tally *old_part, *new_part;
	const double *values;
};

/* diff_change.c: the change, and half the width of its interval. */
void diff_compare(const struct diff *diff, const struct diff_parts *parts, double *change,
		  double *half);

#endif
