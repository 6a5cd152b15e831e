/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_TOP_MEMORY_H
#define PROFC_VIEW_TOP_MEMORY_H

#include <stdint.h>

#include "profile/profile.h"

struct buf;
struct sink;
struct view;
struct weights;

/*
 * Print "live 12.3 MiB, allocated 3.59 GiB, 45.2 MiB/s, RSS 1.80 GiB (1.79 GiB at first)", on more
 * lines if necessary: the state at the end of the profile; the rate is that of the last window_ns.
 * Nothing if memory was not recorded.
 */
void top_print_memory(const struct profile *profile, uint64_t window_ns, const struct view *view,
		      struct sink *sink);
/*
 * Append the amount of a table of memory: "12.3 MiB ± 1.10 MiB alive, 1,204 blocks, 77 of them
 * recorded"; `window_ns` as above, where the metric is per time.
 */
void top_append_amount(struct buf *line, const struct weights *weights, uint64_t window_ns);
/* Is the metric a state, rather than the amount allocated in a time? */
bool top_is_of_now(enum metric metric);

#endif
