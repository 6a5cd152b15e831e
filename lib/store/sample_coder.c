// SPDX-License-Identifier: GPL-2.0-or-later
/* Predicts the third weight of a sample from the others; the file stores the difference. */
#include <stdlib.h>

#include "base/alloc.h"
#include "store/format_priv.h"

void sample_coder_release(struct sample_coder *coder)
{
	free(coder->last_ns);
	*coder = (struct sample_coder){0};
}

void sample_coder_grow(struct sample_coder *coder, size_t nr_threads)
{
	ARRAY_RESERVE(coder->last_ns, nr_threads, coder->cap_threads);
	while (coder->nr_threads < nr_threads)
		coder->last_ns[coder->nr_threads++] = 0;
}

uint64_t sample_coder_expect(const struct sample_coder *coder, uint32_t thread, uint64_t time_ns,
			     uint64_t smaller_weights_ns)
{
	return time_ns - coder->last_ns[thread] - smaller_weights_ns;
}

void sample_coder_step(struct sample_coder *coder, uint32_t thread, uint64_t time_ns)
{
	coder->last_ns[thread] = time_ns;
	coder->previous_ns = time_ns;
}
