// SPDX-License-Identifier: GPL-2.0-or-later
/* Notes below tables of threads and programs: polling and page faults, by the rules' measures. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "verdict/rule_priv.h"
#include "verdict/verdict.h"
#include "view/number.h"
#include "view/paragraph.h"

/* The most notes of a kind. */
#define NR_NOTES 3

/* A thread, or all processes of one name. */
struct row {
	struct str_id name;
	pid_t tid; /* or 0 */
	struct cpu_split split;
	size_t nr_known; /* known splits in the sum */
	struct cpu_fact cpu;
	size_t polling, nr_polling; /* the thread that polls most, and how many poll */
};

struct rows {
	const struct facts *facts;
	struct row *rows; /* owned */
	size_t nr;
};

static void add_cpu(struct row *row, const struct cpu_split *split, const struct cpu_fact *cpu)
{
	row->split.user_ns += split->user_ns;
	row->split.system_ns += split->system_ns;
	row->split.nr_faults += split->nr_faults;
	row->split.known |= split->known;
	row->nr_known += split->known;
	tally_add(&row->cpu.all, &cpu->all);
	tally_add(&row->cpu.in_calls, &cpu->in_calls);
}

static void add_polling(struct rows *rows, struct row *row, size_t thread)
{
	const struct facts *facts = rows->facts;

	if (polling_percent(facts, thread) <= POLLING_PERCENT)
		return;
	if (!row->nr_polling || facts->sleeps[thread].weight > facts->sleeps[row->polling].weight)
		row->polling = thread;
	row->nr_polling++;
}

static void sum_threads(struct rows *rows)
{
	const struct profile *profile = rows->facts->profile;

	rows->rows = xcalloc(profile->nr_threads + 1, sizeof(*rows->rows));
	for (size_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		struct row *row = &rows->rows[rows->nr++];

		row->name = thread->name;
		row->tid = thread->tid;
		add_cpu(row, &thread->split, &rows->facts->of_thread[i]);
		add_polling(rows, row, i);
	}
}

static void sum_processes(struct rows *rows)
{
	const struct profile *profile = rows->facts->profile;
	cleanup_free uint32_t *of_name = xcalloc(strtab_nr(profile->strings), sizeof(*of_name));

	rows->rows = xcalloc(profile->nr_processes + 1, sizeof(*rows->rows));
	for (size_t i = 0; i < profile->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];

		if (!of_name[process->name.v]) {
			rows->rows[rows->nr].name = process->name;
			of_name[process->name.v] = (uint32_t)++rows->nr;
		}
		add_cpu(&rows->rows[of_name[process->name.v] - 1], &process->split,
			&rows->facts->of_process[i]);
	}
	for (size_t i = 0; i < profile->nr_threads; i++) {
		struct str_id name = profile->processes[profile->threads[i].process].name;

		add_polling(rows, &rows->rows[of_name[name.v] - 1], i);
	}
}

static int heavier_first(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->cpu.all.weight != b->cpu.all.weight)
		return a->cpu.all.weight < b->cpu.all.weight ? 1 : -1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->name.v > b->name.v) - (a->name.v < b->name.v);
}

static bool append_polling_note(struct buf *out, const struct facts *facts, const struct row *row)
{
	if (!row->nr_polling)
		return false;
	if (row->tid) {
		buf_printf(out, "thread %d ", (int)row->tid);
	} else if (facts->profile->threads[row->polling].name.v != row->name.v) {
		facts_append_text(out, profile_str(facts->profile, row->name));
		buf_append_str(out, ": ");
	}
	append_polling(out, facts, row->polling);
	if (row->nr_polling > 1) {
		buf_append_str(out, " (and ");
		append_count(out, row->nr_polling - 1);
		buf_append_str(out, " more of its threads)");
	}
	return true;
}

static bool append_faults_note(struct buf *out, const struct facts *facts, const struct row *row)
{
	if (faults_percent(&row->split, row->nr_known, &row->cpu) <= FAULTS_PERCENT)
		return false;
	if (row->tid)
		buf_printf(out, "thread %d ", (int)row->tid);
	facts_append_text(out, profile_str(facts->profile, row->name));
	buf_append_str(out, ": ");
	append_faults(out, &row->split, &row->cpu.in_calls, facts->elapsed_ns);
	return true;
}

typedef bool append_note(struct buf *out, const struct facts *facts, const struct row *row);

static void append_notes(struct buf *out, const struct rows *rows, append_note *append)
{
	size_t nr = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		struct buf note = {0};

		if (append(&note, rows->facts, &rows->rows[i]) && nr++ < NR_NOTES)
			buf_printf(out, "%s%s", out->nr_bytes ? "; " : "", buf_str(&note));
		buf_release(&note);
	}
	if (nr > NR_NOTES) {
		buf_append_str(out, "; likewise ");
		append_count(out, nr - NR_NOTES);
		buf_append_str(out, " more rows");
	}
}

static bool has_counters(const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_threads; i++) {
		if (profile->threads[i].nr_switches)
			return true;
	}
	for (size_t i = 0; i < profile->nr_processes; i++) {
		if (profile->processes[i].split.nr_faults)
			return true;
	}
	return false;
}

void verdict_print_notes(const struct selection *selection, enum dimension by,
			 const struct view *view, struct sink *sink)
{
	const struct profile *profile = selection->expansion->profile;
	struct buf notes = {0};
	struct weights *cpu;
	struct facts facts;
	struct rows rows = {.facts = &facts};

	if (!selection->everything || selection->reshaped ||
	    (by != BY_THREAD && by != BY_PROCESS) || !has_counters(profile))
		return;
	cpu = weights_new(selection, METRIC_CPU);
	facts_init(&facts, cpu, NULL);
	if (by == BY_THREAD)
		sum_threads(&rows);
	else
		sum_processes(&rows);
	if (rows.nr)
		qsort(rows.rows, rows.nr, sizeof(*rows.rows), heavier_first);
	append_notes(&notes, &rows, append_polling_note);
	if (profile->meta.knows_calls)
		append_notes(&notes, &rows, append_faults_note);
	if (notes.nr_bytes) {
		sink_str(sink, "\n");
		paragraph_print(view, "note: ", buf_str(&notes), sink);
	}
	buf_release(&notes);
	free(rows.rows);
	facts_release(&facts);
	weights_free(cpu);
}
