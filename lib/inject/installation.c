// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts probes into a process. */
#include "inject/installation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/read_ahead.h"
#include "heap/heap_ring.h"
#include "inject/access.h"
#include "inject/heap_installation.h"
#include "inject/machine.h"
#include "inject/pads.h"
#include "inject/patched.h"
#include "inject/patched_look.h"
#include "inject/placing.h"
#include "inject/region.h"
#include "inject/remote.h"
#include "inject/removal.h"
#include "inject/standstill.h"
#include "inject/stopped.h"
#include "patch/gate.h"
#include "patch/note.h"
#include "proc/read.h"
#include "proc/target_memory.h"

/* Read at each place: enough for the longest window and the padding after it. */
#define READ_BYTES 64
/* Code of a probe, on average: thunks of 40 to 96 bytes, aligned. */
#define THUNK_ROOM_BYTES 128
/* The same with a gate. */
#define GATED_ROOM_BYTES 256
/* Words and the stub at the beginning of a part's code. */
#define HEAD_ROOM_BYTES 512
/* The same at an allocator. */
#define HEAP_THUNK_ROOM_BYTES 256
/* The process may take an address before it is mapped for us. */
#define MAKE_TRIES 4

struct installation {
	struct region region;
	struct region_counters counters;
	struct patched patched;
	struct heap_ring heap; /* if the region has one */
	bool has_owners;       /* threads have to have their own word at fs:0 */
	bool is_kept;	       /* set by installation_look() */
	pid_t pid;
	uint64_t made_ticks; /* when the patches were written, since boot */
};

/* An installation before it is in the process. */
struct draft {
	const struct probe_access *access;
	struct probe_request *requests;
	size_t nr_requests;
	struct probe_gate *gate;		 /* NULL: there is none */
	const struct heap_options *heap_options; /* or NULL */
	bool has_heap_before;
	uint32_t nr_spans; /* functions that are timed */
	bool has_notes;	   /* of calls of futex(2) */
	struct heap_draft heap;
	struct region_plan plan;
	size_t first_of_part[REGION_PARTS_MAX + 1]; /* indexes of requests */
	uint8_t *code[REGION_PARTS_MAX];	    /* owned */
	size_t nr_code_bytes[REGION_PARTS_MAX];	    /* the rest of its room stays empty */
	struct patch_table_maker patches;
	struct patch drawn[2]; /* of the last patch, and of the next; by number in turn */
	const struct probe_request *drawn_for; /* the last patch; or NULL */
	size_t owners_at;		       /* of a word in all parts' code */
	bool trusts_files;		       /* until a process' code is found to differ */
	read_ahead_source *read_file;	       /* or NULL */
	/* of the process; of one file at functions, and between them; owned, NULL until used */
	struct read_ahead *memory, *file, *between;
	const struct probe_code *last_code; /* of the last patch, if it is in code, */
	uint64_t last_end;		    /* and its end */
	struct pads pads;		    /* if there are static probes */
};

/* Where counts may be. */
enum copies {
	COPIES_ONE,	  /* all threads share one */
	COPIES_SHARED,	  /* several, chosen by the thread's data */
	COPIES_OF_OWNERS, /* of which most belong to one thread each */
};

static void draft_release(struct draft *draft)
{
	for (uint32_t i = 0; i < REGION_PARTS_MAX; i++)
		free(draft->code[i]);
	patch_table_maker_release(&draft->patches);
	free(draft->memory);
	free(draft->file);
	pads_release(&draft->pads);
	free(draft->between);
	heap_draft_release(&draft->heap);
}

static uint64_t code_room(const struct draft *draft, size_t first, size_t end)
{
	uint64_t nr_bytes = HEAD_ROOM_BYTES + draft->plan.blob_bytes;

	for (size_t i = first; i < end; i++)
		nr_bytes += probe_is_of_heap(&draft->requests[i]) ? HEAP_THUNK_ROOM_BYTES
			    : draft->gate || draft->nr_spans || draft->requests[i].is_syscall
				    ? GATED_ROOM_BYTES
				    : THUNK_ROOM_BYTES;
	return page_align(nr_bytes);
}

/* Decides which requests share a part, and where its memory will be. */
static int place_parts(struct draft *draft, struct err *err)
{
	const uint64_t data_reach_bytes = PATCH_DATA_REACH_BYTES;
	struct region_plan *plan = &draft->plan;
	struct placing places[REGION_PARTS_MAX];
	size_t i = 0;

	while (i < draft->nr_requests) {
		uint64_t first = draft->requests[i].address;
		size_t begun = i;

		if (plan->nr_parts == REGION_PARTS_MAX)
			return err_set(err, ERR_LIMIT, "code is in more than %d places",
				       REGION_PARTS_MAX);
		while (i < draft->nr_requests &&
		       draft->requests[i].address - first < PATCH_SPAN_BYTES)
			i++;
		places[plan->nr_parts] = (struct placing){.first = first,
							  .last = draft->requests[i - 1].address +
								  draft->requests[i - 1].nr_bytes};
		plan->parts[plan->nr_parts].code_bytes = code_room(draft, begun, i);
		draft->first_of_part[plan->nr_parts++] = begun;
		draft->first_of_part[plan->nr_parts] = i;
	}
	region_plan_data(plan);
	for (uint32_t k = 0; k < plan->nr_parts; k++) {
		places[k].nr_bytes = region_plan_bytes(plan, k, !data_reach_bytes);
		places[k].nr_data_bytes = data_reach_bytes ? plan->data_bytes : 0;
		places[k].data_reach_bytes = data_reach_bytes;
	}
	if (placing_find(draft->access->pid, target_memory_maps(draft->access->memory), places,
			 plan->nr_parts, err) < 0) {
		if (plan->has_all)
			err_hint(err, "a sample of the blocks, without --mem=all, needs less room");
		return err->code;
	}
	for (uint32_t k = 0; k < plan->nr_parts; k++) {
		plan->parts[k].address = places[k].found;
		plan->parts[k].data_address = places[k].nr_data_bytes
						      ? places[k].found_data
						      : places[k].found + plan->head_bytes;
	}
	return 0;
}

static size_t read_process(void *memory, uint64_t address, void *out, size_t nr_bytes)
{
	return target_memory_read(memory, address, out, nr_bytes);
}

static size_t read_memory_at(struct draft *draft, uint64_t address, uint8_t *bytes, size_t nr_bytes)
{
	if (!draft->memory) {
		draft->memory = xmalloc(sizeof(*draft->memory));
		draft->memory->read = read_process;
		draft->memory->context = draft->access->memory;
		draft->memory->is_of_file = false;
		draft->memory->nr_bytes = 0;
	}
	return read_ahead_get(draft->memory, address, bytes, nr_bytes);
}

/* A reader of another file; the places that are read there follow each other. */
static struct read_ahead *ahead_in(const struct draft *draft, struct read_ahead **ahead,
				   const struct probe_code *code)
{
	struct read_ahead *former = *ahead;

	if (former && former->context == code->file)
		return former;
	if (!former)
		*ahead = xmalloc(sizeof(**ahead));
	(*ahead)->read = draft->read_file;
	(*ahead)->context = code->file;
	(*ahead)->is_of_file = true;
	(*ahead)->nr_bytes = 0;
	return *ahead;
}

static size_t read_file_at(struct draft *draft, const struct probe_request *request, uint8_t *bytes,
			   size_t nr_bytes)
{
	const struct probe_code *code = request->code;

	return read_ahead_get(ahead_in(draft, &draft->file, code), request->address - code->bias,
			      bytes, nr_bytes);
}

/*
 * Probes may be drawn from the bytes of the file: before they are written, the memory of the
 * process is compared with these.
 */
static size_t read_code(struct draft *draft, const struct probe_request *request, uint8_t *bytes)
{
	const struct probe_of_heap *heap = request->heap;

	if (draft->trusts_files && heap && heap->nr_file_bytes >= READ_BYTES) {
		memcpy(bytes, heap->file_bytes, READ_BYTES);
		return READ_BYTES;
	}
	return draft->trusts_files && !heap && draft->read_file
		       ? read_file_at(draft, request, bytes, READ_BYTES)
		       : read_memory_at(draft, request->address, bytes, READ_BYTES);
}

/*
 * Does the code differ from that of the file? A breakpoint at the first byte of a function is taken
 * out of the bytes, and told.
 */
static bool differs_from_file(struct draft *draft, const struct probe_request *request,
			      uint8_t *bytes, size_t nr, bool *has_breakpoint)
{
	const struct probe_of_heap *heap = request->heap;
	uint8_t read[PATCH_MAX_BYTES];
	const uint8_t *file_bytes = heap ? heap->file_bytes : NULL;
	size_t nr_file_bytes = file_bytes ? heap->nr_file_bytes : 0;
	bool is_window = request->is_site || request->is_syscall;
	bool is_entry = !request->is_call && !request->is_exit && !is_window;

	*has_breakpoint = false;
	if (draft->trusts_files && !heap)
		return false;
	if (!file_bytes && draft->read_file) {
		nr_file_bytes = read_file_at(draft, request, read, PATCH_MAX_BYTES);
		file_bytes = read;
	}
	/* As many as the longest window has. */
	nr = min_u64(nr, min_u64(nr_file_bytes, PATCH_MAX_BYTES));
	if (!file_bytes || !nr)
		return false;
	/* The next function may have a breakpoint, too. */
	if ((is_entry || is_window) && request->nr_bytes)
		nr = min_u64(nr, request->nr_bytes);
	if (is_entry && bytes[0] != file_bytes[0] && patch_is_breakpoint(bytes[0])) {
		*has_breakpoint = true;
		bytes[0] = file_bytes[0];
	}
	return memcmp(bytes, file_bytes, nr) != 0;
}

/* The last one that was drawn, and where the next one is to be. */
static const struct patch *last_patch(const struct draft *draft)
{
	return &draft->drawn[(draft->patches.nr - 1) % 2];
}

static struct patch *next_patch(struct draft *draft)
{
	return &draft->drawn[draft->patches.nr % 2];
}

/* Where the program has its own allocator in front, that calls the functions, which have probes. */
static enum patch_outcome draw_word(const struct draft *draft, const struct probe_request *request,
				    struct patch *patch)
{
	uint64_t word;

	if (!target_memory_word(draft->access->memory, request->address, &word))
		return PATCH_UNLOADED;
	if (word != request->heap->word)
		return PATCH_OTHER_POINTER;
	patch_word(patch, request->address, request->heap->word, request->heap->new_word);
	return PATCH_OK;
}

/* Where the next probe is to be; 0: nowhere. */
static uint64_t next_address(const struct draft *draft, const struct probe_request *request)
{
	return request + 1 < draft->requests + draft->nr_requests ? request[1].address : 0;
}

static enum patch_outcome draw_site(struct draft *draft, const struct probe_request *request,
				    const struct patch_function *function, struct code_area *area,
				    const struct patch_counter *counter)
{
	struct patch *patch = next_patch(draft);
	enum patch_outcome outcome =
		patch_site(patch, function, request->code->branches, area, counter);
	uint64_t next = next_address(draft, request);

	if (outcome)
		return outcome;
	if (request->has_other_word)
		return PATCH_OTHER_WORD;
	if (next && next < request->address + PATCH_SITE_BYTES)
		return PATCH_TAKEN;
	patch->callee = request->semaphore;
	for (unsigned int i = 0; i < PATCH_PADS_MAX; i++) {
		if (patch_has_pad(patch, i) &&
		    !pads_add(&draft->pads, patch_pad(patch, i), patch->thunk))
			return PATCH_PAD_TAKEN;
	}
	return PATCH_OK;
}

/* A landing pad in front of the jump is not patched by itself, but room for the program's own is.
 */
#define PAD_BYTES 4

/*
 * The bytes that are replaced are compared with the process when the patches are prepared: those
 * that are passed over are, here.
 */
static enum patch_outcome draw_entry(struct draft *draft, const struct probe_request *request,
				     const struct patch_function *function, struct code_area *area,
				     const struct patch_counter *counter)
{
	struct patch *patch = next_patch(draft);
	enum patch_outcome outcome =
		patch_entry(patch, function, request->code->branches, area, counter);
	uint8_t there[READ_BYTES];
	size_t nr;

	if (outcome || !draft->trusts_files)
		return outcome;
	nr = (size_t)(patch->address - patch->nr_before - request->address);
	if (nr <= PAD_BYTES || nr > sizeof(there))
		return PATCH_OK;
	return read_memory_at(draft, request->address, there, nr) == nr &&
			       memcmp(there, function->bytes, nr) == 0
		       ? PATCH_OK
		       : PATCH_DIFFERS_FROM_FILE;
}

static enum patch_outcome draw(struct draft *draft, struct probe_request *request,
			       struct code_area *area, const struct patch_counter *counter,
			       const struct heap_place *heap)
{
	uint8_t bytes[READ_BYTES];
	size_t nr = read_code(draft, request, bytes);
	struct patch_function function = {.address = request->address,
					  .nr_bytes = request->nr_bytes,
					  .bias = request->code->bias,
					  .bytes = bytes,
					  .nr_readable = nr,
					  .is_plain = request->is_plain,
					  .spared_from = next_address(draft, request)};
	struct patch *patch = next_patch(draft);

	if (nr == 0)
		return PATCH_UNLOADED;
	if (differs_from_file(draft, request, bytes, nr, &function.has_breakpoint))
		return PATCH_DIFFERS_FROM_FILE;
	if (draft->nr_spans && !counter->owners)
		return PATCH_NO_ROOM;
	if (request->is_site)
		return draw_site(draft, request, &function, area, counter);
	if (request->is_exit)
		return nr < request->nr_bytes
			       ? PATCH_UNKNOWN_CODE
			       : patch_exit(patch, request->address, bytes, request->nr_bytes,
					    request->exit_at, area, counter);
	if (probe_is_of_heap(request) && heap_is_pool(&request->heap->form) &&
	    draft->has_heap_before)
		return PATCH_LOADED_LATER;
	if (probe_is_of_heap(request))
		return heap_draft_draw(&draft->heap, request, &function, area, heap,
				       draft->access->memory, patch);
	if (request->is_syscall)
		return patch_syscall(patch, &function, request->code->branches, area, counter);
	return request->is_call ? patch_call(patch, request->address, bytes, nr, area, counter)
				: draw_entry(draft, request, &function, area, counter);
}

/*
 * Probes must not overlap: if a call lies in a function's first bytes, the function's probe wins;
 * of any others that at the lower address.
 */
static bool overlaps_last(const struct draft *draft, const struct probe_request *request)
{
	const struct patch *last = draft->patches.nr ? last_patch(draft) : NULL;

	return last && request->address < last->address + patch_nr_known(last);
}

static bool counts_each_pass(const struct probe_request *request)
{
	switch (request->pass) {
	case PATCH_COUNT:
	case PATCH_COUNT_WITHIN:
	case PATCH_ENTER:
	case PATCH_SPAN_BEGIN:
	case PATCH_SPAN_FROM:
		return !request->heap;
	case PATCH_LEAVE:
	case PATCH_SPAN_END:
	case PATCH_SPAN_LEAVE:
	case PATCH_SPAN_TO:
	case PATCH_NOTE:
		break;
	}
	return false;
}

/* A call that every entry reaches is counted by the entry probe, if that counts. */
static void share_last(const struct draft *draft, struct probe_request *request)
{
	const struct patch *last = last_patch(draft);

	request->counter = (uint32_t)draft->patches.nr - 1;
	request->outcome = PATCH_TAKEN;
	if (!request->is_call || last->kind != PATCH_ENTRY)
		return;
	request->outcome =
		counts_each_pass(draft->drawn_for) && patch_always_calls(last, request->address)
			? PATCH_OK
			: PATCH_BEHIND_ENTRY;
}

static uint64_t gate_table(const struct draft *draft)
{
	return draft->plan.gate_bytes ? region_plan_gate(&draft->plan) : draft->gate->table;
}

/* A thread counted on entry but not on exit would stay inside for ever. */
static int check_gate(const struct draft *draft, struct err *err)
{
	for (size_t i = 0; i < draft->nr_requests; i++) {
		const struct probe_request *request = &draft->requests[i];
		bool is_of_gate = request->is_exit || request->pass == PATCH_ENTER ||
				  request->pass == PATCH_SPAN_BEGIN ||
				  request->pass == PATCH_SPAN_FROM ||
				  request->pass == PATCH_SPAN_TO;

		if (is_of_gate && request->outcome != PATCH_OK)
			return err_set(err, ERR_INVALID, "%s: at a way %s: %s",
				       draft->nr_spans
					       ? "calls of a function of --spans cannot be timed"
					       : "calls inside of the function of --within cannot "
						 "be counted",
				       request->is_exit ? "out of it" : "into it",
				       patch_outcome_text(request->outcome));
	}
	return 0;
}

/* Words that thunks read, in this order, at the beginning of the code that is not the blob's. */
enum { HEAD_BASE, HEAD_GATE, HEAD_OWNERS, HEAD_END, HEAD_COUNT };

/* Patches that are further apart are never written at once. */
#define BETWEEN_BYTES 4096
#define FEW_REQUESTS  64

static uint16_t breakpoints_between(struct draft *draft, const struct probe_code *code,
				    uint64_t start, uint64_t end)
{
	uint8_t bytes[BETWEEN_BYTES];
	size_t nr_bytes = (size_t)(end - start), got;

	if (!draft->read_file || end - start > sizeof(bytes))
		return 0;
	/* Allocators have few functions: more than what is wanted would be read in vain. */
	got = draft->nr_requests < FEW_REQUESTS
		      ? draft->read_file(code->file, start - code->bias, bytes, nr_bytes)
		      : read_ahead_get(ahead_in(draft, &draft->between, code), start - code->bias,
				       bytes, nr_bytes);
	return got == nr_bytes ? patch_breakpoints_of(bytes, nr_bytes) : 0;
}

static void add_patch(struct draft *draft, struct probe_request *request)
{
	const struct patch *patch = next_patch(draft);
	bool is_code = patch->kind != PATCH_WORD;

	if (!patch_table_add(&draft->patches, patch)) {
		request->outcome = PATCH_NO_ROOM;
		return;
	}
	if (is_code && draft->last_code == request->code)
		patch_table_note(
			&draft->patches, draft->patches.nr - 2,
			breakpoints_between(draft, request->code, draft->last_end, patch->address));
	draft->last_code = is_code ? request->code : NULL;
	draft->last_end = patch->address + patch->nr_bytes;
}

static void draw_part(struct draft *draft, uint32_t part)
{
	const struct region_plan *plan = &draft->plan;
	uint64_t counters = region_plan_counters(plan, part);
	const uint64_t heads[HEAD_COUNT] = {
		[HEAD_BASE] = counters,
		[HEAD_GATE] = draft->gate ? gate_table(draft) : 0,
		[HEAD_END] = region_plan_counters_end(plan, part),
	};
	struct code_area area = {.address = region_plan_code(plan, part),
				 .bytes = draft->code[part],
				 .cap_bytes = plan->parts[part].code_bytes};

	const struct heap_place heap = {.shared = region_plan_heap(plan, part),
					.rules = area.address,
					.stub = area.address + sizeof(struct heap_rules)};
	uint64_t head = area.address + ((plan->blob_bytes + 15) & ~UINT64_C(15));
	struct patch_owners owners = {
		.table_word = head + HEAD_OWNERS * sizeof(uint64_t),
		.end_word = head + HEAD_END * sizeof(uint64_t),
		.claimed = counters +
			   region_counter_index(&plan->counters, REGION_CLAIMED) * sizeof(uint64_t),
		.nr_copies = plan->counters.nr_own,
		.reads_base = inject_reads_thread_pointer(),
	};
	struct patch_counter counter = {
		.base_word = head + HEAD_BASE * sizeof(uint64_t),
		.nr_shards = plan->counters.nr_shards,
		.shard_log2 = plan->counters.shard_log2,
		.gate_word = head + HEAD_GATE * sizeof(uint64_t),
		.missed = counters +
			  region_counter_index(&plan->counters, REGION_MISSED) * sizeof(uint64_t),
		.owners = plan->counters.nr_own ? &owners : NULL,
		.nr_spans = plan->counters.nr_spans,
		.id_at = counters +
			 region_counter_index(&plan->counters, REGION_ID_AT) * sizeof(uint64_t),
	};

	if (plan->has_heap)
		heap_draft_put_code(area.bytes);
	area.nr_bytes = head - area.address;
	memset(area.bytes + plan->blob_bytes, 0, area.nr_bytes - plan->blob_bytes);
	draft->owners_at = owners.table_word - area.address;
	memcpy(area.bytes + area.nr_bytes, heads, sizeof(heads));
	area.nr_bytes += sizeof(heads);
	if (counter.owners && (!patch_stub(&owners, &counter, &area) ||
			       (draft->nr_spans && !patch_slow_stub(&owners, &counter, &area))))
		counter.owners = NULL; /* as on a processor without one */
	if (plan->counters.has_notes)
		counter.notes = region_plan_notes(plan, part);
	for (size_t i = draft->first_of_part[part]; i < draft->first_of_part[part + 1]; i++) {
		struct probe_request *request = &draft->requests[i];

		counter.offset = (uint32_t)(draft->patches.nr * sizeof(uint64_t));
		counter.address = counters + counter.offset;
		counter.pass = request->pass;
		counter.gate = &request->code->gate;
		counter.span = region_span_offset(&plan->counters, request->gate);
		counter.slow = region_plan_slow(plan, part, request->gate);
		counter.return_at = request->return_at;
		if (overlaps_last(draft, request)) {
			share_last(draft, request);
			continue;
		}
		request->counter = (uint32_t)draft->patches.nr;
		if (probe_is_of_word(request))
			request->outcome = draw_word(draft, request, next_patch(draft));
		else
			request->outcome = draw(draft, request, &area, &counter, &heap);
		if (request->outcome == PATCH_OK)
			add_patch(draft, request);
		if (request->outcome == PATCH_OK)
			draft->drawn_for = request;
	}
	draft->nr_code_bytes[part] = area.nr_bytes;
}

static uint32_t nr_spans_of(const struct draft *draft)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < draft->nr_requests; i++) {
		const struct probe_request *request = &draft->requests[i];

		if (request->pass >= PATCH_SPAN_BEGIN && request->pass <= PATCH_SPAN_TO)
			nr = (uint32_t)max_u64(nr, request->gate + UINT64_C(1));
	}
	return nr;
}

static bool has_notes(const struct draft *draft)
{
	for (size_t i = 0; i < draft->nr_requests; i++) {
		if (draft->requests[i].is_syscall)
			return true;
	}
	return false;
}

static bool has_sites(const struct draft *draft)
{
	for (size_t i = 0; i < draft->nr_requests; i++) {
		if (draft->requests[i].is_site)
			return true;
	}
	return false;
}

/* Private memory of the probes comes to lie below the first part, see region.c. */
#define PRIVATE_BYTES ((uint64_t)64 << 20)

static bool begin_pads(struct draft *draft)
{
	const struct region_plan *plan = &draft->plan;

	if (!pads_begin(&draft->pads, draft->access->pid))
		return false;
	for (uint32_t i = 0; i < plan->nr_parts; i++) {
		uint64_t start = plan->parts[i].address;

		pads_take(&draft->pads, start - min_u64(start, i ? 0 : PRIVATE_BYTES),
			  start + region_plan_bytes(plan, i, true));
	}
	return true;
}

static bool counts_calls(const struct draft *draft)
{
	for (size_t i = 0; i < draft->nr_requests; i++) {
		if (!draft->requests[i].heap && !draft->requests[i].is_syscall)
			return true;
	}
	return false;
}

static bool lacks_function(const struct draft *draft, uint64_t bias)
{
	for (size_t i = 0; i < draft->nr_requests; i++) {
		const struct probe_request *request = &draft->requests[i];

		if (probe_is_of_heap(request) && request->heap->kin == HEAP_KIN_OF_TABLE &&
		    request->code->bias == bias && request->outcome != PATCH_OK)
			return true;
	}
	return false;
}

/*
 * Of an interpreter's allocator all functions are watched, or none: else blocks would be missing,
 * or look leaked. The patch stays, as counters have its number, and changes nothing.
 */
static void refuse_incomplete(struct draft *draft)
{
	for (size_t i = 0; i < draft->nr_requests; i++) {
		struct probe_request *request = &draft->requests[i];

		if (!request->heap || request->heap->kin != HEAP_KIN_OF_TABLE ||
		    request->outcome != PATCH_OK || !lacks_function(draft, request->code->bias))
			continue;
		patch_table_void(&draft->patches, request->counter);
		request->outcome = PATCH_INCOMPLETE;
	}
}

/* Makes all bytes, before anything is stopped. */
static int draw_all(struct draft *draft, enum copies copies, struct err *err)
{
	bool is_sharded = copies != COPIES_ONE;
	struct region_plan *plan = &draft->plan;

	draft_release(draft);
	*draft = (struct draft){.access = draft->access,
				.requests = draft->requests,
				.nr_requests = draft->nr_requests,
				.gate = draft->gate,
				.heap_options = draft->heap_options,
				.has_heap_before = draft->has_heap_before,
				.nr_spans = nr_spans_of(draft),
				.has_notes = has_notes(draft),
				.trusts_files = draft->trusts_files,
				.read_file = draft->read_file};
	if (draft->gate && !is_sharded)
		return err_set(err, ERR_INVALID,
			       "calls inside of a function cannot be counted in process %d: its "
			       "threads have no data of their own yet",
			       (int)draft->access->pid);
	if (draft->nr_spans && copies != COPIES_OF_OWNERS)
		return err_set(err, ERR_INVALID,
			       "calls in process %d cannot be timed: its threads have no data of "
			       "their own, or no memory is free near its code",
			       (int)draft->access->pid);
	heap_draft_init(&draft->heap, draft->requests, draft->nr_requests, draft->heap_options,
			is_sharded);
	draft->heap.has_own_slots = copies == COPIES_OF_OWNERS && !draft->heap.is_all;
	draft->heap.is_later = draft->has_heap_before;
	plan->has_heap = draft->heap.nr_entries > 0;
	plan->has_all = plan->has_heap && draft->heap_options && draft->heap_options->is_all;
	plan->blob_bytes = plan->has_heap ? heap_draft_code_bytes() : 0;
	plan->gate_bytes = draft->gate && !draft->gate->table ? GATE_BYTES : 0;
	plan->counters = region_counters_for(draft->nr_requests, is_sharded,
					     copies == COPIES_OF_OWNERS && counts_calls(draft),
					     draft->nr_spans);
	plan->counters.has_notes = draft->has_notes;
	plan->nr_patches = draft->nr_requests;
	if (place_parts(draft, err) < 0)
		return err->code;
	if (has_sites(draft) && !begin_pads(draft))
		return err_set(err, ERR_GONE, "process %d has ended", (int)draft->access->pid);
	for (uint32_t i = 0; i < plan->nr_parts; i++) {
		draft->code[i] = xmalloc(plan->parts[i].code_bytes);
		draw_part(draft, i);
	}
	heap_draft_finish(&draft->heap, &draft->patches);
	refuse_incomplete(draft);
	if ((draft->gate || draft->nr_spans) && check_gate(draft, err) < 0)
		return err->code;
	return draft->patches.nr ? 0 : err_set(err, ERR_EMPTY, "nothing can be counted");
}

static bool has_patch_in_sled(const struct draft *draft)
{
	for (size_t i = 0; i < draft->patches.nr_shapes; i++) {
		if (draft->patches.shapes[i].is_in_sled)
			return true;
	}
	return false;
}

static int fill_region(struct installation *installation, const struct draft *draft,
		       const struct heap_rules *rules, struct remote *remote, struct err *err)
{
	const struct patch_table patches = patch_table_made(&draft->patches);
	struct region_contents contents = {.patches = &patches,
					   .owners_at = draft->owners_at,
					   .is_kept = has_patch_in_sled(draft),
					   .pads = draft->pads.nr ? &draft->pads : NULL};

	for (uint32_t i = 0; i < draft->plan.nr_parts; i++) {
		const uint64_t shared = region_plan_heap(&draft->plan, i);

		contents.code[i] = draft->code[i];
		contents.nr_code_bytes[i] = draft->nr_code_bytes[i];
		if (!draft->plan.has_heap)
			continue;
		memcpy(contents.code[i], rules, sizeof(*rules));
		memcpy(contents.code[i] + offsetof(struct heap_rules, shared_address), &shared,
		       sizeof(shared));
	}
	return region_make(&installation->region, &draft->plan, &contents, remote,
			   draft->access->pid, target_memory_maps(draft->access->memory), err);
}

static void begin_heap(struct installation *installation, const struct draft *draft,
		       struct heap_rules *rules)
{
	const struct region *region = &installation->region;

	rules->private_address = region->header.private_address;
	heap_ring_init(&installation->heap, region_heap(region), rules);
	heap_draft_share(&installation->heap, draft->heap_options, draft->access->memory);
}

static int fail_changed(const struct probe_access *access, struct err *err)
{
	return err_set(err, ERR_LIMIT, "the code of process %d has changed meanwhile",
		       (int)access->pid);
}

/* Does the memory of the process have the code that the probes were drawn for? */
static bool prepare(const struct draft *draft)
{
	const struct patch_table patches = patch_table_made(&draft->patches);
	struct patched patched;
	bool is_prepared;

	patched_init(&patched, &patches);
	is_prepared = patched_prepare(&patched, draft->access->memory);
	patched_release(&patched);
	return is_prepared;
}

static int draw_prepared(struct draft *draft, enum copies copies, struct err *err)
{
	int status = draw_all(draft, copies, err);

	if (status < 0 || prepare(draft))
		return status;
	if (!draft->trusts_files)
		return fail_changed(draft->access, err);
	/* Places whose code differs from the file are refused then. */
	draft->trusts_files = false;
	return draw_prepared(draft, copies, err);
}

/*
 * Makes the memory with its contents: nothing leads there yet. The process may be stopped
 * afterwards.
 */
static int make_region(struct installation *installation, struct draft *draft, enum copies copies,
		       struct standstill *still, struct probe_cost *cost, struct err *err)
{
	const struct probe_access *access = draft->access;
	struct heap_rules rules = {.private_address = 0};
	struct remote_code code;
	struct remote *remote = NULL;
	uint64_t held_ns;
	int status = remote_find_code(access->pid, access->memory, access->hint, &code, err);

	if (status == 0)
		status = draw_prepared(draft, copies, err);
	if (status == 0)
		standstill_begin_at_once(still, &remote, access, &code, cost);
	if (status == 0 && !remote)
		status = remote_begin(&remote, access, &code, err);
	if (status < 0 || !remote)
		return status;
	if (draft->plan.has_heap)
		heap_draft_rules(&draft->heap, draft->heap_options, remote_own_pid(remote), &rules);
	status = fill_region(installation, draft, &rules, remote, err);
	held_ns = remote_end(remote);
	cost->remote_ns += still->is_begun ? 0 : held_ns;
	if (status < 0) {
		standstill_end(still, cost);
		return status;
	}
	if (draft->plan.has_heap)
		begin_heap(installation, draft, &rules);
	installation->counters = draft->plan.counters;
	installation->has_owners = draft->plan.counters.nr_own || rules.has_own_slots;
	patch_table_maker_release(&draft->patches); /* the region has them */
	return 0;
}

enum apply_outcome { APPLIED, APPLY_FAILED, APPLY_NO_THREAD_DATA, APPLY_NO_OWN_WORD };

static void note_id_at(const struct installation *installation, const struct stopped *stopped,
		       struct target_memory *memory)
{
	uint64_t id_at = (uint64_t)(int64_t)heap_find_id_at(stopped, proc_own_pid(stopped->pid),
							    memory, NULL);

	region_set_counter(&installation->region, &installation->counters, REGION_ID_AT,
			   id_at & ~(uint64_t)PATCH_ID_MASK ? 0 : id_at);
}

static enum apply_outcome apply_to(struct installation *installation,
				   const struct probe_access *access, struct standstill *still,
				   struct err *err)
{
	struct stopped *stopped = &still->stopped;

	if (!region_is_of(&installation->region, stopped)) {
		fail_changed(access, err);
		return APPLY_FAILED;
	}
	if (installation->heap.shared)
		heap_find_ids(&installation->heap, stopped, access->memory);
	if (installation->counters.nr_spans || installation->counters.has_notes)
		note_id_at(installation, stopped, access->memory);
	if (PATCH_READS_THREAD_DATA && installation->counters.nr_shards > 1 &&
	    !standstill_has_thread_data(still))
		return APPLY_NO_THREAD_DATA;
	if (installation->has_owners && !standstill_has_own_words(still, access->memory))
		return APPLY_NO_OWN_WORD;
	if (patched_apply(&installation->patched, stopped, access->memory))
		return APPLIED;
	fail_changed(access, err);
	return APPLY_FAILED;
}

static enum apply_outcome apply(struct installation *installation,
				const struct probe_access *access, struct standstill *still,
				struct probe_cost *cost, struct err *err)
{
	enum apply_outcome outcome;

	if (!still->is_begun && standstill_begin(still, access, access->patience_ns, err) < 0)
		return APPLY_FAILED;
	outcome = apply_to(installation, access, still, err);
	standstill_end(still, cost);
	return outcome;
}

static void release(struct installation *installation)
{
	patched_release(&installation->patched);
	region_close(&installation->region);
}

static void discard(struct installation *installation, const struct probe_access *access)
{
	/* Nothing leads there any more, so no thread is in it. */
	removal_unmap(access, installation->region.inode, &installation->region.header, NULL, NULL);
	release(installation);
}

/* In the unit by which the kernel dates processes. */
static uint64_t ticks_since_boot(void)
{
	return clock_boot_ns() / (NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
}

static enum copies best_copies(const struct probe_access *access)
{
	if (!PATCH_READS_THREAD_DATA)
		return COPIES_SHARED;
	return !access->is_stopped || access->has_thread_data ? COPIES_OF_OWNERS : COPIES_ONE;
}

int installation_make(struct installation **installation, const struct probe_access *access,
		      struct probe_request *requests, size_t nr_requests,
		      const struct probe_extras *extras, struct probe_cost *cost, struct err *err)
{
	/* Too large for a stack. */
	cleanup_free struct draft *draft = xmalloc(sizeof(*draft));
	cleanup_free struct standstill *still = xcalloc(1, sizeof(*still));
	struct installation *made = xcalloc(1, sizeof(*made));
	enum copies copies = best_copies(access);
	struct err own = ERR_INIT;
	int status = ERR_LIMIT;

	*draft = (struct draft){.access = access,
				.requests = requests,
				.nr_requests = nr_requests,
				.gate = extras->gate,
				.heap_options = extras->heap,
				.has_heap_before = extras->has_heap_before,
				.read_file = extras->read_file,
				.trusts_files = true};
	for (int i = 0; i < MAKE_TRIES && status == ERR_LIMIT; i++) {
		enum apply_outcome outcome;
		struct patch_table patches;

		own = (struct err)ERR_INIT;
		status = make_region(made, draft, copies, still, cost, &own);
		/* Own copies take more addresses, which may be missing near the code. */
		if (status == ERR_LIMIT && i > 0 && copies == COPIES_OF_OWNERS)
			copies = COPIES_SHARED;
		if (status < 0)
			continue;
		patches = region_patches(&made->region);
		patched_init(&made->patched, &patches);
		outcome = apply(made, access, still, cost, &own);
		if (outcome == APPLIED)
			break;
		if (outcome == APPLY_NO_THREAD_DATA)
			copies = COPIES_ONE;
		else if (outcome == APPLY_NO_OWN_WORD)
			copies = COPIES_SHARED;
		status = outcome == APPLY_FAILED ? own.code : ERR_LIMIT;
		discard(made, access);
	}
	if (status == 0 && draft->plan.gate_bytes)
		extras->gate->table = region_plan_gate(&draft->plan);
	draft_release(draft);
	if (status == 0) {
		made->pid = access->pid;
		made->made_ticks = ticks_since_boot();
		*installation = made;
		return 0;
	}
	free(made);
	if (err)
		*err = own;
	return status;
}

void installation_free(struct installation *installation)
{
	if (!installation)
		return;
	release(installation);
	free(installation);
}

const struct patch_table *installation_patches(const struct installation *installation,
					       uint64_t inode, size_t nr)
{
	return installation->region.inode == inode && installation->patched.patches.nr == nr
		       ? &installation->patched.patches
		       : NULL;
}

uint64_t installation_count(const struct installation *installation, uint32_t counter)
{
	return region_counter(&installation->region, &installation->counters, counter);
}

uint64_t *installation_counts(const struct installation *installation)
{
	uint64_t *counts = xcalloc(installation->counters.nr + 1, sizeof(*counts));

	region_read_counters(&installation->region, &installation->counters, counts);
	return counts;
}

uint32_t installation_nr_spans(const struct installation *installation)
{
	return installation->counters.nr_spans;
}

void installation_span(const struct installation *installation, uint32_t index, bool takes_longest,
		       struct patch_span *span, uint64_t *nr_threads)
{
	*nr_threads = region_span(&installation->region, &installation->counters, index,
				  takes_longest, span);
}

struct patch_slow *installation_slow(const struct installation *installation, uint32_t index)
{
	return region_slow(&installation->region, &installation->counters, index);
}

bool installation_knows_ids(const struct installation *installation)
{
	uint64_t at = region_counter(&installation->region, &installation->counters,
				     region_counter_index(&installation->counters, REGION_ID_AT));

	return (at & PATCH_ID_MASK) != 0;
}

struct patch_notes *installation_notes(const struct installation *installation)
{
	return region_notes(&installation->region, &installation->counters);
}

void installation_forget_longest(const struct installation *installation, uint32_t index)
{
	region_forget_longest(&installation->region, &installation->counters, index);
}

uint64_t installation_nr_missed(const struct installation *installation)
{
	return region_counter(&installation->region, &installation->counters,
			      region_counter_index(&installation->counters, REGION_MISSED));
}

bool installation_callee(const struct installation *installation, uint32_t counter,
			 uint64_t *address, bool *is_word)
{
	struct patch patch;

	patch_table_get(&installation->patched.patches, counter, &patch);
	*address = patch.callee;
	*is_word = patch.callee_kind == PATCH_CALLEE_IN_WORD;
	return *is_word || patch.callee_kind == PATCH_CALLEE_DIRECT;
}

/*
 * Was the process forked before the patches were written? It then has pages of its own, as
 * patched_prepare() has written to them, with the old bytes: it has not restored these itself.
 */
static bool is_without_patches(const struct installation *installation, pid_t pid)
{
	struct proc_stat stat;

	return pid != installation->pid && proc_read_task_stat(pid, pid, &stat) &&
	       stat.start_ticks <= installation->made_ticks;
}

bool installation_is_loaded_anew(const struct installation *installation, uint32_t counter,
				 pid_t pid, struct target_memory *memory)
{
	const struct patch_window patch =
		patch_table_window(&installation->patched.patches, counter);
	uint8_t bytes[PATCH_MAX_BYTES];

	return target_memory_get(memory, patch.address, bytes, patch.nr_bytes) &&
	       memcmp(bytes, patch.new, patch.nr_bytes) != 0 &&
	       (!page_is_written(pid, patch.address) || is_without_patches(installation, pid));
}

bool installation_is_in_sled(const struct installation *installation, uint32_t counter)
{
	return patch_table_shape(&installation->patched.patches, counter)->is_in_sled;
}

bool installation_judge(struct installation *installation, pid_t pid, uint8_t *states,
			bool is_writable)
{
	size_t nr = installation->patched.patches.nr;

	if (is_without_patches(installation, pid)) {
		for (size_t i = 0; i < nr; i++)
			states[i] = states[i] == PATCHED_AS_BEFORE || states[i] == PATCHED_REPLACED
					    ? PATCHED_GONE
					    : states[i];
	}
	if (is_writable || memchr(states, PATCHED_OTHER, nr) ||
	    memchr(states, PATCHED_AS_BEFORE, nr))
		installation->is_kept = true;
	return installation->is_kept;
}

uint8_t *installation_look(struct installation *installation, pid_t pid,
			   struct target_memory *memory)
{
	const struct patched *patched = &installation->patched;
	uint8_t *states = xcalloc(patched->patches.nr + 1, sizeof(*states));
	bool is_writable;

	if (!patched_look(patched, pid, memory, states, &is_writable)) {
		free(states);
		return NULL;
	}
	/* This also reaches forked children, as each is examined in turn. */
	if (installation_judge(installation, pid, states, is_writable))
		region_keep(&installation->region, memory);
	return states;
}

struct heap_ring *installation_heap(struct installation *installation)
{
	return installation->heap.shared ? &installation->heap : NULL;
}

void installation_set_heap(struct installation *installation, const struct heap_options *heap)
{
	struct heap_shared *shared = installation->heap.shared;

	if (!shared)
		return;
	__atomic_store_n(&shared->mean, heap->mean, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->stack_bytes, heap->stack_bytes, __ATOMIC_RELAXED);
}

bool installation_original_pc(const struct installation *installation, pid_t pid, uint64_t pc,
			      uint64_t link, uint64_t *original, unsigned int *pushed_bytes)
{
	return patched_original_pc(&installation->patched, pid, pc, link, original, pushed_bytes);
}
