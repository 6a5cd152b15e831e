// SPDX-License-Identifier: GPL-2.0-or-later
/* The stacks of `profc dump` as JSON. */
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "calltree/blame.h"
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

static void write_lock(struct json *json, const struct dump *dump, const struct profile_wait *wait)
{
	bool is_lock = wait && wait_is_of_memory(wait->kind) && wait->number != WAIT_NUMBER_ANY;
	bool has_owner = is_lock && wait->kind != WAIT_THREAD && wait->owner.v != THREAD_NONE.v;
	char address[2 + 16 + 1] = "";
	struct buf name = {0};

	if (is_lock) {
		snprintf(address, sizeof(address), "%#llx", (unsigned long long)wait->number);
		blame_append_wait(&name, dump->expansion, wait);
	}
	json_key_known_str(json, "futex", address);
	json_key_known_str(json, "lock", buf_str(&name));
	write_number_or_null(json, "lock_owner", has_owner,
			     has_owner ? dump->expansion->profile->threads[wait->owner.v].tid : 0);
	buf_release(&name);
}

static void write_file(struct json *json, const struct profile *profile,
		       const struct profile_wait *wait)
{
	bool has_fd = wait && wait->kind == WAIT_FILE && wait->number != WAIT_NUMBER_ANY;

	write_number_or_null(json, "fd", has_fd, has_fd ? (int64_t)wait->number : 0);
	json_key_known_str(json, "object", has_fd ? profile_str(profile, wait->name) : NULL);
	json_key_known_str(json, "peer", has_fd ? profile_str(profile, wait->peer) : NULL);
}

static void write_thread(struct json *json, const struct dump *dump,
			 const struct dump_thread *thread)
{
	const struct profile *profile = dump->expansion->profile;
	const struct profile_thread *row = &profile->threads[thread->row];
	const struct profile_wait *wait = dump_wait(dump, thread);

	json_object_begin(json);
	json_key(json, "tid");
	json_i64(json, row->tid);
	json_key_str(json, "name", profile_str(profile, row->name));
	json_key_str(json, "state", dump_state_word(thread->state));
	json_key_str(json, "syscall", dump_syscall(dump, thread));
	write_file(json, profile, wait);
	write_lock(json, dump, wait);
	write_stack(json, dump, thread->sample);
	json_key_known_str(json, "no_stack", thread->sample ? NULL : thread->why_no_stack);
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
