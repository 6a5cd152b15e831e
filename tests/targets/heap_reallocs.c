// SPDX-License-Identifier: GPL-2.0-or-later
/* Does nothing but realloc(), until standard input is closed. */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define KEPT 64

__attribute__((noinline)) static void *grow(void *pointer, size_t nr)
{
	void *grown = realloc(pointer, nr);

	__asm__ volatile("" : : "r"(grown) : "memory");
	return grown;
}

int main(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	void *kept[KEPT] = {NULL};

	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (unsigned int i = 0;; i++) {
		unsigned int at = i * 2654435761u >> 26;

		kept[at] = grow(kept[at], 1000 + (i * 40503u & 0x7fff));
		if (i % 100000 == 0 && poll(&input, 1, 0) > 0)
			return 0;
	}
}
