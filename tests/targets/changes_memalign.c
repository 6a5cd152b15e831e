// SPDX-License-Identifier: GPL-2.0-or-later
/* Has other code at the beginning of memalign() than its file; allocates until its input ends. */
#include <malloc.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u
#define TRAP	   0xcc

static int change(uint8_t *code)
{
	uint8_t *page = code - (uintptr_t)code % PAGE_BYTES;

	if (mprotect(page, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE) < 0)
		return -1;
	memset(code, TRAP, 4);
	return mprotect(page, 2 * PAGE_BYTES, PROT_READ | PROT_EXEC);
}

int main(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	/* Nothing calls mprotect() from the same two pages. */
	if (change((uint8_t *)(uintptr_t)memalign) < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 1) == 0) {
		void *volatile block = malloc(1000);

		free(block);
	}
	return 0;
}
