// SPDX-License-Identifier: GPL-2.0-or-later
/* Allocates by operator new, which often fails and throws: prints how often that was caught. */
#include <cstdio>
#include <map>
#include <new>
#include <string>

struct alignas(64) aligned {
	char bytes[64];
};

int main()
{
	/* More than there are addresses; not known to the compiler. */
	volatile size_t too_much = static_cast<size_t>(1) << 62;
	unsigned long caught = 0, refused = 0;

	for (int round = 0; round < 200; round++) {
		std::map<int, std::string> map;

		for (int i = 0; i < 1000; i++)
			map[i] = std::string(40 + static_cast<size_t>(i) % 50, 'x');
		delete new aligned;
		try {
			delete[] new char[too_much];
		} catch (const std::bad_alloc &) {
			caught++;
		}
		char *none = new (std::nothrow) char[too_much];
		refused += none == nullptr;
		delete[] none;
	}
	std::printf("{\"caught\":%lu,\"refused\":%lu}\n", caught, refused);
	return caught == 200 && refused == 200 ? 0 : 1;
}
