// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reserves_memory [TB]: reserves so many terabytes of addresses, of which it uses a page here and
 * there, and loses a block of 1600 bytes. Prints how many it got as {"terabytes"}.
 */
#include <sys/mman.h>

#include "self_measure.h"

#define TERABYTE (1ULL << 40)

static char *volatile last;

NOINLINE static void loses(void)
{
	last = malloc(1600);
	last[0] = 1;
	last = NULL;
}

int main(int argc, char **argv)
{
	uint64_t wanted = number_argument(argc, argv, 1, 16), got = 0;

	for (uint64_t i = 0; i < wanted; i++) {
		char *at = mmap(NULL, TERABYTE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (at == MAP_FAILED)
			break;
		at[TERABYTE / 3] = 1;
		got++;
	}
	loses();
	printf("{\"terabytes\": %llu}\n", (unsigned long long)got);
	return 0;
}
