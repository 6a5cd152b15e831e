/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says which functions have the same code. */
#ifndef PROFC_VIEW_SHARED_CODE_TEXT_H
#define PROFC_VIEW_SHARED_CODE_TEXT_H

#include <stdint.h>

struct buf;
struct expansion;

/*
 * Append, for a terminal, that a function shares its code with others: its values are those of all
 * of them. Call it for labels that have label_shared_names().
 */
void shared_code_append(struct buf *out, const struct expansion *expansion, uint32_t label);

#endif
