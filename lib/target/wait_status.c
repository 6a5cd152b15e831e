// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/wait_status.h"

int wait_status_of(const siginfo_t *info)
{
	if (info->si_code == CLD_EXITED)
		return (info->si_status & 0xff) << 8;
	return info->si_status | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}
