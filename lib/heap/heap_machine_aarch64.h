/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sizes that heap_shared.h needs. There is no blob for aarch64 yet, and so no ring to read. */
#ifndef PROFC_HEAP_HEAP_MACHINE_AARCH64_H
#define PROFC_HEAP_HEAP_MACHINE_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

/* x8 to x18 and x30. */
#define HEAP_SCRATCH 12
/* x19 to x28. */
#define HEAP_KEPT 10
#define HEAP_KEPT_COLUMNS                                                                          \
	{                                                                                          \
		19, 20, 21, 22, 23, 24, 25, 26, 27, 28                                             \
	}

static inline bool machine_has_clock(void)
{
	return false;
}

static inline uint64_t machine_clock(void)
{
	return 0;
}

#endif
