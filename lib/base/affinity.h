/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_AFFINITY_H
#define PROFC_BASE_AFFINITY_H

#include <sched.h>
#include <sys/types.h>

/*
 * Let another thread of ours, which is bound to some CPUs, run on all of `allowed`. If it waits for
 * a CPU that threads of higher real-time priority have, it goes to another one at once: where it is
 * allowed to be the kernel would leave it, as it moves such a thread only when that next wakes.
 */
void affinity_unbind(pid_t tid, const cpu_set_t *allowed);

#endif
