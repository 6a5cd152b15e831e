/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_EU_STACK_H
#define PROFC_TESTS_EU_STACK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "base/clock.h"

/* What eu-stack says of one thread: a program of its own, started for each look. */
struct eu_stack {
	uint64_t *pcs; /* owned */
	size_t nr, cap;
	double took_ns;
};

static inline void eu_stack_release(struct eu_stack *stack)
{
	free(stack->pcs);
	*stack = (struct eu_stack){0};
}

/*
 * Ask eu-stack, without names and any limit of depth, for a stopped process' main thread.
 * False if there is none: no eu-stack, or it may not.
 */
static inline bool eu_stack_ask(struct eu_stack *stack, pid_t pid)
{
	char line[512];
	uint64_t start = clock_monotonic_ns();
	bool is_main = false;
	FILE *out;

	snprintf(line, sizeof(line), "exec eu-stack -q -n 0 -p %d 2>/dev/null", pid);
	out = popen(line, "r");
	stack->nr = 0;
	while (out && fgets(line, sizeof(line), out)) {
		const char *pc = strstr(line, "0x");

		if (!strncmp(line, "TID ", 4))
			is_main = strtol(line + 4, NULL, 10) == pid;
		if (line[0] != '#' || !pc || !is_main)
			continue;
		ARRAY_GROW(stack->pcs, stack->nr, stack->cap);
		stack->pcs[stack->nr++] = strtoull(pc, NULL, 16);
	}
	if (out)
		pclose(out);
	stack->took_ns = (double)(clock_monotonic_ns() - start);
	return stack->nr > 0;
}

#endif
