// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts the probes that are wanted in files into a process. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/lasting_hash.h"
#include "base/minmax.h"
#include "base/own_thread.h"
#include "code/plt_entry.h"
#include "elf/elf_image.h"
#include "heap/heap_ring.h"
#include "inject/installation.h"
#include "inject/region.h"
#include "inject/removal.h"
#include "inject/willing.h"
#include "overhead/urgency.h"
#include "probe/known_code.h"
#include "probe/prober_priv.h"
#include "probe/prober_spans_priv.h"
#include "probe/prober_wakes_priv.h"
#include "proc/maps.h"
#include "proc/range.h"
#include "proc/read.h"
#include "proc/target_memory.h"

/* Code that requests are for. */
struct gathered_code {
	struct probe_code code; /* theirs */
	struct prober_file *file;
	bool is_again;
};

/* Everything that an installation is made from. */
struct gathered {
	struct probe_request *requests; /* owned, as places */
	struct counted_place *places;	/* of the requests, once these are installed; or NULL */
	size_t nr, cap_requests;
	void **parts; /* of requests, each owned */
	size_t nr_parts, cap_parts;
	bool has_probes; /* the process, of any profc */
};

void counted_places_free(struct counted_place *places, size_t nr)
{
	for (size_t i = 0; places && i < nr; i++)
		free(places[i].more);
	free(places);
}

struct counted_more *counted_more(struct counted_place *place)
{
	if (!place->more)
		place->more = xcalloc(1, sizeof(*place->more));
	return place->more;
}

static void gathered_release(struct gathered *gathered)
{
	for (size_t i = 0; i < gathered->nr_parts; i++)
		free(gathered->parts[i]);
	free(gathered->parts);
	free(gathered->requests);
	counted_places_free(gathered->places, gathered->nr);
}

/*
 * To this process or one that it was forked from. A part of the mapping is enough, as one may be
 * made writable.
 */
static bool is_known(const struct probed_process *process, const struct prober_mapping *mapping)
{
	for (; process; process = process->giver) {
		for (size_t i = 0; i < process->nr_mappings; i++) {
			const struct prober_mapping *known = &process->mappings[i];

			if (known->file == mapping->file && known->bias == mapping->bias &&
			    known->start < mapping->end && mapping->start < known->end)
				return true;
		}
	}
	return false;
}

/* A place with a probe in this mapping. */
static const struct counted_place *place_in(const struct probed *probed,
					    const struct prober_mapping *mapping)
{
	for (size_t i = 0; i < probed->nr_places; i++) {
		const struct counted_place *place = &probed->places[i];
		uint64_t address = counted_wanted(place)->address + mapping->bias;

		if (place->file == mapping->file && place->outcome == PATCH_OK &&
		    address >= mapping->start && address < mapping->end)
			return place;
	}
	return NULL;
}

/*
 * A library that was unloaded and is loaded again mostly gets the same place, but has no probes; so
 * does one that a process and its child load separately. Are the last probes that were put in there
 * gone?
 */
static bool is_loaded_anew(const struct probed_process *process,
			   const struct prober_mapping *mapping, struct target_memory *memory)
{
	const struct probed_process *of = process;

	for (; process; process = process->giver) {
		for (size_t i = process->nr_probed; i > 0; i--) {
			const struct probed *probed = &process->probed[i - 1];
			const struct counted_place *place = place_in(probed, mapping);

			if (place)
				return installation_is_loaded_anew(probed->installation,
								   place->counter, of->pid, memory);
		}
	}
	return false;
}

static void add_mapping(struct prober *prober, struct probed_process *process,
			const struct prober_mapping *mapping)
{
	pthread_mutex_lock(&prober->lock);
	ARRAY_GROW(process->mappings, process->nr_mappings, process->cap_mappings);
	process->mappings[process->nr_mappings++] = *mapping;
	pthread_mutex_unlock(&prober->lock);
}

/* The action of a probe, by its place: an entry of the gate, a way out, a notice, or elsewhere. */
struct gate_passes {
	enum patch_pass entry, exit, notice, other;
};

static const struct gate_passes of_counts = {PATCH_ENTER, PATCH_LEAVE, PATCH_LEAVE, PATCH_COUNT};
static const struct gate_passes of_within = {PATCH_ENTER, PATCH_LEAVE, PATCH_LEAVE,
					     PATCH_COUNT_WITHIN};
static const struct gate_passes of_spans = {PATCH_SPAN_BEGIN, PATCH_SPAN_END, PATCH_SPAN_LEAVE,
					    PATCH_COUNT};

static enum patch_pass pass_wanted(const struct prober *prober, const struct wanted_place *place)
{
	const struct gate_passes *passes = prober->options.has_span   ? &of_spans
					   : prober->options.has_gate ? &of_within
								      : &of_counts;

	switch (place->kind) {
	case WANTED_ENTRY:
	case WANTED_CALL:
	case WANTED_HEAP:
	case WANTED_HEAP_WORD:
		break;
	case WANTED_GATE_ENTRY:
		return passes->entry;
	case WANTED_GATE_PART: /* its ways out represent it */
	case WANTED_GATE_EXIT:
		return passes->exit;
	case WANTED_GATE_NOTICE:
		return passes->notice;
	case WANTED_SPAN_FROM:
		return PATCH_SPAN_FROM;
	case WANTED_SPAN_TO:
		return PATCH_SPAN_TO;
	case WANTED_SYSCALL:
		return PATCH_NOTE;
	}
	return place->is_gate_entry ? passes->entry : passes->other;
}

/* The allocator's functions include the one that ends the process. */
static bool is_asked_for(const struct prober *prober, const struct wanted *wanted,
			 const struct wanted_place *place)
{
	if (place->kind == WANTED_HEAP_WORD)
		return prober->heap.is_wanted;
	if (place->kind != WANTED_HEAP)
		return true;
	if (wanted_heap_of(wanted, place)->form.function == HEAP_EXIT)
		return prober->heap.reach != NULL;
	return prober->heap.is_wanted;
}

/* Parts that requests refer to stay where they are. */
static void *keep_part(struct gathered *gathered, const void *part, size_t nr_bytes)
{
	ARRAY_GROW(gathered->parts, gathered->nr_parts, gathered->cap_parts);
	return gathered->parts[gathered->nr_parts++] = xmemdup(part, nr_bytes);
}

static const struct probe_of_heap *add_heap(struct gathered *gathered,
					    const struct wanted_place *place,
					    const struct prober_mapping *mapping,
					    const struct known_code *known)
{
	const struct wanted_of_heap *heap = wanted_heap_of(&mapping->file->wanted, place);
	bool is_word = place->kind == WANTED_HEAP_WORD;
	const struct probe_of_heap part = {
		.form = heap->form,
		.kin = heap->kin,
		.is_word = is_word,
		.word = is_word ? heap->function + mapping->bias : 0,
		.new_word = is_word ? heap->leads_to + mapping->bias : 0,
		.callees = known ? known->callees : NULL,
		.nr_callees = known ? known->nr_callees : 0,
		.file_bytes = known ? known->bytes : NULL,
		.nr_file_bytes = known ? known->nr_bytes : 0,
	};

	return keep_part(gathered, &part, sizeof(part));
}

static const struct probe_code *add_code(struct gathered *gathered,
					 const struct prober_mapping *mapping, bool is_again)
{
	const struct wanted *wanted = &mapping->file->wanted;
	struct patch_gate_part *parts =
		keep_part(gathered, wanted->gate_parts, wanted->nr_gate_parts * sizeof(*parts));
	const struct gathered_code code = {
		.code = {.bias = mapping->bias,
			 .range = {mapping->start, mapping->end},
			 .branches = mapping->file->branches,
			 .gate = {.parts = parts, .nr = wanted->nr_gate_parts},
			 .file = mapping->file->image},
		.file = mapping->file,
		.is_again = is_again,
	};
	const struct gathered_code *kept;

	for (size_t i = 0; i < wanted->nr_gate_parts; i++) {
		parts[i].start += mapping->bias;
		parts[i].end += mapping->bias;
	}
	kept = keep_part(gathered, &code, sizeof(code));
	return &kept->code;
}

/* Does it show data of the file as they lie beside the code? RELRO data share pages with others. */
static bool is_data_of(const struct prober_mapping *mapping, const struct proc_map *map)
{
	const struct elf_image *image = mapping->file->image;

	if (!map->inode || map->inode != mapping->file->inode ||
	    makedev(map->dev_major, map->dev_minor) != mapping->file->dev)
		return false;
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);

		if (segment->writable && map->start - map->offset == mapping->bias +
									     segment->vaddr -
									     segment->file_offset)
			return true;
	}
	return false;
}

/*
 * A program may map its code once more, beside something else than its data: is the word that of
 * the code? `maps` is borrowed.
 */
static bool is_own_word(const struct prober_mapping *mapping, uint64_t address,
			struct proc_maps_iter maps)
{
	uint64_t end_of_file = 0;
	struct proc_map map;

	while (proc_maps_next(&maps, &map) == 1 && map.start <= address) {
		bool is_of_file = is_data_of(mapping, &map);
		/* Zeros that follow the data of a file have no file. */
		bool is_behind = !map.inode && map.start == end_of_file;

		end_of_file = map.writable && (is_of_file || is_behind) ? map.end : 0;
		if (address < map.end)
			return address + sizeof(uint16_t) <= map.end && end_of_file &&
			       !map.shared && !map.executable;
	}
	return false;
}

static void gather(const struct prober *prober, struct gathered *gathered,
		   const struct prober_mapping *mapping, bool is_again, struct proc_maps_iter maps)
{
	const struct wanted *wanted = &mapping->file->wanted;
	const struct probe_code *code = add_code(gathered, mapping, is_again);

	ARRAY_RESERVE(gathered->requests, gathered->nr + wanted->nr_places, gathered->cap_requests);
	for (size_t i = 0; i < wanted->nr_places; i++) {
		const struct wanted_place *place = &wanted->places[i];
		const struct known_code *known =
			mapping->file->codes ? mapping->file->codes[i] : NULL;
		const struct wanted_of_heap *heap = wanted_heap_of(wanted, place);
		bool is_word = place->kind == WANTED_HEAP_WORD;
		uint64_t address = place->address + mapping->bias;
		bool is_exit = place->kind == WANTED_GATE_EXIT;
		bool is_syscall = place->kind == WANTED_SYSCALL;
		uint64_t semaphore = place->is_site ? wanted_semaphore(wanted, place->address) : 0;
		/* Data has the bias of the code that it leads to. */
		uint64_t code_at = is_word ? heap->function + mapping->bias : address;

		if (code_at < mapping->start || code_at >= mapping->end ||
		    !is_asked_for(prober, wanted, place))
			continue;
		gathered->requests[gathered->nr++] = (struct probe_request){
			.address = address,
			.nr_bytes = place->nr_bytes,
			.code = code,
			.is_call = place->kind == WANTED_CALL,
			.is_exit = is_exit,
			.is_syscall = is_syscall,
			.is_site = place->is_site,
			.is_plain = place->is_plain && place->kind == WANTED_ENTRY,
			.semaphore = semaphore ? semaphore + mapping->bias : 0,
			.has_other_word =
				semaphore && !is_own_word(mapping, semaphore + mapping->bias, maps),
			.return_at = is_syscall ? place->return_at : 0,
			.exit_at = is_exit ? (uint8_t)place->exit_at : 0,
			.gate = place->gate,
			.pass = pass_wanted(prober, place),
			.heap = heap ? add_heap(gathered, place, mapping, known) : NULL,
			.number = (uint32_t)i,
		};
	}
}

/* A program that gives its own file such a name gets no probes in there, as if it had none. */
static bool is_of_probes(const struct proc_map *map)
{
	static const char ours[] = "/memfd:" REGION_NAME;

	return map->nr_path_bytes >= sizeof(ours) - 1 &&
	       memcmp(map->path, ours, sizeof(ours) - 1) == 0;
}

/* Code that the program makes while it runs, as far as we know. */
static bool is_other_code(const struct proc_map *map)
{
	bool is_kernels = map->nr_path_bytes > 1 && map->path[0] == '[' && map->path[1] == 'v';

	return map->executable && !is_kernels &&
	       (!map->inode || map->shared || !map->nr_path_bytes || map->path[0] != '/');
}

/* Tell the blob where code is, for signatures of words. Under the lock. */
static void tell_code(const struct probed_process *process)
{
	size_t nr = process->has_other_code ? 0 : process->nr_mappings;
	struct heap_stack *code = xcalloc(nr, sizeof(*code));

	for (size_t i = 0; i < nr; i++)
		code[i] = (struct heap_stack){.start = process->mappings[i].start,
					      .end = process->mappings[i].end};
	for (size_t i = 0; i < process->nr_probed; i++) {
		struct installation *installation = process->probed[i].installation;
		struct heap_ring *heap = installation ? installation_heap(installation) : NULL;

		if (heap)
			heap_ring_set_code(heap, code, nr);
	}
	free(code);
}

/* Most names are never asked for: what they are read from is large, and goes at once. */
static void search(struct prober *prober, struct prober_file *file)
{
	if (file->is_searched)
		return;
	prober_file_search(prober, file);
	prober_file_name_told(prober, file);
	prober_forget_names(prober);
}

static uint64_t print_range(uint64_t print, const struct proc_range *range)
{
	const uint64_t words[] = {range->start,
				  range->end,
				  range->offset,
				  range->inode,
				  makedev(range->dev_major, range->dev_minor),
				  range->shared};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		print = lasting_hash_number(print, words[i]);
	return print;
}

/*
 * A number that changes with any executable mapping, in some microseconds: libraries come rarely,
 * and the text of all mappings takes several times as long. 0: the kernel does not tell.
 */
static uint64_t print_code(const struct target_memory *memory)
{
	uint64_t print = LASTING_HASH_BEGIN, at = 0;
	struct proc_range range;

	while (proc_range_next(target_memory_maps(memory), at, PROC_RANGE_EXECUTE, &range)) {
		print = print_range(print, &range);
		at = range.end;
	}
	return at && errno == ENOENT ? print : 0;
}

/* As above, from a line of the text. */
static uint64_t print_map(uint64_t print, const struct proc_map *map)
{
	const struct proc_range range = {.start = map->start,
					 .end = map->end,
					 .offset = map->inode ? map->offset : 0,
					 .inode = map->inode,
					 .dev_major = map->dev_major,
					 .dev_minor = map->dev_minor,
					 .shared = map->shared};

	/* The kernel's page above all memory is in the text alone. */
	return map->executable && map->start < UINT64_MAX / 2 ? print_range(print, &range) : print;
}

/* Is all code as it was when all mappings were read last? */
static bool has_old_code(const struct probed_process *process, uint64_t print,
			 struct target_memory *memory)
{
	if (!print || print != process->looks.print)
		return false;
	for (const struct probed_process *of = process; of; of = of->giver) {
		for (size_t i = 0; i < of->nr_mappings; i++) {
			if (is_loaded_anew(process, &of->mappings[i], memory))
				return false;
		}
	}
	return true;
}

/*
 * Code that is new. Its places are gathered once all files have been searched, as a search takes
 * memory of its own.
 */
struct new_code {
	struct prober_mapping *mappings; /* owned, as is_again */
	bool *is_again;
	size_t nr, cap_mappings, cap_again;
};

static void add_new_code(struct new_code *code, const struct prober_mapping *mapping, bool is_again)
{
	ARRAY_GROW(code->mappings, code->nr, code->cap_mappings);
	ARRAY_GROW(code->is_again, code->nr, code->cap_again);
	code->mappings[code->nr] = *mapping;
	code->is_again[code->nr++] = is_again;
}

static void gather_all(const struct prober *prober, struct gathered *gathered,
		       const struct new_code *code, struct buf *maps)
{
	for (size_t i = 0; i < code->nr; i++)
		gather(prober, gathered, &code->mappings[i], code->is_again[i],
		       proc_maps_over(buf_str(maps), maps->nr_bytes));
}

/* A mapping of code, whose file is known. */
static void take_mapping(struct prober *prober, struct probed_process *process,
			 struct target_memory *memory, struct prober_mapping *mapping,
			 uint64_t offset, struct new_code *code)
{
	bool is_new;

	if (!elf_image_bias(mapping->file->image, mapping->start, offset, true, &mapping->bias))
		return;
	is_new = !is_known(process, mapping);
	if (!is_new && !is_loaded_anew(process, mapping, memory))
		return;
	search(prober, mapping->file);
	add_new_code(code, mapping, !is_new);
	if (is_new)
		add_mapping(prober, process, mapping);
}

/* More are read from the text. */
#define RANGES_MAX 64

/* Do places in the file depend on other mappings than that of the code? */
static bool has_sites(const struct prober_file *file)
{
	for (size_t i = 0; i < file->wanted.nr_places; i++) {
		if (file->wanted.places[i].is_site)
			return true;
	}
	return false;
}

/* Does the range alone say all that the line of the text would? */
static bool is_plain_range(const struct prober *prober, const struct proc_range *range, int maps)
{
	const struct prober_file *file;
	char name[16];

	if (!range->inode) /* the kernel's own, as in is_other_code() */
		return proc_range_name(maps, range->start, name, sizeof(name)) &&
		       strncmp(name, "[v", 2) == 0;
	file = prober_file_known(prober, makedev(range->dev_major, range->dev_minor), range->inode);
	return file && !range->shared && (!file->image || (file->is_searched && !has_sites(file)));
}

/*
 * Most programs of a build have files that earlier ones had: then the ranges of code are enough,
 * which takes a fifth of the time of the text of all mappings. False: the text is needed.
 */
static bool take_ranges(struct prober *prober, struct probed_process *process,
			struct target_memory *memory, struct new_code *code)
{
	const int maps = target_memory_maps(memory);
	struct proc_range ranges[RANGES_MAX];
	uint64_t print = LASTING_HASH_BEGIN, at = 0;
	size_t nr = 0;

	while (nr < RANGES_MAX && proc_range_next(maps, at, PROC_RANGE_EXECUTE, &ranges[nr])) {
		if (!is_plain_range(prober, &ranges[nr], maps))
			return false;
		print = print_range(print, &ranges[nr]);
		at = ranges[nr++].end;
	}
	if (!nr || nr == RANGES_MAX || errno != ENOENT)
		return false;
	process->looks.print = print;
	for (size_t i = 0; i < nr; i++) {
		const struct proc_range *range = &ranges[i];
		struct prober_mapping mapping = {
			.start = range->start,
			.end = range->end,
			.file = prober_file_known(
				prober, makedev(range->dev_major, range->dev_minor), range->inode)};

		if (range->inode && mapping.file->image)
			take_mapping(prober, process, memory, &mapping, range->offset, code);
	}
	return true;
}

/* As above. `print` is of all code before that, unless it is the first time. */
static void take_maps(struct prober *prober, struct probed_process *process,
		      struct target_memory *memory, struct gathered *gathered, struct buf *text,
		      bool is_first, uint64_t print, struct new_code *code)
{
	struct proc_maps_iter iter = proc_maps_over(buf_str(text), text->nr_bytes);
	struct proc_map map;

	process->looks.print = is_first ? LASTING_HASH_BEGIN : print;
	while (proc_maps_next(&iter, &map) == 1) {
		struct prober_mapping mapping = {.start = map.start, .end = map.end};

		if (is_first)
			process->looks.print = print_map(process->looks.print, &map);
		if (is_of_probes(&map)) {
			gathered->has_probes = true;
			continue;
		}
		process->has_other_code |= is_other_code(&map);
		if (!map.executable || !map.inode || map.shared || !map.nr_path_bytes ||
		    map.path[0] != '/')
			continue;
		mapping.file = prober_file_of(prober, process->pid, &map);
		if (mapping.file)
			take_mapping(prober, process, memory, &mapping, map.offset, code);
	}
}

/* Gather the wanted places of mappings that are new. */
static bool gather_new(struct prober *prober, struct probed_process *process,
		       struct target_memory *memory, struct gathered *gathered)
{
	struct buf text = {0};
	struct new_code code = {.nr = 0};
	bool is_read = true;
	/* There is nothing to compare at first. */
	const bool is_first = !process->looks.print;
	/* Before the text, as more may be mapped meanwhile. 0 also where the kernel does not tell.
	 */
	const uint64_t print = is_first ? 0 : print_code(memory);

	if (has_old_code(process, print, memory))
		return true;
	if (!is_first || !take_ranges(prober, process, memory, &code)) {
		is_read = proc_read_process_file(process->pid, "maps", &text);
		if (is_read)
			take_maps(prober, process, memory, gathered, &text, is_first, print, &code);
	}
	gather_all(prober, gathered, &code, &text);
	free(code.mappings);
	free(code.is_again);
	buf_release(&text);
	return is_read;
}

/* Requests are in the order of the mappings of code; data of one file may follow other files' code.
 */
static void sort_by_address(struct gathered *gathered)
{
	for (size_t i = 1; i < gathered->nr; i++) {
		const struct probe_request request = gathered->requests[i];
		size_t at = i;

		while (at && gathered->requests[at - 1].address > request.address)
			at--;
		if (at == i)
			continue;
		memmove(&gathered->requests[at + 1], &gathered->requests[at],
			(i - at) * sizeof(request));
		gathered->requests[at] = request;
	}
}

static size_t read_image(void *image, uint64_t address, void *out, size_t nr_bytes)
{
	return elf_image_read(image, address, out, nr_bytes);
}

/* Not before probes are in, as making them takes the most memory. */
static void make_places(struct gathered *gathered)
{
	gathered->places = xcalloc(gathered->nr, sizeof(*gathered->places));
	for (size_t i = 0; i < gathered->nr; i++) {
		const struct probe_request *request = &gathered->requests[i];
		/* Its first member. */
		const struct gathered_code *code = (const void *)request->code;

		gathered->places[i] = (struct counted_place){.wanted = request->number,
							     .file = code->file,
							     .row = NO_ROW,
							     .is_again = code->is_again};
	}
}

static uint64_t plt_word(struct target_memory *memory, uint64_t address)
{
	uint8_t bytes[PLT_ENTRY_BYTES];

	return target_memory_get(memory, address, bytes, sizeof(bytes))
		       ? plt_entry_word(bytes, sizeof(bytes), address)
		       : 0;
}

/* A word that is not bound yet leads to no function: its entry in the PLT has the callee's name. */
static void read_callee(const struct probed_process *process, struct counted_more *call,
			struct target_memory *memory)
{
	const struct prober_mapping *mapping =
		call->entry ? prober_mapping_at(process, call->entry) : NULL;
	uint64_t callee;

	if (!target_memory_word(memory, call->word, &callee))
		return;
	call->callee =
		mapping && known_code_is_unbound(mapping->file->image, call->word - mapping->bias,
						 mapping->bias, callee)
			? call->entry
			: callee;
}

/* The callee, as far as it is known before the first call. */
static void note_callee(const struct probed_process *process, struct counted_place *place,
			uint64_t address, bool is_word, struct target_memory *memory)
{
	struct counted_more *call = counted_more(place);

	call->word = is_word ? address : plt_word(memory, address);
	call->entry = call->word && !is_word ? address : 0;
	call->callee = is_word ? 0 : address;
	if (call->word)
		read_callee(process, call, memory);
	place->has_callee = true;
}

static void note_outcomes(const struct probed_process *process, struct gathered *gathered,
			  const struct installation *installation, struct target_memory *memory)
{
	for (size_t i = 0; i < gathered->nr; i++) {
		const struct probe_request *request = &gathered->requests[i];
		struct counted_place *place = &gathered->places[i];
		uint64_t callee;
		bool is_word;

		place->outcome = request->outcome;
		place->counter = request->counter;
		place->is_in_sled = request->outcome == PATCH_OK &&
				    installation_is_in_sled(installation, request->counter);
		if (request->is_call && request->outcome == PATCH_OK &&
		    installation_callee(installation, request->counter, &callee, &is_word))
			note_callee(process, place, callee, is_word, memory);
	}
}

/* Will its name be told? */
static bool is_to_be_told(const struct counted_place *place)
{
	return place->is_in_sled ||
	       (place->outcome != PATCH_OK && !place->is_again &&
		wanted_is_told(&place->file->wanted, counted_wanted(place), place->outcome));
}

/* Name the places that have no probe for a reason that the file did not show. */
static void name_refused(struct prober *prober, const struct gathered *gathered)
{
	struct wanted_place **places = xcalloc(gathered->nr + 1, sizeof(struct wanted_place *));
	size_t nr = 0;

	for (size_t i = 0; i < gathered->nr; i++) {
		const struct counted_place *place = &gathered->places[i];
		struct prober_file *file = place->file;

		if (!counted_wanted(place)->name && is_to_be_told(place))
			places[nr++] = counted_wanted(place);
		if (i + 1 < gathered->nr && gathered->places[i + 1].file == file)
			continue;
		prober_file_name(prober, file, places, nr, &prober->lock);
		nr = 0;
	}
	free(places);
}

/*
 * A process may have called, and have ended, before its probes are known here. If it was no longer
 * to be counted by then, as the recording had ended, these calls are all that there are.
 */
static void catch_up(const struct prober *prober, struct probed *probed,
		     struct prober_counting before)
{
	struct heap_ring *heap =
		probed->installation ? installation_heap(probed->installation) : NULL;

	for (uint32_t i = 0; before.calls && !prober->counting.calls && i < probed->nr_timed; i++)
		timed_calls_keep(&probed->timed[i], probed->installation);
	for (size_t i = 0; before.calls && !prober->counting.calls && i < probed->nr_places; i++) {
		struct counted_place *place = &probed->places[i];
		uint64_t calls = place->outcome == PATCH_OK
					 ? installation_count(probed->installation, place->counter)
					 : 0;

		if (calls)
			counted_more(place)->calls = calls;
	}
	if (before.memory && !prober->counting.memory && heap)
		heap_ring_totals(heap, &probed->heap_counted);
}

/* Threads are known by their ids in the notes. */
static void begin_notes(const struct probed_process *process, struct probed *probed)
{
	struct patch_notes *notes = installation_notes(probed->installation);

	if (!notes)
		return;
	if (proc_own_pid(process->pid) != process->pid)
		probed->noted_refusal = "the process has a PID namespace of its own";
	else if (!installation_knows_ids(probed->installation))
		probed->noted_refusal = "the ids of threads are not where profc looks for them";
	else
		probed->noted = noted_calls_new(notes);
}

/* Moves the places to the process. `before`: what was counted when its probes began to. */
static void keep(struct prober *prober, struct probed_process *process, struct gathered *gathered,
		 struct installation *installation, const struct probe_cost *cost,
		 bool is_from_start, struct prober_counting before)
{
	pthread_mutex_lock(&prober->lock);
	ARRAY_GROW(process->probed, process->nr_probed, process->cap_probed);
	process->probed[process->nr_probed++] = (struct probed){
		.installation = installation,
		.places = gathered->places,
		.nr_places = gathered->nr,
		.from_ns = clock_monotonic_ns(),
		.is_from_start = is_from_start,
	};
	/* They were there just now. */
	if (process->nr_probed == 1 && !process->giver)
		process->looks.code_ns = clock_monotonic_ns();
	timed_calls_init(
		&process->probed[process->nr_probed - 1],
		&(struct slow_limits){prober->options.slow_ns, prober->options.slow_most_ns},
		&prober->sums.begun);
	if (installation)
		begin_notes(process, &process->probed[process->nr_probed - 1]);
	catch_up(prober, &process->probed[process->nr_probed - 1], before);
	/* The options may have changed since. */
	if (installation)
		installation_set_heap(installation, &prober->options.heap);
	prober->sums.cost.stop_ns += cost->stop_ns;
	prober->sums.cost.remote_ns += cost->remote_ns;
	prober->sums.stop_ns_max = max_u64(prober->sums.stop_ns_max, cost->stop_ns);
	pthread_mutex_unlock(&prober->lock);
	gathered->places = NULL;
}

static int clean(const struct probe_access *access, struct err *err)
{
	struct probe_cost cost = {0};
	bool is_kept;
	pid_t owner;

	switch (probes_find(access->pid, &owner)) {
	case PROBES_NONE:
	case PROBES_OURS:
		return 0;
	case PROBES_LEFT_BEHIND:
		return probes_remove(access, NULL, &cost, &is_kept, err);
	case PROBES_OF_OTHERS:
		break;
	}
	return err_set(err, ERR_PERMISSION, "calls in process %d are counted by process %d already",
		       (int)access->pid, (int)owner);
}

/* If the gate cannot be watched in a file nothing is counted, rather than a wrong number. */
static int check_gate(const struct probed_process *process, struct err *err)
{
	for (size_t i = 0; i < process->nr_mappings; i++) {
		const struct wanted *wanted = &process->mappings[i].file->wanted;

		if (wanted->gate_refusal)
			return err_set(err, ERR_INVALID, "%s", wanted->gate_refusal);
	}
	return 0;
}

static struct heap_options heap_wanted(struct prober *prober, struct prober_counting *counting)
{
	struct heap_options heap;

	pthread_mutex_lock(&prober->lock);
	heap = prober->options.heap;
	*counting = prober->counting;
	pthread_mutex_unlock(&prober->lock);
	return heap;
}

/* Its own, or inherited. */
static bool has_heap(const struct probed_process *process)
{
	for (; process; process = process->giver) {
		for (size_t i = 0; i < process->nr_probed; i++) {
			struct installation *installation = process->probed[i].installation;

			if (installation && installation_heap(installation))
				return true;
		}
	}
	return false;
}

/* A static probe is refused by its name, where the process shows why and not the file. */
static void name_site(const struct gathered *gathered, struct err *err)
{
	for (size_t i = 0; err->code == ERR_INVALID && i < gathered->nr; i++) {
		const struct probe_request *request = &gathered->requests[i];
		const struct gathered_code *code = (const void *)request->code;

		if (!request->is_site || request->outcome == PATCH_OK)
			continue;
		err_set(err, ERR_INVALID, "the time from or to %s cannot be measured: %s",
			code->file->wanted.places[request->number].name,
			patch_outcome_text(request->outcome));
		return;
	}
}

static int install(struct prober *prober, struct probed_process *process,
		   const struct probe_access *access, struct gathered *gathered, struct err *err)
{
	struct installation *installation = NULL;
	struct probe_cost cost = {0};
	struct prober_counting counting;
	const struct heap_options heap = heap_wanted(prober, &counting);
	const struct probe_extras extras = {.gate = prober->options.has_gate ? &process->gate
									     : NULL,
					    .heap = &heap,
					    .read_file = read_image,
					    .has_heap_before = has_heap(process)};
	struct err own = ERR_INIT;
	int status;

	if (gathered->nr > prober->options.max_places)
		return err_set(err, ERR_LIMIT,
			       "%zu functions and calls in process %d are too many to count",
			       gathered->nr, (int)access->pid);
	status = check_gate(process, err);
	if (status == 0)
		status = willing_to_be_probed(access->pid, access->own_filters, err);
	if (status == 0 && gathered->has_probes)
		status = clean(access, err);
	if (status < 0)
		return status;
	sort_by_address(gathered);
	status = installation_make(&installation, access, gathered->requests, gathered->nr, &extras,
				   &cost, &own);
	if (status < 0 && status != ERR_EMPTY) {
		name_site(gathered, &own);
		if (err)
			*err = own;
		return status;
	}
	make_places(gathered);
	note_outcomes(process, gathered, installation, access->memory);
	name_refused(prober, gathered);
	keep(prober, process, gathered, installation, &cost, access->is_stopped, counting);
	return 0;
}

const struct prober_mapping *prober_mapping_at(const struct probed_process *process,
					       uint64_t address)
{
	for (; process; process = process->giver) {
		for (size_t i = process->nr_mappings; i > 0; i--) {
			const struct prober_mapping *mapping = &process->mappings[i - 1];

			if (address >= mapping->start && address < mapping->end)
				return mapping;
		}
	}
	return NULL;
}

void prober_read_callee(struct prober *prober, const struct probed_process *process,
			struct counted_place *place)
{
	cleanup_target_memory struct target_memory *memory =
		process->is_gone ? NULL : target_memory_open(process->pid, &prober->backings);

	if (memory)
		read_callee(process, place->more, memory);
}

void prober_read_callees(struct prober *prober, struct probed_process *process)
{
	for (size_t i = 0; i < process->nr_probed; i++) {
		struct probed *probed = &process->probed[i];

		for (size_t k = 0; k < probed->nr_places; k++) {
			struct counted_place *place = &probed->places[k];
			const struct prober_mapping *mapping =
				place->has_callee && place->more->word
					? prober_mapping_at(process, place->more->callee)
					: NULL;

			if (mapping && mapping->file == place->file)
				prober_read_callee(prober, process, place);
		}
	}
}

int prober_install(struct prober *prober, struct probed_process *process,
		   const struct probe_access *access, struct err *err)
{
	struct gathered gathered = {0};
	bool is_looked_at;
	int status = 0;

	pthread_mutex_lock(&prober->install_lock);
	is_looked_at = gather_new(prober, process, access->memory, &gathered);
	if (!is_looked_at)
		status = err_set(err, ERR_GONE, "process %d has ended", (int)process->pid);
	else if (prober->options.has_span) /* else there may be nothing to put in */
		status = check_gate(process, err);
	if (status == 0 && gathered.nr)
		status = install(prober, process, access, &gathered, err);
	pthread_mutex_lock(&prober->lock);
	process->is_looked_at |= is_looked_at;
	if (prober->options.heap.is_all)
		tell_code(process);
	prober->nr_wanted += gathered.nr;
	pthread_mutex_unlock(&prober->lock);
	pthread_mutex_unlock(&prober->install_lock);
	gathered_release(&gathered);
	return status;
}

struct installing {
	struct prober *prober;
	struct probed_process *process;
	const struct probe_access *access;
	struct err *err;
	int status;
};

static void install_in_thread(void *context)
{
	struct installing *installing = context;

	urgency_short_slices();
	installing->status = prober_install(installing->prober, installing->process,
					    installing->access, installing->err);
}

int prober_install_apart(struct prober *prober, struct probed_process *process,
			 const struct probe_access *access, struct err *err)
{
	struct installing installing = {
		.prober = prober, .process = process, .access = access, .err = err};

	own_thread_run(install_in_thread, &installing);
	return installing.status;
}
