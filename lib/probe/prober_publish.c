// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts as rows of a profile. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "heap/heap_ring.h"
#include "inject/installation.h"
#include "mapping/module.h"
#include "mapping/module_file.h"
#include "probe/prober_priv.h"
#include "probe/prober_publish_priv.h"
#include "probe/prober_spans_priv.h"
#include "probe/prober_wakes_priv.h"
#include "probe/tail_calls.h"
#include "proc/memory.h"
#include "proc/read.h"
#include "profile/heap.h"
#include "profile/heap_survey.h"
#include "profile/profile.h"
#include "profile/wakes.h"

/*
 * This long after the end of a process, a child with inherited probes may still become known: it is
 * found within some ticks.
 */
#define HEIRS_NS (2 * NS_PER_SEC)

struct publishing {
	struct prober *prober;
	struct profile *profile;
	uint64_t start_ns, now_ns;
	bool is_last;
};

/* The latest, as a file may have been replaced under its path and inode. */
static struct module_id known_module(const struct profile *profile, const struct prober_file *file)
{
	for (uint32_t i = module_table_nr(profile->modules); i > 0; i--) {
		struct module_id id = {i - 1};
		const struct module *module = module_table_get(profile->modules, id);

		if (module->kind == MODULE_KIND_FILE && module->inode == file->inode &&
		    module->dev == file->dev)
			return id;
	}
	return MODULE_UNKNOWN;
}

/* `is_needed`: add the module, even if the process ended before its memory map was read. */
static struct module_id module_of(const struct profile *profile, struct prober_file *file,
				  bool is_needed)
{
	const struct module mapped = {.path = file->path, .dev = file->dev, .inode = file->inode};

	if (file->module.v == MODULE_UNKNOWN.v)
		file->module = known_module(profile, file);
	if (file->module.v == MODULE_UNKNOWN.v && is_needed)
		file->module = module_table_intern_mapped(profile->modules, &mapped, file->fd,
							  file->image);
	return file->module;
}

static bool frame_of(struct publishing *publishing, struct prober_file *file, uint64_t address,
		     bool is_needed, struct frame_id *frame)
{
	struct module_id module = module_of(publishing->profile, file, is_needed);

	if (module.v == MODULE_UNKNOWN.v)
		return false;
	*frame = profile_intern_frame(publishing->profile,
				      (struct code_address){.module = module, .address = address});
	return true;
}

static struct frame_id callee_of(struct publishing *publishing,
				 const struct probed_process *process, struct counted_place *place)
{
	const struct prober_mapping *mapping;
	struct frame_id frame;

	if (!place->has_callee)
		return COUNT_NO_CALLEE;
	if (place->more->word)
		prober_read_callee(publishing->prober, process, place);
	mapping = prober_mapping_at(process, place->more->callee);
	if (!mapping ||
	    !frame_of(publishing, mapping->file, place->more->callee - mapping->bias, true, &frame))
		return COUNT_NO_CALLEE;
	return frame;
}

static void add_row(struct publishing *publishing, const struct probed_process *process,
		    const struct probed *probed, struct counted_place *place, uint64_t calls)
{
	const struct wanted_place *wanted = counted_wanted(place);
	bool is_call = wanted->kind == WANTED_CALL;
	struct profile_count row = {
		.process = process->serial,
		.callee = COUNT_NO_CALLEE,
		.kind = is_call ? COUNT_CALL : COUNT_ENTRY,
		.flags = probed->is_from_start ? COUNT_FROM_START : 0,
		.from_ns =
			probed->is_from_start
				? publishing->profile->processes[process->serial].start_ns
				: probed->from_ns - min_u64(probed->from_ns, publishing->start_ns),
	};
	uint64_t inside = is_call ? max_u64(wanted->nr_bytes, 1) - 1 : 0;

	if (!frame_of(publishing, place->file, wanted->address + inside, calls || process->is_gone,
		      &row.where))
		return;
	if (is_call)
		row.callee = callee_of(publishing, process, place);
	place->row = profile_add_count(publishing->profile, &row);
}

/* Nothing asks for it before the first call. */
static bool has_tail_call(const struct counted_place *place)
{
	const struct wanted *wanted = &place->file->wanted;
	struct wanted_place *known = counted_wanted(place);

	if (known->kind == WANTED_ENTRY && !known->is_decoded)
		known->has_tail_call = tail_calls_has(wanted, place->file->image, known);
	known->is_decoded = true;
	return known->has_tail_call;
}

static void publish_place(struct publishing *publishing, const struct probed_process *process,
			  const struct probed *probed, struct counted_place *place)
{
	uint64_t calls = counted_calls(publishing->prober, probed, place);
	uint64_t until_ns = place->more ? place->more->until_ns : 0;
	uint64_t to_ns = until_ns	    ? until_ns
			 : process->is_gone ? process->gone_ns
					    : publishing->now_ns;
	struct profile_count *row;

	if (calls || place->more)
		calls = believed_calls(&publishing->prober->sums.believed,
				       &counted_more(place)->believed, calls);
	/* Before its first call the callee of a call is unknown. */
	if (place->row == NO_ROW &&
	    (counted_wanted(place)->kind == WANTED_ENTRY || calls || process->is_gone))
		add_row(publishing, process, probed, place, calls);
	if (place->row == NO_ROW)
		return;
	row = &publishing->profile->probes.counts[place->row];
	row->calls = calls;
	if (calls && has_tail_call(place))
		row->flags |= COUNT_TAIL_CALL;
	row->to_ns = to_ns - min_u64(to_ns, publishing->start_ns);
}

static void add_refusal(struct publishing *publishing, const struct probed_process *process,
			const char *function, const char *module, const char *reason)
{
	struct profile *profile = publishing->profile;

	profile_add_refusal(profile,
			    &(struct profile_refusal){.process = process->serial,
						      .function = profile_intern(profile, function),
						      .module = profile_intern(profile, module),
						      .reason = profile_intern(profile, reason)});
}

static bool begins_span(const struct wanted_place *wanted)
{
	return wanted->kind == WANTED_GATE_ENTRY || wanted->kind == WANTED_SPAN_FROM ||
	       wanted->is_gate_entry;
}

/* The function that is timed, or from which on time is; the first of several with its name. */
static const struct counted_place *timed_place(const struct probed *probed, uint32_t index)
{
	for (size_t i = 0; i < probed->nr_places; i++) {
		const struct wanted_place *wanted = counted_wanted(&probed->places[i]);

		if (begins_span(wanted) && wanted->gate == index)
			return &probed->places[i];
	}
	return NULL;
}

/* Probes that were installed together have spans of their own: none begins in others' code. */
static void tell_lone_end(struct publishing *publishing, const struct probed_process *process,
			  const struct probed *probed, struct timed_calls *timed)
{
	for (size_t i = 0; i < probed->nr_places && !timed->is_told; i++) {
		const struct counted_place *place = &probed->places[i];

		if (counted_wanted(place)->kind != WANTED_SPAN_TO ||
		    counted_wanted(place)->gate != timed->index)
			continue;
		timed->is_told = true;
		add_refusal(publishing, process, prober_name_of(publishing->prober, place),
			    place->file->path,
			    "its file was loaded after that of the other function of the pair: no "
			    "time that ends here is measured");
	}
}

static bool add_span(struct publishing *publishing, const struct probed_process *process,
		     const struct probed *probed, struct timed_calls *timed,
		     const struct counted_place *place)
{
	struct profile *profile = publishing->profile;
	const char *pair = publishing->prober->options.pairs[timed->index];
	struct profile_span row = {
		.process = process->serial,
		.from_ns = probed->is_from_start ? profile->processes[process->serial].start_ns
						 : probed->from_ns - min_u64(probed->from_ns,
									     publishing->start_ns),
	};

	if (timed->row != NO_ROW)
		return true;
	if (!frame_of(publishing, place->file, counted_wanted(place)->address, true, &row.where))
		return false;
	row.pair = profile_intern(profile, pair ? pair : "");
	row.number = timed->index;
	timed->row = profile_add_span(profile, &row);
	return true;
}

static void publish_span(struct publishing *publishing, const struct probed_process *process,
			 struct probed *probed, struct timed_calls *timed)
{
	struct prober_sums *sums = &publishing->prober->sums;
	const struct counted_place *place = timed_place(probed, timed->index);
	uint64_t to_ns = process->is_gone ? process->gone_ns : publishing->now_ns;
	const struct timed_calls_told told = {
		.profile = publishing->profile,
		.believed = &sums->believed,
		.begun = &sums->begun,
		.start_ns = publishing->start_ns,
		.to_ns = to_ns - min_u64(to_ns, publishing->start_ns),
		.is_counting = publishing->prober->counting.calls,
		.is_gone = process->is_gone,
		.is_last = publishing->is_last,
	};

	if (!place)
		tell_lone_end(publishing, process, probed, timed);
	if (!place || !add_span(publishing, process, probed, timed, place) ||
	    timed_calls_tell(timed, probed->installation, &told) || timed->is_told)
		return;
	timed->is_told = true;
	add_refusal(publishing, process, prober_name_of(publishing->prober, place),
		    place->file->path,
		    "the process has written to the times of its calls: timed until then");
}

struct noting {
	struct publishing *publishing;
	const struct probed_process *process;
};

/* The instruction before an address to which a call returns. */
static struct frame_id frame_of_caller(void *context, uint64_t address)
{
	struct noting *noting = context;
	const struct prober_mapping *mapping = prober_mapping_at(noting->process, address - 1);
	struct frame_id frame;

	return mapping && frame_of(noting->publishing, mapping->file, address - 1 - mapping->bias,
				   true, &frame)
		       ? frame
		       : (struct frame_id){UINT32_MAX};
}

static void publish_notes(struct publishing *publishing, const struct probed_process *process,
			  struct probed *probed)
{
	struct noting noting = {publishing, process};
	const struct noted_calls_told told = {.profile = publishing->profile,
					      .begun = &publishing->prober->sums.begun,
					      .start_ns = publishing->start_ns,
					      .process = process->serial,
					      .is_last = publishing->is_last,
					      .frame_of = frame_of_caller,
					      .context = &noting};

	if (probed->noted_refusal)
		add_refusal(publishing, process, WAKES_REFUSED "]", "", probed->noted_refusal);
	probed->noted_refusal = NULL;
	if (probed->noted)
		noted_calls_tell(probed->noted, &told);
}

/* The calls that were counted before stay in the profile. */
static void tell_spoilt(struct publishing *publishing, const struct probed_process *process,
			struct counted_place *place)
{
	struct believed_count *believed = place->more ? &place->more->believed : NULL;

	if (!believed || !believed->is_spoilt)
		return;
	if (!believed->is_told)
		add_refusal(publishing, process, prober_name_of(publishing->prober, place),
			    place->file->path,
			    "the process has written to its counter: counted until then");
	believed->is_told = true;
}

static void tell_refusals(struct publishing *publishing, const struct probed_process *process,
			  struct probed *probed)
{
	for (size_t i = 0; i < probed->nr_places && !probed->is_told; i++) {
		const struct counted_place *place = &probed->places[i];

		if (place->outcome != PATCH_OK && !place->is_again &&
		    wanted_is_told(&place->file->wanted, counted_wanted(place), place->outcome))
			add_refusal(publishing, process, prober_name_of(publishing->prober, place),
				    place->file->path, patch_outcome_text(place->outcome));
	}
	probed->is_told = true;
}

/* Calls after the change are not counted, and need not be zero. */
static void tell_change(struct publishing *publishing, const struct probed_process *process,
			struct counted_place *place)
{
	const char *reason = wanted_is_counted(counted_wanted(place))
				     ? "the program changed its code: counted until then"
			     : counted_wanted(place)->kind == WANTED_HEAP_WORD
				     ? "the program has set an allocator of its own: from then on "
				       "watched where that calls it"
				     : "the program changed its code: watched until then";

	if (place->is_change_told || !(place->is_changed || place->is_in_sled) ||
	    (counted_wanted(place)->name && !*counted_wanted(place)->name))
		return;
	if (!place->is_changed)
		reason = "the program may patch it: counted while it was not patched";
	place->is_change_told = true;
	add_refusal(publishing, process, prober_name_of(publishing->prober, place),
		    place->file->path, reason);
}

/* Refusals of a file, once, with the first process that maps it. */
static void tell_of_files(struct publishing *publishing, const struct probed_process *process)
{
	for (size_t i = 0; i < process->nr_mappings; i++) {
		struct prober_file *file = process->mappings[i].file;

		for (size_t k = 0; k < file->wanted.nr_refusals && !file->is_told; k++)
			add_refusal(publishing, process, file->wanted.refusals[k].name, file->path,
				    file->wanted.refusals[k].reason);
		file->is_told = true;
	}
}

/* The kernel takes some microseconds for each mapping. */
#define MOMENT_NS (NS_PER_SEC - 50 * NS_PER_MS)

uint64_t prober_next_moment_ns(uint64_t at_ns)
{
	return at_ns + MOMENT_NS;
}

void prober_read_memory(pid_t pid, struct profile_heap_moment *moment)
{
	struct proc_memory memory;
	struct buf text = {0};

	if (proc_read_process_file(pid, "status", &text) &&
	    proc_memory_parse(buf_str(&text), text.nr_bytes, &memory)) {
		moment->rss_anon_bytes = memory.rss_anon_bytes;
		moment->rss_file_bytes = memory.rss_file_bytes;
		moment->rss_shmem_bytes = memory.rss_shmem_bytes;
		moment->swap_bytes = memory.swap_bytes;
		buf_clear(&text);
		if (proc_read_process_file(pid, "smaps", &text))
			moment->heap_mapped_bytes =
				proc_memory_of_heaps(buf_str(&text), text.nr_bytes);
	}
	buf_release(&text);
}

void prober_copy_memory(const struct profile_heap *heap, struct profile_heap_moment *moment)
{
	for (size_t i = heap->nr_moments; i > 0; i--) {
		const struct profile_heap_moment *former = &heap->moments[i - 1];

		if (former->process != moment->process)
			continue;
		moment->rss_anon_bytes = former->rss_anon_bytes;
		moment->rss_file_bytes = former->rss_file_bytes;
		moment->rss_shmem_bytes = former->rss_shmem_bytes;
		moment->swap_bytes = former->swap_bytes;
		moment->heap_mapped_bytes = former->heap_mapped_bytes;
		return;
	}
}

/* With --mem=all only recorded processes are counted. */
static bool has_strangers(const struct probed *probed)
{
	const struct heap_ring *ring = installation_heap(probed->installation);

	return ring->has_strangers && !ring->all;
}

static bool has_heap(const struct probed_process *process)
{
	for (size_t i = 0; i < process->nr_probed; i++) {
		struct installation *installation = process->probed[i].installation;

		if (installation && installation_heap(installation))
			return true;
	}
	return false;
}

bool prober_add_totals(struct prober *prober, struct probed_process *process,
		       struct profile_heap_moment *moment)
{
	struct heap_totals totals;
	bool is_known = true;

	moment->allocated_bytes = moment->nr_allocations = 0;
	moment->nr_dropped = moment->nr_frees_dropped = 0;
	for (size_t i = 0; i < process->nr_probed; i++) {
		if (!counted_heap(prober, &process->probed[i], &totals))
			continue;
		is_known &= !has_strangers(&process->probed[i]);
		moment->allocated_bytes += totals.allocated_bytes;
		moment->nr_allocations += totals.nr_allocations;
		moment->nr_dropped += totals.nr_dropped + totals.nr_lost;
		moment->nr_frees_dropped += totals.nr_frees;
	}
	if (!has_heap(process))
		return false;
	believed_moment(&prober->sums.believed, &process->moments.believed, moment);
	if (!is_known)
		moment->allocated_bytes = moment->nr_allocations = 0;
	return true;
}

static bool is_due(const struct publishing *publishing, const struct probed_process *process)
{
	return process->serial < publishing->profile->nr_processes && !process->is_gone &&
	       publishing->now_ns >= process->moments.again_ns && has_heap(process);
}

/*
 * With tens of thousands of mappings this takes a tenth of a second: so it is done without the
 * lock, for which each sample waits.
 */
static void read_memories(const struct publishing *publishing)
{
	struct prober *prober = publishing->prober;
	struct probed_process **due = NULL;
	size_t nr = 0, cap = 0;

	pthread_mutex_lock(&prober->lock);
	for (size_t i = 0; i < prober->nr_open; i++) {
		if (!is_due(publishing, prober->open[i]))
			continue;
		prober_use(prober->open[i]);
		ARRAY_GROW(due, nr, cap);
		due[nr++] = prober->open[i];
	}
	pthread_mutex_unlock(&prober->lock);
	/* A process that has ended keeps its last values. */
	for (size_t i = 0; i < nr; i++)
		prober_read_memory(due[i]->pid, &due[i]->moments.latest);
	pthread_mutex_lock(&prober->lock);
	for (size_t i = 0; i < nr; i++)
		prober_release(due[i]);
	pthread_mutex_unlock(&prober->lock);
	free(due);
}

static void publish_moment(struct publishing *publishing, struct probed_process *process)
{
	const struct profile_heap *heap = &publishing->profile->heap;
	uint64_t at_ns = process->is_gone ? process->gone_ns : publishing->now_ns;
	struct moments *moments = &process->moments;
	struct profile_heap_moment *moment = &moments->latest;

	if (moments->is_last_told || (at_ns < moments->again_ns && !process->is_gone) ||
	    !prober_add_totals(publishing->prober, process, moment))
		return;
	moment->process = process->serial;
	if (process->is_gone)
		prober_copy_memory(heap, moment);
	moment->time_ns = at_ns - publishing->start_ns;
	if (heap->nr_moments)
		moment->time_ns =
			max_u64(moment->time_ns, heap->moments[heap->nr_moments - 1].time_ns);
	moments->is_last_told = process->is_gone;
	moments->again_ns = prober_next_moment_ns(at_ns);
	profile_add_heap_moment(publishing->profile, moment);
}

static void publish_process(struct publishing *publishing, struct probed_process *process)
{
	if (process->serial >= publishing->profile->nr_processes)
		return;
	if (process->refusal && !process->is_refusal_told) {
		add_refusal(publishing, process, "", "", process->refusal);
		process->is_refusal_told = true;
	}
	tell_of_files(publishing, process);
	publish_moment(publishing, process);
	for (size_t i = 0; i < process->nr_probed; i++) {
		struct probed *probed = &process->probed[i];

		tell_refusals(publishing, process, probed);
		for (uint32_t k = 0; k < probed->nr_timed; k++)
			publish_span(publishing, process, probed, &probed->timed[k]);
		publish_notes(publishing, process, probed);
		probed_read_counts(probed);
		for (size_t k = 0; k < probed->nr_places; k++) {
			struct counted_place *place = &probed->places[k];

			tell_change(publishing, process, place);
			if (place->outcome == PATCH_OK && wanted_is_counted(counted_wanted(place)))
				publish_place(publishing, process, probed, place);
			tell_spoilt(publishing, process, place); /* as was found just now */
		}
		probed_forget_counts(probed);
	}
}

/* Did another program end before it was known whether it has wanted places? */
static bool is_overlooked(const struct probed_process *process)
{
	return process->is_gone && !process->is_looked_at && !process->giver;
}

static void add_shortfall(const struct prober *prober, const struct probed_process *process,
			  struct shortfall *sum)
{
	uint64_t most = believed_most(&prober->sums.believed);

	for (size_t k = 0; k < process->nr_probed; k++) {
		struct installation *installation = process->probed[k].installation;
		struct heap_ring *heap = installation ? installation_heap(installation) : NULL;
		uint64_t nr_missed = installation ? installation_nr_missed(installation) : 0;
		uint64_t nr_notes = noted_calls_dropped(process->probed[k].noted);

		sum->nr_refused +=
			(heap ? heap->nr_refused : 0) + (nr_missed > most) + (nr_notes > most);
		sum->nr_missed += nr_missed > most ? 0 : nr_missed;
		sum->nr_notes_dropped += nr_notes > most ? 0 : nr_notes;
		for (uint32_t i = 0; i < process->probed[k].nr_timed; i++)
			sum->nr_slow_dropped += process->probed[k].timed[i].slow.nr_dropped;
	}
	sum->nr_overlooked += is_overlooked(process);
}

static bool is_over(const struct probed_process *process, uint64_t now_ns)
{
	return process->is_gone && !process->nr_users && !process->nr_heirs &&
	       now_ns > process->gone_ns + HEIRS_NS;
}

static void publish_time_off(const struct prober_sums *sums, const struct publishing *publishing)
{
	uint64_t off_ns = sums->memory_off_ns;

	if (sums->memory_off_since_ns)
		off_ns +=
			publishing->now_ns - min_u64(publishing->now_ns, sums->memory_off_since_ns);
	if (off_ns)
		profile_set_counter(publishing->profile, "memory_off_ns", off_ns);
}

void prober_publish(struct prober *prober, struct profile *profile, uint64_t start_ns, bool is_last)
{
	struct publishing publishing = {.prober = prober,
					.profile = profile,
					.start_ns = start_ns,
					.now_ns = clock_monotonic_ns(),
					.is_last = is_last};
	struct shortfall shortfall = {0};

	read_memories(&publishing);
	pthread_mutex_lock(&prober->lock);
	prober->sums.start_ns = start_ns;
	for (size_t i = prober->nr_open; i > 0; i--) { /* closing moves the last one here */
		struct probed_process *process = prober->open[i - 1];

		publish_process(&publishing, process);
		if (!is_over(process, publishing.now_ns)) {
			add_shortfall(prober, process, &shortfall);
			continue;
		}
		add_shortfall(prober, process, &prober->sums.shortfall);
		prober_close(prober, process);
	}
	profile->spans.told_ns = publishing.now_ns - min_u64(publishing.now_ns, start_ns);
	publish_time_off(&prober->sums, &publishing);
	if (prober->heap.is_wanted && !heap_ring_has_cycles())
		profile_set_counter(profile, HEAP_COARSE_TIMES, 1);
	if (prober->options.has_gate || prober->options.has_span)
		profile_set_counter(profile, "probe_dropped",
				    prober->sums.shortfall.nr_missed + shortfall.nr_missed);
	profile_set_counter(profile, "probe_install_ns", prober->sums.cost.stop_ns);
	profile_set_counter(profile, "probe_remote_ns", prober->sums.cost.remote_ns);
	profile_set_counter(profile, "probe_stop_ns_max", prober->sums.stop_ns_max);
	shortfall.nr_overlooked += prober->sums.shortfall.nr_overlooked;
	if (shortfall.nr_overlooked)
		profile_set_counter(profile, "probe_overlooked", shortfall.nr_overlooked);
	shortfall.nr_slow_dropped += prober->sums.shortfall.nr_slow_dropped;
	if (shortfall.nr_slow_dropped)
		profile_set_counter(profile, SLOW_CALLS_DROPPED, shortfall.nr_slow_dropped);
	shortfall.nr_notes_dropped += prober->sums.shortfall.nr_notes_dropped;
	if (shortfall.nr_notes_dropped)
		profile_set_counter(profile, WAKES_DROPPED, shortfall.nr_notes_dropped);
	shortfall.nr_refused +=
		prober->sums.shortfall.nr_refused + prober->sums.believed.nr_refused;
	if (shortfall.nr_refused)
		profile_set_counter(profile, "probe_refused", shortfall.nr_refused);
	pthread_mutex_unlock(&prober->lock);
}

/* A last look at the code shows until when a probe counted. */
static void publish_last_look(struct publishing *publishing, struct probed_process *process)
{
	for (size_t i = 0; i < process->nr_probed; i++) {
		struct probed *probed = &process->probed[i];

		for (size_t k = 0; k < probed->nr_places; k++) {
			struct counted_place *place = &probed->places[k];
			uint64_t until_ns = place->more ? place->more->until_ns : 0;

			tell_change(publishing, process, place);
			if (until_ns && place->row != NO_ROW)
				publishing->profile->probes.counts[place->row].to_ns =
					until_ns - min_u64(until_ns, publishing->start_ns);
		}
	}
}

void prober_publish_removal(struct prober *prober, struct profile *profile)
{
	struct publishing publishing = {
		.prober = prober, .profile = profile, .start_ns = prober->sums.start_ns};

	for (size_t i = 0; i < prober->nr_open; i++) {
		if (prober->open[i]->serial < profile->nr_processes)
			publish_last_look(&publishing, prober->open[i]);
	}
	prober_publish_missed(prober, profile);
	if (!prober->sums.remove_ns)
		return;
	profile_set_counter(profile, "probe_remove_ns", prober->sums.remove_ns);
	profile_set_counter(profile, "probe_stop_ns_max", prober->sums.stop_ns_max);
}
