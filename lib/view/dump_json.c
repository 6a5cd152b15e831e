// SPDX-License-Identifier: GPL-2.0-or-later
/* The stacks of `profc dump` as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "calltree/expand.h"
#include "stack/stack_end.h"
#include "view/dump.h"
#include "view/level_json.h"

static void write_stack(struct json *json, const struct dump *dump, const struct sample *sample)
{
	struct level_list list = {0};

	json_key_str(json, "stack_end",
		     sample ? stack_end_name((enum stack_end)sample->end) : NULL);
	json_key_array_begin(json, "stack");
	if (sample)
		expansion_stack(dump->expansion, sample, &list);
	for (size_t i = list.nr; i-- > 0;)
		level_write_json(json, dump->expansion, &list.levels[i]);
	json_array_end(json);
	level_list_release(&list);
}

static void write_number_or_null(struct json *json, const char *key, bool is_known, int64_t number)
{
	json_key(json, key);
	if (is_known)
		json_i64(json, number);
	else
		json_null(json);
}

static void write_futex(struct json *json, const struct dump_thread *thread)
{
	char address[2 + 16 + 1];
	bool is_futex = thread->syscall && strcmp(thread->syscall, "futex") == 0;

	snprintf(address, sizeof(address), "%#llx", (unsigned long long)thread->argument);
	json_key_known_str(json, "futex", is_futex ? address : NULL);
}

static void write_thread(struct json *json, const struct dump *dump,
			 const struct dump_thread *thread)
{
	const struct profile *profile = dump->expansion->profile;
	const struct profile_thread *row = &profile->threads[thread->row];
	bool has_fd = thread->syscall && thread->fd >= 0;

	json_object_begin(json);
	json_key(json, "tid");
	json_i64(json, row->tid);
	json_key_str(json, "name", profile_str(profile, row->name));
	json_key_str(json, "state", dump_state_word(thread->state));
	json_key_str(json, "syscall", thread->syscall);
	write_number_or_null(json, "fd", has_fd, thread->fd);
	json_key_known_str(json, "object", has_fd ? thread->object : NULL);
	write_futex(json, thread);
	write_number_or_null(json, "lock_owner", thread->owner > 0, thread->owner);
	write_stack(json, dump, thread->sample);
	json_object_end(json);
}

static void begin_process(struct json *json, const struct profile *profile, uint32_t number)
{
	const struct profile_process *process = &profile->processes[number];

	json_object_begin(json);
	json_key(json, "pid");
	json_i64(json, process->pid);
	json_key_str(json, "name", profile_str(profile, process->name));
	json_key_known_str(json, "command", profile_str(profile, process->command));
	json_key_array_begin(json, "threads");
}

static void end_process(struct json *json)
{
	json_array_end(json);
	json_object_end(json);
}

void dump_print_json(const struct dump *dump, struct sink *sink)
{
	const struct profile *profile = dump->expansion->profile;
	uint32_t open = PROCESS_NONE;
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_u64(&json, "version", 1);
	json_key_array_begin(&json, "processes");
	for (size_t i = 0; i < dump->nr_threads; i++) {
		uint32_t process = profile->threads[dump->threads[i].row].process;

		if (process != open) {
			if (open != PROCESS_NONE)
				end_process(&json);
			begin_process(&json, profile, process);
			open = process;
		}
		write_thread(&json, dump, &dump->threads[i]);
	}
	if (open != PROCESS_NONE)
		end_process(&json);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
}
