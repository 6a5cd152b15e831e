// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * allocates_by_turns [ROUNDS]: one of three functions, at random, calls the same one, which calls
 * another, which allocates: always at the same depth of the stack. Where frame pointers are not in
 * use, that register has a value that changes. Prints {"calls": [of each]}.
 */
#include "self_measure.h"

static uint64_t nr_calls[3];
static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

NOINLINE void *allocates(uint64_t a)
{
	void *volatile block = malloc(16 + (a & 15));

	return block;
}

/* So many values that are needed after the call that all registers which calls keep are in use. */
NOINLINE uint64_t between(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	void *volatile block = allocates(a ^ b);

	return a + b * c + d * e + (a ^ c) * (b ^ d) + (uint64_t)(block != NULL);
}

#define CALLER(name, number)                                                                       \
	NOINLINE uint64_t name(uint64_t a)                                                         \
	{                                                                                          \
		uint64_t b = next_random(), c = next_random(), d = next_random();                  \
                                                                                                   \
		nr_calls[number]++;                                                                \
		return between(a, b, c, d, b ^ c) + a * b + c * d + (a ^ d) * number;              \
	}

CALLER(first_turn, 0)
CALLER(second_turn, 1)
CALLER(third_turn, 2)

int main(int argc, char **argv)
{
	static uint64_t (*const turns[])(uint64_t) = {first_turn, second_turn, third_turn, first_turn};
	uint64_t nr = number_argument(argc, argv, 1, 100000);
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < nr; i++)
		sum += turns[next_random() >> 62](i);
	printf("{\"calls\": [%llu, %llu, %llu]}\n", (unsigned long long)nr_calls[0],
	       (unsigned long long)nr_calls[1], (unsigned long long)nr_calls[2]);
	return 0;
}
