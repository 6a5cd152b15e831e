// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/histogram.h"

#include <stddef.h>

/* Values below 8 have a slot each; above, the slot is the octave and the next three bits. */
static size_t slot_of(uint64_t value)
{
	unsigned int octave;

	if (value < HISTOGRAM_STEPS)
		return (size_t)value;
	octave = 63 - (unsigned int)__builtin_clzll(value);
	return (size_t)(octave - 2) * HISTOGRAM_STEPS + ((value >> (octave - 3)) & 7);
}

static uint64_t lowest_of(size_t slot)
{
	unsigned int octave;

	if (slot < HISTOGRAM_STEPS)
		return slot;
	octave = (unsigned int)(slot / HISTOGRAM_STEPS) + 2;
	return (HISTOGRAM_STEPS + slot % HISTOGRAM_STEPS) << (octave - 3);
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->nr[slot_of(value)]++;
	histogram->total++;
	histogram->sum += value;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
	double wanted = share * (double)histogram->total;
	uint64_t below = 0;

	for (size_t slot = 0; slot < HISTOGRAM_SLOTS; slot++) {
		below += histogram->nr[slot];
		if (below && (double)below >= wanted)
			return lowest_of(slot);
	}
	return 0;
}
