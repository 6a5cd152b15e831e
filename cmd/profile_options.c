// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/profile_options.h"

#include <stddef.h>

#include "profile/profile.h"

const char *const metric_choices[] = {
	[METRIC_CPU] = "cpu",	      [METRIC_WALL] = "wall",	    [METRIC_RUNQ] = "runq",
	[METRIC_BLOCKED] = "blocked", [METRIC_SAMPLES] = "samples", NULL,
};
