// SPDX-License-Identifier: GPL-2.0-or-later
/* gcc -O2 inlines the beginning of step(), and keeps the rest as step.part.0. */
#include <stdio.h>

volatile int sink;
static FILE *out;

static int step(int i)
{
	if (i % 10 == 0)
		return i;
	for (int k = 0; k < i % 7; k++) {
		sink += k * i;
		fprintf(out, "%d %d\n", i, sink);
		sink ^= i;
		fprintf(out, "%d %d\n", sink, k);
	}
	fprintf(out, "end of %d: %d\n", i, sink);
	return sink;
}

__attribute__((noinline)) int a(int i)
{
	return step(i) + 1;
}

__attribute__((noinline)) int b(int i)
{
	return step(i + 1) * 2;
}

int main(void)
{
	out = fopen("/dev/null", "w");
	if (!out)
		return 1;
	for (int i = 0; i < 50; i++)
		sink += a(i) - b(i);
	return 0;
}
