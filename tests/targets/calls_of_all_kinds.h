/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_CALLS_OF_ALL_KINDS_H
#define PROFC_TESTS_CALLS_OF_ALL_KINDS_H

#include <stdint.h>

/* calls_of_all_kinds_more.c: a function of the same name as one of ours, and those in assembler. */
void call_same_name_elsewhere(void);
void call_short_functions(void);

extern uint64_t same_calls;

#endif
