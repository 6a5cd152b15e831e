// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * set_user_id: runs for a second, and prints {"effective"}, the user that its rights are of. The
 * code in .astray, where -Wl,--section-start puts it, is never called: it ends with status 99.
 */
#include "self_measure.h"

#if defined(__x86_64__)
__asm__(".section .astray,\"ax\",@progbits\n"
	"	mov $231, %eax\n" /* exit_group */
	"	mov $99, %edi\n"
	"	syscall\n"
	"	ud2\n"
	"	.zero 4096\n"
	".text\n");
#endif

int main(void)
{
	uint64_t end_ns = monotonic_ns() + 1000 * MS;
	volatile uint64_t x = 1;

	while (monotonic_ns() < end_ns)
		for (int i = 0; i < 10000; i++)
			SPIN_STEP(x);
	printf("{\"effective\": %d}\n", (int)geteuid());
	return 0;
}
