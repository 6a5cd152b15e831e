// SPDX-License-Identifier: GPL-2.0-or-later
/* The processors with an unwinder. */
#include "unwind/row.h"

const struct unwind_arch *unwind_arch(enum arch arch)
{
	switch (arch) {
	case ARCH_X86_64:
		return &unwind_arch_x86_64;
	case ARCH_AARCH64:
		break;
	}
	return &unwind_arch_aarch64;
}
