/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_CALIBRATION_H
#define PROFC_OVERHEAD_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The cost of a stop to a thread, beyond the time that it is held: the interrupt, the loss of its
 * CPU, and the return to it. It depends on the processor, on the kernel, and on whether a host has
 * to wake an idle CPU. So it is measured: a process of ours reads the clock over and over, another
 * thread stops it in turn from either place, and the process sees how long it was away.
 */
struct stop_overhead {
	uint64_t away_ns;   /* by a thread that spins on another CPU */
	uint64_t beside_ns; /* by a thread on the same CPU */
};

/*
 * Measure both; a cost that cannot be measured is 0. Takes some milliseconds of two CPUs, at most
 * 200. A thread of its own does it; it first calls `hurry`, which gives it the priority of
 * visitors.
 */
void calibration_run(struct stop_overhead *overhead, bool (*hurry)(void));

#endif
