// SPDX-License-Identifier: GPL-2.0-or-later
// What operator new allocates in its forms, with the sums: leaked by leaks(), freed by frees().
#include <cstdio>
#include <new>
#include <unistd.h>

struct wide {
	alignas(64) char bytes[192];
};

static unsigned long bytes, blocks, live;
static void *volatile kept;

template <typename T> static T *took(T *object, unsigned long nr)
{
	bytes += nr * sizeof(T);
	blocks++;
	live += nr * sizeof(T);
	kept = object;
	return object;
}

__attribute__((noinline)) static void leaks()
{
	for (int i = 0; i < 50; i++) {
		took(new long[100], 100);
		took(new wide, 1);
		took(new (std::nothrow) long[10], 10);
	}
}

__attribute__((noinline)) static void frees()
{
	for (int i = 0; i < 50; i++) {
		delete[] took(new long[200], 200);
		delete took(new wide, 1);
		live -= 200 * sizeof(long) + sizeof(wide);
	}
}

/* Its exception goes through the allocator's probes. */
__attribute__((noinline)) static int fails()
{
	try {
		kept = operator new(static_cast<size_t>(-1) / 4);
	} catch (const std::bad_alloc &) {
		return 1;
	}
	return 0;
}

int main(int argc, char **)
{
	char text[128];
	int nr_caught = 0;

	leaks();
	frees();
	if (argc > 1)
		nr_caught = fails();
	int nr = snprintf(text, sizeof(text),
			  "{\"bytes\": %lu, \"blocks\": %lu, \"live\": %lu, \"caught\": %d}\n", bytes,
			  blocks, live, nr_caught);
	return write(1, text, nr) != nr;
}
