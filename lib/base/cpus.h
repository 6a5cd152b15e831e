/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of CPUs available to this process. */
#ifndef PROFC_BASE_CPUS_H
#define PROFC_BASE_CPUS_H

/* How many processors this thread may run on: taskset and containers respected. At least 1. */
unsigned int cpus_available(void);

#endif
