/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_COUNTERS_H
#define PROFC_SAMPLER_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct message_counter;
struct sampler;

#define COUNTERS_MAX 32

/* The CPU time of all visitors, up to their last tick. */
uint64_t counters_cpu_ns(const struct sampler *sampler);
/* As they are now, COUNTERS_MAX at most; returns how many. */
size_t counters_read(const struct sampler *sampler, struct message_counter *out);
/* From time to time, so that a recording that is cut short has them. */
void counters_publish(struct sampler *sampler, uint64_t now_ns);

#endif
