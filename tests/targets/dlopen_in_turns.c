// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dlopen_in_turns FIRST SECOND [CPU_MS]: works in FIRST's plugin_work(), unloads it, and does
 * the same with SECOND: copies of one library (dlopen_plugin.c), so that the second comes to
 * stand where the first stood. Each half of CPU_MS. Prints {"cpu_ns", "same_place"}.
 */
#include <dlfcn.h>

#include "self_measure.h"

typedef uint64_t plugin_function(uint64_t until_ns);

static void *work_in(const char *path, uint64_t until_ns)
{
	plugin_function *plugin_work;
	void *plugin = dlopen(path, RTLD_NOW);

	if (!plugin)
		return NULL;
	*(void **)&plugin_work = dlsym(plugin, "plugin_work");
	plugin_work(until_ns);
	dlclose(plugin);
	return *(void **)&plugin_work;
}

int main(int argc, char **argv)
{
	uint64_t half_ns = number_argument(argc, argv, 3, 1000) * MS / 2;
	void *first, *second;

	if (argc < 3)
		return 2;
	first = work_in(argv[1], half_ns);
	second = work_in(argv[2], 2 * half_ns);
	if (!first || !second)
		return 2;
	printf("{\"cpu_ns\": %llu, \"same_place\": %d}\n", (unsigned long long)process_cpu_ns(),
	       first == second);
	return 0;
}
