// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples the allocations of programs, and prints what came of it as JSON:
 *
 *	heap [--mean N] [--stack N] [--ms N] [--cycles N] [--crash] PID
 *	heap [--mean N] [--stack N] -- COMMAND [ARGUMENT...]
 *
 * A process is sampled for so long (0: until standard input ends), then freed of all probes, and
 * that again; a command is until it ends. For a process a line "on" is printed when it is sampled
 * for the first time. With --crash it ends in the midst of that, as if it were killed.
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "heap/heap_names.h"
#include "heap/heap_record.h"
#include "heap/heap_ring.h"
#include "probe/prober.h"
#include "tracee/launch.h"

#define LIVE_LOG2 21

struct known {
	uint64_t pointer;
	pid_t pid;
	double bytes;
};

struct totals {
	uint64_t allocated_bytes, nr_allocations, nr_dropped, nr_lost, nr_lost_frees;
	uint64_t nr_samples, nr_frees, nr_kept, nr_unmatched, nr_doubled, nr_pids;
	uint64_t max_stack_bytes;
	size_t nr_functions; /* found in the files, once each */
	double estimated, variance, live;
	pid_t first_pid, last_pid;
	struct known *known; /* open addressing; pointer 0: free, 1: was taken away */
};

static void look_at_symbols(Elf *elf, GElf_Word type,
			    bool (*each)(struct wanted *, const char *, const GElf_Sym *),
			    struct wanted *wanted)
{
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		GElf_Shdr header;
		Elf_Data *symbols;

		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		symbols = elf_getdata(section, NULL);
		for (int i = 0; symbols && (size_t)i < header.sh_size / header.sh_entsize; i++) {
			GElf_Sym symbol;
			const char *name;

			if (!gelf_getsym(symbols, i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
			    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
				continue;
			name = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (name && !each(wanted, name, &symbol))
				return;
		}
	}
}

static bool note_start(struct wanted *wanted, const char *name, const GElf_Sym *symbol)
{
	(void)name;
	wanted_add_start(wanted, symbol->st_value);
	return true;
}

static bool note_function(struct wanted *wanted, const char *name, const GElf_Sym *symbol)
{
	enum heap_function function;

	if (heap_function_of(name, &function)) {
		const struct heap_form form = heap_form_of(function);
		enum heap_kin kin = heap_name_is_plain(name) ? HEAP_KIN_PLAIN
				    : function == HEAP_NEW || function == HEAP_NEW_ALIGNED
					    ? HEAP_KIN_OF_PLAIN
					    : HEAP_KIN_NONE;

		wanted_add_heap(wanted, &form, kin, symbol->st_value, symbol->st_size, name);
	}
	return true;
}

static bool has_malloc(const struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->nr_places; i++) {
		if (strcmp(wanted->places[i].name, "malloc") == 0)
			return true;
	}
	return false;
}

/* prober_options.find */
static void find(void *context, const struct probe_file *file, struct wanted *wanted)
{
	struct totals *totals = context;
	Elf *elf;

	if (strstr(file->path, "/ld-linux"))
		return;
	elf = elf_begin(file->fd, ELF_C_READ, NULL);
	look_at_symbols(elf, SHT_DYNSYM, note_function, wanted);
	look_at_symbols(elf, SHT_SYMTAB, note_function, wanted);
	if (!has_malloc(wanted)) {
		wanted_release(wanted);
	} else {
		totals->nr_functions += wanted->nr_places;
		look_at_symbols(elf, SHT_DYNSYM, note_start, wanted);
		look_at_symbols(elf, SHT_SYMTAB, note_start, wanted);
	}
	elf_end(elf);
}

static struct known *slot_of(struct totals *totals, pid_t pid, uint64_t pointer, bool to_add)
{
	uint64_t hash = (pointer ^ (uint64_t)pid << 48) * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t mask = (UINT64_C(1) << LIVE_LOG2) - 1;
	struct known *room = NULL;

	for (uint64_t i = hash >> (64 - LIVE_LOG2);; i++) {
		struct known *known = &totals->known[i & mask];

		if (known->pointer == pointer && known->pid == pid)
			return known;
		if (known->pointer <= 1 && !room)
			room = known;
		if (!known->pointer)
			return to_add ? room : NULL;
	}
}

static void add_known(struct totals *totals, const struct heap_record *record, double bytes)
{
	struct known *known = slot_of(totals, record->pid, record->pointer, true);

	if (known->pointer == record->pointer) {
		totals->nr_doubled++;
		totals->live -= known->bytes;
	}
	*known = (struct known){record->pointer, record->pid, bytes};
	totals->live += bytes;
}

static void drop_known(struct totals *totals, const struct heap_record *record)
{
	struct known *known = slot_of(totals, record->pid, record->pointer, false);

	totals->nr_frees++;
	if (!known) {
		totals->nr_unmatched++;
		return;
	}
	totals->live -= known->bytes;
	known->pointer = 1;
}

static void add_record(struct totals *totals, const struct heap_record *record)
{
	double mean = (double)record->mean;
	double share = record->mean ? 1 - exp(-(double)record->size / mean) : 1;

	if (!totals->first_pid)
		totals->first_pid = record->pid;
	if (record->pid != totals->last_pid && record->pid != totals->first_pid)
		totals->nr_pids++;
	totals->last_pid = record->pid;
	if (record->nr_stack_bytes > totals->max_stack_bytes)
		totals->max_stack_bytes = record->nr_stack_bytes;
	switch (record->kind) {
	case HEAP_RECORD_ALLOCATION:
		totals->nr_samples++;
		totals->estimated += (double)record->size / share;
		totals->variance +=
			(double)record->size / share * (double)record->size / share * (1 - share);
		add_known(totals, record, (double)record->size / share);
		break;
	case HEAP_RECORD_FREE:
		drop_known(totals, record);
		break;
	case HEAP_RECORD_KEPT:
		totals->nr_kept++;
		add_known(totals, record, 0);
		break;
	case HEAP_RECORD_SKIP:
		break;
	}
}

static uint64_t patience_ns; /* added to the time, to be done with what is never ended */

static void drain(struct totals *totals, struct heap_ring *heap)
{
	struct heap_record record;

	while (heap_ring_next(heap, clock_monotonic_ns() + patience_ns, &record)) {
		heap_ring_count(heap, &record);
		add_record(totals, &record);
	}
}

static void add_up(struct totals *totals, struct heap_ring *heap)
{
	struct heap_totals found;

	drain(totals, heap);
	heap_ring_totals(heap, &found);
	totals->allocated_bytes += found.allocated_bytes;
	totals->nr_allocations += found.nr_allocations;
	totals->nr_dropped += found.nr_dropped;
	totals->nr_lost += found.nr_lost;
	totals->nr_lost_frees += found.nr_frees;
}

#define RINGS_MAX 64

static void for_each_ring(struct prober *prober,
			  void (*each)(struct totals *totals, struct heap_ring *heap),
			  struct totals *totals)
{
	struct prober_ring rings[RINGS_MAX];
	size_t nr = prober_rings(prober, rings, RINGS_MAX, true);

	for (size_t i = 0; i < nr && i < RINGS_MAX; i++)
		each(totals, rings[i].ring);
}

static void print(const struct totals *totals, size_t nr_left, double ns, int status)
{
	printf("{\"allocated_bytes\":%" PRIu64 ",\"allocations\":%" PRIu64 ",\"samples\":%" PRIu64
	       ",\"estimated_bytes\":%.0f,\"sigma_bytes\":%.0f,\"live_bytes\":%.0f,",
	       totals->allocated_bytes, totals->nr_allocations, totals->nr_samples,
	       totals->estimated, sqrt(totals->variance), totals->live);
	printf("\"frees\":%" PRIu64 ",\"kept\":%" PRIu64 ",\"unmatched_frees\":%" PRIu64
	       ",\"doubled\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"lost\":%" PRIu64
	       ",\"lost_frees\":%" PRIu64 ",\"other_pids\":%" PRIu64 ",\"stack_bytes\":%" PRIu64,
	       totals->nr_frees, totals->nr_kept, totals->nr_unmatched, totals->nr_doubled,
	       totals->nr_dropped, totals->nr_lost, totals->nr_lost_frees, totals->nr_pids,
	       totals->max_stack_bytes);
	printf(",\"functions\":%zu,\"left\":%zu,\"ns\":%.0f,\"status\":%d}\n", totals->nr_functions,
	       nr_left, ns, status);
	fflush(stdout);
}

struct options {
	struct heap_options heap;
	uint64_t ms, nr_cycles;
	bool crashes;
};

static int failed(const struct err *err)
{
	fprintf(stderr, "heap: %s\n", err->what);
	return 1;
}

static bool has_input_ended(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) > 0;
}

/* 0: until standard input ends. */
static void sample_for(struct prober *prober, struct totals *totals, uint64_t ms)
{
	uint64_t end_ns = clock_monotonic_ns() + ms * NS_PER_MS;
	const struct timespec pause = {.tv_nsec = (long)(2 * NS_PER_MS)};

	while (ms ? clock_monotonic_ns() < end_ns : !has_input_ended()) {
		for_each_ring(prober, drain, totals);
		nanosleep(&pause, NULL);
	}
}

static int sample_process(const struct options *options, struct totals *totals, pid_t pid)
{
	size_t nr_left = 0;
	uint64_t begun_ns = clock_monotonic_ns();

	for (uint64_t i = 0; i < options->nr_cycles; i++) {
		struct err err = ERR_INIT;
		struct prober *prober =
			prober_new(&(const struct prober_options){.find = find,
								  .context = totals,
								  .max_places = 1000,
								  .heap = options->heap});
		size_t nr;

		if (prober_attach(prober, pid, &err) < 0)
			return failed(&err);
		if (i == 0) {
			printf("on\n");
			fflush(stdout);
		}
		sample_for(prober, totals, options->ms);
		if (options->crashes)
			_exit(0);
		prober_remove(prober, &nr, &err);
		nr_left += nr;
		if (nr)
			failed(&err);
		patience_ns = i + 1 == options->nr_cycles ? 2 * NS_PER_SEC : 0;
		for_each_ring(prober, add_up, totals);
		if (patience_ns)
			for_each_ring(prober, drain, totals);
		prober_free(prober);
		/* What is freed while nothing is hooked is not told. */
		memset(totals->known, 0, sizeof(*totals->known) << LIVE_LOG2);
	}
	print(totals, nr_left, (double)(clock_monotonic_ns() - begun_ns), 0);
	return 0;
}

static int sample_command(const struct options *options, struct totals *totals, char **argv)
{
	struct prober *prober = prober_new(&(const struct prober_options){
		.find = find, .context = totals, .max_places = 1000, .heap = options->heap});
	struct child_signals signals = {.ignores_children = false};
	struct launch launch;
	struct err err = ERR_INIT;
	size_t nr_left = 0;
	int status = 0;

	sigemptyset(&signals.mask);
	if (launch_start(&launch, argv, &signals, &err) < 0)
		return failed(&err);
	status = prober_launch(prober, &launch, &err);
	if (status || err.code < 0) {
		fprintf(stderr, "heap: %s (%d)\n", status ? strerror(status) : err.what, err.code);
		return 1;
	}
	prober_let_go(prober);
	while (waitpid(launch.pid, &status, WNOHANG) == 0)
		sample_for(prober, totals, 2);
	patience_ns = 2 * NS_PER_SEC;
	for_each_ring(prober, drain, totals);
	for_each_ring(prober, add_up, totals);
	prober_remove(prober, &nr_left, &err);
	print(totals, nr_left, 0, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	launch_release(&launch);
	prober_free(prober);
	return 0;
}

static bool read_option(struct options *options, int argc, char **argv, int *at)
{
	uint64_t value = *at + 1 < argc ? strtoull(argv[*at + 1], NULL, 10) : 0;

	if (strcmp(argv[*at], "--crash") == 0) {
		options->crashes = true;
		*at += 1;
		return true;
	}
	if (strcmp(argv[*at], "--all") == 0) {
		options->heap.is_all = true;
		*at += 1;
		return true;
	}
	if (strcmp(argv[*at], "--mean") == 0)
		options->heap.mean = value;
	else if (strcmp(argv[*at], "--stack") == 0)
		options->heap.stack_bytes = (uint32_t)value;
	else if (strcmp(argv[*at], "--ms") == 0)
		options->ms = value;
	else if (strcmp(argv[*at], "--cycles") == 0)
		options->nr_cycles = value;
	else
		return false;
	*at += 2;
	return true;
}

int main(int argc, char **argv)
{
	struct options options = {
		.heap = {.mean = 512 << 10, .stack_bytes = 8192}, .ms = 100, .nr_cycles = 1};
	struct totals totals = {.known = xcalloc((size_t)1 << LIVE_LOG2, sizeof(struct known))};
	int at = 1, status = 2;

	elf_version(EV_CURRENT);
	while (at < argc && read_option(&options, argc, argv, &at))
		;
	if (at + 1 < argc && strcmp(argv[at], "--") == 0)
		status = sample_command(&options, &totals, argv + at + 1);
	else if (at + 1 == argc)
		status = sample_process(&options, &totals, (pid_t)strtol(argv[at], NULL, 10));
	else
		fprintf(stderr, "usage: heap [OPTION...] PID | -- COMMAND...\n");
	free(totals.known);
	return status;
}
