// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dlopen_apart PLUGIN [WORK_MS [TURNS]]: rests until no profiler expects libraries any more, then
 * loads PLUGIN (dlopen_plugin.c as a shared library), works in its plugin_work() and unloads it, so
 * many times with rests between, each time at a place where nothing stood before. Prints
 * {"work_ns": CPU time in it, "distinct": turns in which it stood elsewhere than in the one
 * before}.
 */
#include <dlfcn.h>
#include <sys/mman.h>

#include "self_measure.h"

#define FIRST_REST_MS 4200
/* Of one length after another, so that no two are alike to who looks at fixed times. */
#define REST_MS(turn) (200 + (turn)*97 % 250)

typedef uint64_t plugin_function(uint64_t until_ns);

static void rest(uint64_t ms)
{
	struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * MS)};

	nanosleep(&pause, NULL);
}

struct turns {
	uint64_t work_ns;
	void *place;
	int distinct;
};

/* A page is left there, so that the next one does not fit. */
static void take_turn(const char *path, uint64_t work_ns, struct turns *turns)
{
	void *plugin = dlopen(path, RTLD_NOW);
	uint64_t begin_ns = process_cpu_ns();
	plugin_function *plugin_work;
	Dl_info info;

	if (!plugin)
		exit(2);
	*(void **)&plugin_work = dlsym(plugin, "plugin_work");
	if (!dladdr(*(void **)&plugin_work, &info))
		exit(2);
	plugin_work(begin_ns + work_ns);
	turns->work_ns += process_cpu_ns() - begin_ns;
	dlclose(plugin);
	mmap(info.dli_fbase, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
	     0);
	turns->distinct += info.dli_fbase != turns->place;
	turns->place = info.dli_fbase;
}

int main(int argc, char **argv)
{
	uint64_t work_ns = number_argument(argc, argv, 2, 40) * MS;
	uint64_t nr_turns = number_argument(argc, argv, 3, 12);
	struct turns turns = {0};

	if (argc < 2)
		return 2;
	rest(FIRST_REST_MS);
	for (uint64_t i = 0; i < nr_turns; i++) {
		take_turn(argv[1], work_ns, &turns);
		rest(REST_MS(i));
	}
	printf("{\"work_ns\": %llu, \"distinct\": %d}\n", (unsigned long long)turns.work_ns,
	       turns.distinct);
	return 0;
}
