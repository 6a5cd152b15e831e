// SPDX-License-Identifier: GPL-2.0-or-later
/* `profc info` as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/sink.h"
#include "profile/profile.h"
#include "profile/survey.h"
#include "view/counter_words.h"
#include "view/cut.h"
#include "view/info.h"
#include "view/info_counts.h"
#include "view/info_memory.h"
#include "view/line.h"
#include "view/machine_text.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/rate_text.h"
#include "view/run_lines.h"
#include "view/script_words.h"
#include "view/summary.h"
#include "view/table.h"

#define LABEL_FORMAT   "%-12s"
#define ENDS_SHOWN     10
#define MODULES_SHOWN  20
#define MARKS_SHOWN    20
#define LABELS_SHOWN   16
#define BUILD_ID_SHORT 12
#define NAMED_IN_HINT  4
/* A long script given with -c must not fill the first screen. */
#define COMMAND_COLUMNS_MAX 280

struct info {
	const struct profile *profile;
	const struct survey *survey;
	const struct view *view;
	struct sink *sink;
	struct buf text; /* scratch, empty between uses */
};

static void heading(struct info *info, const char *text)
{
	struct buf line = {0};

	sink_str(info->sink, "\n");
	style_append(&line, info->view, STYLE_HEADING, text);
	buf_append_byte(&line, '\n');
	sink_write(info->sink, line.bytes, line.nr_bytes);
	buf_release(&line);
}

/* Print info->text after a label, and clear it. */
static void fact(struct info *info, const char *label)
{
	char lead[32];

	snprintf(lead, sizeof(lead), LABEL_FORMAT, label);
	if (info->text.nr_bytes)
		paragraph_print(info->view, lead, buf_str(&info->text), info->sink);
	buf_clear(&info->text);
}

static void append_text(struct info *info, struct str_id id)
{
	escape_terminal(&info->text, profile_str(info->profile, id));
}

static double percent(uint64_t part, uint64_t total)
{
	return total ? 100.0 * (double)part / (double)total : 0;
}

/* The first attached process is named: there may be many. */
static void print_command(struct info *info)
{
	const struct profile *profile = info->profile;
	struct buf title = {0}, command = {0};

	profile_append_title(&title, profile);
	if (title.nr_bytes)
		escape_terminal(&command, buf_str(&title));
	else
		buf_append_str(&command,
			       profile->meta.attached ? "(running processes)" : "(unknown)");
	append_cut(&info->text, buf_str(&command), COMMAND_COLUMNS_MAX, CUT_END);
	if (title.nr_bytes && profile->meta.attached)
		buf_append_str(&info->text, " (attached)");
	fact(info, "command");
	buf_release(&title);
	buf_release(&command);
}

static void append_comma(struct info *info)
{
	if (info->text.nr_bytes)
		buf_append_str(&info->text, ", ");
}

static void print_when(struct info *info)
{
	const struct profile_meta *meta = &info->profile->meta;

	append_date(&info->text, meta->start_realtime_ns);
	append_comma(info);
	buf_append_str(&info->text, "for ");
	append_weight(&info->text, METRIC_WALL, meta->duration_ns);
	if (meta->version.v != STR_EMPTY.v) {
		buf_append_str(&info->text, ", by profc ");
		append_text(info, meta->version);
	}
	fact(info, "recorded");
}

/* Was the file written by a trigger that is none of the end? */
static bool is_written_meanwhile(const struct profile *profile)
{
	const char *trigger = profile_trigger(profile);

	return trigger && strncmp(trigger, "exit", 4) != 0 && strncmp(trigger, "crash", 5) != 0;
}

static void print_how_it_ended(struct info *info)
{
	const struct profile_meta *meta = &info->profile->meta;
	int status = meta->exit_status;

	if (!meta->complete)
		buf_append_str(&info->text, "incomplete: the recording did not finish");
	else if (status == -1 && is_written_meanwhile(info->profile))
		buf_append_str(&info->text,
			       "the file ends after its trigger; the recorder went on");
	else if (meta->attached)
		buf_append_str(&info->text, "detached");
	else if (status == -1)
		buf_append_str(&info->text, "completed; exit status of the command unknown");
	else if (WIFSIGNALED(status))
		buf_printf(&info->text, "the command was killed by signal %d", WTERMSIG(status));
	else
		buf_printf(&info->text, "the command exited with status %d", WEXITSTATUS(status));
	fact(info, "ended");
}

static void append_part(struct info *info, struct str_id id)
{
	if (id.v == STR_EMPTY.v)
		return;
	append_comma(info);
	append_text(info, id);
}

static void print_where(struct info *info)
{
	const struct profile_meta *meta = &info->profile->meta;

	append_part(info, meta->hostname);
	append_part(info, meta->arch);
	if (meta->nr_cpus) {
		append_comma(info);
		buf_printf(&info->text, "%u CPU%s", meta->nr_cpus, meta->nr_cpus > 1 ? "s" : "");
	}
	append_part(info, meta->cpu_model);
	append_part(info, meta->kernel);
	fact(info, "host");
	if (machine_append(&info->text, info->profile))
		fact(info, "machine");
}

static void print_frequency(struct info *info)
{
	const struct profile_meta *meta = &info->profile->meta;
	/* In thousandths of a hertz: lib/sampler/sampler.h. */
	uint64_t effective = profile_counter(info->profile, "frequency_hz_effective");

	buf_printf(&info->text, "%u Hz requested", meta->frequency_hz);
	if (effective)
		buf_printf(&info->text, ", %.0f ticks a second", (double)effective / 1000);
	if (meta->max_overhead_ppm)
		buf_printf(&info->text, ", at most %g%% overhead",
			   (double)meta->max_overhead_ppm / 10000);
	if (meta->unwinder.v != STR_EMPTY.v) {
		buf_append_str(&info->text, ", unwinder ");
		append_text(info, meta->unwinder);
	}
	fact(info, "sampling");
	if (append_rate_achieved(&info->text, info->profile))
		fact(info, "rate");
	if (meta->within.v == STR_EMPTY.v)
		return;
	append_text(info, meta->within);
	buf_append_str(&info->text, ": only while inside of it");
	fact(info, "within");
}

/* The file of a flight recorder: it has a mark at the moment of its trigger. */
static void print_trigger(struct info *info)
{
	const struct profile *profile = info->profile;
	const char *trigger = profile_trigger(profile);
	uint64_t at_ns = profile_counter(profile, "trigger_ns");

	if (!trigger)
		return;
	escape_terminal(&info->text, trigger);
	buf_printf(&info->text, ", at %.3fs", (double)at_ns / (double)NS_PER_SEC);
	fact(info, "trigger");
	buf_append_str(&info->text, "a flight recorder, which had run for ");
	append_weight(&info->text, METRIC_WALL, profile_counter(profile, "recorder_ns"));
	buf_append_str(&info->text, "; losses and costs are of all that time");
	fact(info, "recorder");
}

static void print_totals(struct info *info)
{
	const struct survey_sum *total = &info->survey->total;

	append_weight(&info->text, METRIC_CPU, total->cpu_ns);
	buf_append_str(&info->text, " CPU");
	if (total->cpu_ns) {
		buf_append_str(&info->text, " (");
		if (!summary_append_split(&info->text, info->profile))
			buf_append_str(&info->text, "user and system unknown");
		buf_append_str(&info->text, ")");
	}
	buf_append_str(&info->text, ", ");
	append_weight(&info->text, METRIC_RUNQ, total->runq_ns);
	buf_append_str(&info->text, " waiting for a CPU, ");
	append_weight(&info->text, METRIC_BLOCKED, total->blocked_ns);
	buf_append_str(&info->text, " blocked; ");
	append_weight(&info->text, METRIC_WALL, total->cpu_ns + total->runq_ns + total->blocked_ns);
	buf_append_str(&info->text, " in all threads");
	fact(info, "time");
	append_count(&info->text, total->samples);
	fact(info, "samples");
}

static void print_sampling(struct info *info)
{
	if (!info->profile->meta.frequency_hz && !info->survey->total.samples) {
		buf_append_str(&info->text, "none of threads (--no-cpu)");
		fact(info, "sampling");
		return;
	}
	print_frequency(info);
	print_totals(info);
}

static void append_number_of(struct buf *out, uint64_t nr, const char *one, const char *many)
{
	append_count(out, nr);
	buf_printf(out, " %s", nr == 1 ? one : many);
}

/* The sources that --with-source has kept. */
static void append_kept(struct info *info)
{
	const struct profile_symbols *symbols = &info->profile->symbols;
	size_t nr_texts = 0;

	for (size_t i = 0; i < symbols->nr_sources; i++)
		nr_texts += symbols->sources[i].text.v != STR_EMPTY.v;
	if (nr_texts) {
		buf_append_str(&info->text, ", the text of ");
		append_number_of(&info->text, nr_texts, "source file", "source files");
	}
	if (symbols->nr_listings) {
		buf_append_str(&info->text, ", the instructions of ");
		append_number_of(&info->text, symbols->nr_listings, "part of the code",
				 "parts of the code");
	}
}

static void print_sizes(struct info *info)
{
	const struct profile *profile = info->profile;

	append_number_of(&info->text, profile->nr_processes, "process", "processes");
	buf_append_str(&info->text, ", ");
	append_number_of(&info->text, profile->nr_threads, "thread", "threads");
	buf_append_str(&info->text, ", ");
	append_number_of(&info->text, stack_trie_nr(profile->stacks) - 1, "stack", "stacks");
	buf_append_str(&info->text, " of ");
	append_number_of(&info->text, profile->nr_frames, "address", "addresses");
	buf_append_str(&info->text, " in ");
	append_number_of(&info->text, module_table_nr(profile->modules) - 1, "module", "modules");
	append_kept(info);
	fact(info, "contents");
}

static void print_interpreters(struct info *info)
{
	struct buf text = {0};

	script_append_interpreters(&text, info->profile, false);
	escape_terminal(&info->text, buf_str(&text));
	if (text.nr_bytes)
		fact(info, "scripts");
	buf_release(&text);
}

#define PROCESSES_NAMED 4

/* "tls_v1 by server (pid 12), by worker (pid 13): why it is not read" */
static void append_publishers(struct info *info)
{
	const struct profile *profile = info->profile;
	size_t nr = 0;

	for (size_t i = 0; i < profile->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];

		if (process->context.v == STR_EMPTY.v || ++nr > PROCESSES_NAMED)
			continue;
		append_comma(info);
		append_text(info, process->context);
		buf_append_str(&info->text, " by ");
		append_text(info, process->name);
		buf_printf(&info->text, " (pid %d)", process->pid);
		if (process->context_problem.v == STR_EMPTY.v)
			continue;
		buf_append_str(&info->text, ", not read: ");
		append_text(info, process->context_problem);
	}
	if (nr > PROCESSES_NAMED)
		buf_printf(&info->text, ", and by %zu others", nr - PROCESSES_NAMED);
}

/* Which processes publish contexts of their threads, and the keys of the labels in them. */
static void print_labels(struct info *info)
{
	const struct profile_labels *labels = profile_labels(info->profile);
	cleanup_free bool *is_known = xcalloc(strtab_nr(info->profile->strings), sizeof(*is_known));
	size_t nr = 0;

	append_publishers(info);
	for (size_t i = 0; i < labels->nr && nr < LABELS_SHOWN; i++) {
		struct str_id key = labels->rows[i].key;

		if (is_known[key.v])
			continue;
		is_known[key.v] = true;
		buf_append_str(&info->text, nr++ ? ", " : "; labels: ");
		append_text(info, key);
	}
	fact(info, "contexts");
}

static void append_complete(struct info *info, uint64_t complete, uint64_t total, const char *what)
{
	if (!total)
		return;
	if (info->text.nr_bytes)
		buf_append_str(&info->text, " and ");
	append_percent(&info->text, percent(complete, total));
	buf_printf(&info->text, "%% of the %s time", what);
}

/* Stacks that may be complete but are not proved to reach the root. */
static void append_class(struct info *info, uint64_t part, uint64_t total, const char *what)
{
	if (!part)
		return;
	buf_append_str(&info->text, "; ");
	append_percent(&info->text, percent(part, total));
	buf_printf(&info->text, "%% %s", what);
}

/* "97.3% of the CPU time and 100.0% of the blocked time with stacks is in stacks complete …" */
static void print_completeness(struct info *info)
{
	const struct survey *survey = info->survey;
	uint64_t cpu_ns = survey->total.cpu_ns;
	uint64_t blocked_ns = survey->total.blocked_ns - survey->unattributed.blocked_ns;

	append_complete(info, survey->complete.cpu_ns, cpu_ns, "CPU");
	append_complete(info, survey->complete.blocked_ns, blocked_ns, "attributed blocked");
	if (!info->text.nr_bytes)
		return;
	buf_append_str(&info->text, " is in stacks complete to the root");
	append_class(info, survey->other_stack.cpu_ns, cpu_ns,
		     "in stacks that begin where the "
		     "thread switched to another stack");
	append_class(info, survey->unproved.cpu_ns, cpu_ns, "in stacks whose root is not proved");
	append_class(info, survey->unattributed.cpu_ns, cpu_ns, "of the CPU time has no stack");
	buf_append_str(&info->text, ".");
	paragraph_print(info->view, "", buf_str(&info->text), info->sink);
	buf_clear(&info->text);
	summary_append_lone_code(&info->text, info->profile);
	if (info->text.nr_bytes) {
		buf_append_str(&info->text, ".");
		paragraph_print(info->view, "", buf_str(&info->text), info->sink);
	}
	buf_clear(&info->text);
}

/* Add info->text as a cell, and clear it. */
static void add_cell(struct info *info, struct table *table)
{
	table_add(table, STYLE_PLAIN, buf_str(&info->text));
	buf_clear(&info->text);
}

static void add_percent_cell(struct info *info, struct table *table, uint64_t part, uint64_t total)
{
	append_percent(&info->text, percent(part, total));
	add_cell(info, table);
}

static void add_count_cell(struct info *info, struct table *table, uint64_t count)
{
	append_count(&info->text, count);
	add_cell(info, table);
}

static const char *remedy_of(const struct info *info, const struct survey_end *end)
{
	const struct module *module = module_table_get(info->profile->modules, end->module);

	return stack_end_remedy(end->end, module->kind == MODULE_KIND_JIT);
}

/* Share of CPU or blocked time below which a reason gets no hint. */
#define PERCENT_WORTH_A_HINT 0.5

static bool is_worth_a_hint(const struct info *info, const struct survey_end *end)
{
	const struct survey_sum *total = &info->survey->total;

	return percent(end->sum.cpu_ns, total->cpu_ns) >= PERCENT_WORTH_A_HINT ||
	       percent(end->sum.blocked_ns, total->blocked_ns) >= PERCENT_WORTH_A_HINT;
}

static bool is_hinted_before(const struct info *info, size_t at)
{
	const char *remedy = remedy_of(info, &info->survey->ends[at]);

	for (size_t i = 0; i < at; i++) {
		const struct survey_end *end = &info->survey->ends[i];

		if (is_worth_a_hint(info, end) && remedy_of(info, end) == remedy)
			return true;
	}
	return false;
}

/* The remedies for the reasons shown, each hint once. */
static void print_remedies(struct info *info, size_t nr_shown)
{
	for (size_t i = 0; i < nr_shown; i++) {
		const struct survey_end *end = &info->survey->ends[i];
		const char *remedy = remedy_of(info, end);

		if (!remedy || !is_worth_a_hint(info, end) || is_hinted_before(info, i))
			continue;
		buf_printf(&info->text, "%s: %s", stack_end_name(end->end), remedy);
		paragraph_print(info->view, "  hint: ", buf_str(&info->text), info->sink);
		buf_clear(&info->text);
	}
}

static void print_ends(struct info *info)
{
	static const struct table_column columns[] = {
		{.header = "cpu %", .right = true},
		{.header = "blocked %", .right = true},
		{.header = "samples", .right = true},
		{.header = "why truncated"},
		{.header = "in", .flexible = true, .cut = CUT_START, .min_columns = 12, .share = 1},
	};
	const struct survey *survey = info->survey;
	struct table *table;
	size_t nr_shown = survey->nr_ends < ENDS_SHOWN ? survey->nr_ends : ENDS_SHOWN;

	if (!survey->total.samples)
		return;
	heading(info, "Stacks");
	print_completeness(info);
	if (!survey->nr_ends)
		return;
	table = table_new(columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr_shown; i++) {
		const struct survey_end *end = &survey->ends[i];

		add_percent_cell(info, table, end->sum.cpu_ns, survey->total.cpu_ns);
		add_percent_cell(info, table, end->sum.blocked_ns, survey->total.blocked_ns);
		add_count_cell(info, table, end->sum.samples);
		table_add(table, STYLE_PLAIN, stack_end_name(end->end));
		table_add(table, STYLE_PLAIN,
			  module_short_name(module_table_get(info->profile->modules, end->module)));
	}
	table_print(table, info->view, info->sink);
	table_free(table);
	print_remedies(info, nr_shown);
}

struct ranked_module {
	uint32_t id;
	const struct survey_sum *sum;
};

static int by_weight(const void *left, const void *right)
{
	const struct survey_sum *a = ((const struct ranked_module *)left)->sum;
	const struct survey_sum *b = ((const struct ranked_module *)right)->sum;

	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns < b->cpu_ns ? 1 : -1;
	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return a < b ? -1 : a > b;
}

/* The modules that samples were in, the heaviest first. The caller frees them. */
static struct ranked_module *rank_modules(const struct info *info, size_t *nr)
{
	uint32_t nr_modules = module_table_nr(info->profile->modules);
	struct ranked_module *modules = xcalloc(nr_modules, sizeof(*modules));

	*nr = 0;
	for (uint32_t i = 0; i < nr_modules; i++) {
		if (info->survey->modules[i].samples)
			modules[(*nr)++] = (struct ranked_module){i, &info->survey->modules[i]};
	}
	qsort(modules, *nr, sizeof(*modules), by_weight);
	return modules;
}

/* In full if there is room, else the start, which suffices for most tools. */
static void add_build_id_cell(struct info *info, struct table *table, const struct module *module)
{
	size_t nr_digits = info->view->columns >= 120 ? SIZE_MAX : BUILD_ID_SHORT;

	for (size_t i = 0; i < module->nr_build_id_bytes && 2 * i < nr_digits; i++)
		buf_printf(&info->text, "%02x", module->build_id[i]);
	add_cell(info, table);
}

static const struct module_symbols *symbols_of(const struct info *info, uint32_t id)
{
	return id < info->profile->symbols.nr_modules ? &info->profile->symbols.modules[id] : NULL;
}

static const char *names_of(const struct info *info, uint32_t id)
{
	const struct module_symbols *symbols = symbols_of(info, id);

	if (symbols && symbols->mismatched)
		return "another file";
	return symbol_source_name(symbols ? symbols->source : SYMBOL_SOURCE_NONE);
}

static void add_module_row(struct info *info, struct table *table,
			   const struct ranked_module *ranked)
{
	struct module_id id = {ranked->id};
	const struct module *module = module_table_get(info->profile->modules, id);

	add_count_cell(info, table, ranked->sum->samples);
	add_percent_cell(info, table, ranked->sum->cpu_ns, info->survey->total.cpu_ns);
	table_add(table, STYLE_PLAIN, names_of(info, ranked->id));
	add_build_id_cell(info, table, module);
	buf_append_str(&info->text,
		       module_is_of_probes(module) ? module_short_name(module) : module->path);
	if (module->deleted && !module_is_of_probes(module))
		buf_append_str(&info->text, " (deleted)");
	add_cell(info, table);
}

static uint32_t problem_of(const struct info *info, const struct ranked_module *module)
{
	const struct module_symbols *symbols = symbols_of(info, module->id);

	return symbols ? symbols->problem.v : STR_EMPTY.v;
}

/* One hint for all modules with one problem, the heaviest named. */
static void print_problem(struct info *info, const struct ranked_module *modules, size_t nr)
{
	uint32_t problem = problem_of(info, &modules[0]);
	size_t nr_named = 0, nr_with = 0;

	for (size_t i = 0; i < nr; i++) {
		struct module_id id = {modules[i].id};

		if (problem_of(info, &modules[i]) != problem || ++nr_with > NAMED_IN_HINT)
			continue;
		if (nr_named++)
			buf_append_str(&info->text, ", ");
		escape_terminal(&info->text,
				module_short_name(module_table_get(info->profile->modules, id)));
	}
	if (nr_with > nr_named)
		buf_printf(&info->text, " and %zu more", nr_with - nr_named);
	buf_append_str(&info->text, ": ");
	append_text(info, (struct str_id){problem});
	paragraph_print(info->view, "  hint: ", buf_str(&info->text), info->sink);
	buf_clear(&info->text);
}

static bool is_first_with_its_problem(const struct info *info, const struct ranked_module *modules,
				      size_t at)
{
	uint32_t problem = problem_of(info, &modules[at]);

	for (size_t i = 0; i < at; i++)
		if (problem_of(info, &modules[i]) == problem)
			return false;
	return problem != STR_EMPTY.v;
}

static void print_module_problems(struct info *info, const struct ranked_module *modules, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (is_first_with_its_problem(info, modules, i))
			print_problem(info, &modules[i], nr - i);
}

static void print_modules(struct info *info)
{
	static const struct table_column columns[] = {
		{.header = "samples", .right = true},
		{.header = "cpu %", .right = true},
		{.header = "symbols from"},
		{.header = "build-id"},
		{.header = "module",
		 .flexible = true,
		 .cut = CUT_START,
		 .min_columns = 12,
		 .share = 1},
	};
	size_t nr, nr_shown;
	cleanup_free struct ranked_module *modules = rank_modules(info, &nr);
	struct table *table;

	if (!nr)
		return;
	nr_shown = nr < MODULES_SHOWN ? nr : MODULES_SHOWN;
	heading(info, "Modules");
	table = table_new(columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr_shown; i++)
		add_module_row(info, table, &modules[i]);
	table_print(table, info->view, info->sink);
	table_free(table);
	if (nr > nr_shown)
		sink_printf(info->sink, "... and %zu more; --json lists all\n", nr - nr_shown);
	if (!profile_is_resolved(info->profile) && info->profile->nr_frames)
		paragraph_print(info->view,
				"  hint: ", "the file has no symbols; 'profc symbolize' adds them",
				info->sink);
	print_module_problems(info, modules, nr_shown);
}

/* Marks, with their times in the form that `report --time` accepts. */
static void print_marks(struct info *info)
{
	static const struct table_column columns[] = {
		{.header = "time", .right = true},
		{.header = "mark", .flexible = true, .min_columns = 12, .share = 1},
	};
	const struct profile *profile = info->profile;
	size_t nr_shown = profile->nr_marks < MARKS_SHOWN ? profile->nr_marks : MARKS_SHOWN;
	struct table *table;

	if (!nr_shown)
		return;
	heading(info, "Marks");
	table = table_new(columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr_shown; i++) {
		const struct profile_mark *mark = &profile->marks[i];

		buf_printf(&info->text, "%.3fs", (double)mark->time_ns / (double)NS_PER_SEC);
		add_cell(info, table);
		append_text(info, mark->text);
		add_cell(info, table);
	}
	table_print(table, info->view, info->sink);
	table_free(table);
	if (profile->nr_marks > nr_shown)
		sink_printf(info->sink, "... and %zu more; --json lists all\n",
			    profile->nr_marks - nr_shown);
}

/* Counters that a fact or table above shows. */
static bool is_shown_above(const char *name)
{
	static const char stacks[] = "stacks_";
	static const char *const names[] = {"frequency_hz_effective", "budget_hz",
					    "probe_functions", "probe_calls"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return strncmp(name, stacks, sizeof(stacks) - 1) == 0;
}

/* The cost of stops as a share: the figure that "at most 2%" limits. */
static uint64_t shown_value(const struct profile *profile, const char *name,
			    const struct profile_counter *counter)
{
	return strcmp(name, "cost_ppm") == 0 ? (uint64_t)stops_cost_ppm(profile) : counter->value;
}

static void print_counters(struct info *info, enum counter_group group)
{
	struct buf line = {0};
	bool any = false;

	for (size_t i = 0; i < info->profile->nr_counters; i++) {
		const struct profile_counter *counter = &info->profile->counters[i];
		const char *name = profile_str(info->profile, counter->name);
		struct counter_words words = counter_words(name);

		if (words.group != group || is_shown_above(name))
			continue;
		if (!any)
			heading(info, counter_group_heading(group));
		any = true;
		append_counter_value(&info->text, name, shown_value(info->profile, name, counter));
		line_append_right(&line, info->view, STYLE_PLAIN, 14, buf_str(&info->text));
		buf_clear(&info->text);
		buf_append_str(&line, "  ");
		escape_terminal(&line, words.words);
		line_end(&line, info->sink);
		buf_clear(&info->text);
	}
	buf_release(&line);
}

void info_print_text(const struct profile *profile, const struct survey *survey,
		     const struct view *view, struct sink *sink)
{
	struct info info = {.profile = profile, .survey = survey, .view = view, .sink = sink};

	print_command(&info);
	print_when(&info);
	print_how_it_ended(&info);
	print_trigger(&info);
	print_where(&info);
	print_sampling(&info);
	print_sizes(&info);
	print_interpreters(&info);
	print_labels(&info);
	if (profile->runs.nr) {
		heading(&info, "Runs");
		print_runs(profile, view, sink);
	}
	print_ends(&info);
	print_modules(&info);
	info_print_counts(profile, view, sink);
	info_print_memory(profile, view, sink);
	print_marks(&info);
	for (int group = 0; group < COUNTER_GROUP_COUNT; group++)
		print_counters(&info, (enum counter_group)group);
	buf_release(&info.text);
}
