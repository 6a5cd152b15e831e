// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dlopen_late PLUGIN [CPU_MS]: works in before_dlopen(), then loads PLUGIN
 * (dlopen_plugin.c as a shared library), works in its plugin_work(), unloads it,
 * and works in after_dlclose(). Each third of CPU_MS. Prints {"cpu_ns"}.
 */
#include <dlfcn.h>

#include "self_measure.h"

typedef uint64_t plugin_function(uint64_t until_ns);

NOINLINE uint64_t before_dlopen(uint64_t until_ns)
{
	uint64_t x = 1;

	while (process_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

NOINLINE uint64_t after_dlclose(uint64_t until_ns)
{
	uint64_t x = 2;

	while (process_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

int main(int argc, char **argv)
{
	uint64_t third_ns = number_argument(argc, argv, 2, 900) * MS / 3;
	plugin_function *plugin_work;
	void *plugin;

	before_dlopen(third_ns);
	plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
	if (!plugin)
		return 2;
	*(void **)&plugin_work = dlsym(plugin, "plugin_work");
	plugin_work(2 * third_ns);
	dlclose(plugin);
	after_dlclose(3 * third_ns);
	printf("{\"cpu_ns\": %llu}\n", (unsigned long long)process_cpu_ns());
	return 0;
}
