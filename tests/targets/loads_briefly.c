// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loads_briefly PLUGIN TIMES CPU_MS: some time after its start it loads PLUGIN (dlopen_plugin.c as a
 * shared library), works in its plugin_work() for CPU_MS, and unloads it, so many times.
 */
#include <dlfcn.h>

#include "self_measure.h"

/* No power of two: a profiler may look after twice as long, each time. */
#define BEFORE_MS 650
#define PAUSE_MS  20

static void pause_for(uint64_t ms)
{
	const struct timespec pause = {.tv_sec = (time_t)(ms / 1000),
				       .tv_nsec = (long)(ms % 1000 * MS)};

	nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	uint64_t times = number_argument(argc, argv, 2, 1);
	uint64_t cpu_ns = number_argument(argc, argv, 3, 60) * MS;
	uint64_t (*plugin_work)(uint64_t until_ns);

	pause_for(BEFORE_MS);
	for (uint64_t i = 0; i < times; i++) {
		void *plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);

		if (!plugin)
			return 2;
		*(void **)&plugin_work = dlsym(plugin, "plugin_work");
		plugin_work(process_cpu_ns() + cpu_ns);
		dlclose(plugin);
		pause_for(PAUSE_MS);
	}
	printf("{\"times\": %llu}\n", (unsigned long long)times);
	return 0;
}
