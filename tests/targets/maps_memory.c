// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps and unmaps memory in all ways, and keeps the sums of what it maps itself: what the C library
 * maps, for large blocks and stacks of threads, is not in them.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OWN  __attribute__((noinline))
#define PAGE ((size_t)4096)
#define MIB  ((size_t)1 << 20)

static struct {
	unsigned long long bytes, blocks, live; /* of mappings */
	unsigned long long heap_bytes, heap_blocks;
	unsigned int cut;
} sums;

static void *kept_map;

/* The memory that a mapping of so many bytes takes. */
static size_t pages(size_t nr)
{
	return (nr + PAGE - 1) / PAGE * PAGE;
}

static void *taken(void *at, size_t nr)
{
	if (at == MAP_FAILED)
		abort();
	sums.bytes += nr;
	sums.live += nr;
	sums.blocks++;
	return at;
}

static void *map(size_t nr)
{
	return taken(mmap(NULL, nr, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		     pages(nr));
}

static void unmap(void *at, size_t nr, size_t counts)
{
	if (munmap(at, nr))
		abort();
	sums.live -= counts;
}

OWN static void keeps_maps(void)
{
	for (int i = 0; i < 5; i++) {
		kept_map = map(MIB);
		memset(kept_map, i, MIB);
	}
}

OWN static void borrows_maps(void)
{
	for (int i = 0; i < 7; i++)
		unmap(map(2 * MIB + 100), 2 * MIB + 100, pages(2 * MIB + 100));
}

OWN static void maps_files(void)
{
	int file = (int)(sysconf(_SC_PAGESIZE) > 0 ? memfd_create("file", 0) : -1);

	if (file < 0 || ftruncate(file, (off_t)(3 * MIB)))
		abort();
	taken(mmap(NULL, 3 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0), 3 * MIB);
	/* Of a file that is shared the pages are the file's; and address space is no memory. */
	if (mmap(NULL, MIB, PROT_READ, MAP_SHARED, file, 0) == MAP_FAILED ||
	    mmap(NULL, 64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
		abort();
	taken(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), MIB);
	close(file);
}

OWN static void cuts_maps(void)
{
	char *first = map(8 * PAGE), *second = map(8 * PAGE);

	unmap(first + 2 * PAGE, PAGE, 0); /* it counts as a whole from here on */
	sums.cut++;
	unmap(second, 3 * PAGE, 0);
	unmap(second + 3 * PAGE, 5 * PAGE, 8 * PAGE);
}

OWN static void unmaps_two_at_once(void)
{
	char *whole = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (whole == MAP_FAILED)
		abort();
	for (int i = 0; i < 2; i++)
		taken(mmap(whole + (size_t)i * 8 * PAGE, 8 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		      8 * PAGE);
	unmap(whole, 16 * PAGE, 16 * PAGE);
}

OWN static void replaces_maps(void)
{
	char *at = map(8 * PAGE);

	taken(mmap(at, 8 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
	      8 * PAGE);
	sums.live -= 8 * PAGE;
	/* To give memory back, but keep its place. */
	if (mmap(at, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		abort();
	sums.live -= 8 * PAGE;
}

OWN static void resizes_maps(void)
{
	char *at = map(4 * PAGE);

	for (size_t nr = 8; nr <= 64; nr *= 2) {
		strcpy(at, "kept");
		at = taken(mremap(at, nr / 2 * PAGE, nr * PAGE, MREMAP_MAYMOVE), nr * PAGE);
		sums.live -= nr / 2 * PAGE;
		if (strcmp(at, "kept") != 0)
			abort();
	}
	/* This fails, and changes nothing. */
	if (mremap(at, 64 * PAGE, (size_t)1 << 46, 0) != MAP_FAILED || munmap(at + 1, PAGE) == 0 ||
	    mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		abort();
}

OWN static void allocates_much(void)
{
	void *kept = NULL;

	for (int i = 0; i < 4; i++) {
		void *block = malloc(5 * MIB); /* for which the C library maps memory */

		if (!block)
			abort();
		memset(block, 1, 100);
		sums.heap_bytes += 5 * MIB;
		sums.heap_blocks++;
		if (i == 0)
			kept = block;
		else
			free(block);
	}
	kept = realloc(kept, 9 * MIB); /* and moves it */
	if (!kept)
		abort();
	sums.heap_bytes += 9 * MIB;
	sums.heap_blocks++;
	free(kept);
}

static void *rests(void *context)
{
	return context;
}

OWN static void runs_threads(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, rests, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void run_all(void)
{
	keeps_maps();
	borrows_maps();
	maps_files();
	cuts_maps();
	unmaps_two_at_once();
	replaces_maps();
	resizes_maps();
	allocates_much();
	runs_threads();
}

static int say(void)
{
	char text[200];
	int nr = snprintf(text, sizeof(text),
			  "{\"bytes\": %llu, \"blocks\": %llu, \"live\": %llu, \"cut\": %u, "
			  "\"heap_bytes\": %llu, \"heap_blocks\": %llu}\n",
			  sums.bytes, sums.blocks, sums.live, sums.cut, sums.heap_bytes,
			  sums.heap_blocks);

	return write(STDOUT_FILENO, text, (size_t)nr) != nr;
}

/* The child unmaps some of what it has inherited, before it maps memory of its own. */
static int forks(void)
{
	pid_t child;
	int status;

	run_all();
	child = fork();
	if (child) {
		if (waitpid(child, &status, 0) != child || status)
			return 3;
		return say();
	}
	munmap(kept_map, MIB);
	memset(&sums, 0, sizeof(sums));
	run_all();
	return say();
}

int main(int argc, char **argv)
{
	char line[8];

	if (argc == 2 && strcmp(argv[1], "fork") == 0)
		return forks();
	if (argc < 2 || strcmp(argv[1], "serve") != 0) {
		run_all();
		return say();
	}
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 2;
	while (read(STDIN_FILENO, line, sizeof(line)) > 0) {
		run_all();
		if (say())
			return 1;
	}
	return 0;
}
