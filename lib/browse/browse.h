/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_BROWSE_H
#define PROFC_BROWSE_BROWSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "browse/options.h"
#include "browse/screen.h"
#include "browse/weighing.h"
#include "browse/wishes.h"

struct err;
struct view;

/*
 * A profile to navigate by keys: a table of the largest costs, and from there callers, callees,
 * trees, threads and source. It uses no terminal: keys go in, screens come out.
 */
struct browse;

struct browse *browse_new(const struct browse_options *options);
void browse_free(struct browse *browse);

/*
 * Show a profile, at first or in place of the one before: the selection and open nodes stay.
 * Nothing borrowed before is used any more. Fails as selection_new() does.
 */
int browse_show(struct browse *browse, const struct browse_input *input, struct err *err);
/* Go to the callers and callees of a function, by its label. */
void browse_open_function(struct browse *browse, uint32_t label);
/* The current wishes. */
const struct browse_wishes *browse_wishes_of(const struct browse *browse);
/* The current weighing. Borrowed. */
const struct browse_weighing *browse_weighing_of(const struct browse *browse);

/* Take a key: one of enum browse_key, or a byte. */
void browse_key(struct browse *browse, int key);
/* Is a line being typed, so that keys are its text? */
bool browse_is_typing(const struct browse *browse);
/* Has the user quit? */
bool browse_is_over(const struct browse *browse);

/* Draw at most `nr_lines` lines. */
void browse_draw(struct browse *browse, const struct view *view, size_t nr_lines,
		 struct browse_screen *screen);

#endif
