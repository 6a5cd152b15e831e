// SPDX-License-Identifier: GPL-2.0-or-later
/* What loads_within loads. */

void plugin_leaf(void);

void plugin_leaf(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop");
}
