// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes a profile, as it was recorded, ready for views. */
#include "profile/prepare.h"

#include "profile/charge_advances.h"
#include "profile/cpu_modes.h"
#include "profile/short_lives.h"
#include "profile/spread.h"

void profile_prepare(struct profile *profile)
{
	profile_spread_cpu_time(profile);
	profile_estimate_short_lives(profile);
	profile_divide_cpu_time(profile);
	profile_charge_advances(profile);
}
