// SPDX-License-Identifier: GPL-2.0-or-later
/* What loads_within loads. */

void plugin_leaf(void);

void plugin_leaf(void)
{
	/* Room for a probe, but none that the program might patch, as nops are. */
#if defined(__x86_64__)
	__asm__ volatile("cmp %%rsp, %%rsp; cmp %%rsp, %%rsp" ::: "cc");
#else
	__asm__ volatile("cmp x0, x0" ::: "cc");
#endif
}
