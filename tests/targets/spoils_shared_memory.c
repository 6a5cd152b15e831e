// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * spoils_shared_memory HOW [PID|FILE]: calls counted() all the time, and allocates. Says "ready".
 *What profc shares with it, as soon as that is there, another thread
 *	fills	with words of all bits, or of none, or random ones;
 *	forges	with records that are marked as whole ones, also of the process PID;
 *	accuses	with short records of the processes 1 and PID by turns, as many as may be;
 *	leaves	beside one that it has made itself, as if a profc had been killed, of which the
 *patches are in FILE, mapped for reading only: so before it says "ready"; nothing	of it; keeps
 *a descriptor of, by a process that shares its own, and cuts, grows and punches the file. In the
 *end prints {"calls", "spoilt"}: how many calls it has made, and how often something was done.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "heap/heap_shared.h"
#include "inject/region.h"
#include "self_measure.h"

static _Atomic uint64_t calls;
static atomic_ulong *spoilt; /* shared with the helper */
static atomic_bool is_over;
static pid_t other_pid = 1;

NOINLINE void counted(void)
{
	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

static void *call(void *nothing)
{
	for (uint64_t i = 0; !is_over; i++) {
		char *volatile block = malloc(64 + i % 4096);

		counted();
		free(block);
	}
	return nothing;
}

static uint64_t random_word(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

struct range {
	uint8_t *start, *end;
};

/* The data of an installation; it may be gone while it is written to. */
static bool find_data(struct range *found)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	char line[512], modes[8];
	bool is_found = false;

	while (maps && !is_found && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/memfd:profc-probes") ||
		    sscanf(line, "%lx-%lx %7s %lx", &start, &end, modes, &offset) != 4 ||
		    strcmp(modes, "rw-s") != 0 || offset)
			continue;
		*found = (struct range){(uint8_t *)start, (uint8_t *)end};
		is_found = true;
	}
	if (maps)
		fclose(maps);
	return is_found;
}

static uint64_t word_of(unsigned how)
{
	return how % 3 == 0 ? UINT64_MAX : how % 3 == 1 ? 0 : random_word();
}

static int memory; /* by which the kernel says so where something is gone by now */

static bool put(void *to, const void *from, size_t nr)
{
	return pwrite(memory, from, nr, (off_t)(uintptr_t)to) == (ssize_t)nr;
}

static bool get(void *to, const void *from, size_t nr)
{
	return pread(memory, to, nr, (off_t)(uintptr_t)from) == (ssize_t)nr;
}

static void fill(uint8_t *start, uint8_t *end, unsigned how)
{
	uint64_t words[512];

	for (; start < end; start += sizeof(words)) {
		size_t nr = (size_t)(end - start) < sizeof(words) ? (size_t)(end - start)
								  : sizeof(words);

		for (size_t i = 0; i < 512; i++)
			words[i] = word_of(how);
		if (!put(start, words, nr))
			return;
		++*spoilt;
	}
}

#define AT(base, member)     ((uint8_t *)(base) + offsetof(struct heap_shared, member))
#define ALL_AT(base, member) ((uint8_t *)(base) + offsetof(struct heap_all, member))

static bool has_heap(const struct range *data)
{
	return (size_t)(data->end - data->start) > sizeof(struct heap_shared);
}

/* Where all is recorded struct heap_all is in front of the other. */
static bool is_all(const struct range *data)
{
	return (size_t)(data->end - data->start) >
	       sizeof(struct heap_shared) + sizeof(struct heap_all);
}

static void spoil_by_filling(const struct range *data, unsigned how)
{
	fill(data->start, data->end, how);
}

static uint64_t clock_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return monotonic_ns();
#endif
}

static uint64_t one_of(const uint64_t *values, size_t nr)
{
	uint64_t which = random_word() % (nr + 1);

	return which < nr ? values[which] : random_word();
}

#define ONE_OF(...)                                                                                \
	one_of((const uint64_t[]){__VA_ARGS__},                                                    \
	       sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* All that a record may have, in the order in which it has it. */
struct forged {
	struct heap_header header;
	uint64_t words[6];
	struct heap_caller caller;
};

/* Its words lie where readers expect them if it has all flags, and are any others without. */
static struct forged forged(uint64_t position)
{
	uint64_t here = (uint64_t)(uintptr_t)counted;
	uint64_t kind = ONE_OF(HEAP_RECORD_ALLOCATION, HEAP_RECORD_FREE, HEAP_RECORD_KEPT);
	uint64_t flags = ONE_OF(0xfc, 0xfc, HEAP_HAS_SIZE | HEAP_HAS_OLD);
	uint64_t pid = ONE_OF((uint64_t)getpid(), (uint64_t)other_pid, 1, 4000000);
	uint64_t tid = ONE_OF((uint64_t)getpid(), (uint64_t)other_pid, 1);

	return (struct forged){
		.header = {.commit = heap_commit_word(position),
			   .thread = (uint16_t)random_word(),
			   .kind = (uint8_t)(kind | flags),
			   .function = (uint8_t)ONE_OF(HEAP_MALLOC, HEAP_REALLOC, HEAP_MAP,
						       HEAP_UNMAP, HEAP_FREE)},
		.words = {ONE_OF(0x10000, 0x20000, 0x12345000, 0, UINT64_MAX),
			  ONE_OF(1, 4096, 1ull << 45, 1ull << 62, UINT64_MAX), ONE_OF(0, 1, 2),
			  ONE_OF(0, 0x10000, 0x20000),
			  ONE_OF(0, clock_now(), clock_now() + (1ull << 34), 1, UINT64_MAX),
			  tid << 32 | (uint32_t)pid},
		.caller = {.nr_stack_bytes = ONE_OF(0, 16, 4096, 70000),
			   .mean = ONE_OF(0, 1, 65536, HEAP_MEAN_MAX, UINT64_MAX),
			   .sp = (uint64_t)(uintptr_t)&here,
			   .pc = here}};
}

static void spoil_by_forging(const struct range *data)
{
	uint8_t *shared = data->end - sizeof(struct heap_shared);
	uint8_t *ring = AT(shared, ring);
	uint64_t nr_ring = HEAP_RING_BYTES, head;
	const uint64_t leaving = heap_exit_word(other_pid, other_pid);

	if (!has_heap(data)) {
		spoil_by_filling(data, 2);
		return;
	}
	if (is_all(data)) {
		ring = ALL_AT(shared - sizeof(struct heap_all), ring);
		nr_ring = HEAP_ALL_RING_BYTES;
	}
	if (!get(&head, AT(shared, head), sizeof(head)))
		return;
	head &= ~15ull;
	for (int i = 0; i < 200; i++) {
		uint64_t at = head & (nr_ring - 1);
		struct forged record = forged(head);
		uint64_t nr_bytes = heap_record_bytes(record.header.kind,
						      record.caller.nr_stack_bytes & 0x3fff0);

		if (nr_ring - at < sizeof(record) || !put(ring + at, &record, sizeof(record)))
			return;
		head += ONE_OF(nr_bytes, nr_bytes, 48, 32) & 0x3fff0;
	}
	*spoilt += put(AT(shared, head), &head, sizeof(head)) &&
		   put(AT(shared, exits), &leaving, sizeof(leaving));
}

/* So many bytes at a time. */
#define ACCUSED_BYTES (HEAP_ALL_RING_BYTES / 4)
/* Its own threads have lower numbers. */
#define ACCUSED_NAME (HEAP_NAMES - 2)

static void spoil_by_accusing(const struct range *data)
{
	struct heap_name names[2] = {{1, 1}, {other_pid, other_pid}};
	uint8_t *shared = data->end - sizeof(struct heap_shared);
	uint8_t *all = shared - sizeof(struct heap_all);
	struct {
		struct heap_header header;
		uint64_t pointer;
	} records[256];
	uint64_t head, tail, end;

	if (!has_heap(data) || !is_all(data) || !get(&head, AT(shared, head), sizeof(head)) ||
	    !get(&tail, AT(shared, tail), sizeof(tail)))
		return;
	if (head - tail > ACCUSED_BYTES) {
		usleep(1000);
		return;
	}
	if (!put(ALL_AT(all, names) + ACCUSED_NAME * sizeof(*names), names, sizeof(names)))
		return;
	head &= -(uint64_t)sizeof(records);
	for (end = head + ACCUSED_BYTES; head < end && !is_over; head += sizeof(records)) {
		for (unsigned i = 0; i < 256; i++) {
			records[i].header = (struct heap_header){
				.commit = heap_commit_word(head + i * sizeof(*records)),
				.thread = (uint16_t)(ACCUSED_NAME + i % 2),
				.kind = HEAP_RECORD_FREE,
				.function = HEAP_FREE};
			records[i].pointer = 0x10000;
		}
		if (!put(ALL_AT(all, ring) + (head & (HEAP_ALL_RING_BYTES - 1)), records,
			 sizeof(records)))
			return;
	}
	*spoilt += put(AT(shared, head), &head, sizeof(head));
}

static void *spoil(void *how)
{
	bool forges = strcmp(how, "forges") == 0, accuses = strcmp(how, "accuses") == 0;
	struct range data;

	for (unsigned i = 0; !is_over; i++) {
		if (!find_data(&data))
			usleep(1000);
		else if (forges)
			spoil_by_forging(&data);
		else if (accuses)
			spoil_by_accusing(&data);
		else
			spoil_by_filling(&data, i / 3);
	}
	return NULL;
}

static void keep(int next, pid_t parent)
{
	while (getppid() == parent) {
		int kept = fcntl(next, F_DUPFD, 100);

		if (kept < 0)
			continue;
		for (int i = 0; i < 1000 && getppid() == parent; i++) {
			struct stat found;

			*spoilt += ftruncate(kept, 0) == 0;
			if (fstat(kept, &found) == 0 && found.st_size)
				*spoilt +=
					fallocate(kept, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
						  0, 4096) == 0;
			*spoilt += ftruncate(kept, 1 << 30) == 0;
			usleep(1000);
		}
		close(kept);
	}
}

/* What is mapped of FILE is said to be what profc has written there. */
static void leave(const char *path)
{
	const size_t nr_data = 1 << 20;
	struct region_header header = {.nr_parts = 1, .head_bytes = nr_data, .data_bytes = 4096};
	const struct patch_row rows[] = {{.bytes_at = 0}, {.bytes_at = 10, .shape = 1}};
	struct patch shapes[2] = {{.nr_bytes = 5, .nr_steps = 1, .thunk = 0x9000},
				  {.nr_bytes = 5, .nr_steps = 1}};
	uint8_t bytes[20] = "spoil";
	struct stat namespace;
	char name[128];
	int fd, file = open(path, O_RDONLY);
	uint8_t *there = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0), *data;

	stat("/proc/self/ns/pid", &namespace);
	snprintf(name, sizeof(name), "profc-probes-2147483647-1-%llu",
		 (unsigned long long)namespace.st_ino);
	fd = memfd_create(name, 0);
	if (file < 0 || there == MAP_FAILED || fd < 0 || ftruncate(fd, (off_t)nr_data) < 0)
		exit(1);
	data = mmap(NULL, nr_data, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	memcpy(header.magic, REGION_MAGIC, sizeof(header.magic));
	header.patches_offset = 4096;
	header.nr_patches = header.nr_shapes = 2;
	header.nr_patch_bytes = sizeof(bytes);
	header.parts[0] = (struct region_part){.address = UINT64_MAX - 4095, .code_bytes = -1ull};
	shapes[0].address = (uint64_t)(uintptr_t)there;
	memcpy(bytes + 5, there, 5);
	shapes[1].address = UINT64_MAX - 4096;
	shapes[1].thunk = UINT64_MAX;
	shapes[1].nr_thunk_bytes = UINT16_MAX;
	memset(shapes[1].steps, 0xff, sizeof(shapes[1].steps));
	memset(shapes[1].pushed_to, 0xff, sizeof(shapes[1].pushed_to));
	memcpy(data + header.patches_offset, rows, sizeof(rows));
	memcpy(data + header.patches_offset + sizeof(rows), shapes, sizeof(shapes));
	memcpy(data + header.patches_offset + sizeof(rows) + sizeof(shapes), bytes, sizeof(bytes));
	memcpy(data, &header, sizeof(header));
	++*spoilt;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "fills";
	pthread_t caller, spoiler;
	pid_t helper = 0, self = getpid();
	bool has_spoiler = false;
	int next;
	char byte;

	memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	next = dup(0);
	close(next);
	if (argc > 2)
		other_pid = atoi(argv[2]);
	spoilt = mmap(NULL, sizeof(*spoilt), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (strcmp(how, "leaves") == 0)
		leave(argv[2]);
	else if (strcmp(how, "keeps") == 0) {
		helper = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
		if (helper == 0) {
			keep(next, self);
			_exit(0);
		}
	} else if (strcmp(how, "nothing") != 0) {
		has_spoiler = pthread_create(&spoiler, NULL, spoil, argv[1]) == 0;
	}
	pthread_create(&caller, NULL, call, NULL);
	say_ready();
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	is_over = true;
	pthread_join(caller, NULL);
	if (helper)
		kill(helper, SIGKILL);
	if (has_spoiler)
		pthread_join(spoiler, NULL);
	printf("{\"calls\": %llu, \"spoilt\": %lu}\n", (unsigned long long)calls, *spoilt);
	return 0;
}
