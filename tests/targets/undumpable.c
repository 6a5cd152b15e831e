// SPDX-License-Identifier: GPL-2.0-or-later
/* undumpable: clears its dumpable flag, as ssh-agent does, and waits for the end. */
#include <sys/prctl.h>

#include "self_measure.h"

int main(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	say_ready();
	wait_for_end();
	return 0;
}
