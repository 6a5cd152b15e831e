// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * internal_alias [CPU_MS]: all time in a function that calls itself __GI___libc_spin inside,
 * as those of glibc do; others link with it as spin, which is weak.
 */
#include "self_measure.h"

NOINLINE uint64_t libc_spin(uint64_t x, unsigned rounds) __asm__("__GI___libc_spin");
uint64_t spin(uint64_t x, unsigned rounds) __attribute__((weak, alias("__GI___libc_spin")));

uint64_t libc_spin(uint64_t x, unsigned rounds)
{
	while (rounds--)
		SPIN_STEP(x);
	return x;
}

int main(int argc, char **argv)
{
	uint64_t until_ns = number_argument(argc, argv, 1, 300) * MS;
	struct rounds rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID, until_ns);
	uint64_t x = 1;

	while (rounds_go_on(&rounds))
		x = spin(x, 400000) + 1;
	return x == 0;
}
