// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes rows of the labels that programs give to what their threads do. */
#include "collector/context_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "collector/message.h"
#include "collector/wanted_hints.h"
#include "context/context.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"

struct context_rows {
	struct profile *profile; /* borrowed */
	struct context_modules *modules;
	struct context_labels labels; /* of the last sample */
	uint64_t nr_by_outcome[CONTEXT_OUTCOME_COUNT];
	uint64_t nr_left_out;
};

struct context_rows *context_rows_new(struct profile *profile)
{
	struct context_rows *rows = xcalloc(1, sizeof(*rows));

	rows->profile = profile;
	rows->modules = context_modules_new();
	return rows;
}

void context_rows_free(struct context_rows *rows)
{
	if (!rows)
		return;
	context_modules_free(rows->modules);
	free(rows);
}

static struct str_id text_id(struct context_rows *rows, const char *text)
{
	return text ? profile_intern(rows->profile, text) : STR_EMPTY;
}

/* A process may stop publishing: then its row still says that it did. */
static void look(struct context_rows *rows, const struct context_subject *subject)
{
	struct context_process *process;
	const char *schema;

	if (!*subject->process)
		*subject->process = context_process_new(rows->modules, subject->space);
	process = *subject->process;
	if (context_process_look(process))
		process_hints_set_context(subject->hints->of_process,
					  context_process_place(process));
	schema = context_process_schema(process);
	if (!schema)
		return;
	subject->row->context = text_id(rows, schema);
	subject->row->context_problem = text_id(rows, context_process_problem(process));
}

/*
 * A thread that was never stopped has its data in an unknown place. One stop tells it, and a thread
 * keeps it.
 */
static void ask_for_registers(const struct context_subject *subject,
			      const struct snapshot *snapshot)
{
	bool asks = !snapshot->data_pointer;

	if (asks == *subject->asks_registers)
		return;
	subject->hints->needs_registers = asks;
	*subject->asks_registers = asks;
}

static uint32_t intern(struct context_rows *rows)
{
	struct profile_labels *labels = profile_labels(rows->profile);
	uint32_t number = 0;

	for (size_t i = 0; i < rows->labels.nr; i++) {
		const struct context_label *label = &rows->labels.at[i];
		uint32_t next = profile_labels_add(labels, rows->profile->strings, number,
						   label->key, label->value);

		rows->nr_left_out += !next;
		number = next ? next : number;
	}
	return number;
}

uint32_t context_rows_read(struct context_rows *rows, const struct context_subject *subject,
			   const struct snapshot *snapshot)
{
	enum context_outcome outcome;

	look(rows, subject);
	outcome = context_read(*subject->process, snapshot, &rows->labels);
	if (outcome == CONTEXT_NONE)
		return 0;
	ask_for_registers(subject, snapshot);
	rows->nr_by_outcome[outcome]++;
	return intern(rows);
}

void context_rows_set_counters(const struct context_rows *rows)
{
	for (int outcome = CONTEXT_NONE + 1; outcome < CONTEXT_OUTCOME_COUNT; outcome++) {
		char name[64];

		if (!rows->nr_by_outcome[outcome])
			continue;
		snprintf(name, sizeof(name), "context %s",
			 context_outcome_name((enum context_outcome)outcome));
		for (char *c = name; *c; c++)
			*c = *c == ' ' ? '_' : *c;
		profile_set_counter(rows->profile, name, rows->nr_by_outcome[outcome]);
	}
	if (rows->nr_left_out)
		profile_set_counter(rows->profile, "context_labels_left_out", rows->nr_left_out);
}
