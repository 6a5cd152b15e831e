// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/top_state.h"

#include <string.h>

#define KEY_CTRL_C    '\003'
#define KEY_CTRL_Z    '\032'
#define KEY_BACKSPACE '\b'
#define KEY_DELETE    '\177'
#define KEY_ESCAPE    '\033'

const struct top_key *top_state_help(void)
{
	static const struct top_key keys[] = {
		{"q, Ctrl-C   ", "quit"},
		{"Ctrl-Z      ", "stop, and a command with it; the shell's fg goes on"},
		{"space, p    ", "pause: the processes are left alone"},
		{"s           ", "sort by self or by total"},
		{"b           ", "rows by function, line, file, module, thread, process, state, "
				 "system call or, of memory, lifetime"},
		{"m           ", "metric: cpu, wall, runq, blocked, samples; with --mem also "
				 "alloc, allocs, live, peak, leaked, temporary, freed"},
		{"a           ", "all time since the beginning, or the last seconds"},
		{"/           ", "only samples with a function that matches; nothing: all"},
		{"t           ", "only threads that match; nothing: all"},
		{"h, ?        ", "this help"},
		{NULL, NULL},
	};

	return keys;
}

static void begin_prompt(struct top_state *state, enum top_prompt prompt)
{
	state->prompt = prompt;
	state->nr_input = 0;
	state->input[0] = '\0';
}

/* A key of a line that is being typed. */
static void type(struct top_state *state, char key)
{
	char *filter = state->prompt == TOP_PROMPT_FUNCTION ? state->function : state->thread;

	if (key == '\r' || key == '\n') {
		memcpy(filter, state->input, sizeof(state->input));
		state->prompt = TOP_PROMPT_NONE;
	} else if (key == KEY_ESCAPE || key == KEY_CTRL_C) {
		state->prompt = TOP_PROMPT_NONE;
	} else if ((key == KEY_BACKSPACE || key == KEY_DELETE) && state->nr_input > 0) {
		state->input[--state->nr_input] = '\0';
	} else if ((unsigned char)key >= ' ' && key != KEY_DELETE &&
		   state->nr_input + 1 < sizeof(state->input)) {
		state->input[state->nr_input++] = key;
		state->input[state->nr_input] = '\0';
	}
}

static void go_on_to_metric(struct top_state *state)
{
	state->metric =
		state->metric == state->last_metric ? METRIC_CPU : (enum metric)(state->metric + 1);
	if (!dimension_divides(state->by, state->metric))
		state->by = BY_FUNCTION;
}

static void go_on_to_dimension(struct top_state *state)
{
	do {
		state->by =
			state->by == BY_LIFETIME ? BY_FUNCTION : (enum dimension)(state->by + 1);
	} while (!dimension_divides(state->by, state->metric));
}

void top_state_key(struct top_state *state, char key)
{
	if (key == KEY_CTRL_Z) {
		state->stop = true;
		return;
	}
	if (state->prompt != TOP_PROMPT_NONE) {
		type(state, key);
		return;
	}
	if (state->help && key != 'q' && key != KEY_CTRL_C) {
		state->help = false; /* whatever the key was */
		return;
	}
	switch (key) {
	case 'q':
	case KEY_CTRL_C:
		state->quit = true;
		break;
	case ' ':
	case 'p':
		state->paused = !state->paused;
		break;
	case 's':
		state->by_total = !state->by_total;
		break;
	case 'b':
		go_on_to_dimension(state);
		break;
	case 'm':
		go_on_to_metric(state);
		break;
	case 'a':
		state->all_time = !state->all_time;
		break;
	case '/':
		begin_prompt(state, TOP_PROMPT_FUNCTION);
		break;
	case 't':
		begin_prompt(state, TOP_PROMPT_THREAD);
		break;
	case 'h':
	case '?':
		state->help = true;
		break;
	default: /* any other byte of a keyboard */
		break;
	}
}
