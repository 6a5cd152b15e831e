// SPDX-License-Identifier: GPL-2.0-or-later
/* The numbers of a whole run on one screen. */
#include "view/stat_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "base/syscall_name.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/long_waits.h"
#include "calltree/wait_function.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "profile/tasks.h"
#include "view/blame_text.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/number.h"
#include "view/summary.h"
#include "view/table.h"

#define NUMBER_COLUMNS 12
#define LABEL_COLUMNS  14
/* Smaller shares without a stack are left out. */
#define WORTH_SAYING_PERCENT 1.0

/* --- the totals --- */

struct page {
	const struct stat_facts *facts;
	const struct view *view;
	struct sink *sink;
	struct buf number, words; /* of the next line */
};

/* Print the number, its label and words about it, and clear them. */
static void print_fact(struct page *page, const char *label)
{
	size_t before = 2 + NUMBER_COLUMNS + 2 + LABEL_COLUMNS;
	struct buf line = {0};

	line_append_spaces(&line, 2);
	line_append_right(&line, page->view, STYLE_PLAIN, NUMBER_COLUMNS, buf_str(&page->number));
	line_append_spaces(&line, 2);
	buf_append_str(&line, label);
	if (page->words.nr_bytes) {
		struct buf words = {0};

		line_append_spaces(&line, LABEL_COLUMNS - min_u64(strlen(label), LABEL_COLUMNS));
		append_cut(&words, buf_str(&page->words),
			   page->view->columns > before ? page->view->columns - before : 1,
			   CUT_END);
		style_append(&line, page->view, STYLE_DIM, buf_str(&words));
		buf_release(&words);
	}
	line_end(&line, page->sink);
	buf_clear(&page->number);
	buf_clear(&page->words);
	buf_release(&line);
}

static double per_elapsed(const struct stat_facts *facts, uint64_t ns)
{
	return facts->elapsed_ns ? (double)ns / (double)facts->elapsed_ns : 0;
}

static void print_title(struct page *page)
{
	struct buf title = {0}, text = {0}, line = {0};

	profile_append_title(&title, page->facts->profile);
	escape_terminal(&text, buf_str(&title));
	append_cut(&line, buf_str(&text), page->view->columns, CUT_END);
	sink_str(page->sink, "\n");
	line_print(page->sink, page->view, STYLE_HEADING, buf_str(&line));
	buf_release(&title);
	buf_release(&text);
	buf_release(&line);
}

static void print_times(struct page *page)
{
	const struct stat_facts *facts = page->facts;
	const struct profile *profile = facts->profile;
	uint64_t runq_ns = profile_total(profile, METRIC_RUNQ);
	struct buf split = {0};

	append_weight(&page->number, METRIC_WALL, facts->elapsed_ns);
	print_fact(page, "elapsed");
	append_weight(&page->number, METRIC_CPU, facts->cpu_ns);
	buf_printf(&page->words, "%.2f", per_elapsed(facts, facts->cpu_ns));
	if (profile->meta.nr_cpus)
		buf_printf(&page->words, " of %u", profile->meta.nr_cpus);
	buf_printf(&page->words, " CPUs");
	if (summary_append_split(&split, profile))
		buf_printf(&page->words, ": %s", buf_str(&split));
	buf_release(&split);
	print_fact(page, "CPU time");
	append_weight(&page->number, METRIC_RUNQ, runq_ns);
	buf_append_str(&page->words, "all threads: able to run, without a CPU");
	print_fact(page, "run queue");
	append_weight(&page->number, METRIC_BLOCKED, facts->waits->total.weight);
	buf_append_str(&page->words, "all threads: asleep, or waiting for anything else");
	print_fact(page, "blocked");
}

static uint64_t sum_of_switches(const struct profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->nr_threads; i++)
		sum += profile->threads[i].nr_switches;
	return sum;
}

static uint64_t sum_of_faults(const struct profile *profile)
{
	struct cpu_split split;

	profile_cpu_split(profile, &split);
	return split.nr_faults;
}

static void append_two(struct buf *out, uint64_t a, const char *of_a, uint64_t b, const char *of_b)
{
	append_count(out, a);
	buf_printf(out, " %s, ", of_a);
	append_count(out, b);
	buf_printf(out, " %s", of_b);
}

static void print_usage(struct page *page)
{
	const struct stat_usage *usage = &page->facts->usage;
	const struct profile *profile = page->facts->profile;

	if (usage->is_known) {
		append_count(&page->number,
			     usage->nr_voluntary_switches + usage->nr_involuntary_switches);
		append_two(&page->words, usage->nr_voluntary_switches, "voluntary",
			   usage->nr_involuntary_switches, "involuntary");
	} else {
		append_count(&page->number, sum_of_switches(profile));
	}
	print_fact(page, "switches");
	append_count(&page->number, usage->is_known
					    ? usage->nr_minor_faults + usage->nr_major_faults
					    : sum_of_faults(profile));
	if (usage->is_known) {
		append_count(&page->words, usage->nr_major_faults);
		buf_append_str(&page->words, " major");
	}
	print_fact(page, "page faults");
	if (!usage->peak_rss_bytes)
		return;
	append_memory(&page->number, usage->peak_rss_bytes);
	buf_append_str(&page->words, "the largest process");
	print_fact(page, "peak memory");
}

static void print_tasks(struct page *page)
{
	struct profile_tasks tasks = profile_count_tasks(page->facts->profile);

	append_count(&page->number, tasks.nr_processes);
	append_count(&page->words, tasks.nr_threads);
	buf_append_str(&page->words, tasks.nr_threads == 1 ? " thread" : " threads");
	if (tasks.nr_unseen) {
		buf_append_str(&page->words, "; perhaps ");
		append_count(&page->words, tasks.nr_unseen);
		buf_append_str(&page->words, " more ended unseen");
	}
	print_fact(page, tasks.nr_processes == 1 ? "process" : "processes");
}

static void print_status(struct page *page)
{
	int status = page->facts->status;

	if (status == STAT_STATUS_NONE)
		return;
	if (WIFSIGNALED(status)) {
		buf_printf(&page->number, "%d", WTERMSIG(status));
		print_fact(page, "killed by signal");
		return;
	}
	buf_printf(&page->number, "%d", WEXITSTATUS(status));
	print_fact(page, "exit status");
}

static void print_counters(struct page *page)
{
	const struct profile *profile = page->facts->profile;

	for (int metric = METRIC_KERNEL; metric < METRIC_COUNT; metric++) {
		if (!profile_has_metric(profile, (enum metric)metric))
			continue;
		append_count(&page->number, profile_total(profile, (enum metric)metric));
		buf_append_str(&page->words, metric_info((enum metric)metric)->summary);
		print_fact(page, metric_name((enum metric)metric));
	}
}

/* --- the hottest functions and the longest waits --- */

/* Is there room for another row after so many? */
static bool is_shown(const struct stat_facts *facts, size_t nr)
{
	return !facts->limit || nr < facts->limit;
}

/*
 * The next function with some time, of rows that are sorted by it, from *at on; NULL: there is
 * none. Time without a stack is in no function.
 */
static const struct flat_row *next_function(const struct flat *flat, size_t *at)
{
	while (*at < flat->nr) {
		const struct flat_row *row = &flat->rows[(*at)++];

		if (flat_expansion(flat)->labels[row->label].kind != LABEL_UNATTRIBUTED)
			return row->self.weight ? row : NULL;
	}
	return NULL;
}

static void add_cell(struct table *table, enum style style, struct buf *text)
{
	table_add(table, style, buf_str(text));
	buf_clear(text);
}

/* "  35.2%" and "± 2.1", each as a cell. */
static void add_share(struct table *table, const struct tally *part, const struct tally *whole)
{
	double percent = tally_percent(part, whole);
	struct buf text = {0};

	buf_append_str(&text, "  ");
	append_percent(&text, percent);
	buf_append_byte(&text, '%');
	add_cell(table, style_of_percent(percent), &text);
	buf_printf(&text, "\xc2\xb1 %.1f", tally_interval(part, whole));
	add_cell(table, STYLE_DIM, &text);
	buf_release(&text);
}

static const char *module_of(const struct flat *flat, const struct flat_row *row)
{
	const struct module *module = label_module(flat_expansion(flat), row->label);

	return module ? module_short_name(module) : "";
}

static void add_function(struct table *table, const struct page *page, const struct flat_row *row)
{
	const struct flat *flat = page->facts->functions;
	struct buf text = {0};

	add_share(table, &row->self, &flat->weights->total);
	flat_append_name(&text, flat, row, page->view->names);
	add_cell(table, STYLE_PLAIN, &text);
	flat_append_location(&text, flat, row);
	table_add(table, STYLE_DIM, cut_directories(buf_str(&text)));
	table_add(table, STYLE_DIM, module_of(flat, row));
	buf_release(&text);
}

static void append_unattributed(struct buf *out, const struct weights *cpu)
{
	double percent = tally_percent(&cpu->unattributed, &cpu->total);

	if (percent < WORTH_SAYING_PERCENT)
		return;
	buf_append_str(out, " (");
	append_percent(out, percent);
	buf_append_str(out, "% has no stack)");
}

static void print_functions(struct page *page)
{
	static const struct table_column columns[] = {
		{.header = "", .right = true},
		{.header = "", .right = true},
		{.header = "", .flexible = true, .cut = CUT_MIDDLE, .share = 3, .kept_columns = 30},
		{.header = "",
		 .flexible = true,
		 .cut = CUT_START,
		 .min_columns = 10,
		 .share = 2,
		 .drop = 2},
		{.header = "",
		 .flexible = true,
		 .cut = CUT_START,
		 .min_columns = 8,
		 .share = 1,
		 .drop = 1},
	};
	const struct flat *flat = page->facts->functions;
	struct table *table = table_new(columns, ARRAY_SIZE(columns));
	struct buf heading = {0};
	const struct flat_row *row;
	size_t nr = 0;

	for (size_t at = 0; is_shown(page->facts, nr) && (row = next_function(flat, &at)); nr++)
		add_function(table, page, row);
	buf_append_str(&heading,
		       nr ? "hottest functions, of CPU time" : "no function was sampled on a CPU");
	if (nr)
		append_unattributed(&heading, flat->weights);
	sink_str(page->sink, "\n");
	line_print(page->sink, page->view, STYLE_HEADING, buf_str(&heading));
	table_print_rows(table, page->view, page->sink);
	buf_release(&heading);
	table_free(table);
}

static void append_call(struct buf *out, const struct stat_facts *facts, int nr)
{
	const struct profile *profile = facts->profile;
	const char *name =
		nr >= 0 ? syscall_name(profile_str(profile, profile->meta.arch), nr) : NULL;

	if (name)
		buf_append_str(out, name);
	else if (nr == SAMPLE_PAGE_FAULT)
		buf_append_str(out, "page fault");
	else if (nr >= 0)
		buf_printf(out, "system call %d", nr);
	else
		buf_append_str(out, "unknown");
}

/* "mutex", and for what is no lock the system call. */
static void append_wait_kind(struct buf *out, const struct stat_facts *facts,
			     const struct long_wait *wait)
{
	if (wait->kind == LONG_WAIT_LOCK)
		append_lock_kind(out, facts->waits->locks, wait->number);
	else
		append_call(out, facts,
			    wait->kind == LONG_WAIT_CALL ? (int)wait->number : wait->syscall_nr);
}

static void append_wait_object(struct buf *out, const struct stat_facts *facts,
			       const struct long_wait *wait)
{
	const struct long_waits *waits = facts->waits;

	switch (wait->kind) {
	case LONG_WAIT_LOCK:
		blame_append_name(out, waits->locks, wait->number);
		break;
	case LONG_WAIT_DESCRIPTOR:
		blame_append_name(out, waits->descriptors, wait->number);
		break;
	case LONG_WAIT_CALL:
		break;
	}
}

static void append_wait_function(struct buf *out, const struct stat_facts *facts,
				 const struct long_wait *wait, enum name_style names)
{
	if (wait->function != WAIT_FUNCTION_NONE)
		label_append_name(out, facts->waits->selection->expansion, wait->function, names);
}

static void add_wait(struct table *table, const struct page *page, const struct long_wait *wait)
{
	const struct stat_facts *facts = page->facts;
	struct buf text = {0}, object = {0};

	buf_append_str(&text, "  ");
	append_weight(&text, METRIC_BLOCKED, wait->tally.weight);
	add_cell(table, STYLE_PLAIN, &text);
	append_wait_kind(&text, facts, wait);
	append_wait_object(&object, facts, wait);
	if (object.nr_bytes)
		buf_printf(&text, " %s", buf_str(&object));
	add_cell(table, STYLE_PLAIN, &text);
	buf_clear(&object);
	append_wait_function(&object, facts, wait, page->view->names);
	if (object.nr_bytes)
		buf_printf(&text, "in %s", buf_str(&object));
	add_cell(table, STYLE_DIM, &text);
	buf_release(&object);
	buf_release(&text);
}

static void print_waits(struct page *page)
{
	static const struct table_column columns[] = {
		{.header = "", .right = true},
		{.header = "", .flexible = true, .cut = CUT_MIDDLE, .share = 3, .kept_columns = 30},
		{.header = "",
		 .flexible = true,
		 .cut = CUT_MIDDLE,
		 .min_columns = 10,
		 .share = 2,
		 .drop = 1},
	};
	const struct long_waits *waits = page->facts->waits;
	struct table *table;

	if (!waits->nr)
		return;
	sink_str(page->sink, "\n");
	line_print(page->sink, page->view, STYLE_HEADING, "longest waits, of all threads together");
	table = table_new(columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < waits->nr && is_shown(page->facts, i); i++)
		add_wait(table, page, &waits->rows[i]);
	table_print_rows(table, page->view, page->sink);
	table_free(table);
}

void stat_print_text(const struct stat_facts *facts, const struct view *view, struct sink *sink)
{
	struct page page = {.facts = facts, .view = view, .sink = sink};

	print_title(&page);
	print_times(&page);
	print_usage(&page);
	print_tasks(&page);
	print_counters(&page);
	print_status(&page);
	print_functions(&page);
	print_waits(&page);
	buf_release(&page.number);
	buf_release(&page.words);
}

/* --- JSON --- */

static void put_share(struct json *json, const struct tally *part, const struct tally *whole)
{
	json_key(json, "pct");
	json_double(json, tally_percent(part, whole), 4);
	json_key(json, "ci_pct");
	json_double(json, tally_interval(part, whole), 4);
}

static void put_text(struct json *json, const char *key, struct buf *text)
{
	json_key_known_str(json, key, buf_str(text));
	buf_clear(text);
}

static void put_functions(struct json *json, const struct stat_facts *facts)
{
	const struct flat *flat = facts->functions;
	const struct flat_row *row;
	struct buf text = {0};
	size_t nr = 0;

	json_key_array_begin(json, "functions");
	for (size_t at = 0; is_shown(facts, nr) && (row = next_function(flat, &at)); nr++) {
		json_object_begin(json);
		flat_append_name(&text, flat, row, NAME_FULL);
		put_text(json, "function", &text);
		flat_append_location(&text, flat, row);
		put_text(json, "location", &text);
		json_key_known_str(json, "module", module_of(flat, row));
		json_key_u64(json, "self_ns", row->self.weight);
		put_share(json, &row->self, &flat->weights->total);
		json_object_end(json);
	}
	json_array_end(json);
	buf_release(&text);
}

static void put_waits(struct json *json, const struct stat_facts *facts)
{
	const struct long_waits *waits = facts->waits;
	struct buf text = {0};

	json_key_array_begin(json, "waits");
	for (size_t i = 0; i < waits->nr && is_shown(facts, i); i++) {
		const struct long_wait *wait = &waits->rows[i];

		json_object_begin(json);
		append_wait_kind(&text, facts, wait);
		put_text(json, wait->kind == LONG_WAIT_LOCK ? "lock" : "syscall", &text);
		append_wait_object(&text, facts, wait);
		put_text(json, "object", &text);
		append_wait_function(&text, facts, wait, NAME_FULL);
		put_text(json, "function", &text);
		json_key_u64(json, "ns", wait->tally.weight);
		put_share(json, &wait->tally, &waits->total);
		json_object_end(json);
	}
	json_array_end(json);
	buf_release(&text);
}

static void put_usage(struct json *json, const struct stat_facts *facts)
{
	const struct stat_usage *usage = &facts->usage;

	if (usage->is_known) {
		json_key_u64(json, "voluntary_switches", usage->nr_voluntary_switches);
		json_key_u64(json, "involuntary_switches", usage->nr_involuntary_switches);
		json_key_u64(json, "minor_faults", usage->nr_minor_faults);
		json_key_u64(json, "major_faults", usage->nr_major_faults);
	} else {
		json_key_u64(json, "switches", sum_of_switches(facts->profile));
		json_key_u64(json, "faults", sum_of_faults(facts->profile));
	}
	json_key_known_u64(json, "peak_memory_bytes", usage->peak_rss_bytes);
}

static void put_status(struct json *json, int status)
{
	bool has_exited = status != STAT_STATUS_NONE && WIFEXITED(status);
	bool was_killed = status != STAT_STATUS_NONE && WIFSIGNALED(status);

	json_key(json, "exit_status");
	if (has_exited)
		json_u64(json, (uint64_t)WEXITSTATUS(status));
	else
		json_null(json);
	json_key_known_u64(json, "signal", was_killed ? (uint64_t)WTERMSIG(status) : 0);
}

static void put_counters(struct json *json, const struct profile *profile)
{
	json_key_object_begin(json, "counters");
	for (int metric = METRIC_KERNEL; metric < METRIC_COUNT; metric++) {
		if (profile_has_metric(profile, (enum metric)metric))
			json_key_u64(json, metric_name((enum metric)metric),
				     profile_total(profile, (enum metric)metric));
	}
	json_object_end(json);
}

static void put_times(struct json *json, const struct stat_facts *facts)
{
	struct cpu_split split;
	bool is_known = profile_cpu_split(facts->profile, &split);

	json_key_u64(json, "elapsed_ns", facts->elapsed_ns);
	json_key_u64(json, "cpu_ns", facts->cpu_ns);
	json_key_known_u64(json, "user_ns", is_known ? split.user_ns : 0);
	json_key_known_u64(json, "system_ns", is_known ? split.system_ns : 0);
	json_key(json, "cpus_used");
	json_double(json, per_elapsed(facts, facts->cpu_ns), 4);
	json_key_u64(json, "runq_ns", profile_total(facts->profile, METRIC_RUNQ));
	json_key_u64(json, "blocked_ns", facts->waits->total.weight);
	json_key_u64(json, "unattributed_cpu_ns", facts->functions->weights->unattributed.weight);
}

void stat_print_json(const struct stat_facts *facts, struct sink *sink)
{
	const struct profile *profile = facts->profile;
	struct profile_tasks tasks = profile_count_tasks(profile);
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_u64(&json, "version", 1);
	json_key_array_begin(&json, "command");
	for (size_t i = 0; i < profile->meta.nr_command; i++)
		json_str(&json, profile_str(profile, profile->meta.command[i]));
	json_array_end(&json);
	put_times(&json, facts);
	put_usage(&json, facts);
	json_key_u64(&json, "processes", tasks.nr_processes);
	json_key_u64(&json, "processes_not_found", tasks.nr_unseen);
	json_key_u64(&json, "threads", tasks.nr_threads);
	put_counters(&json, profile);
	put_status(&json, facts->status);
	put_functions(&json, facts);
	put_waits(&json, facts);
	json_object_end(&json);
	json_finish(&json);
}
