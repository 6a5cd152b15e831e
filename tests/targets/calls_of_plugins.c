// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_of_plugins [fork] LIBRARY...: loads each (counted_plugin.c), waits until its functions are
 * counted, calls them, and unloads it; with "fork" in a child, and then itself. Prints its own
 * counts.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int call_in_all(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!call_in(argv[i], 1000 + (unsigned)i))
			return 2;
	}
	return 0;
}

static int call_in_child(int argc, char **argv)
{
	int status = 2;
	pid_t child = fork();

	if (child == 0)
		_exit(call_in_all(argc, argv));
	waitpid(child, &status, 0);
	for (int i = 1; i < argc; i++)
		calls += 1000 + (unsigned)i;
	return status;
}

int main(int argc, char **argv)
{
	int is_forking = argc > 1 && strcmp(argv[1], "fork") == 0;
	int status = is_forking ? call_in_child(argc - 1, argv + 1) : 0;

	if (status == 0)
		status = call_in_all(argc - is_forking, argv + is_forking);
	if (status != 0)
		return 2;
	say_own_count("plugin_function", calls);
	say_own_count("plugin_helper", 2 * calls);
	return 0;
}
