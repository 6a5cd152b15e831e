// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * child_spoils HOW [MS]: the threads of a process allocate and call counted() for MS milliseconds
 *(1000). A child, which becomes another user first, spoils the memory that profc shares with both:
 *it fills	with words of all bits, or of none, or random ones, from end to end;
 *	aims	at words that are used as addresses or bounds, with values that are nearly right;
 *	breaks	in: makes profc's code writable and changes it, opens its files, grows its mappings,
 *		writes to its parent.
 * The parent checks its blocks. Prints {"calls", "spoilt", "broken"}: the number of calls, how
 *often the child wrote to everything, and how many attempts to break in succeeded.
 */
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "heap/heap_shared.h"
#include "self_measure.h"

#define THREADS_NR 3
#define NOBODY	   65534
#define DEEP	   40

struct told {
	atomic_ulong calls, spoilt, broken;
	atomic_bool is_over;
};

static struct told *told; /* shared with the child */

NOINLINE void counted(void)
{
	atomic_fetch_add_explicit(&told->calls, 1, memory_order_relaxed);
}

/* -- the parent -- */

static void die(const char *why)
{
	fprintf(stderr, "child_spoils: %s\n", why);
	abort();
}

static void check(const uint8_t *block, size_t nr, uint8_t with)
{
	for (size_t i = 0; i < nr; i += 64) {
		if (block[i] != with)
			die("a block is not as it was written");
	}
}

NOINLINE void allocate(unsigned depth, size_t nr)
{
	uint8_t with = (uint8_t)(nr * 7 + depth);
	uint8_t *volatile block;
	void *aligned = NULL;

	if (depth) {
		allocate(depth - 1, nr);
		counted();
		return;
	}
	block = nr % 2 ? malloc(nr) : calloc(1, nr);
	if (!block)
		die("no memory");
	memset(block, with, nr);
	if (nr % 8 == 0) {
		block = realloc(block, 2 * nr);
		check(block, nr, with);
		memset(block, with, 2 * nr);
	}
	if (nr % 32 == 0 && (posix_memalign(&aligned, 64, nr) || (uintptr_t)aligned % 64))
		die("no aligned memory");
	check(block, nr, with);
	free(aligned);
	free(block);
}

static void *work(void *nothing)
{
	for (unsigned i = 0; !told->is_over; i++) {
		allocate(i % DEEP, 16 + i % 5000);
		if (i % 512 == 0) {
			void *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			*(volatile char *)at = 1;
			munmap(at, 65536);
		}
	}
	return nothing;
}

/* -- the child -- */

static uint64_t random_word(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

struct area {
	uint8_t *start, *end;
	char modes[8];
	unsigned long offset;
};

#define AREAS_MAX 64

static size_t find_areas(struct area *areas)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];
	size_t nr = 0;

	while (maps && nr < AREAS_MAX && fgets(line, sizeof(line), maps)) {
		struct area *area = &areas[nr];

		if (!strstr(line, "/memfd:profc-probes") ||
		    sscanf(line, "%lx-%lx %7s %lx", &start, &end, area->modes, &area->offset) != 4)
			continue;
		area->start = (uint8_t *)start;
		area->end = (uint8_t *)end;
		nr++;
	}
	if (maps)
		fclose(maps);
	return nr;
}

static bool is_data(const struct area *area)
{
	return strcmp(area->modes, "rw-s") == 0;
}

static void fill(const struct area *area, unsigned how)
{
	volatile uint64_t *word = (uint64_t *)(void *)area->start;
	volatile uint64_t *end = (uint64_t *)(void *)area->end;

	for (; word < end && !told->is_over; word++)
		*word = how % 3 == 0 ? UINT64_MAX : how % 3 == 1 ? 0 : random_word();
}

/* The ring seems full, but changes before a waiting thread gives up. */
static void aim_at_ring(struct heap_shared *shared, bool is_all)
{
	uint64_t ring_bytes = is_all ? HEAP_ALL_RING_BYTES : HEAP_RING_BYTES;

	for (int i = 0; i < 20000 && !told->is_over; i++) {
		uint64_t head = random_word() & ~15ull;

		__atomic_store_n(&shared->head, head, __ATOMIC_RELAXED);
		__atomic_store_n(&shared->tail, head - ring_bytes + random_word() % 64,
				 __ATOMIC_RELAXED);
		if (i % 4 == 0) /* unaligned, and near the end of the ring */
			__atomic_store_n(&shared->head, ring_bytes - 1 - random_word() % 40,
					 __ATOMIC_RELAXED);
		__atomic_store_n(&shared->is_over, 0, __ATOMIC_RELAXED);
	}
}

static void aim_at_countdowns(struct heap_shared *shared)
{
	for (int i = 0; i < 100 && !told->is_over; i++) {
		for (size_t k = 0; k < HEAP_SLOTS; k++) {
			struct heap_slot *slot = &shared->slots[k];

			slot->countdown = -(int64_t)(random_word() >> 8);
			slot->mean = random_word();
		}
		for (size_t k = 0; k < HEAP_OWN_SLOTS; k++)
			shared->own_slots[k].slot.countdown = -(int64_t)(random_word() >> 8);
		shared->nr_claimed = random_word() % 3 ? random_word() % 600 : random_word();
		shared->used_pages = random_word();
		shared->mean = random_word() % 3 ? 1 : random_word();
		shared->stack_bytes = (uint32_t)random_word();
	}
}

/* Values that would make the parent read unmapped memory. */
static void aim_at_memory(struct heap_shared *shared, struct heap_all *all)
{
	for (size_t i = 0; i < HEAP_THREAD_STACKS; i++) {
		struct heap_stack_question *stack = &shared->stacks[i];

		stack->answered_owner = heap_stack_owner(stack->data, stack->pid, stack->tid);
		stack->answered_low = 4096;
		stack->wanted = 4096;
	}
	shared->asked.nr_stacks++;
	shared->asked.nr_writable++;
	shared->asked.nr_places++;
	shared->asked.writable_pid = shared->asked.places_pid = (int32_t)random_word() % 8;
	if (!all)
		return;
	all->nr_names = random_word() % 2 ? 1 : random_word();
	for (size_t i = 0; i < HEAP_NAMES; i++)
		all->names[i] = (struct heap_name){getppid(), (int32_t)random_word()};
	all->nr_code = (uint32_t)random_word();
	for (size_t i = 0; i < HEAP_STEPS; i++) {
		all->steps[i].cfa_offset = random_word() % 2 ? 16 : (int32_t)random_word();
		all->steps[i].fp_offset = (int16_t)random_word();
		all->steps[i].flags = (uint16_t)random_word() & 14;
	}
}

static void aim(const struct area *area)
{
	size_t nr = (size_t)(area->end - area->start);
	struct heap_shared *shared =
		(struct heap_shared *)(void *)(area->end - sizeof(struct heap_shared));
	bool is_all = nr > sizeof(*shared) + sizeof(struct heap_all);

	if (nr < sizeof(*shared)) {
		fill(area, 2);
		return;
	}
	aim_at_ring(shared, is_all);
	aim_at_countdowns(shared);
	aim_at_memory(shared, is_all ? (struct heap_all *)(void *)shared - 1 : NULL);
}

static void note_broken(const char *what)
{
	fprintf(stderr, "child_spoils: %s\n", what);
	told->broken++;
}

/* Open a mapped file again: its descriptor is closed. */
static void break_file(const struct area *area)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)area->start,
		 (unsigned long)area->end);
	fd = open(path, O_RDWR);
	if (fd < 0)
		return;
	if (!is_data(area) &&
	    (pwrite(fd, "spoil", 5, (off_t)area->offset) >= 0 ||
	     mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED))
		note_broken("a file of code was written to");
	close(fd);
}

/* Spoil the child's own copy of the code. */
static void break_code(const struct area *area)
{
	size_t nr = (size_t)(area->end - area->start);

	if (mprotect(area->start, nr, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
		memset(area->start, 0xf4, nr); /* hlt */
}

/* Grow the mapping of the data into the next part of the file. */
static void break_data(const struct area *area)
{
	size_t nr = (size_t)(area->end - area->start);
	uint8_t *moved = mremap(area->start, nr, nr + (1 << 20), MREMAP_MAYMOVE);
	int memory = open("/proc/self/mem", O_RDWR);

	if (moved != MAP_FAILED && pwrite(memory, "spoil", 5, (off_t)(uintptr_t)(moved + nr)) >= 0)
		note_broken("there is more behind the data");
	close(memory);
}

static void break_parent(const struct area *area)
{
	struct iovec here = {.iov_base = (void *)(uintptr_t) "spoil", .iov_len = 5};
	struct iovec there = {.iov_base = area->start, .iov_len = 5};
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
	if (process_vm_writev(getppid(), &here, 1, &there, 1, 0) >= 0 || open(path, O_RDWR) >= 0 ||
	    ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0)
		note_broken("the parent was written to");
}

static void look_for_descriptors(void)
{
	char path[64], link[128];

	for (int fd = 0; fd < 256; fd++) {
		ssize_t nr;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		nr = readlink(path, link, sizeof(link) - 1);
		link[nr > 0 ? nr : 0] = 0;
		if (strstr(link, "profc-probes"))
			note_broken("a descriptor is open");
	}
}

static void break_all(const struct area *areas, size_t nr)
{
	look_for_descriptors();
	for (size_t i = 0; i < nr; i++) {
		break_parent(&areas[i]);
		break_file(&areas[i]);
		if (is_data(&areas[i]))
			break_data(&areas[i]);
	}
	told->spoilt++;
	for (size_t i = 0; i < nr; i++) {
		if (!is_data(&areas[i]))
			break_code(&areas[i]);
	}
}

static void spoil(const char *how)
{
	struct area areas[AREAS_MAX];

	for (unsigned round = 0; !told->is_over; round++) {
		size_t nr = find_areas(areas);

		if (strcmp(how, "breaks") == 0)
			break_all(areas, nr);
		for (size_t i = 0; i < nr; i++) {
			if (!is_data(&areas[i]))
				continue;
			if (strcmp(how, "aims") == 0)
				aim(&areas[i]);
			else
				fill(&areas[i], round);
			told->spoilt++;
		}
		usleep(100);
	}
}

static void become_nobody(void)
{
	if (geteuid() != 0)
		return;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		die("cannot become another user");
}

/* -- */

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "fills";
	useconds_t us = (useconds_t)(argc > 2 ? atoi(argv[2]) : 1000) * 1000;
	pthread_t threads[THREADS_NR];
	int status;
	pid_t child;

	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < THREADS_NR; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	usleep(100000); /* let profc start first */
	child = fork();
	if (child == 0) {
		become_nobody();
		spoil(how);
		_exit(0);
	}
	usleep(us);
	told->is_over = true;
	for (int i = 0; i < THREADS_NR; i++)
		pthread_join(threads[i], NULL);
	/* A child that has broken its own code may die of it. */
	if (waitpid(child, &status, 0) != child || (status && strcmp(how, "breaks") != 0))
		die("the child did not end by itself");
	printf("{\"calls\": %lu, \"spoilt\": %lu, \"broken\": %lu}\n", told->calls, told->spoilt,
	       told->broken);
	return 0;
}
