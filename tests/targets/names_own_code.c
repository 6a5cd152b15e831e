// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * names_own_code HOW CPU_MS [NAME...]: makes code while it runs and tells profilers what it is called.
 *
 *   map        in /tmp/perf-PID.map, each NAME a function of its own, of the same CPU time
 *   removed    the same, and removes the map at its end
 *   forked     the same, and forks at once: the child runs the same code
 *   unfinished the same, the last line without an end
 *   crlf       the same, with lines as of DOS
 *   appended   other code, of the next NAME, comes to stand at the same place, which a line tells
 *   rewritten  the same, but the map is written anew, at the same length if the names have it
 *   swapped    the same, but a new map takes the place of the old one
 *   dump       in the file jit-PID.dump of this directory, with lines of made_up.src: each NAME is
 *              defined in line 10, and works in line 11
 *   foreign    in a map that belongs to another user
 *   silent     not at all
 *
 * Prints for each NAME the CPU time that it took.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "self_measure.h"

#define PLACES	     16
#define PLACE_BYTES  256
#define LOOP_ROUNDS  200000
#define MACHINE	     62
#define BODY_AT	     4 /* the loop begins there */

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; mov %edi,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const unsigned char loop[] = "\x55\x48\x89\xe5\x89\xf9\xff\xc9\x75\xfc\x5d\xc3";
#elif defined(__aarch64__)
/* nop; 1: subs w0,w0,#1; b.ne 1b; ret */
static const unsigned char loop[] =
	"\x1f\x20\x03\xd5\x00\x04\x00\x71\xe1\xff\xff\x54\xc0\x03\x5f\xd6";
#endif

typedef void (*code)(unsigned int rounds);

static char *memory;
static char map_path[64];

static char *place(int i)
{
	return memory + i * PLACE_BYTES;
}

static void write_line(int fd, int i, const char *name, const char *end)
{
	dprintf(fd, "%lx %zx %s%s", (unsigned long)place(i), sizeof(loop) - 1, name, end);
}

static int open_map(int flags)
{
	int fd = open(map_path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);

	if (fd < 0)
		_exit(3);
	return fd;
}

static double work(int i, unsigned int cpu_ms)
{
	uint64_t begin = thread_cpu_ns();

	while (thread_cpu_ns() - begin < (uint64_t)cpu_ms * 1000000)
		((code)(void *)place(i))(LOOP_ROUNDS);
	return (double)(thread_cpu_ns() - begin) / 1e6;
}

static void put(int fd, const void *bytes, size_t nr)
{
	if (write(fd, bytes, nr) != (ssize_t)nr)
		_exit(3);
}

static void begin_dump(int fd)
{
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} header = {0x4a695444, 1, sizeof(header), MACHINE, 0, (uint32_t)getpid(), 1, 0};

	put(fd, &header, sizeof(header));
	/* So that profilers find it. */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(3);
}

static void put_row(int fd, uint64_t address, uint32_t line, const char *file)
{
	struct {
		uint64_t address;
		uint32_t line, column;
	} row = {address, line, 0};

	put(fd, &row, sizeof(row));
	put(fd, file, strlen(file) + 1);
}

static void dump_code(int fd, int i, const char *name)
{
	uint64_t at = (uint64_t)(uintptr_t)place(i);
	const char *file = "/src/made_up.src";
	struct {
		uint32_t id, size;
		uint64_t time, address, nr;
	} lines = {2, (uint32_t)(sizeof(lines) + 2 * 16 + strlen(file) + 1 + 2), 1, at, 2};
	struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, size_of_code, index;
	} load = {0,
		  (uint32_t)(sizeof(load) + strlen(name) + 1 + sizeof(loop) - 1),
		  1,
		  (uint32_t)getpid(),
		  (uint32_t)getpid(),
		  at,
		  at,
		  sizeof(loop) - 1,
		  (uint64_t)i};

	put(fd, &lines, sizeof(lines));
	put_row(fd, at, 10, file);
	put_row(fd, at + BODY_AT, 11, "\xff");
	put(fd, &load, sizeof(load));
	put(fd, name, strlen(name) + 1);
	put(fd, loop, sizeof(loop) - 1);
}

static void tell_all(const char *how, int nr, char **names)
{
	const char *end = strcmp(how, "crlf") ? "\n" : "\r\n";
	char path[64];
	int fd;

	if (!strcmp(how, "silent"))
		return;
	if (strcmp(how, "dump") != 0) {
		fd = open_map(O_TRUNC);
		for (int i = 0; i < nr; i++)
			write_line(fd, i, names[i],
				   i + 1 == nr && !strcmp(how, "unfinished") ? "" : end);
		if (!strcmp(how, "foreign") && fchown(fd, 12345, 12345) < 0)
			_exit(3);
		return;
	}
	snprintf(path, sizeof(path), "./jit-%d.dump", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		_exit(3);
	begin_dump(fd);
	for (int i = 0; i < nr; i++)
		dump_code(fd, i, names[i]);
}

/* The code at the first place is called so from now on. */
static void tell_change(const char *how, const char *name)
{
	char fresh[80];
	int fd;

	if (!strcmp(how, "swapped")) {
		snprintf(fresh, sizeof(fresh), "%s.new", map_path);
		fd = open(fresh, O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0644);
		write_line(fd, 0, name, "\n");
		if (rename(fresh, map_path) < 0)
			_exit(3);
		return;
	}
	fd = open_map(strcmp(how, "appended") ? O_TRUNC : O_APPEND);
	write_line(fd, 0, name, "\n");
}

static int changes(const char *how)
{
	return !strcmp(how, "appended") || !strcmp(how, "rewritten") || !strcmp(how, "swapped");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "silent";
	unsigned int cpu_ms = argc > 2 ? (unsigned int)atoi(argv[2]) : 200;
	int nr = argc > 3 ? argc - 3 : 0;
	bool is_one = changes(how);
	pid_t child = -1;

	memory = mmap(NULL, PLACES * PLACE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || !nr || nr > PLACES)
		return 2;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	for (int i = 0; i < nr; i++)
		memcpy(place(i), loop, sizeof(loop) - 1);
	__builtin___clear_cache(memory, memory + PLACES * PLACE_BYTES);
	tell_all(how, is_one ? 1 : nr, argv + 3);
	if (!strcmp(how, "forked"))
		child = fork();
	for (int i = 0; i < nr; i++) {
		if (i && is_one)
			tell_change(how, argv[3 + i]);
		printf("{\"nr\": %d, \"cpu_ms\": %.1f, \"pid\": %d}\n", i,
		       work(is_one ? 0 : i, cpu_ms), (int)getpid());
	}
	fflush(stdout);
	if (child > 0)
		waitpid(child, NULL, 0);
	if (!strcmp(how, "removed"))
		unlink(map_path);
	return 0;
}
