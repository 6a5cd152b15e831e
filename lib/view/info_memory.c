// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory in `profc info`. */
#include "view/info_memory.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "profile/heap_estimate.h"
#include "profile/heap_survey.h"
#include "profile/profile.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/reach_text.h"
#include "view/summary.h"

static uint64_t whole(double amount)
{
	return amount > 0 ? (uint64_t)(amount + 0.5) : 0;
}

/* "1.21 MiB ± 200 KiB in 1,204 blocks" */
static void append_amount(struct buf *out, const struct heap_amount *amount)
{
	append_memory(out, whole(amount->bytes));
	if (whole(amount->error_bytes)) {
		buf_append_str(out, " \xc2\xb1 ");
		append_memory(out, whole(amount->error_bytes));
	}
	buf_append_str(out, " in ");
	append_weight(out, METRIC_ALLOCS, whole(amount->blocks));
}

static void print_fact(const struct view *view, const char *lead, struct buf *text,
		       struct sink *sink)
{
	paragraph_print(view, lead, buf_str(text), sink);
	buf_clear(text);
}

static void append_sampling(struct buf *out, const struct heap_survey *survey)
{
	buf_append_str(out, survey->allocated_is_exact ? ", exact; " : "; ");
	if (survey->nr_samples && !survey->mean_bytes && !survey->nr_dropped) {
		buf_append_str(out, "all of them recorded");
		return;
	}
	append_count(out, survey->nr_samples);
	buf_append_str(out, survey->nr_samples == 1 ? " block recorded" : " blocks recorded");
	if (survey->mean_bytes) {
		buf_append_str(out, ", one for each ");
		append_memory(out, survey->mean_bytes);
	}
	if (!survey->nr_dropped)
		return;
	buf_append_str(out, "; ");
	append_count(out, survey->nr_dropped);
	if (survey->mean_bytes)
		buf_append_str(out, " more were left out: others represent them");
	else
		buf_append_str(out, " more were lost");
}

static void print_frees_dropped(const struct heap_survey *survey, const struct view *view,
				struct sink *sink)
{
	struct buf text = {0};

	summary_append_lost_frees(&text, survey->nr_frees_dropped);
	if (text.nr_bytes)
		print_fact(view, "lost        ", &text, sink);
	buf_release(&text);
}

static void print_amounts(const struct heap_survey *survey, const struct view *view,
			  struct sink *sink)
{
	struct buf text = {0};

	append_amount(&text, &survey->allocated);
	append_sampling(&text, survey);
	print_fact(view, "allocated   ", &text, sink);
	append_amount(&text, &survey->peak);
	buf_append_str(&text, ", at ");
	append_weight(&text, METRIC_WALL, survey->peak_ns);
	if (survey->peak_is_least)
		buf_append_str(&text, ", or more: the clock of this processor is not even, and "
				      "times are those at which profc looked");
	print_fact(view, "peak        ", &text, sink);
	append_amount(&text, &survey->live);
	if (whole(survey->earlier_bytes)) {
		buf_append_str(&text, "; ");
		append_memory(&text, whole(survey->earlier_bytes));
		buf_append_str(&text, " of it were allocated before the time of this profile");
	}
	print_fact(view, "at the end  ", &text, sink);
	buf_release(&text);
	print_frees_dropped(survey, view, sink);
}

struct part {
	uint64_t bytes;
	const char *prefix, *words;
	double error;
};

static void append_part(struct buf *out, const struct part *part)
{
	if (!part->bytes)
		return;
	buf_append_str(out, out->nr_bytes ? ", " : "");
	buf_append_str(out, part->prefix);
	append_memory(out, part->bytes);
	if (whole(part->error)) {
		buf_append_str(out, " \xc2\xb1 ");
		append_memory(out, whole(part->error));
	}
	buf_printf(out, " %s", part->words);
}

static uint64_t rest(uint64_t whole_bytes, uint64_t part_bytes)
{
	return whole_bytes > part_bytes ? whole_bytes - part_bytes : 0;
}

/*
 * The live heap, the rest that may be from before the recording, and the allocators' own memory;
 * then the anonymous pages outside the heap, files and the rest.
 */
static void print_resident(const struct heap_survey *survey, uint64_t discarded_ns,
			   const struct view *view, struct sink *sink)
{
	uint64_t heap =
		survey->heap_mapped_bytes ? survey->heap_mapped_bytes : survey->rss_anon_bytes;
	/* Memory that was never written has no pages. */
	uint64_t live = min_u64(whole(survey->live_heap_bytes), heap);
	uint64_t besides = rest(heap, live);
	const struct part parts[] = {
		{live, "", "allocated and alive", survey->live.error_bytes},
		{besides, "",
		 discarded_ns ? "discarded, overhead and caches of allocators"
		 : survey->knows_before
			 ? "from before the recording, overhead and caches of allocators"
			 : "overhead and caches of allocators",
		 survey->live.error_bytes},
		{rest(survey->rss_anon_bytes, heap), "",
		 "stacks, memory made writable by mprotect and other mappings", 0},
		{survey->rss_file_bytes, "", "of files", 0},
		{survey->rss_shmem_bytes, "", "shared", 0},
		{survey->swap_bytes, "and ", "swapped out", 0},
	};
	struct buf text = {0}, list = {0};

	if (!survey->rss_anon_bytes && !survey->rss_file_bytes) {
		buf_append_str(&text, "not seen: it is looked at once a second");
		print_fact(view, "resident    ", &text, sink);
		buf_release(&text);
		return;
	}
	append_memory(&text,
		      survey->rss_anon_bytes + survey->rss_file_bytes + survey->rss_shmem_bytes);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		append_part(&list, &parts[i]);
	if (list.nr_bytes)
		buf_printf(&text, ": %s", buf_str(&list));
	print_fact(view, "resident    ", &text, sink);
	if (survey->knows_before) {
		buf_append_str(&text, "up to ");
		append_memory(&text, survey->before_attach_bytes);
		if (discarded_ns) {
			buf_append_str(&text, " of memory was there at ");
			append_weight(&text, METRIC_WALL, discarded_ns);
			buf_append_str(&text, ", when what was recorded of it was discarded");
		} else {
			buf_append_str(&text, " of memory was there when the recording began: its "
					      "allocations were not recorded");
		}
		print_fact(view, "before      ", &text, sink);
	}
	buf_release(&text);
	buf_release(&list);
}

static void print_late(const struct heap_survey *survey, const struct view *view, struct sink *sink)
{
	struct buf text = {0};

	if (!survey->nr_late)
		return;
	append_count(&text, survey->nr_late);
	buf_append_str(&text, survey->nr_late == 1 ? " program that was" : " programs that were");
	buf_append_str(&text,
		       " executed meanwhile: what was allocated in the first moments of one, "
		       "mostly less than 0.3 s, is not in all this");
	print_fact(view, "begun late  ", &text, sink);
	buf_release(&text);
}

static void print_search(const struct profile *profile, const struct view *view, struct sink *sink)
{
	const struct reach_scope scope = {.at_ns = HEAP_AT_END};
	struct buf text = {0};

	if (reach_append_searched(&text, profile, &scope)) {
		buf_append_str(&text, ", for pointers to what was not freed: see 'profc report "
				      "--leaks --reachable'");
		print_fact(view, "searched    ", &text, sink);
	}
	reach_print_not_searched(profile, &scope, view, sink);
	buf_release(&text);
}

#define SEARCHES_SHOWN 10

static void print_search_at(const struct profile *profile, const struct profile_search *search,
			    const struct view *view, struct sink *sink)
{
	const struct reach_scope scope = {.at_ns = search->time_ns};
	struct buf text = {0};

	if (reach_append_searched(&text, profile, &scope)) {
		buf_append_str(&text, ", at mark:");
		escape_terminal(&text, profile_str(profile, search->mark));
		print_fact(view, "searched    ", &text, sink);
	}
	reach_print_not_searched(profile, &scope, view, sink);
	buf_release(&text);
}

/* Searches of the same mark are adjacent. */
static void print_searches_at_marks(const struct profile *profile, const struct view *view,
				    struct sink *sink)
{
	const struct profile_search *searches = profile->heap.searches;
	const struct profile_search *last = NULL;
	struct buf text = {0};
	size_t nr = 0;

	for (size_t i = 0; i < profile->heap.nr_searches; i++) {
		if (searches[i].mark.v == STR_EMPTY.v ||
		    (last && last->time_ns == searches[i].time_ns))
			continue;
		last = &searches[i];
		if (++nr <= SEARCHES_SHOWN)
			print_search_at(profile, last, view, sink);
	}
	if (nr > SEARCHES_SHOWN) {
		append_count(&text, nr - SEARCHES_SHOWN);
		buf_append_str(&text, " more times, at marks");
		print_fact(view, "searched    ", &text, sink);
	}
	buf_release(&text);
}

/* A lost block is one more that may be left, a lost free one less. */
static void append_losses(struct buf *out, const struct heap_survey *survey)
{
	if (survey->nr_frees_dropped) {
		buf_append_str(out, "; ");
		append_count(out, survey->nr_frees_dropped);
		buf_append_str(out, survey->nr_frees_dropped == 1 ? " free was not recorded"
								  : " frees were not recorded");
	}
	if (survey->nr_dropped) {
		buf_append_str(out, "; ");
		append_count(out, survey->nr_dropped);
		buf_append_str(out, survey->mean_bytes
					    ? " more were left out, as they came too fast"
				    : survey->nr_dropped == 1 ? " block was lost"
							      : " blocks were lost");
	}
}

bool info_append_memory(struct buf *out, const struct profile *profile)
{
	struct heap_survey survey;

	if (!profile_has_heap(profile))
		return false;
	heap_survey(&survey, profile);
	if (!whole(survey.allocated.blocks)) {
		buf_append_str(out, "nothing was allocated");
		if (profile_counter(profile, "memory_off_ns"))
			buf_append_str(out, " while that was recorded");
		return true;
	}
	buf_append_str(out, "recorded ");
	append_count(out, survey.nr_samples);
	buf_append_str(out, " of ");
	append_weight(out, METRIC_ALLOCS, whole(survey.allocated.blocks));
	buf_append_str(out, ", ");
	append_memory(out, whole(survey.allocated.bytes));
	if (!survey.nr_samples) {
		if (!survey.nr_dropped)
			buf_append_str(out, ": a smaller --mem=RATE records more");
		return true;
	}
	buf_append_str(out, "; ");
	append_amount(out, &survey.live);
	buf_append_str(out, whole(survey.live.blocks) == 1 ? " was not freed" : " were not freed");
	append_losses(out, &survey);
	return true;
}

void info_print_memory(const struct profile *profile, const struct view *view, struct sink *sink)
{
	struct heap_survey survey;

	if (!profile_has_heap(profile))
		return;
	heap_survey(&survey, profile);
	sink_str(sink, "\n");
	line_print(sink, view, STYLE_HEADING, "Memory");
	print_amounts(&survey, view, sink);
	if (survey.has_moments)
		print_resident(&survey, profile->heap.discard.time_ns, view, sink);
	print_late(&survey, view, sink);
	print_searches_at_marks(profile, view, sink);
	print_search(profile, view, sink);
}

void info_write_memory(struct json *json, const struct profile *profile)
{
	struct heap_survey survey;

	json_key(json, "heap");
	if (!profile_has_heap(profile)) {
		json_null(json);
		return;
	}
	heap_survey(&survey, profile);
	json_object_begin(json);
	json_key_u64(json, "allocated_bytes", whole(survey.allocated.bytes));
	json_key_u64(json, "allocated_blocks", whole(survey.allocated.blocks));
	json_key_bool(json, "allocated_exact", survey.allocated_is_exact);
	json_key_u64(json, "live_bytes", whole(survey.live.bytes));
	json_key_u64(json, "live_ci_bytes", whole(survey.live.error_bytes));
	json_key_u64(json, "peak_bytes", whole(survey.peak.bytes));
	json_key_u64(json, "peak_ci_bytes", whole(survey.peak.error_bytes));
	json_key_u64(json, "peak_at_ns", survey.peak_ns);
	json_key(json, "before_attach_bytes");
	if (survey.knows_before)
		json_u64(json, survey.before_attach_bytes);
	else
		json_null(json);
	json_key(json, "discarded_at_ns");
	if (profile->heap.discard.time_ns)
		json_u64(json, profile->heap.discard.time_ns);
	else
		json_null(json);
	json_key_u64(json, "rss_bytes",
		     survey.rss_anon_bytes + survey.rss_file_bytes + survey.rss_shmem_bytes);
	json_key_u64(json, "rss_anon_bytes", survey.rss_anon_bytes);
	json_key_u64(json, "rss_file_bytes", survey.rss_file_bytes);
	json_key_u64(json, "rss_shmem_bytes", survey.rss_shmem_bytes);
	json_key_u64(json, "swap_bytes", survey.swap_bytes);
	json_key_u64(json, "heap_mapped_bytes", survey.heap_mapped_bytes);
	json_key_u64(json, "samples", survey.nr_samples);
	json_key_u64(json, "mean_bytes", survey.mean_bytes);
	json_key_u64(json, "dropped", survey.nr_dropped);
	json_key_u64(json, "frees_dropped", survey.nr_frees_dropped);
	json_key(json, "reachable");
	reach_write_searches(json, profile, &(const struct reach_scope){.at_ns = HEAP_AT_END});
	json_object_end(json);
}
