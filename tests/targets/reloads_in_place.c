// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reloads_in_place PLACE FIRST SECOND [CPU_MS]: writes FIRST over PLACE, which keeps its inode,
 * works in its plugin_work(), unloads it, and does the same with SECOND. Each half of CPU_MS.
 * Prints {"cpu_ns", "same_place", "same_inode"}.
 */
#include <dlfcn.h>
#include <sys/stat.h>

#include "self_measure.h"

typedef uint64_t plugin_function(uint64_t until_ns);

static void write_over(const char *place, const char *from)
{
	int in = open(from, O_RDONLY), out = open(place, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	char block[65536];
	ssize_t nr;

	while ((nr = read(in, block, sizeof(block))) > 0)
		if (write(out, block, nr) != nr)
			exit(2);
	if (nr < 0 || close(out) < 0)
		exit(2);
	close(in);
}

static ino_t inode_of(const char *path)
{
	struct stat stat_of_file;

	return stat(path, &stat_of_file) < 0 ? 0 : stat_of_file.st_ino;
}

static void *work_in(const char *place, const char *from, uint64_t until_ns)
{
	plugin_function *plugin_work;
	void *plugin;

	write_over(place, from);
	plugin = dlopen(place, RTLD_NOW);
	if (!plugin)
		exit(2);
	*(void **)&plugin_work = dlsym(plugin, "plugin_work");
	plugin_work(until_ns);
	dlclose(plugin);
	return *(void **)&plugin_work;
}

int main(int argc, char **argv)
{
	uint64_t half_ns = number_argument(argc, argv, 4, 1000) * MS / 2;
	void *first, *second;
	ino_t inode;

	if (argc < 4)
		return 2;
	first = work_in(argv[1], argv[2], half_ns);
	inode = inode_of(argv[1]);
	second = work_in(argv[1], argv[3], 2 * half_ns);
	printf("{\"cpu_ns\": %llu, \"same_place\": %d, \"same_inode\": %d}\n",
	       (unsigned long long)process_cpu_ns(), first == second,
	       inode && inode == inode_of(argv[1]));
	return 0;
}
