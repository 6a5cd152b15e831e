// SPDX-License-Identifier: GPL-2.0-or-later
/* The stacks of `profc dump` as text. */
#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"
#include "base/syscall_name.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "view/cut.h"
#include "view/dump.h"
#include "view/line.h"
#include "view/repeats.h"
#include "view/table.h"

static const struct profile *profile_of(const struct dump *dump)
{
	return dump->expansion->profile;
}

const char *dump_state_word(char state)
{
	switch (state) {
	case 'R':
		return "running";
	case 'S':
		return "sleeping";
	case 'D':
		return "in uninterruptible sleep";
	case 'T':
	case 't': /* a traced thread that job control stopped is shown as t, too */
		return "stopped";
	case 'Z':
		return "zombie";
	case 'X':
	case '?':
		return "exited";
	default:
		return "idle";
	}
}

static bool sleeps(const struct dump_thread *thread)
{
	return thread->sample && thread->sample->kind == SAMPLE_BLOCKED;
}

const char *dump_syscall(const struct dump *dump, const struct dump_thread *thread)
{
	const struct profile *profile = profile_of(dump);

	return sleeps(thread) ? syscall_name(profile_str(profile, profile->meta.arch),
					     thread->sample->syscall_nr)
			      : NULL;
}

const struct profile_wait *dump_wait(const struct dump *dump, const struct dump_thread *thread)
{
	return sleeps(thread) && thread->sample->wait
		       ? &profile_waits(profile_of(dump))->rows[thread->sample->wait - 1]
		       : NULL;
}

static void append_holder(struct buf *out, const struct profile *profile,
			  const struct profile_wait *wait)
{
	const struct profile_thread *owner;

	if (wait->owner.v == THREAD_NONE.v || wait->kind == WAIT_THREAD)
		return;
	owner = &profile->threads[wait->owner.v];
	buf_printf(out, ", held by thread %d ", (int)owner->tid);
	escape_terminal(out, profile_str(profile, owner->name));
}

/* ", in read(3: pipe from 77 gzip)", ", in futex(queue_lock), held by thread 12 worker" */
static void append_wait(struct buf *out, const struct dump *dump, const struct dump_thread *thread)
{
	const struct profile *profile = profile_of(dump);
	const char *syscall = dump_syscall(dump, thread);
	const struct profile_wait *wait = dump_wait(dump, thread);
	struct buf name = {0};

	if (!syscall)
		return;
	buf_printf(out, ", in %s", syscall);
	if (!wait)
		return;
	if (wait->kind == WAIT_FILE) {
		const char *object =
			profile_str(profile, wait->peer.v == STR_EMPTY.v ? wait->name : wait->peer);

		buf_printf(&name, "%llu%s%s", (unsigned long long)wait->number, *object ? ": " : "",
			   object);
	} else {
		blame_append_wait(&name, dump->expansion, wait);
	}
	buf_append_byte(out, '(');
	escape_terminal(out, buf_str(&name));
	buf_append_byte(out, ')');
	append_holder(out, profile, wait);
	buf_release(&name);
}

static void print_thread(const struct dump *dump, const struct dump_thread *thread,
			 const struct view *view, struct sink *sink)
{
	const struct profile *profile = profile_of(dump);
	const struct profile_thread *row = &profile->threads[thread->row];
	struct buf text = {0}, shown = {0};

	buf_printf(&text, "thread %d ", (int)row->tid);
	escape_terminal(&text, profile_str(profile, row->name));
	buf_printf(&text, ": %s", dump_state_word(thread->state));
	append_wait(&text, dump, thread);
	append_cut(&shown, buf_str(&text), view->columns, CUT_END);
	line_print(sink, view, STYLE_HEADING, buf_str(&shown));
	buf_release(&text);
	buf_release(&shown);
}

static void add_level(struct table *table, const struct dump *dump, const struct view *view,
		      const struct level *level, size_t nr_same)
{
	const struct expansion *expansion = dump->expansion;
	const struct profile *profile = expansion->profile;
	const struct place *place = &expansion->places[level->place];
	const struct module *module = label_module(expansion, level->label);
	struct buf text = {0};

	label_append_name(&text, expansion, level->label, view->names);
	append_repeats(&text, nr_same);
	if (level->inlined)
		buf_append_str(&text, " (inlined)");
	table_add(table, STYLE_PLAIN, "");
	table_add(table, STYLE_PLAIN, buf_str(&text));
	buf_clear(&text);
	if (place->line)
		buf_printf(&text, "%s:%u", cut_directories(profile_str(profile, place->file)),
			   place->line);
	table_add(table, STYLE_DIM, buf_str(&text));
	table_add(table, STYLE_DIM,
		  module && !label_is_nameless(expansion, level->label) ? module_short_name(module)
									: "");
	buf_release(&text);
}

static void print_stack(const struct dump *dump, const struct dump_thread *thread,
			const struct view *view, struct sink *sink)
{
	static const struct table_column columns[] = {
		{.header = "  "},
		{.header = "",
		 .flexible = true,
		 .cut = CUT_MIDDLE,
		 .min_columns = 20,
		 .share = 5,
		 .kept_columns = 32},
		{.header = "", .flexible = true, .cut = CUT_MIDDLE, .min_columns = 7, .share = 3},
		{.header = "", .flexible = true, .cut = CUT_END, .min_columns = 7, .share = 2},
	};
	struct table *table;
	struct level_list list = {0};

	if (!thread->sample) {
		sink_str(sink, "    (no stack: ");
		sink_str(sink, thread->why_no_stack);
		sink_str(sink, ")\n");
		return;
	}
	table = table_new(columns, 4);
	expansion_stack(dump->expansion, thread->sample, &list);
	for (size_t nr = list.nr, same; nr > 0; nr -= same) {
		same = nr_same_levels(list.levels, nr);
		add_level(table, dump, view, &list.levels[nr - 1], same);
	}
	table_print_rows(table, view, sink);
	level_list_release(&list);
	table_free(table);
}

static bool is_same_stack(const struct dump_thread *a, const struct dump_thread *b)
{
	return a->sample && b->sample && a->sample->stack.v == b->sample->stack.v &&
	       a->sample->end == b->sample->end && a->state == b->state;
}

static void print_process(const struct dump *dump, uint32_t number, const struct view *view,
			  struct sink *sink)
{
	const struct profile *profile = profile_of(dump);
	const struct profile_process *process = &profile->processes[number];
	const char *command = profile_str(profile, process->command);
	struct buf text = {0}, shown = {0};

	buf_printf(&text, "process %d: ", (int)process->pid);
	escape_terminal(&text, *command ? command : profile_str(profile, process->name));
	append_cut(&shown, buf_str(&text), view->columns, CUT_END);
	line_print(sink, view, STYLE_HEADING, buf_str(&shown));
	buf_release(&text);
	buf_release(&shown);
}

void dump_print_text(const struct dump *dump, const struct view *view, struct sink *sink)
{
	const struct profile *profile = profile_of(dump);

	for (size_t i = 0; i < dump->nr_threads; i++) {
		const struct dump_thread *thread = &dump->threads[i];
		uint32_t process = profile->threads[thread->row].process;
		bool is_first = i == 0 || profile->threads[thread[-1].row].process != process;
		bool goes_on = i + 1 < dump->nr_threads &&
			       profile->threads[thread[1].row].process == process &&
			       is_same_stack(thread, thread + 1);

		if (is_first) {
			if (i > 0)
				sink_str(sink, "\n");
			print_process(dump, process, view, sink);
		}
		if (is_first || !is_same_stack(thread - 1, thread))
			sink_str(sink, "\n");
		print_thread(dump, thread, view, sink);
		if (!goes_on)
			print_stack(dump, thread, view, sink);
	}
}
