/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_OPENED_H
#define PROFC_BROWSE_OPENED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"

/*
 * The nodes of trees that the user has opened or closed, by keys that are the same in every profile
 * that has the function. Zero-initialised: nothing.
 */
struct browse_opened {
	struct browse_choice *choices; /* owned */
	size_t nr, cap;
	struct index_set set;
};

struct browse_choice {
	uint64_t key;
	bool is_open;
};

void browse_opened_release(struct browse_opened *opened);
/* Is it open? `standard` unless the user has opened or closed it. */
bool browse_opened_find(const struct browse_opened *opened, uint64_t key, bool standard);
void browse_opened_set(struct browse_opened *opened, uint64_t key, bool is_open);

#endif
