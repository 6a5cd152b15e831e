// SPDX-License-Identifier: GPL-2.0-or-later
/* The other file of hidden_functions.cpp. */
#include "hidden_functions.h"

#define NOINLINE __attribute__((noinline))

static NOINLINE unsigned same_name(unsigned rounds)
{
	unsigned x = 4;

	while (rounds--)
		HIDDEN_STEP(x, 12345u);
	return x;
}

unsigned other_of_same_name(unsigned rounds)
{
	return same_name(rounds) + 1;
}

__attribute__((noinline, cold)) static unsigned called_rarely(unsigned x)
{
	HIDDEN_STEP(x, 33u);
	return x;
}

/* What leads to code that is called rarely, as it says, the compiler puts apart. */
NOINLINE unsigned with_cold_part(unsigned rounds, unsigned rare)
{
	unsigned x = 5;

	for (unsigned i = 0; i < rounds; i++) {
		if ((i & 1) == rare) {
			x = called_rarely(x);
			for (int j = 0; j < 4; j++)
				HIDDEN_STEP(x, 35u);
		}
		HIDDEN_STEP(x, 1103515245u);
	}
	return x;
}
