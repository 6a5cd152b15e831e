// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a program publishes of itself and its threads. The first two bytes are the length of the
 * process context; the context of a thread follows it.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "context/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

/* Is it a text from the bytes, but for ids, which are made of them? */
static void check_label(const struct context_label *label, const uint8_t *record, size_t nr_bytes)
{
	size_t length = strlen(label->value);

	assert(*label->key && strlen(label->key) <= 255);
	assert(strcmp(label->key, "trace_id") == 0 || strcmp(label->key, "span_id") == 0 ||
	       !length || memmem(record, nr_bytes, label->value, length));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	struct process_context names = {.header_at = 0};
	struct context_labels *labels = malloc(sizeof(*labels));
	enum context_outcome outcome;
	size_t nr_names;

	if (!labels || nr_bytes < 2) {
		free(labels);
		return 0;
	}
	nr_names = min_u64((uint64_t)bytes[0] | (uint64_t)bytes[1] << 8, nr_bytes - 2);
	process_context_parse(&names, bytes + 2, nr_names);
	assert(names.nr_keys <= CONTEXT_KEYS_MAX);
	bytes += 2 + nr_names;
	nr_bytes -= 2 + nr_names;
	outcome = context_parse(&names, bytes, nr_bytes, labels);
	assert(labels->nr <= CONTEXT_LABELS_MAX && labels->nr_text_bytes <= sizeof(labels->texts));
	assert(!labels->nr || outcome == CONTEXT_READ || outcome == CONTEXT_DAMAGED);
	for (size_t i = 0; i < labels->nr; i++)
		check_label(&labels->at[i], bytes, nr_bytes);
	process_context_release(&names);
	free(labels);
	return 0;
}
