// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_of_plugins LIBRARY...: loads each (counted_plugin.c), waits until its functions are
 * counted, calls them, and unloads it. Prints its own counts.
 */
#include <dlfcn.h>

#include "own_counts.h"

static uint64_t calls;

static int call_in(const char *path, unsigned nr)
{
	void *plugin = dlopen(path, RTLD_NOW);
	void (*plugin_function)(void);

	if (!plugin)
		return 0;
	*(void **)&plugin_function = dlsym(plugin, "plugin_function");
	wait_for_probe(plugin_function, 1);
	for (unsigned i = 0; i < nr; i++)
		plugin_function();
	calls += nr;
	dlclose(plugin);
	return 1;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!call_in(argv[i], 1000 + (unsigned)i))
			return 2;
	}
	say_own_count("plugin_function", calls);
	say_own_count("plugin_helper", 2 * calls);
	return 0;
}
