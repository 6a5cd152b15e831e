/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits by what ended them, as a table and as JSON. */
#ifndef PROFC_VIEW_WAKERS_TEXT_H
#define PROFC_VIEW_WAKERS_TEXT_H

#include <stdint.h>

#include "view/style.h"

struct sink;
struct wakers;

/* `limit`: of waits; 0: all. */
void wakers_print_text(const struct wakers *wakers, uint64_t limit, const struct view *view,
		       struct sink *sink);
void wakers_print_json(const struct wakers *wakers, uint64_t limit, struct sink *sink);

#endif
