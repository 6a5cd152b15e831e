// SPDX-License-Identifier: GPL-2.0-or-later
/* symbol_aarch64: only linked, for another machine; its calls go through a PLT. */
#include <stdio.h>

int main(void)
{
	return puts("");
}
