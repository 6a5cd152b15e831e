// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is linked with own_allocator: operator new asks a handler that throws at its third call, and makes
 * some blocks. Prints {"handled", "caught", "news", "others"}: how often what was called, and which
 * blocks were deleted that are not of operator new.
 */
#include <cstdio>
#include <new>

extern "C" long nr_called_new();
extern "C" long nr_deleted_of_others();

static long nr_handled;

static void handler()
{
	if (++nr_handled % 3 == 0)
		throw std::bad_alloc();
	if (nr_handled > 1000)
		__builtin_trap();
}

int main()
{
	volatile std::size_t too_much = std::size_t(1) << 40;
	long nr_caught = 0, nr_news = nr_called_new(), nr_others = nr_deleted_of_others();

	std::set_new_handler(handler);
	for (int i = 0; i < 20; i++) {
		try {
			char *volatile block = new char[too_much];

			(void)block;
		} catch (std::bad_alloc &) {
			nr_caught++;
		}
		for (int k = 0; k < 10; k++)
			delete[] new char[1000];
	}
	std::printf("{\"handled\": %ld, \"caught\": %ld, \"news\": %ld, \"others\": %ld}\n", nr_handled,
		    nr_caught, nr_called_new() - nr_news, nr_deleted_of_others() - nr_others);
	return 0;
}
