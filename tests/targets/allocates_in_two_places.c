// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * allocates_in_two_places [ROUNDS]: keeps_blocks() allocates as many blocks as uses_blocks(), which
 * frees its own. Prints {"kept_bytes", "used_bytes"}.
 */
#include "self_measure.h"

#define KEPT_BYTES 400
#define USED_BYTES 1200

NOINLINE void *keeps_blocks(void)
{
	void *volatile block = malloc(KEPT_BYTES);

	return block;
}

NOINLINE void uses_blocks(void)
{
	void *volatile block = malloc(USED_BYTES);

	free(block);
}

int main(int argc, char **argv)
{
	uint64_t nr = number_argument(argc, argv, 1, 200000);
	void **kept = calloc(nr, sizeof(*kept));

	if (!kept)
		return 1;
	for (uint64_t i = 0; i < nr; i++) {
		kept[i] = keeps_blocks();
		uses_blocks();
	}
	printf("{\"kept_bytes\": %llu, \"used_bytes\": %llu}\n",
	       (unsigned long long)(nr * KEPT_BYTES), (unsigned long long)(nr * USED_BYTES));
	return 0;
}
