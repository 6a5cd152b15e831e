/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules that find the row of a frame, in the order in which they are tried. */
#ifndef PROFC_UNWIND_RULES_H
#define PROFC_UNWIND_RULES_H

#include "unwind/rule.h"
#include "unwind/rule_case.h"

struct rule {
	const char *name;
	bool (*applies)(struct rule_case *at);
	/* The row, without its `rule`; ROW_NO_CFI: none, the next rule is asked. */
	struct row (*row)(struct rule_case *at);
	/*
	 * Above 0: the row is one of several candidates, which further calls return, and only a
	 * trial shows whether it is true: a walk from its caller has to reach the root. Random
	 * stack content may lead it a step or two. Trials may need trials: at most so many deep.
	 */
	unsigned int trials;
	bool is_by_cfi; /* see unwind_rule_is_by_cfi() */
};

/* By enum unwind_rule. */
extern const struct rule unwind_rules[UNWIND_RULE_COUNT];

/* The first rule of the stack; the others follow. */
#define RULES_OF_STACK UNWIND_RULE_BY_SP

/*
 * The row of the frame's place by the first rule that has one. Members of `at` for rules of the
 * stack are not used. ROW_NO_CFI: none has.
 */
struct row rules_row_of_place(struct rule_case *at);

#endif
