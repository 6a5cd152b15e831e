// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/lifetime.h"

#include "base/clock.h"
#include "profile/heap_lives.h"

/* The exclusive end of each decade. */
static const uint64_t ends_ns[LIFETIME_DECADES - 1] = {
	NS_PER_US,	10 * NS_PER_US,	 100 * NS_PER_US, NS_PER_MS,
	10 * NS_PER_MS, 100 * NS_PER_MS, NS_PER_SEC,	  10 * NS_PER_SEC,
};

/* A known part of a life that reaches the longest decade decides even an uncertain one. */
enum lifetime lifetime_of(const struct heap_life *life)
{
	int decade = LIFETIME_SHORTEST;

	if (!life->died_ns)
		return LIFETIME_ALIVE;
	while (decade < LIFETIME_LONGEST && heap_life_ns(life) >= ends_ns[decade])
		decade++;
	return life->is_whole || decade == LIFETIME_LONGEST ? (enum lifetime)decade
							    : LIFETIME_UNKNOWN;
}

const char *lifetime_name(enum lifetime lifetime)
{
	static const char *const names[LIFETIME_COUNT] = {
		"< 1 us",
		"1 us to 10 us",
		"10 us to 100 us",
		"100 us to 1 ms",
		"1 ms to 10 ms",
		"10 ms to 100 ms",
		"100 ms to 1 s",
		"1 s to 10 s",
		">= 10 s",
		[LIFETIME_ALIVE] = "alive at the end",
		[LIFETIME_UNKNOWN] = "[moved by realloc, rest unknown]",
	};

	return names[lifetime];
}

bool lifetime_from_ns(enum lifetime lifetime, uint64_t *ns)
{
	if (lifetime > LIFETIME_LONGEST)
		return false;
	*ns = lifetime == LIFETIME_SHORTEST ? 0 : ends_ns[lifetime - 1];
	return true;
}

bool lifetime_to_ns(enum lifetime lifetime, uint64_t *ns)
{
	if (lifetime >= LIFETIME_LONGEST)
		return false;
	*ns = ends_ns[lifetime];
	return true;
}
