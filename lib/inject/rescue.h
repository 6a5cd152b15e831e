/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_RESCUE_H
#define PROFC_INJECT_RESCUE_H

#include <sched.h>
#include <stdbool.h>

/*
 * A thread of ours that goes to a CPU may not get it: a thread of the same or a higher real-time
 * priority may run there for ever. Another thread of ours lets it run elsewhere then.
 */
struct rescue;

/* For the calling thread. NULL: no thread could be made, so it should not go. */
struct rescue *rescue_new(void);
void rescue_free(struct rescue *rescue); /* may be NULL; the same thread */

/* Call this before the thread goes. It ran on `cpus` before. */
void rescue_await(struct rescue *rescue, const cpu_set_t *cpus);
/* It has come there. False: it was let run elsewhere, and may have done so before. */
bool rescue_is_over(struct rescue *rescue);

#endif
