/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules that find the row of a frame on one stack, each as a condition and a row: see struct
 * rule. What each is for is in the table of rules.c.
 */
#ifndef PROFC_UNWIND_RULES_STACK_H
#define PROFC_UNWIND_RULES_STACK_H

#include "unwind/rule_case.h"

bool rule_wants_fp(struct rule_case *at);
struct row rule_by_sp(struct rule_case *at);

bool rule_has_handlers(struct rule_case *at);
struct row rule_by_handler(struct rule_case *at);

bool rule_may_have_call(struct rule_case *at);
struct row rule_by_call(struct rule_case *at);

bool rule_may_have_adapter(struct rule_case *at);
struct row rule_jit_adapter(struct rule_case *at);

bool rule_is_in_jit(struct rule_case *at);
struct row rule_jit(struct rule_case *at);

bool rule_wants_record(struct rule_case *at);
struct row rule_frame_pointer(struct rule_case *at);

bool rule_may_have_host(struct rule_case *at);
struct row rule_jit_host(struct rule_case *at);

bool rule_has_symbol(struct rule_case *at);
struct row rule_by_symbol(struct rule_case *at);

bool rule_is_first_of_stack(struct rule_case *at);
struct row rule_stack_switch(struct rule_case *at);

bool rule_has_zero_fp(struct rule_case *at);
struct row rule_zero_fp(struct rule_case *at);

bool rule_is_outside_code(struct rule_case *at);
struct row rule_wild_call(struct rule_case *at);

#endif
