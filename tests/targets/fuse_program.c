// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuse_program [MS [READ_MS [CLIENTS]]]: processes that execute this program over and over, from a
 * file that their parent serves by FUSE. After MS milliseconds prints {"execs"} of each, how often,
 * and
 * {"reads"}, how many were served. Status 77 where it may not mount.
 */
#include "fuse_server.h"

extern char **environ;

static void *map_own_program(size_t *nr_bytes)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat stat;
	void *bytes;

	if (fd < 0 || fstat(fd, &stat))
		return NULL;
	*nr_bytes = (size_t)stat.st_size;
	bytes = mmap(NULL, *nr_bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	return bytes == MAP_FAILED ? NULL : bytes;
}

/* Over and over until its time is up; the next one knows how often that was. */
static void execute(unsigned nr_execs, uint64_t end_ns)
{
	char path[64], count[16], end[32];
	char *const argv[] = {path, count, end, fuse_server.directory, (char *)(uintptr_t) "-",
			      NULL};

	snprintf(path, sizeof(path), "%s/" FUSE_FILE, fuse_server.directory);
	snprintf(count, sizeof(count), "%u", nr_execs);
	snprintf(end, sizeof(end), "%llu", (unsigned long long)end_ns);
	execve(path, argv, environ);
	_exit(1);
}

static int go_on(char **argv)
{
	uint64_t end_ns = strtoull(argv[2], NULL, 10);
	unsigned nr_execs = (unsigned)strtoul(argv[1], NULL, 10) + 1;

	memcpy(fuse_server.directory, argv[3], sizeof(fuse_server.directory));
	if (monotonic_ns() < end_ns)
		execute(nr_execs, end_ns);
	printf("{\"execs\": %u}\n", nr_execs);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 2000) * MS;
	uint64_t nr_clients = number_argument(argc, argv, 3, 4);
	size_t nr_bytes = 0;
	void *bytes;

	if (argc == 5)
		return go_on(argv);
	bytes = map_own_program(&nr_bytes);
	if (!bytes || fuse_server_start(bytes, nr_bytes, end_ns))
		return CANNOT;
	fuse_server.read_ms = (unsigned)number_argument(argc, argv, 2, 1);
	for (uint64_t i = 0; i < nr_clients; i++) {
		if (fork() == 0) {
			/* Or an exec could wait for ever for the answer of one that has ended. */
			close(fuse_server.device);
			execute(0, end_ns);
		}
	}
	say_ready();
	for (uint64_t i = 0; i < nr_clients; i++)
		wait(NULL);
	fuse_server_end();
	_exit(0);
}
