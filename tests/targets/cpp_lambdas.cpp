// SPDX-License-Identifier: GPL-2.0-or-later
/* Lambdas whose shares of the time are known, generic ones too, and two on one line. */
#include <cstdlib>

volatile long sink;

template <class F> __attribute__((noinline)) void apply(long n, F f)
{
	long s = 0;

	for (long i = 0; i < n; i++)
		s += f(i, s);
	sink = sink + s;
}

/* No function, which would be inlined as a row of its own. */
#define MIXED(x, rounds)                                                                           \
	long y = (x);                                                                              \
	for (int k = 0; k < (rounds); k++)                                                         \
		y = y * 6364136223846793005L + k;                                                  \
	return y

int main(int, char **argv)
{
	long n = atol(argv[1]);
	auto generic = [](auto i, auto s) { MIXED(i ^ s, 40); }; /* generic */
	auto plain = [](long i, long s) { MIXED(i ^ s, 20); };	/* plain */

	apply(n, generic);
	apply(n, plain);
	/* clang-format off */
	auto one = [](long i, long s) { MIXED(i ^ s, 30); }; auto two = [](long i, long s) { MIXED(i ^ s, 10); }; /* both */
	/* clang-format on */
	apply(n, one);
	apply(n, two);
	return 0;
}
