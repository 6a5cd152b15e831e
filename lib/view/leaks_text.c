// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory that was not freed, as text and as JSON. */
#include "view/leaks_text.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/leak_shares.h"
#include "profile/heap_estimate.h"
#include "view/cut.h"
#include "view/level_json.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/reach_text.h"
#include "view/repeats.h"
#include "view/summary.h"

/* The version of the JSON form: raised when a member changes its meaning. */
#define JSON_VERSION 1

static const struct expansion *expansion_of(const struct leaks *leaks)
{
	return leaks->selection->expansion;
}

/*
 * "worker (1234)"; or "worker" for all of that name; or "thread pool-1", with its process where
 * `names_process`.
 */
static void append_owner(struct buf *out, const struct leaks *leaks, const struct leak_owner *owner,
			 bool names_process)
{
	const struct profile *profile = expansion_of(leaks)->profile;
	const struct profile_process *process = &profile->processes[owner->process];

	if (leaks->by == LEAKS_BY_THREAD) {
		buf_append_str(out, "thread ");
		escape_terminal(out, profile_str(profile, owner->thread));
		buf_append_str(out, names_process ? " of " : "");
	}
	if (!names_process)
		return;
	escape_terminal(out, profile_str(profile, process->name));
	if (leaks->by != LEAKS_BY_PROGRAM)
		buf_printf(out, " (%d)", (int)process->pid);
}

/* The owners of all leaks. */
struct owners {
	struct leak_share *shares; /* owned */
	size_t nr;
	bool are_told,
		/* is there more than one owner, or more than one process of owners? */
		are_of_processes;
};

static struct owners owners_of(const struct leaks *leaks)
{
	struct owners owners = {0};

	owners.shares = leak_shares_new(leaks, &owners.nr);
	for (size_t i = 1; i < owners.nr && !owners.are_of_processes; i++)
		owners.are_of_processes =
			owners.shares[i].owner.process != owners.shares[0].owner.process;
	owners.are_told = owners.nr > 1 || (owners.nr && leaks->by == LEAKS_BY_THREAD);
	return owners;
}

static size_t nr_shown(size_t nr, size_t limit)
{
	return limit && limit < nr ? limit : nr;
}

/* "1.21 MiB ± 200 KiB in 1,204 blocks" */
static void append_amount(struct buf *out, const struct leaks *leaks, const struct tally *tally)
{
	uint64_t error = (uint64_t)tally_error(tally, &leaks->total);

	append_weight(out, METRIC_LEAKED, tally->weight);
	if (error) {
		buf_append_str(out, " \xc2\xb1 ");
		append_memory(out, error);
	}
	buf_append_str(out, " in ");
	append_weight(out, METRIC_ALLOCS, tally_blocks(tally));
}

static void append_stacks(struct buf *out, size_t nr)
{
	if (nr == 1) {
		buf_append_str(out, ", of one stack");
		return;
	}
	buf_append_str(out, ", of ");
	append_count(out, nr);
	buf_append_str(out, " stacks");
}

/* The state at the end, or at a moment. */
static void append_state(struct buf *out, const struct leaks *leaks)
{
	if (leaks->at_ns == HEAP_AT_END) {
		buf_append_str(out, leaks->nr ? " not freed" : " left unfreed");
		return;
	}
	buf_append_str(out, " alive at ");
	append_weight(out, METRIC_WALL, leaks->at_ns);
}

/* The command is on the line of the numbers only if this many columns of it fit. */
#define TITLE_COLUMNS 8

/*
 * Print the numbers in full, on several lines if necessary, and the part of the command that fits.
 */
static void print_titled(const struct profile *profile, const char *numbers,
			 const struct view *view, struct sink *sink)
{
	struct buf title = {0}, text = {0}, shown = {0};

	profile_append_title(&title, profile);
	buf_append_str(&text, numbers);
	if (title.nr_bytes && text_columns(numbers) + TITLE_COLUMNS <= view->columns) {
		buf_append_str(&text, ": ");
		escape_terminal(&text, buf_str(&title));
		append_cut(&shown, buf_str(&text), view->columns, CUT_END);
		line_print(sink, view, STYLE_HEADING, buf_str(&shown));
	} else {
		paragraph_print_styled(view, STYLE_HEADING, "", numbers, sink);
	}
	buf_release(&title);
	buf_release(&text);
	buf_release(&shown);
}

static void print_heading(const struct leaks *leaks, const struct owners *owners,
			  const struct view *view, struct sink *sink)
{
	const struct profile *profile = expansion_of(leaks)->profile;
	struct buf text = {0};

	if (leaks->nr) {
		append_amount(&text, leaks, &leaks->total);
		append_state(&text, leaks);
	} else {
		buf_append_str(&text, "nothing recorded was");
		append_state(&text, leaks);
		if (leaks->min_age_ns) {
			buf_append_str(&text, " for ");
			append_weight(&text, METRIC_WALL, leaks->min_age_ns);
		}
	}
	if (owners->nr > 1) {
		static const char *const kinds[] = {[LEAKS_BY_PROCESS] = " processes",
						    [LEAKS_BY_PROGRAM] = " programs",
						    [LEAKS_BY_THREAD] = " names"};

		buf_append_str(&text, leaks->by == LEAKS_BY_THREAD ? ", by threads of " : ", by ");
		append_count(&text, owners->nr);
		buf_append_str(&text, kinds[leaks->by]);
	} else if (leaks->nr) {
		append_stacks(&text, leaks->nr);
	}
	buf_append_str(&text, ", in ");
	append_weight(&text, METRIC_WALL, profile->meta.duration_ns);
	print_titled(profile, buf_str(&text), view, sink);
	buf_release(&text);
}

/*
 * At most `limit` owners; "    1.21 MiB ± 200 KiB in 1,204 blocks, of 2 stacks, by worker (1234)".
 */
static void print_owners(const struct leaks *leaks, const struct owners *owners,
			 const struct view *view, size_t limit, struct sink *sink)
{
	size_t shown = nr_shown(owners->nr, limit);
	struct buf text = {0};

	for (size_t i = 0; owners->nr > 1 && i < shown; i++) {
		const struct leak_share *share = &owners->shares[i];

		buf_clear(&text);
		append_amount(&text, leaks, &share->tally);
		append_stacks(&text, share->nr_stacks);
		buf_append_str(&text, ", by ");
		append_owner(&text, leaks, &share->owner, owners->are_of_processes);
		paragraph_print_styled(
			view, style_of_percent(tally_percent(&share->tally, &leaks->total)), "    ",
			buf_str(&text), sink);
	}
	if (shown < owners->nr) {
		buf_clear(&text);
		buf_append_str(&text, "    and ");
		append_count(&text, owners->nr - shown);
		buf_append_str(&text, " more");
		line_print(sink, view, STYLE_DIM, buf_str(&text));
	}
	buf_release(&text);
}

static void print_leak(const struct leaks *leaks, const struct leak *leak,
		       const struct owners *owners, const struct view *view, struct sink *sink)
{
	double growth = leak_growth(leaks, leak);
	struct buf text = {0};

	append_amount(&text, leaks, &leak->tally);
	if (leak->kind == ALLOCATION_MAP)
		buf_append_str(&text, " of mmap");
	else if (leak->kind == ALLOCATION_POOL)
		buf_append_str(&text, " of a pool");
	if (owners->are_told) {
		buf_append_str(&text, " by ");
		append_owner(&text, leaks, &leak->owner, owners->are_of_processes);
	}
	buf_append_str(&text, leak->tally.samples > 1 ? ", the oldest for " : ", for ");
	append_weight(&text, METRIC_WALL, leak->oldest_ns);
	if (growth >= 0.5) {
		buf_append_str(&text, ", growing by ");
		append_memory(&text, (uint64_t)(growth + 0.5));
		buf_append_str(&text, "/s");
	} else {
		buf_append_str(&text, ", none of it in the second half");
	}
	if (leaks->tells_lost)
		reach_append_leak(&text, leak);
	line_print(sink, view, STYLE_PLAIN, "");
	paragraph_print_styled(view, style_of_percent(tally_percent(&leak->tally, &leaks->total)),
			       "", buf_str(&text), sink);
	buf_release(&text);
}

#define STACK_INDENT  4
#define SHORTEST_PATH 16

/* A path and the text after it in `room` columns: the path's directories are cut first. */
static void append_located(struct buf *out, const char *path, const char *rest, size_t room)
{
	size_t taken = text_columns(rest), least = text_columns(cut_directories(path)) + 2;
	struct buf text = {0};

	least = least < SHORTEST_PATH ? least : SHORTEST_PATH;
	append_cut(&text, path, room > taken + least ? room - taken : least, CUT_START);
	buf_append_str(&text, rest);
	append_cut(out, buf_str(&text), room, CUT_MIDDLE);
	buf_release(&text);
}

/* "    /src/list.c:12: append", or without a line "    append (libx.so)". */
static void print_level(const struct expansion *expansion, const struct level *level,
			size_t nr_same, const struct view *view, struct sink *sink)
{
	const struct place *place = &expansion->places[level->place];
	const struct module *module = label_module(expansion, level->label);
	struct buf text = {0}, name = {0}, path = {0}, line = {0};

	label_append_name(&name, expansion, level->label, view->names);
	if (place->file.v != STR_EMPTY.v) {
		escape_terminal(&path, profile_str(expansion->profile, place->file));
		if (place->line)
			buf_printf(&text, ":%u", place->line);
		buf_append_str(&text, ": ");
	}
	escape_terminal(&text, buf_str(&name));
	if (place->file.v == STR_EMPTY.v && module && !label_is_nameless(expansion, level->label)) {
		buf_append_str(&text, " (");
		escape_terminal(&text, module_short_name(module));
		buf_append_byte(&text, ')');
	}
	append_repeats(&text, nr_same);
	if (level->inlined)
		buf_append_str(&text, " (inlined)");
	line_append_spaces(&line, STACK_INDENT);
	append_located(&line, buf_str(&path), buf_str(&text),
		       view->columns > STACK_INDENT ? view->columns - STACK_INDENT : 1);
	line_print(sink, view, STYLE_PLAIN, buf_str(&line));
	buf_release(&text);
	buf_release(&name);
	buf_release(&path);
	buf_release(&line);
}

static void print_notes(const struct leaks *leaks, const struct view *view, struct sink *sink)
{
	static void (*const notes[])(struct buf *, const struct profile *) = {
		summary_append_unwatched, summary_append_late_programs, summary_append_lost_blocks,
		summary_append_unrecorded_frees};
	struct buf note = {0};
	bool any = false;

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		notes[i](&note, expansion_of(leaks)->profile);
		if (!note.nr_bytes)
			continue;
		if (!any)
			line_print(sink, view, STYLE_PLAIN, "");
		any = true;
		paragraph_print(view, "note: ", buf_str(&note), sink);
		buf_clear(&note);
	}
	buf_release(&note);
}

void leaks_print_text(const struct leaks *leaks, const struct view *view, size_t limit,
		      struct sink *sink)
{
	const struct expansion *expansion = expansion_of(leaks);
	size_t shown = nr_shown(leaks->nr, limit);
	struct owners owners = owners_of(leaks);
	struct level_list list = {0};
	struct buf text = {0};

	print_heading(leaks, &owners, view, sink);
	if (leaks->tells_lost)
		reach_print_heading(leaks, view, sink);
	print_owners(leaks, &owners, view, limit, sink);
	for (size_t i = 0; i < shown; i++) {
		print_leak(leaks, &leaks->rows[i], &owners, view, sink);
		leak_stack(leaks, &leaks->rows[i], &list);
		for (size_t nr = list.nr, same; nr > 0; nr -= same) {
			same = nr_same_levels(list.levels, nr);
			print_level(expansion, &list.levels[nr - 1], same, view, sink);
		}
	}
	if (shown < leaks->nr) {
		append_count(&text, leaks->nr - shown);
		buf_append_str(&text, " more (-n 0 shows all)");
		line_print(sink, view, STYLE_PLAIN, "");
		line_print(sink, view, STYLE_DIM, buf_str(&text));
	}
	print_notes(leaks, view, sink);
	free(owners.shares);
	level_list_release(&list);
	buf_release(&text);
}

static void write_owner(struct json *json, const struct leaks *leaks,
			const struct leak_owner *owner)
{
	const struct profile *profile = expansion_of(leaks)->profile;
	const struct profile_process *process = &profile->processes[owner->process];

	json_key(json, "pid");
	if (leaks->by == LEAKS_BY_PROGRAM)
		json_null(json);
	else
		json_u64(json, (uint64_t)process->pid);
	json_key_str(json, "process", profile_str(profile, process->name));
	if (leaks->by == LEAKS_BY_THREAD)
		json_key_str(json, "thread", profile_str(profile, owner->thread));
}

static void write_owners(struct json *json, const struct leaks *leaks)
{
	struct owners owners = owners_of(leaks);

	json_key_array_begin(json, "owners");
	for (size_t i = 0; i < owners.nr; i++) {
		const struct leak_share *share = &owners.shares[i];

		json_object_begin(json);
		write_owner(json, leaks, &share->owner);
		json_key_u64(json, "bytes", share->tally.weight);
		json_key_u64(json, "blocks", tally_blocks(&share->tally));
		json_key_u64(json, "ci_bytes", (uint64_t)tally_error(&share->tally, &leaks->total));
		json_key_u64(json, "stacks", share->nr_stacks);
		json_object_end(json);
	}
	json_array_end(json);
	free(owners.shares);
}

static void write_leak(struct json *json, const struct leaks *leaks, const struct leak *leak,
		       struct level_list *list)
{
	json_object_begin(json);
	json_key_u64(json, "bytes", leak->tally.weight);
	json_key_u64(json, "blocks", tally_blocks(&leak->tally));
	json_key_u64(json, "ci_bytes", (uint64_t)tally_error(&leak->tally, &leaks->total));
	json_key_u64(json, "oldest_ns", leak->oldest_ns);
	json_key_u64(json, "growth_bytes_per_s", (uint64_t)(leak_growth(leaks, leak) + 0.5));
	json_key_u64(json, "samples", leak->tally.samples);
	json_key_str(json, "kind", allocation_kind_name((enum allocation_kind)leak->kind));
	write_owner(json, leaks, &leak->owner);
	if (leaks->tells_lost)
		reach_write_leak(json, leak);
	json_key_array_begin(json, "stack");
	leak_stack(leaks, leak, list);
	for (size_t i = list->nr; i > 0; i--)
		level_write_json(json, expansion_of(leaks), &list->levels[i - 1]);
	json_array_end(json);
	json_object_end(json);
}

void leaks_print_json(const struct leaks *leaks, size_t limit, struct sink *sink)
{
	struct level_list list = {0};
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_u64(&json, "version", JSON_VERSION);
	json_key_u64(&json, "total_bytes", leaks->total.weight);
	json_key_u64(&json, "total_blocks", tally_blocks(&leaks->total));
	if (leaks->at_ns != HEAP_AT_END)
		json_key_u64(&json, "at_ns", leaks->at_ns);
	json_key_bool(&json, "exact", leaks_are_exact(leaks));
	json_key_u64(&json, "ci_bytes", (uint64_t)tally_error(&leaks->total, &leaks->total));
	write_owners(&json, leaks);
	if (leaks->tells_lost)
		reach_write(&json, leaks);
	json_key_array_begin(&json, "leaks");
	for (size_t i = 0; i < nr_shown(leaks->nr, limit); i++)
		write_leak(&json, leaks, &leaks->rows[i], &list);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	level_list_release(&list);
}
