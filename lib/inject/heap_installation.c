// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts probes at the functions of an allocator, and finds out when they can be removed. */
#include "inject/heap_installation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "heap/heap_answer.h"
#include "heap/heap_code.h"
#include "heap/heap_ring.h"
#include "heap/patch_heap.h"
#include "inject/contexts.h"
#include "inject/machine.h"
#include "inject/region.h"
#include "inject/request.h"
#include "inject/stopped.h"
#include "patch/patch_table.h"
#include "proc/read.h"
#include "proc/target_memory.h"

#define ENDBR_BYTES 4
/* An allocator, with signal handlers on top of it, uses no more. */
#define STACK_BYTES ((size_t)1 << 20)

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Requests of one file are adjacent. No process has so many of these files that room is missing. */
static void note_code(struct heap_draft *draft, const struct heap_code_range *code)
{
	if (draft->nr_codes == HEAP_CODES ||
	    (draft->nr_codes && draft->codes[draft->nr_codes - 1].start == code->start))
		return;
	draft->codes[draft->nr_codes++] = *code;
}

void heap_draft_init(struct heap_draft *draft, const struct probe_request *requests,
		     size_t nr_requests, const struct heap_options *options, bool has_thread_data)
{
	*draft = (struct heap_draft){.threads = has_thread_data ? HEAP_THREADS_BY_DATA
						: inject_reads_thread_pointer()
							? HEAP_THREADS_BY_BASE
							: HEAP_THREADS_AS_ONE,
				     .is_all = options && options->is_all};
	draft->entries = xcalloc(2 * nr_requests + 1, sizeof(*draft->entries));
	for (size_t i = 0; i < nr_requests; i++) {
		if (!probe_is_of_heap(&requests[i]))
			continue;
		if (!heap_is_pool(&requests[i].heap->form) ||
		    requests[i].heap->kin == HEAP_KIN_OF_TABLE)
			note_code(draft, &requests[i].code->range);
		/* An allocator's request for memory is not an allocation within another one. */
		if (heap_maps(&requests[i].heap->form) || requests[i].heap->kin == HEAP_KIN_ALONE)
			continue;
		draft->entries[draft->nr_entries++] = requests[i].address;
		draft->entries[draft->nr_entries++] = requests[i].address + ENDBR_BYTES;
	}
	qsort(draft->entries, draft->nr_entries, sizeof(*draft->entries), compare_addresses);
}

void heap_draft_release(struct heap_draft *draft)
{
	free(draft->entries);
	draft->entries = NULL;
}

size_t heap_draft_code_bytes(void)
{
	size_t nr_bytes;

	heap_code(&nr_bytes);
	return nr_bytes;
}

void heap_draft_put_code(uint8_t *code)
{
	size_t nr_bytes;
	const uint8_t *bytes = heap_code(&nr_bytes);

	memcpy(code, bytes, nr_bytes);
}

static bool is_entry(const struct heap_draft *draft, uint64_t address)
{
	return bsearch(&address, draft->entries, draft->nr_entries, sizeof(address),
		       compare_addresses);
}

static uint64_t word_at(struct target_memory *memory, uint64_t address)
{
	uint64_t word;

	return target_memory_word(memory, address, &word) ? word : 0;
}

/* Does it call another function that is to be hooked? */
static bool calls_hooked(const struct heap_draft *draft, const struct probe_request *request,
			 struct target_memory *memory)
{
	bool does = false;

	for (size_t i = 0; i < request->heap->nr_callees && !does; i++) {
		uint64_t at = request->heap->callees[i].at + request->code->bias;

		does = is_entry(draft,
				request->heap->callees[i].is_word ? word_at(memory, at) : at);
	}
	return does;
}

static bool throws(const struct heap_form *form)
{
	return form->function == HEAP_NEW || form->function == HEAP_NEW_ALIGNED;
}

/*
 * A function that throws is counted by the hooked function that it calls, or replaced by another
 * one, or refused.
 */
static enum patch_outcome judge_throwing(const struct heap_draft *draft,
					 const struct probe_request *request,
					 struct target_memory *memory)
{
	if (calls_hooked(draft, request, memory))
		return PATCH_SAMPLED_BELOW;
	if (request->heap->kin == HEAP_KIN_OF_PLAIN)
		return PATCH_OK;
	/* It may call a function that an earlier installation watches. */
	return draft->is_later ? PATCH_SAMPLED_BELOW : PATCH_THROWS;
}

/* All blocks of this allocator would look leaked. */
static enum patch_outcome refuse_freeing(struct heap_draft *draft,
					 const struct probe_request *request,
					 enum patch_outcome outcome)
{
	if (draft->nr_unfreed < HEAP_CODES)
		draft->unfreed[draft->nr_unfreed++] = request->code->bias;
	return outcome;
}

/* malloc() and free() of an interpreter's table. */
static bool has_short_form(const struct probe_request *request)
{
	const struct heap_form *form = &request->heap->form;

	return request->heap->kin == HEAP_KIN_OF_TABLE && !form->count &&
	       (heap_frees(form) ? form->pointer == 2 : form->size == 2 && !form->pointer);
}

enum patch_outcome heap_draft_draw(struct heap_draft *draft, struct probe_request *request,
				   const struct patch_function *function, struct code_area *area,
				   const struct heap_place *place, struct target_memory *memory,
				   struct patch *patch)
{
	struct patch_heap heap = {.function = (enum heap_function)request->heap->form.function,
				  .hook = (uint32_t)draft->nr,
				  .threads = draft->threads,
				  .has_own_slots = draft->has_own_slots,
				  .is_all = draft->is_all,
				  .is_of_table = has_short_form(request),
				  .shared = place->shared,
				  .rules = place->rules,
				  .stub = place->stub};
	struct heap_hook *hook = &draft->hooks[draft->nr];
	enum patch_outcome outcome;

	if (!heap_draft_code_bytes())
		return PATCH_UNSUPPORTED;
	if (draft->nr == HEAP_HOOKS)
		return PATCH_NO_ROOM;
	if (throws(&request->heap->form)) {
		outcome = judge_throwing(draft, request, memory);
		if (outcome)
			return outcome;
	} else if (!heap_frees(&request->heap->form) && !heap_maps(&request->heap->form)) {
		heap.is_framed = calls_hooked(draft, request, memory);
	}
	outcome = patch_heap_entry(patch, function, request->code->branches, area, &heap,
				   &hook->original);
	/* A free that is too short for a probe may call another one, which is watched instead. */
	if (outcome && heap_frees(&request->heap->form) && !heap_is_pool(&request->heap->form))
		return calls_hooked(draft, request, memory)
			       ? PATCH_SAMPLED_BELOW
			       : refuse_freeing(draft, request, outcome);
	if (outcome)
		return outcome;
	hook->form = request->heap->form;
	draft->modules[draft->nr] = request->code->bias;
	draft->requests[draft->nr++] = request;
	return PATCH_OK;
}

/* The plain function of a hook's allocator; 0: it has none. */
static uint64_t plain_of(const struct heap_draft *draft, size_t hook, enum heap_function function)
{
	for (size_t i = 0; i < draft->nr; i++) {
		if (draft->modules[i] == draft->modules[hook] &&
		    draft->requests[i]->heap->kin == HEAP_KIN_PLAIN &&
		    draft->hooks[i].form.function == function)
			return draft->hooks[i].original;
	}
	return 0;
}

static void refuse(struct heap_draft *draft, size_t hook, enum patch_outcome outcome,
		   struct patch_table_maker *patches)
{
	draft->requests[hook]->outcome = outcome;
	patch_table_void(patches, draft->requests[hook]->counter);
}

static bool is_unfreed(const struct heap_draft *draft, size_t hook)
{
	const struct heap_form *form = &draft->hooks[hook].form;

	for (size_t i = 0; i < draft->nr_unfreed; i++) {
		if (draft->unfreed[i] == draft->modules[hook])
			return !heap_is_pool(form) && !heap_maps(form) && !heap_frees(form) &&
			       form->function != HEAP_EXIT;
	}
	return false;
}

void heap_draft_finish(struct heap_draft *draft, struct patch_table_maker *patches)
{
	for (size_t i = 0; i < draft->nr; i++) {
		struct heap_hook *hook = &draft->hooks[i];
		bool is_aligned = hook->form.function == HEAP_NEW_ALIGNED;

		hook->plain = plain_of(draft, i, is_aligned ? HEAP_MEMALIGN : HEAP_MALLOC);
		if (is_unfreed(draft, i))
			refuse(draft, i, PATCH_NOT_FREED, patches);
		else if (throws(&hook->form) && !hook->plain)
			refuse(draft, i, PATCH_THROWS, patches);
	}
}

void heap_draft_rules(const struct heap_draft *draft, const struct heap_options *options,
		      pid_t own_pid, struct heap_rules *rules)
{
	*rules = (struct heap_rules){.threads = draft->threads,
				     .has_cycles = heap_ring_has_cycles(),
				     .frees_have_stacks = options->free_stacks,
				     .is_all = options->is_all,
				     .owner_pid = own_pid,
				     .has_own_slots = draft->has_own_slots,
				     .reads_base = inject_reads_thread_pointer()};
	memcpy(rules->hooks, draft->hooks, sizeof(rules->hooks));
	memcpy(rules->codes, draft->codes, sizeof(rules->codes));
}

/* A forked child has 0 there, by which it learns that it is a child. */
static void tell_owner(struct heap_ring *ring, struct target_memory *memory)
{
	const int64_t pid = ring->owner_pid;
	uint64_t at = ring->private_address + offsetof(struct heap_private, pid);

	if (!target_memory_put(memory, at, &pid, sizeof(pid)))
		ring->owner_pid = 0; /* it has ended */
}

void heap_draft_share(struct heap_ring *ring, const struct heap_options *options,
		      struct target_memory *memory)
{
	struct heap_shared *shared = ring->shared;

	shared->mean = options->mean;
	shared->stack_bytes = options->stack_bytes;
	shared->waits_at_exit = options->is_searched;
	shared->visits.now_ns = clock_monotonic_ns();
	heap_answer_begin(ring, memory);
	tell_owner(ring, memory);
}

/* -- where threads have their ids -- */

/* Wherever all threads have theirs, if it is neither the place of musl nor that of glibc. */
static const int32_t ids_at[] = {HEAP_ID_AT_MUSL, HEAP_ID_AT_GLIBC};
#define DATA_BYTES  (HEAP_DATA_BELOW_BYTES + HEAP_DATA_ABOVE_BYTES)
#define THREADS_MAX 64

struct thread_data {
	int32_t tid;
	int32_t words[DATA_BYTES / sizeof(int32_t)]; /* 0: not readable */
};

/* The first and the last of its pages may not be there. */
static void read_data(struct thread_data *data, uint64_t at, struct target_memory *memory)
{
	uint64_t start = at - HEAP_DATA_BELOW_BYTES, end = at + HEAP_DATA_ABOVE_BYTES;

	while (start < end) {
		uint64_t next = min_u64(page_start(start) + page_bytes(), end);
		uint8_t *to = (uint8_t *)data->words + (start - (at - HEAP_DATA_BELOW_BYTES));

		target_memory_read_at_once(memory, start, to, next - start);
		start = next;
	}
}

static bool has_id_at(const struct thread_data *data, int32_t at)
{
	return data->words[(at + HEAP_DATA_BELOW_BYTES) / (int32_t)sizeof(data->words[0])] ==
	       data->tid;
}

static bool have_ids_at(const struct thread_data *threads, size_t nr, int32_t at)
{
	for (size_t i = 0; i < nr; i++) {
		if (!has_id_at(&threads[i], at))
			return false;
	}
	return nr > 0;
}

static int32_t find_ids(const struct thread_data *threads, size_t nr)
{
	for (size_t i = 0; i < sizeof(ids_at) / sizeof(ids_at[0]); i++) {
		if (have_ids_at(threads, nr, ids_at[i]))
			return ids_at[i];
	}
	for (int32_t at = -HEAP_DATA_BELOW_BYTES;
	     nr && threads[0].tid >= HEAP_ID_MIN && at < HEAP_DATA_ABOVE_BYTES;
	     at += (int32_t)sizeof(threads[0].words[0])) {
		if (have_ids_at(threads, nr, at))
			return at;
	}
	return 0;
}

/* In another PID namespace only the main thread's id in that namespace is known. */
int32_t heap_find_id_at(const struct stopped *stopped, pid_t own_pid, struct target_memory *memory,
			uint64_t *main_data)
{
	const size_t nr_max = (size_t)min_u64(stopped->nr, THREADS_MAX);
	struct thread_data *threads = xcalloc(nr_max + 1, sizeof(*threads));
	int32_t found;
	size_t nr = 0;

	for (size_t i = 0; i < stopped->nr && nr < nr_max; i++) {
		uint64_t at = stopped_thread_pointer(&stopped->threads[i]);
		bool is_main = stopped->threads[i].tid == stopped->pid;

		if (!at || (!is_main && own_pid != stopped->pid))
			continue;
		if (is_main && main_data)
			*main_data = at;
		threads[nr].tid = is_main ? own_pid : stopped->threads[i].tid;
		read_data(&threads[nr++], at, memory);
	}
	found = find_ids(threads, nr);
	free(threads);
	return found;
}

void heap_find_ids(const struct heap_ring *ring, const struct stopped *stopped,
		   struct target_memory *memory)
{
	uint64_t main_data = 0;
	int32_t at = heap_find_id_at(stopped, ring->owner_pid, memory, &main_data);

	heap_answer_ids(ring, memory, at, main_data);
}

/* -- removal -- */

struct finding {
	bool is_found;
};

static void found_context(void *owner, struct context *context)
{
	struct finding *finding = owner;

	(void)context;
	finding->is_found = true;
}

static bool has_context_in(uint64_t start, uint64_t end, struct stopped *stopped,
			   struct target_memory *memory)
{
	struct finding finding = {.is_found = false};
	const struct context_search search = {.start = start,
					      .end = end,
					      .stack_bytes = STACK_BYTES,
					      .found = found_context,
					      .owner = &finding};

	contexts_for_each(stopped, memory, &search);
	return finding.is_found;
}

/* The stub marks its frames by a word that depends on its address. */
static bool has_marker_from(struct target_memory *memory, uint64_t sp, uint64_t *words)
{
	uint64_t address = sp & ~UINT64_C(7), end = address + STACK_BYTES;
	size_t got = CONTEXTS_PIECE_BYTES;
	bool is_found = false;

	_Static_assert(STACK_BYTES % CONTEXTS_PIECE_BYTES == 0, "read in whole pieces");
	for (; got == CONTEXTS_PIECE_BYTES && address != end; address += got) {
		got = target_memory_read_at_once(memory, address, words, CONTEXTS_PIECE_BYTES);
		for (size_t k = 0; k < got / sizeof(*words); k++)
			is_found |= words[k] == ((address + k * 8) ^ HEAP_MARKER_KEY);
	}
	return is_found;
}

static bool has_marker(const struct stopped *stopped, struct target_memory *memory)
{
	uint64_t *words = xmalloc(CONTEXTS_PIECE_BYTES);
	bool is_found = false;

	for (size_t i = 0; i < stopped->nr && !is_found; i++)
		is_found =
			has_marker_from(memory, stopped_stack_pointer(&stopped->threads[i]), words);
	for (size_t i = 0; i < stopped->nr_sleepers && !is_found; i++)
		is_found = has_marker_from(memory, stopped->sleepers[i].sp, words);
	free(words);
	return is_found;
}

/* As stacks are: so many fit in as many bytes. */
#define THREADS_AT_ONCE (CONTEXTS_PIECE_BYTES / sizeof(struct heap_thread))

static bool is_in_flight(const struct region_header *header, struct target_memory *memory)
{
	struct heap_thread *threads = xcalloc(THREADS_AT_ONCE, sizeof(*threads));
	uint64_t at = header->private_address + offsetof(struct heap_private, in_flight);
	uint64_t threads_at = header->private_address + offsetof(struct heap_private, threads);
	int64_t nr;
	bool is = !target_memory_get(memory, at, &nr, sizeof(nr)) || nr;

	_Static_assert(HEAP_THREADS % THREADS_AT_ONCE == 0, "read in whole pieces");
	for (size_t k = 0; k < HEAP_THREADS && !is; k += THREADS_AT_ONCE) {
		is = !target_memory_get(memory, threads_at + k * sizeof(*threads), threads,
					THREADS_AT_ONCE * sizeof(*threads));
		for (size_t i = 0; i < THREADS_AT_ONCE && !is; i++)
			is = threads[i].in_flight != 0;
	}
	free(threads);
	return is;
}

bool heap_is_in_use(const struct region_header *header, struct stopped *stopped,
		    struct target_memory *memory)
{
	if (!header->heap_offset)
		return false;
	if (is_in_flight(header, memory) || has_marker(stopped, memory))
		return true;
	for (uint32_t i = 0; i < header->nr_parts; i++) {
		uint64_t start = region_code(header, i);

		if (has_context_in(start, start + header->blob_bytes, stopped, memory))
			return true;
	}
	return false;
}
