// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/asset_priv.h"

/* The compiler is run from the top of the tree, and so is the assembler behind it. */
#define ASSET(name, path)                                                                          \
	extern const char name##_start[], name##_end[];                                            \
	__asm__(".pushsection .rodata\n" #name "_start:\n.incbin \"" path "\"\n" #name "_end:\n"   \
		".popsection\n");                                                                  \
	struct asset asset_##name(void)                                                            \
	{                                                                                          \
		return (struct asset){name##_start, (size_t)(name##_end - name##_start)};          \
	}

ASSET(flamegraph_js, "lib/export/flamegraph.js")
