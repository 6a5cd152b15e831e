/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_ENDED_H
#define PROFC_BASE_ENDED_H

#include <stdatomic.h>
#include <stdbool.h>

/* Has another thread asked work that takes long to end? `ended` may be NULL: never. */
static inline bool has_ended(const atomic_bool *ended)
{
	return ended && atomic_load_explicit(ended, memory_order_relaxed);
}

#endif
