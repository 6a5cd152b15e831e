// SPDX-License-Identifier: GPL-2.0-or-later
/* The blob where memory is mapped, and where the process ends. */
#include <linux/mman.h>

#include "heap/heap_blob_priv.h"

/* -- mappings -- */

static bool is_of_library(const struct heap_frame *frame)
{
	for (int i = 0; i < HEAP_CODES; i++) {
		if (frame->pc - rules.codes[i].start < rules.codes[i].end - rules.codes[i].start)
			return true;
	}
	return false;
}

/* Other mappings show files that programs share, or keep address space for later. */
static bool is_memory(uint64_t protection, uint64_t flags)
{
	return (uint32_t)protection != PROT_NONE &&
	       (flags & MAP_ANONYMOUS || (flags & MAP_TYPE) == MAP_PRIVATE);
}

/* Memory that the blob may read as soon as it is mapped: no program has to bring it. */
static bool is_at_hand(uint64_t protection, uint64_t flags)
{
	return (protection & (PROT_READ | PROT_WRITE)) == (PROT_READ | PROT_WRITE) &&
	       flags & MAP_ANONYMOUS && (flags & MAP_TYPE) == MAP_PRIVATE &&
	       !(flags & (MAP_HUGETLB | MAP_GROWSDOWN));
}

static void emit_range(struct request *request, enum heap_record_kind kind, uint64_t start,
		       uint64_t nr_bytes)
{
	request->size = nr_bytes;
	if (nr_bytes)
		heap_emit(request, kind, start);
}

/* The record of a mapping at a fixed address also ends the ranges that it replaces. */
static struct outcome map(struct request *request, bool is_recorded)
{
	const uint64_t *with = request->frame->arguments;
	struct outcome outcome = {.jump = 0};

	if (with[3] & MAP_FIXED)
		heap_forget_mapped(with[0], with[1]);
	outcome.result = heap_call_function(request, request->hook->original);
	if (outcome.result >= -PAGE_BYTES)
		return outcome;
	if (is_at_hand(with[2], with[3]))
		heap_note_mapped(outcome.result, with[1]);
	if (!is_recorded)
		return outcome;
	if (is_memory(with[2], with[3]))
		emit_range(request, HEAP_RECORD_ALLOCATION, outcome.result, with[1]);
	else if (with[3] & MAP_FIXED)
		emit_range(request, HEAP_RECORD_FREE, outcome.result, with[1]);
	return outcome;
}

/* Both records follow the call, as mremap() often fails: the mapping cannot grow in place. */
static struct outcome remap(struct request *request)
{
	const uint64_t *with = request->frame->arguments;
	struct outcome outcome = {.result = heap_call_function(request, request->hook->original)};

	if (outcome.result >= -PAGE_BYTES)
		return outcome;
	if (!(with[3] & MREMAP_DONTUNMAP) && with[1]) {
		emit_range(request, HEAP_RECORD_FREE, with[0], with[1]);
		request->old = with[0];
		request->was_sampled = true;
	}
	emit_range(request, HEAP_RECORD_ALLOCATION, outcome.result, with[2]);
	return outcome;
}

struct outcome heap_on_map(struct request *request)
{
	const uint64_t *with = request->frame->arguments;
	uint32_t which = request->hook->form.function;
	bool is_recorded = !is_of_library(request->frame) && !is_nested(request);

	if (which == HEAP_MAP)
		return map(request, is_recorded);
	heap_forget_mapped(with[0], with[1]);
	if (which == HEAP_REMAP && with[3] & MREMAP_FIXED)
		heap_forget_mapped(with[4], with[2]);
	if (!is_recorded)
		return (struct outcome){.jump = request->hook->original};
	if (which == HEAP_REMAP)
		return remap(request);
	if (with[0] % PAGE_BYTES == 0) /* else it fails */
		emit_range(request, HEAP_RECORD_FREE, with[0], with[1]);
	return (struct outcome){.jump = request->hook->original};
}

/* -- the end of the process -- */

static uint64_t *claim_exit(uint64_t word)
{
	for (int i = 0; i < HEAP_EXITS; i++) {
		uint64_t none = 0;

		if (!relaxed_load(&shared.exits[i]) && exchange(&shared.exits[i], &none, word))
			return &shared.exits[i];
	}
	return 0;
}

/* Some seconds, on any processor. */
#define EXIT_CYCLES (UINT64_C(20) << 30)
#define EXIT_SPINS  (UINT64_C(1) << 28)

/* Waits until profc lets the process go, or has ended its searches, or the time is up. */
static void wait_to_go(const uint64_t *exit, uint64_t word)
{
	uint64_t begun = rules.has_cycles ? machine_clock() : 0;

	for (uint64_t i = 0; i < EXIT_SPINS; i++) {
		if (__atomic_load_n(exit, __ATOMIC_ACQUIRE) != word ||
		    !relaxed_load(&shared.waits_at_exit) ||
		    (rules.has_cycles && machine_clock() - begun > EXIT_CYCLES))
			return;
		machine_pause();
	}
}

/*
 * A process without a recorded block does not wait. profc lets a child of vfork(2) go, which has
 * the memory of its parent.
 */
struct outcome heap_on_exit(const struct request *request)
{
	int64_t pid = relaxed_load(&heap_own()->pid);
	struct heap_frame *frame = request->frame;
	uint64_t *exit = 0;
	uint64_t word;

	/*
	 * Besides the status, registers hold no pointers that the program keeps: the search must
	 * not find any.
	 */
	for (int i = 1; i < HEAP_ARGUMENTS; i++)
		frame->arguments[i] = 0;
	for (int i = 0; i < HEAP_SCRATCH; i++)
		frame->scratch[i] = 0;

	word = heap_exit_word((int32_t)pid, (int32_t)heap_own_tid());
	if (pid > 0 && relaxed_load(&shared.waits_at_exit))
		exit = claim_exit(word);
	if (exit) {
		wait_to_go(exit, word);
		exchange(exit, &word, 0);
	}
	return (struct outcome){.jump = request->hook->original};
}
