/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_PROMPT_H
#define PROFC_BROWSE_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#define BROWSE_INPUT_MAX 80

/* A line that is being typed. Zero-initialised: none is. */
struct browse_prompt {
	bool is_open;
	char text[BROWSE_INPUT_MAX]; /* so far */
	size_t nr;
};

enum browse_prompt_end {
	BROWSE_PROMPT_OPEN,
	BROWSE_PROMPT_DONE,
	BROWSE_PROMPT_LEFT, /* whatever was typed */
};

/* Open it with a text to edit. */
void browse_prompt_begin(struct browse_prompt *prompt, const char *text);
/* Take a key; if it ends the line, the prompt is closed, and its text stays. */
enum browse_prompt_end browse_prompt_key(struct browse_prompt *prompt, int key);

#endif
