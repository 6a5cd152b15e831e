/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_PROBER_PUBLISH_PRIV_H
#define PROFC_PROBE_PROBER_PUBLISH_PRIV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct probed_process;
struct prober;
struct profile;
struct profile_heap;
struct profile_heap_moment;

/*
 * Sets the exact totals of a process, over all its installations, also after its end; false: it has
 * no probes for them. Under `lock`.
 */
bool prober_add_totals(struct prober *prober, struct probed_process *process,
		       struct profile_heap_moment *moment);
/* Its memory as the kernel reports it; unchanged if it has ended. Not under `lock`. */
void prober_read_memory(pid_t pid, struct profile_heap_moment *moment);
/* Copies its memory from the last row of the process; unchanged if there is none. */
void prober_copy_memory(const struct profile_heap *heap, struct profile_heap_moment *moment);
/* When the next moment is due, after one at this time. */
uint64_t prober_next_moment_ns(uint64_t at_ns);

/*
 * prober_missed.c, at the end of a recording: functions that would have been watched, in files that
 * samples show and that no process had mapped when the prober looked at it. Not under locks.
 */
void prober_publish_missed(struct prober *prober, struct profile *profile);

#endif
