// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pool that hands out parts of mappings, N blocks: its first mapping it makes itself when it is
 * begun, and others when it needs them. The half of the blocks is kept.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define OWN	    __attribute__((noinline, noclone, used))
#define ARENA_BYTES ((size_t)64 << 10)

static char *arena;
static size_t nr_left;
static unsigned long long mapped, bytes, live;

static char *map_arena(void)
{
	void *at = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED)
		abort();
	nr_left = ARENA_BYTES;
	return at;
}

OWN static void *arena_get(size_t nr)
{
	void *block;

	if (nr_left < nr)
		arena = map_arena();
	block = arena;
	arena += nr;
	nr_left -= nr;
	return block;
}

OWN static void arena_put(void *block)
{
	*(volatile uint64_t *)block = 0x12345678; /* longer than a jump */
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 100;
	char *first = map_arena();
	char text[200];
	int length;

	mapped = ARENA_BYTES;
	arena = first;
	for (int i = 0; i < nr; i++) {
		char *block = arena_get(1600);

		block[0] = (char)i;
		bytes += 1600;
		if (i % 2)
			live += 1600;
		else
			arena_put(block);
	}
	if (munmap(first, ARENA_BYTES))
		abort();
	length = snprintf(text, sizeof(text),
			  "{\"mapped\": %llu, \"mapped_live\": 0, \"bytes\": %llu, \"live\": %llu}\n",
			  mapped, bytes, live);
	return write(STDOUT_FILENO, text, (size_t)length) != length;
}
