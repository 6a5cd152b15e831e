// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loads_within PLUGIN: a thread calls leaf() in serve() and outside, all the time. Once a line is
 * read the plugin is loaded, and its plugin_leaf() called in both as well. Ends when its standard
 * input is closed.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define APART __attribute__((noinline, noclone, noipa))

static void (*_Atomic of_plugin)(void);
static atomic_bool is_over;

APART void leaf(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop");
}

APART void calls_both(void)
{
	void (*plugin_leaf)(void) = atomic_load(&of_plugin);

	leaf();
	if (plugin_leaf)
		plugin_leaf();
	__asm__ volatile("");
}

APART int serve(int nr)
{
	for (int i = 0; i < nr; i++)
		calls_both();
	return nr * 3 + 1;
}

static void *work(void *unused)
{
	while (!atomic_load(&is_over)) {
		serve(7);
		calls_both();
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *plugin;
	int status = 0;

	pthread_create(&thread, NULL, work, NULL);
	puts("ready");
	fflush(stdout);
	if (getchar() != EOF) {
		plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
		status = !plugin;
		if (plugin)
			atomic_store(&of_plugin, (void (*)(void))dlsym(plugin, "plugin_leaf"));
	}
	while (getchar() != EOF)
		;
	atomic_store(&is_over, 1);
	pthread_join(thread, NULL);
	return status;
}
