// SPDX-License-Identifier: GPL-2.0-or-later
/* The places in a file that are to be counted. */
#include "probe/wanted.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "elf/elf_image.h"
#include "patch/call_sites.h"
#include "patch/gate.h"
#include "profile/wakes.h"

/* Read after a function: more than any window takes. */
#define PADDING_BYTES  32
#define GATE_BYTES_MAX ((size_t)1 << 26)

void wanted_expect(struct wanted *wanted, size_t nr_places)
{
	ARRAY_RESERVE(wanted->places, wanted->nr_places + nr_places, wanted->cap_places);
}

void wanted_add(struct wanted *wanted, enum wanted_kind kind, uint64_t address, uint64_t nr_bytes,
		const char *name)
{
	ARRAY_GROW(wanted->places, wanted->nr_places, wanted->cap_places);
	wanted->places[wanted->nr_places++] =
		(struct wanted_place){.address = address,
				      .nr_bytes = (uint32_t)min_u64(nr_bytes, UINT32_MAX),
				      .kind = kind,
				      .name = name ? xstrdup(name) : NULL};
}

const struct wanted_of_heap *wanted_heap_of(const struct wanted *wanted,
					    const struct wanted_place *place)
{
	return place->kind == WANTED_HEAP || place->kind == WANTED_HEAP_WORD
		       ? &wanted->heaps[place->heap]
		       : NULL;
}

/* A file that has more than 65,536 was made to have them. */
static void add_heap(struct wanted *wanted, enum wanted_kind kind,
		     const struct wanted_of_heap *heap, uint64_t address, uint64_t nr_bytes,
		     const char *name)
{
	if (wanted->nr_heaps > UINT16_MAX)
		return;
	wanted_add(wanted, kind, address, nr_bytes, name);
	wanted->places[wanted->nr_places - 1].heap = (uint16_t)wanted->nr_heaps;
	ARRAY_GROW(wanted->heaps, wanted->nr_heaps, wanted->cap_heaps);
	wanted->heaps[wanted->nr_heaps++] = *heap;
}

void wanted_add_heap(struct wanted *wanted, const struct heap_form *form, enum heap_kin kin,
		     uint64_t address, uint64_t nr_bytes, const char *name)
{
	const struct wanted_of_heap heap = {.form = *form, .kin = kin};

	add_heap(wanted, WANTED_HEAP, &heap, address, nr_bytes, name);
}

void wanted_add_heap_word(struct wanted *wanted, uint64_t address, uint64_t function,
			  uint64_t leads_to, const char *name)
{
	const struct wanted_of_heap heap = {
		.kin = HEAP_KIN_OF_TABLE, .function = function, .leads_to = leads_to};

	add_heap(wanted, WANTED_HEAP_WORD, &heap, address, sizeof(uint64_t), name);
}

void wanted_add_site(struct wanted *wanted, enum wanted_kind kind, uint8_t gate, uint64_t address,
		     uint64_t semaphore, const char *name)
{
	struct wanted_place *place;

	wanted_add(wanted, kind, address, 0, name);
	place = &wanted->places[wanted->nr_places - 1];
	place->is_site = true;
	place->gate = gate & WANTED_GATE_MASK;
	if (!semaphore)
		return;
	ARRAY_GROW(wanted->semaphores, wanted->nr_semaphores, wanted->cap_semaphores);
	wanted->semaphores[wanted->nr_semaphores++] = (struct wanted_semaphore){address, semaphore};
}

uint64_t wanted_semaphore(const struct wanted *wanted, uint64_t site)
{
	for (size_t i = 0; i < wanted->nr_semaphores; i++) {
		if (wanted->semaphores[i].site == site)
			return wanted->semaphores[i].word;
	}
	return 0;
}

void wanted_add_start(struct wanted *wanted, uint64_t address)
{
	ARRAY_GROW(wanted->starts, wanted->nr_starts, wanted->cap_starts);
	wanted->starts[wanted->nr_starts++] = address;
}

void wanted_add_function(struct wanted *wanted, uint64_t start, uint64_t end, bool is_part)
{
	if (!wanted->nr_functions)
		wanted->first_function = start;
	/* No program is so large. */
	if (start - wanted->first_function > UINT32_MAX)
		return;
	ARRAY_GROW(wanted->functions, wanted->nr_functions, wanted->cap_functions);
	wanted->functions[wanted->nr_functions++] =
		(struct wanted_function){.start = (uint32_t)(start - wanted->first_function),
					 .nr_bytes = min_u64(end - start, INT32_MAX) & INT32_MAX,
					 .is_part = is_part};
}

bool wanted_is_function(const struct wanted *wanted, uint64_t address)
{
	const struct wanted_function *before;
	size_t low = 0, high = wanted->nr_functions;
	uint64_t at = address - wanted->first_function;

	if (address < wanted->first_function)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wanted->functions[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	before = low ? &wanted->functions[low - 1] : NULL;
	if (before && before->start == at)
		return !before->is_part;
	return !before || at - before->start >= before->nr_bytes;
}

void wanted_refuse(struct wanted *wanted, const char *name, const char *reason)
{
	ARRAY_GROW(wanted->refusals, wanted->nr_refusals, wanted->cap_refusals);
	wanted->refusals[wanted->nr_refusals++] =
		(struct wanted_refusal){.name = xstrdup(name), .reason = xstrdup(reason)};
}

char *wanted_name_of_syscall(uint64_t address)
{
	return xasprintf(WAKES_REFUSED " at 0x%" PRIx64 "]", address);
}

void wanted_add_syscall(struct wanted *wanted, uint64_t address, uint64_t nr_bytes,
			uint16_t return_at)
{
	cleanup_free char *name = wanted_name_of_syscall(address + nr_bytes);

	wanted_add(wanted, WANTED_SYSCALL, address, nr_bytes, name);
	wanted->places[wanted->nr_places - 1].return_at = return_at;
}

void wanted_add_call(struct wanted *wanted, const struct call_site *call)
{
	if (call->site.kind == PATCH_CALL_INDIRECT)
		wanted_refuse(wanted, call->function,
			      "a call in it goes through a register or pointer");
	else if (call->site.kind == PATCH_CALL_JUMP)
		wanted_refuse(wanted, call->function,
			      "a call in it is a jump, which ends the function (a tail call)");
	else
		wanted_add(wanted, WANTED_CALL, call->site.address, call->site.nr_bytes,
			   call->function);
}

bool wanted_is_counted(const struct wanted_place *place)
{
	return place->kind == WANTED_ENTRY || place->kind == WANTED_CALL;
}

bool wanted_is_told(const struct wanted *wanted, const struct wanted_place *place,
		    enum patch_outcome outcome)
{
	const struct wanted_of_heap *heap = wanted_heap_of(wanted, place);

	return wanted_is_counted(place) || place->kind == WANTED_SYSCALL ||
	       (place->kind == WANTED_HEAP &&
		(heap_is_pool(&heap->form) || outcome != PATCH_SAMPLED_BELOW));
}

bool wanted_has_probes(const struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->nr_places; i++) {
		if (wanted->places[i].kind != WANTED_HEAP ||
		    wanted->heaps[wanted->places[i].heap].kin != HEAP_KIN_ALONE)
			return true;
	}
	return false;
}

static uint64_t next_start(const struct wanted *wanted, uint64_t end)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < wanted->nr_starts; i++) {
		if (wanted->starts[i] >= end && wanted->starts[i] < next)
			next = wanted->starts[i];
	}
	return next;
}

static size_t read_image(const void *context, uint64_t address, void *out, size_t nr_bytes)
{
	return elf_image_read(context, address, out, nr_bytes);
}

/* Is it of a gate's code? */
static bool is_of_code(const struct wanted_place *place)
{
	return place->kind == WANTED_GATE_ENTRY || place->kind == WANTED_GATE_PART;
}

static bool is_of_gate(const struct wanted_place *place, uint8_t gate)
{
	return is_of_code(place) && place->gate == gate;
}

static void release_place(struct wanted_place *place)
{
	free(place->name);
}

/* Drops parts of the gate, which are no places for a probe; or all of the gate. */
static void drop_gate(struct wanted *wanted, uint8_t gate, bool only_parts)
{
	size_t nr = 0;

	for (size_t i = 0; i < wanted->nr_places; i++) {
		struct wanted_place *place = &wanted->places[i];

		if (is_of_gate(place, gate) && (!only_parts || place->kind == WANTED_GATE_PART))
			release_place(place);
		else
			wanted->places[nr++] = *place;
	}
	wanted->nr_places = nr;
}

static void add_exits(struct wanted *wanted, const struct gate_search *search,
		      const struct gate_exits *exits, uint8_t gate)
{
	size_t nr = wanted->nr_gate_parts + search->nr;

	wanted->gate_parts = xrealloc_array(wanted->gate_parts, nr, sizeof(*wanted->gate_parts));
	for (size_t i = 0; i < search->nr; i++)
		wanted->gate_parts[wanted->nr_gate_parts++] = (struct patch_gate_part){
			.start = search->code[i].start, .end = search->code[i].end};
	for (size_t i = 0; i < exits->nr; i++) {
		wanted_add(wanted, WANTED_GATE_EXIT, exits->at[i].address, exits->at[i].nr_bytes,
			   "");
		wanted->places[wanted->nr_places - 1].exit_at = exits->at[i].exit_at;
		wanted->places[wanted->nr_places - 1].gate = gate & WANTED_GATE_MASK;
	}
}

/* The caller frees the bytes of the code. */
static size_t read_gate(const struct wanted *wanted, const struct elf_image *image, uint8_t gate,
			struct gate_code *code)
{
	size_t nr = 0;

	for (size_t i = 0; i < wanted->nr_places; i++) {
		const struct wanted_place *place = &wanted->places[i];
		size_t nr_bytes = (size_t)place->nr_bytes + PADDING_BYTES;
		uint8_t *bytes;

		if (!is_of_gate(place, gate))
			continue;
		bytes = alloc_bounded(nr_bytes, 1, GATE_BYTES_MAX);
		code[nr++] = (struct gate_code){
			.start = place->address,
			.end = place->address + place->nr_bytes,
			.bytes = bytes,
			.nr_bytes =
				bytes ? elf_image_read(image, place->address, bytes, nr_bytes) : 0,
			.next_start = next_start(wanted, place->address + place->nr_bytes),
			.is_entered = place->kind == WANTED_GATE_ENTRY};
	}
	return nr;
}

static const char *name_of_gate(const struct wanted *wanted, uint8_t gate)
{
	for (size_t i = 0; i < wanted->nr_places; i++) {
		if (is_of_gate(&wanted->places[i], gate))
			return wanted->places[i].name;
	}
	return "";
}

/* Nothing happens if the file has none of its code. */
static void watch_gate(struct wanted *wanted, const struct elf_image *image, uint8_t gate,
		       bool is_timed)
{
	struct gate_code *code = xcalloc(wanted->nr_places + 1, sizeof(*code));
	size_t nr = read_gate(wanted, image, gate, code);
	struct gate_exits exits = {.nr = 0};
	const struct gate_search search = {.code = code,
					   .nr = nr,
					   .starts = wanted->starts,
					   .nr_starts = wanted->nr_starts,
					   .read = read_image,
					   .context = image};
	const char *why = nr ? gate_exits_find(&search, &exits) : NULL;

	if (why && !wanted->gate_refusal)
		wanted->gate_refusal = xasprintf(is_timed ? "calls of %s cannot be timed: %s"
							  : "calls inside of %s cannot be counted: "
							    "%s",
						 name_of_gate(wanted, gate), why);
	if (nr && !why)
		add_exits(wanted, &search, &exits, gate);
	drop_gate(wanted, gate, !why);
	for (size_t i = 0; i < nr; i++)
		free((void *)(uintptr_t)code[i].bytes);
	free(code);
	gate_exits_release(&exits);
}

void wanted_watch_gates(struct wanted *wanted, const struct elf_image *image, bool are_timed)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < wanted->nr_places; i++) {
		if (is_of_code(&wanted->places[i]) && wanted->places[i].gate >= nr)
			nr = wanted->places[i].gate + 1;
	}
	for (unsigned int i = 0; i < nr; i++)
		watch_gate(wanted, image, (uint8_t)i, are_timed);
}

static int compare_places(const void *a, const void *b, void *context)
{
	const struct wanted_place *left = a, *right = b;
	const struct wanted_of_heap *left_heap = wanted_heap_of(context, left);
	const struct wanted_of_heap *right_heap = wanted_heap_of(context, right);

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	if (left->kind != right->kind)
		return (int)left->kind - (int)right->kind;
	if (left->gate != right->gate) /* code with two names is of the first */
		return (int)left->gate - (int)right->gate;
	if (!left_heap || !right_heap)
		return 0;
	/* If a user has also named an allocator's function, the user's form wins. */
	if (left_heap->form.function != right_heap->form.function)
		return (int)right_heap->form.function - (int)left_heap->form.function;
	return (int)right_heap->kin - (int)left_heap->kin;
}

/* As a search for functions alone finds them. */
static bool is_rising(const struct wanted *wanted)
{
	for (size_t i = 1; i < wanted->nr_places; i++) {
		if (wanted->places[i].address <= wanted->places[i - 1].address)
			return false;
	}
	return true;
}

/* A place that is counted may be the entry of a gate, too. */
static void note_gate(struct wanted_place *place, const struct wanted_place *other)
{
	if (other->kind != WANTED_GATE_ENTRY || place->kind == WANTED_GATE_ENTRY ||
	    place->is_gate_entry)
		return;
	place->is_gate_entry = true;
	place->gate = other->gate;
}

static bool is_of_pair(const struct wanted_place *place)
{
	return place->kind == WANTED_SPAN_FROM || place->kind == WANTED_SPAN_TO;
}

/* Code has one probe, which does one thing. */
static void check_pair(struct wanted *wanted, const struct wanted_place *place,
		       const struct wanted_place *other)
{
	const struct wanted_place *timed = is_of_pair(place) ? place : other;

	if ((!is_of_pair(place) && !is_of_pair(other)) || wanted->gate_refusal ||
	    (place->kind == other->kind && place->gate == other->gate))
		return;
	wanted->gate_refusal =
		xasprintf("the time from or to %s cannot be measured: %s is also %s", timed->name,
			  timed->is_site ? "its place" : "the function",
			  wanted_is_counted(place) ? "counted" : "another one that was asked for");
}

void wanted_sort(struct wanted *wanted)
{
	size_t nr = 0;

	if (is_rising(wanted))
		return;
	if (wanted->nr_places)
		qsort_r(wanted->places, wanted->nr_places, sizeof(*wanted->places), compare_places,
			wanted);
	for (size_t i = 0; i < wanted->nr_places; i++) {
		struct wanted_place *last = nr ? &wanted->places[nr - 1] : NULL;

		if (!last || last->address != wanted->places[i].address) {
			wanted->places[nr++] = wanted->places[i];
			continue;
		}
		note_gate(last, &wanted->places[i]);
		check_pair(wanted, last, &wanted->places[i]);
		release_place(&wanted->places[i]);
	}
	wanted->nr_places = nr;
}

void wanted_forget_starts(struct wanted *wanted)
{
	free(wanted->starts);
	wanted->starts = NULL;
	wanted->nr_starts = wanted->cap_starts = 0;
}

void wanted_release(struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->nr_places; i++)
		release_place(&wanted->places[i]);
	for (size_t i = 0; i < wanted->nr_refusals; i++) {
		free(wanted->refusals[i].name);
		free(wanted->refusals[i].reason);
	}
	free(wanted->places);
	free(wanted->heaps);
	free(wanted->starts);
	free(wanted->functions);
	free(wanted->semaphores);
	free(wanted->refusals);
	free(wanted->gate_parts);
	free(wanted->gate_refusal);
	*wanted = (struct wanted){.nr_places = 0};
}
