// SPDX-License-Identifier: GPL-2.0-or-later
/* Job control stops profc itself. */
#include "cmd/suspend.h"

#include "cmd/signal_pipe.h"
#include "sampler/sampler.h"

void stop_by_job_control(struct sampler *sampler)
{
	bool was_paused = sampler_is_paused(sampler);

	sampler_pause(sampler);
	sampler_settle(sampler);
	stop_this_process();
	if (!was_paused)
		sampler_resume(sampler);
}
