// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hidden_functions [CPU_MS]: time in functions that no symbol of their own name can be asked for:
 * static ones of one name in two files, one of an unnamed namespace, a lambda, one whose rare part
 * lies elsewhere, and libc's memset.
 */
#include <cstring>

#include "hidden_functions.h"
#include "self_measure.h"

static char memory[1 << 18];

namespace
{
NOINLINE unsigned unnamed(unsigned rounds)
{
	unsigned x = 1;

	while (rounds--)
		HIDDEN_STEP(x, 1664525u);
	return x;
}
} // namespace

static NOINLINE unsigned same_name(unsigned rounds)
{
	unsigned x = 2;

	while (rounds--)
		HIDDEN_STEP(x, 22695477u);
	return x;
}

int main(int argc, char **argv)
{
	auto lambda = [](unsigned rounds) __attribute__((noinline)) {
		unsigned x = 3;

		while (rounds--)
			HIDDEN_STEP(x, 69069u);
		return x;
	};
	uint64_t until_ns = number_argument(argc, argv, 1, 1000) * MS;
	unsigned x = 0;

	while (process_cpu_ns() < until_ns) {
		x += unnamed(100000) + same_name(100000) + lambda(100000);
		x += other_of_same_name(100000) + with_cold_part(100000, x & 1);
		for (int i = 0; i < 10; i++)
			memset(memory, (int)x + i, sizeof(memory));
		x += (unsigned)memory[x % sizeof(memory)];
	}
	printf("{\"cpu_ns\": %llu, \"x\": %u}\n", (unsigned long long)process_cpu_ns(), x & 1);
	return 0;
}
