/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A chain of what threads did and waited for, as a table and as JSON. */
#ifndef PROFC_VIEW_CHAIN_TEXT_H
#define PROFC_VIEW_CHAIN_TEXT_H

#include <stdint.h>

#include "view/style.h"

struct chain;
struct sink;

/* `limit`: of rows; 0: all. */
void chain_print_text(const struct chain *chain, uint64_t limit, const struct view *view,
		      struct sink *sink);
void chain_print_json(const struct chain *chain, uint64_t limit, struct sink *sink);

#endif
