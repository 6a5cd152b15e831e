/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_CALIBRATION_H
#define PROFC_OVERHEAD_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a stop costs a thread on this machine beside the time that it is held: to be interrupted,
 * to leave its CPU, and to come back. It depends on the processor, the kernel, and whether there is
 * a host that has to wake an idle CPU, so that it is measured: a process of ours reads the clock
 * over and over, is stopped in turn from either place, and sees how long it was away.
 */
struct stop_overhead {
	uint64_t away_ns;   /* spun for, from another CPU */
	uint64_t beside_ns; /* from its own */
};

/*
 * Takes some milliseconds of two CPUs, 200 at most. Done by a thread of its own, which calls
 * `hurry` first, for the priority that visitors have. 0 where it could not be measured.
 */
void calibration_run(struct stop_overhead *overhead, bool (*hurry)(void));

#endif
