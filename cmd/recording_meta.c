// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording_meta.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/record_options.h"
#include "profile/profile.h"
#include "unwind/unwind.h"

/* "model name	: AMD EPYC ..." of the first processor; other machines have no such line. */
static struct str_id cpu_model(struct profile *profile)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	struct str_id model = STR_EMPTY;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		char *value = strstr(line, ": ");

		if (strncmp(line, "model name", strlen("model name")) != 0 || !value)
			continue;
		value[strcspn(value, "\n")] = '\0';
		model = profile_intern(profile, value + 2);
		break;
	}
	if (file)
		fclose(file);
	return model;
}

void recording_meta_fill(struct profile *profile, const struct record_options *options,
			 char *const *command)
{
	struct profile_meta *meta = &profile->meta;
	struct utsname host;
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	meta->version = profile_intern(profile, PROFC_VERSION);
	if (uname(&host) == 0) {
		meta->hostname = profile_intern(profile, host.nodename);
		meta->kernel = profile_intern(profile, host.release);
		meta->arch = profile_intern(profile, host.machine);
		/*
		 * On ARM, registers show only calls that a stop has interrupted, and no page
		 * faults.
		 */
		meta->knows_calls = strcmp(host.machine, "x86_64") == 0;
		meta->knows_faults = meta->knows_calls;
	}
	meta->cpu_model = cpu_model(profile);
	meta->unwinder =
		profile_intern(profile, unwinder_kind_name((enum unwinder_kind)options->unwinder));
	if (options->count.within)
		meta->within = profile_intern(profile, options->count.within);
	meta->knows_freeing = options->count.free_stacks;
	meta->knows_waits = true;
	meta->nr_cpus = nr_cpus > 0 ? (uint32_t)nr_cpus : 0;
	meta->frequency_hz = options->count.no_cpu ? 0 : (uint32_t)options->frequency_hz;
	meta->max_overhead_ppm = (uint32_t)(options->max_overhead_percent * 10000);
	meta->attached = !command;
	meta->exit_status = -1;
	meta->start_realtime_ns = clock_realtime_ns(); /* about: sampler_start() knows it */
	for (; command && *command; command++)
		profile_add_command_word(profile, *command);
}
