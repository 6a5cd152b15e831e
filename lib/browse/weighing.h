/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_WEIGHING_H
#define PROFC_BROWSE_WEIGHING_H

#include <stdbool.h>
#include <stdint.h>

struct browse_wishes;
struct count_history;
struct err;
struct expansion;
struct filter;
struct profile;
struct selection;
struct source;
struct tree;
struct weights;

/* The profile to browse. All members are borrowed. */
struct browse_input {
	const struct profile *profile;
	/* Made from the profile with the initial wishes; NULL: to be made. */
	const struct weights *weights;
	/* For a live recording: show the last window_ns only (0: all), and earlier counts. */
	uint64_t window_ns;
	const struct count_history *counts;
};

/* A profile, filtered and summed up according to wishes, and tables made from it on demand. */
struct browse_weighing {
	struct browse_input input;
	const struct expansion *expansion;
	const struct weights *weights;
	/* The above if they are owned, or NULL. */
	struct expansion *own_expansion;
	struct selection *own_selection;
	struct weights *own_weights;
	struct source *source; /* owned, or NULL */
	struct tree *tree;     /* owned, or NULL */
	uint64_t *label_keys;  /* owned, or NULL */
};

/* Zero-initialised it has nothing to release. */
void browse_weighing_release(struct browse_weighing *weighing);
/* Set another profile; it is not weighed yet. */
void browse_weighing_begin(struct browse_weighing *weighing, const struct browse_input *input,
			   bool fold_inlines);
/*
 * Weigh the profile; `filter` applies where the wishes have no filter of the same kind. Fails as
 * selection_new() does, and then nothing has changed.
 */
int browse_weighing_weigh(struct browse_weighing *weighing, const struct browse_wishes *wishes,
			  const struct filter *filter, struct err *err);
/* For a live recording: the length of the shown time. */
uint64_t browse_window_ns(const struct browse_input *input);
/* The time in which the shown calls were counted; 0: none were, or the recording has ended. */
uint64_t browse_weighing_rate_ns(const struct browse_weighing *weighing);

/* Made on first use; borrowed. */
const struct source *browse_weighing_source(struct browse_weighing *weighing);
const struct tree *browse_weighing_tree(struct browse_weighing *weighing);
const uint64_t *browse_weighing_label_keys(struct browse_weighing *weighing);

#endif
