// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * allocates_on_request: says "ready", and does as the lines of its standard input say, with blocks
 * of 64 KiB:
 *
 *	keep N    allocates N, in keep_on_request()
 *	add N     likewise, in add_on_request()
 *	turn N    allocates and frees N, in turn_on_request()
 *	free N    frees the first N of those that are left, in free_on_request()
 *
 * After each it prints {"bytes", "blocks", "alive"}: what it has allocated in all, and the blocks
 * that are alive.
 */
#include <string.h>

#include "self_measure.h"

#define BYTES ((size_t)64 << 10)
#define MOST  100000

static void *kept[MOST];
static uint64_t nr_kept, nr_freed, nr_allocated;

static void *allocate(void)
{
	unsigned char *volatile block = malloc(BYTES);

	block[0] = 1;
	nr_allocated++;
	return block;
}

NOINLINE static void keep_on_request(uint64_t nr)
{
	while (nr-- && nr_kept < MOST)
		kept[nr_kept++] = allocate();
}

/* Unlike the one above: equal functions would share their code. */
NOINLINE static void add_on_request(uint64_t nr)
{
	for (uint64_t i = 0; i < nr && nr_kept < MOST; i++)
		kept[nr_kept++] = memset(allocate(), 1, 16);
}

NOINLINE static void turn_on_request(uint64_t nr)
{
	while (nr--)
		free(allocate());
}

NOINLINE static void free_on_request(uint64_t nr)
{
	while (nr-- && nr_freed < nr_kept)
		free(kept[nr_freed++]);
}

int main(void)
{
	char line[64], word[16];
	unsigned long long number;

	say_ready();
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %llu", word, &number) != 2)
			continue;
		if (!strcmp(word, "keep"))
			keep_on_request(number);
		else if (!strcmp(word, "add"))
			add_on_request(number);
		else if (!strcmp(word, "turn"))
			turn_on_request(number);
		else if (!strcmp(word, "free"))
			free_on_request(number);
		printf("{\"bytes\": %llu, \"blocks\": %llu, \"alive\": %llu}\n",
		       (unsigned long long)(nr_allocated * BYTES), (unsigned long long)nr_allocated,
		       (unsigned long long)(nr_kept - nr_freed));
		fflush(stdout);
	}
	return 0;
}
