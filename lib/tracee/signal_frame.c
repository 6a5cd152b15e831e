// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/signal_frame.h"

#include <string.h>

#define FRAME_ALIGNMENT 16
/* A handler's own frames are less than that in most cases; more is not searched. */
#define FRAME_SEARCH_BYTES (32 * 1024)
/* MINSIGSTKSZ, and more than anyone sets up. */
#define SMALLEST_ALTERNATE 2048
#define LARGEST_ALTERNATE  (UINT64_C(1) << 30)

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static bool is_signal_frame(const struct signal_frame_layout *layout, const uint8_t *bytes,
			    uint64_t address)
{
	uint64_t start = word_at(bytes + layout->stack_start);
	uint64_t size = word_at(bytes + layout->stack_size);

	/* Nobody's stack pointer is odd, but that of words that were no signal frame may be. */
	if (word_at(bytes + layout->sp) % sizeof(uint64_t))
		return false;
	return address >= start && address - start < size && size >= SMALLEST_ALTERNATE &&
	       size <= LARGEST_ALTERNATE;
}

bool signal_frame_find(const struct signal_frame_layout *layout, const uint8_t *bytes,
		       size_t nr_bytes, uint64_t start, uint64_t *sp)
{
	size_t nr = nr_bytes < FRAME_SEARCH_BYTES ? nr_bytes : FRAME_SEARCH_BYTES;
	size_t at = (size_t)(-(start + layout->below_aligned) % FRAME_ALIGNMENT);

	for (; at + layout->nr_bytes <= nr; at += FRAME_ALIGNMENT) {
		if (is_signal_frame(layout, bytes + at, start + at)) {
			*sp = word_at(bytes + at + layout->sp);
			return true;
		}
	}
	return false;
}
