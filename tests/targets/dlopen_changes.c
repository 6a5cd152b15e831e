// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dlopen_changes FIRST SECOND [TURNS]: loads FIRST, works in its plugin_work() for 15 ms, unloads
 * it, and does the same with SECOND for 5 ms, so many times: copies of one library, the second
 * of which comes to stand where the first stood. Prints {"same_place": turns in which it did}.
 */
#include <dlfcn.h>

#include "self_measure.h"

typedef uint64_t plugin_function(uint64_t until_ns);

static void *work_in(const char *path, uint64_t work_ns)
{
	plugin_function *plugin_work;
	void *plugin = dlopen(path, RTLD_NOW);
	void *place;

	if (!plugin)
		exit(2);
	*(void **)&plugin_work = dlsym(plugin, "plugin_work");
	place = dlsym(plugin, "plugin_starts");
	plugin_work(process_cpu_ns() + work_ns);
	dlclose(plugin);
	return place;
}

int main(int argc, char **argv)
{
	uint64_t turns = number_argument(argc, argv, 3, 100);
	int same_place = 0;

	if (argc < 3)
		return 2;
	for (uint64_t i = 0; i < turns; i++)
		same_place += work_in(argv[1], 15 * MS) == work_in(argv[2], 5 * MS);
	printf("{\"same_place\": %d}\n", same_place);
	return 0;
}
