/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_TOP_STATE_H
#define PROFC_VIEW_TOP_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "calltree/flat.h"
#include "profile/profile.h"

#define TOP_INPUT_MAX 80

/* What a line that is being typed will be. */
enum top_prompt {
	TOP_PROMPT_NONE,
	TOP_PROMPT_FUNCTION,
	TOP_PROMPT_THREAD,
};

/* What the user of `top` wants to see; changed by keys. */
struct top_state {
	enum dimension by;
	enum metric metric;
	enum metric last_metric; /* that there is, of those recorded */
	bool by_total;		 /* sorted so, else by self */
	bool all_time;		 /* since the beginning, else the last seconds */
	bool paused, help, quit;
	bool stop;					     /* as job control does */
	char function[TOP_INPUT_MAX], thread[TOP_INPUT_MAX]; /* filters; "" is none */
	enum top_prompt prompt;
	char input[TOP_INPUT_MAX]; /* typed so far */
	size_t nr_input;
};

/* One key. Keys that mean nothing are ignored. */
void top_state_key(struct top_state *state, char key);

/* Keys, in as many columns as those of the others, and what they do. */
struct top_key {
	const char *keys, *words;
};

/* All of them, ended by one of NULL. */
const struct top_key *top_state_help(void);

#endif
