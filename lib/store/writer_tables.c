// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodes the tables of a profile as records. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "store/writer_priv.h"

/* A record of texts ends here, so that no frame grows without bound. */
#define TEXTS_RECORD_BYTES ((size_t)1 << 20)

int writer_write_strings(struct store_writer *writer, const struct profile *profile,
			 struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	writer_begin(writer, RECORD_STRINGS);
	for (; status == 0 && writer->nr[RECORD_STRINGS] < strtab_nr(profile->strings);
	     writer->nr[RECORD_STRINGS]++) {
		struct str_id id = {(uint32_t)writer->nr[RECORD_STRINGS]};
		size_t length = strtab_length(profile->strings, id);

		if (length > STRING_MAX_BYTES)
			return err_set(err, ERR_LIMIT, "a text of %zu bytes is too long to store",
				       length);
		columns_out_uint(out, STRINGS_LENGTH, length);
		columns_out_bytes(out, STRINGS_BYTES, strtab_get(profile->strings, id), length);
		out->nr_rows++;
		if (out->columns[STRINGS_BYTES].bytes.nr_bytes >= TEXTS_RECORD_BYTES)
			status = writer_emit(writer, RECORD_STRINGS, err);
		else
			status = writer_emit_if_full(writer, RECORD_STRINGS, err);
	}
	return status ? status : writer_emit(writer, RECORD_STRINGS, err);
}

static void put_module(struct columns_out *out, const struct module *module)
{
	size_t length = strlen(module->path);

	schema_put(RECORD_MODULES, out, module, NULL);
	columns_out_uint(out, MODULES_PATH_LENGTH, length);
	columns_out_bytes(out, MODULES_PATH, module->path, length);
	columns_out_uint(out, MODULES_BUILD_ID_LENGTH, module->nr_build_id_bytes);
	columns_out_bytes(out, MODULES_BUILD_ID, module->build_id, module->nr_build_id_bytes);
	out->nr_rows++;
}

int writer_write_modules(struct store_writer *writer, const struct profile *profile,
			 struct err *err)
{
	int status = 0;

	writer_begin(writer, RECORD_MODULES);
	for (; status == 0 && writer->nr[RECORD_MODULES] < module_table_nr(profile->modules);
	     writer->nr[RECORD_MODULES]++) {
		struct module_id id = {(uint32_t)writer->nr[RECORD_MODULES]};

		put_module(&writer->columns, module_table_get(profile->modules, id));
		status = writer_emit_if_full(writer, RECORD_MODULES, err);
	}
	return status ? status : writer_emit(writer, RECORD_MODULES, err);
}

static bool split_changed(const struct cpu_split *a, const struct cpu_split *b)
{
	return a->known != b->known || a->user_ns != b->user_ns || a->system_ns != b->system_ns;
}

static void put_split(struct columns_out *out, unsigned int user, unsigned int system,
		      const struct cpu_split *split)
{
	columns_out_uint(out, user, split->known ? split->user_ns + 1 : 0);
	columns_out_uint(out, system, split->known ? split->system_ns + 1 : 0);
}

static void put_process(struct columns_out *out, uint32_t row,
			const struct profile_process *process)
{
	columns_out_uint(out, PROCESSES_ROW, row);
	schema_put(RECORD_PROCESSES, out, process, NULL);
	put_split(out, PROCESSES_USER, PROCESSES_SYSTEM, &process->split);
	out->nr_rows++;
}

int writer_write_processes(struct store_writer *writer, const struct profile *profile,
			   struct err *err)
{
	int status = 0;

	writer_begin(writer, RECORD_PROCESSES);
	ARRAY_RESERVE(writer->written.processes, profile->nr_processes,
		      writer->written.cap_processes);
	for (size_t i = 0; status == 0 && i < profile->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];

		if (i < writer->nr[RECORD_PROCESSES] &&
		    schema_equal(RECORD_PROCESSES, process, &writer->written.processes[i]) &&
		    !split_changed(&process->split, &writer->written.processes[i].split))
			continue;
		put_process(&writer->columns, (uint32_t)i, process);
		writer->written.processes[i] = *process;
		status = writer_emit_if_full(writer, RECORD_PROCESSES, err);
	}
	writer->nr[RECORD_PROCESSES] = profile->nr_processes;
	return status ? status : writer_emit(writer, RECORD_PROCESSES, err);
}

static void put_thread(struct columns_out *out, uint32_t row, const struct profile_thread *thread)
{
	columns_out_uint(out, THREADS_ROW, row);
	schema_put(RECORD_THREADS, out, thread, NULL);
	put_split(out, THREADS_USER, THREADS_SYSTEM, &thread->split);
	out->nr_rows++;
}

int writer_write_threads(struct store_writer *writer, const struct profile *profile,
			 struct err *err)
{
	int status = 0;

	writer_begin(writer, RECORD_THREADS);
	ARRAY_RESERVE(writer->written.threads, profile->nr_threads, writer->written.cap_threads);
	for (size_t i = 0; status == 0 && i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		if (i < writer->nr[RECORD_THREADS] &&
		    schema_equal(RECORD_THREADS, thread, &writer->written.threads[i]) &&
		    !split_changed(&thread->split, &writer->written.threads[i].split))
			continue;
		put_thread(&writer->columns, (uint32_t)i, thread);
		writer->written.threads[i] = *thread;
		status = writer_emit_if_full(writer, RECORD_THREADS, err);
	}
	writer->nr[RECORD_THREADS] = profile->nr_threads;
	sample_coder_grow(&writer->coder, writer->nr[RECORD_THREADS]);
	return status ? status : writer_emit(writer, RECORD_THREADS, err);
}

int writer_write_frames(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	writer_begin(writer, RECORD_FRAMES);
	for (; status == 0 && writer->nr[RECORD_FRAMES] < profile->nr_frames;
	     writer->nr[RECORD_FRAMES]++) {
		const struct frame *frame = &profile->frames[writer->nr[RECORD_FRAMES]];

		schema_put(RECORD_FRAMES, out, frame, &writer->last_frame);
		writer->last_frame = *frame;
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_FRAMES, err);
	}
	return status ? status : writer_emit(writer, RECORD_FRAMES, err);
}

int writer_write_stacks(struct store_writer *writer, const struct profile *profile, struct err *err)
{
	struct columns_out *out = &writer->columns;
	int status = 0;

	writer_begin(writer, RECORD_STACKS);
	for (; status == 0 && writer->nr[RECORD_STACKS] < stack_trie_nr(profile->stacks);
	     writer->nr[RECORD_STACKS]++) {
		struct stack_id id = {(uint32_t)writer->nr[RECORD_STACKS]};

		/* Distance from the stack just before: 0 along a chain of new frames. */
		columns_out_uint(out, STACKS_PARENT,
				 id.v - 1 - stack_trie_parent(profile->stacks, id).v);
		columns_out_uint(out, STACKS_FRAME, stack_trie_frame(profile->stacks, id).v);
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_STACKS, err);
	}
	return status ? status : writer_emit(writer, RECORD_STACKS, err);
}

static void put_sample(struct columns_out *out, struct sample_coder *coder,
		       const struct sample *sample)
{
	bool blocked = sample->kind == SAMPLE_BLOCKED;
	uint64_t major_ns = blocked ? sample->blocked_ns : sample->cpu_ns;
	uint64_t minor_ns = blocked ? sample->cpu_ns : sample->blocked_ns;
	uint32_t thread = sample->thread.v;

	columns_out_uint(out, SAMPLES_THREAD, thread);
	columns_out_uint(out, SAMPLES_KIND, sample->kind);
	columns_out_uint(out, SAMPLES_END, sample->end);
	columns_out_uint(out, SAMPLES_NR, sample->nr);
	columns_out_uint(out, SAMPLES_SYSCALL, (uint16_t)(sample->syscall_nr + 1));
	columns_out_uint(out, SAMPLES_RUNQ, sample->runq_ns);
	columns_out_uint(out, SAMPLES_MINOR, minor_ns);
	columns_out_delta(
		out, SAMPLES_MAJOR, major_ns,
		sample_coder_expect(coder, thread, sample->time_ns, sample->runq_ns + minor_ns));
	columns_out_delta(out, SAMPLES_TIME, sample->time_ns, coder->previous_ns);
	columns_out_uint(out, SAMPLES_STACK, sample->stack.v);
	columns_out_uint(out, SAMPLES_WAIT, sample->wait);
	columns_out_uint(out, SAMPLES_KERNEL, sample->kernel.v);
	columns_out_uint(out, SAMPLES_LABELS, sample->labels);
	sample_coder_step(coder, thread, sample->time_ns);
	out->nr_rows++;
}

int writer_write_samples(struct store_writer *writer, const struct profile *profile,
			 struct err *err)
{
	int status = 0;

	writer_begin(writer, RECORD_SAMPLES);
	for (size_t i = 0; status == 0 && i < profile->nr_samples; i++) {
		put_sample(&writer->columns, &writer->coder, &profile->samples[i]);
		status = writer_emit_if_full(writer, RECORD_SAMPLES, err);
	}
	writer->nr[RECORD_SAMPLES] += profile->nr_samples;
	return status ? status : writer_emit(writer, RECORD_SAMPLES, err);
}

int writer_write_advances(struct store_writer *writer, const struct profile *profile,
			  struct err *err)
{
	writer->nr[RECORD_ADVANCES] = 0; /* the profile forgets those that were written */
	return writer_write_rows(writer, profile, RECORD_ADVANCES, err);
}

int writer_write_counters(struct store_writer *writer, const struct profile *profile,
			  struct err *err)
{
	struct columns_out *out = &writer->columns;

	writer_begin(writer, RECORD_COUNTERS);
	ARRAY_RESERVE(writer->written.counters, profile->nr_counters, writer->written.cap_counters);
	for (size_t i = 0; i < profile->nr_counters; i++) {
		const struct profile_counter *counter = &profile->counters[i];

		if (i < writer->nr[RECORD_COUNTERS] &&
		    writer->written.counters[i].value == counter->value)
			continue;
		schema_put(RECORD_COUNTERS, out, counter, NULL);
		writer->written.counters[i] = *counter;
		out->nr_rows++;
	}
	writer->nr[RECORD_COUNTERS] = profile->nr_counters;
	return writer_emit(writer, RECORD_COUNTERS, err);
}

static bool command_changed(const struct store_writer *writer, const struct profile_meta *meta)
{
	if (writer->written.nr_command != meta->nr_command)
		return true;
	for (size_t i = 0; i < meta->nr_command; i++) {
		if (writer->written.command[i].v != meta->command[i].v)
			return true;
	}
	return false;
}

static int write_command(struct store_writer *writer, const struct profile_meta *meta,
			 struct err *err)
{
	struct columns_out *out = &writer->columns;

	if (!command_changed(writer, meta))
		return 0;
	writer_begin(writer, RECORD_COMMAND);
	free(writer->written.command);
	writer->written.command = xmemdup(meta->command, meta->nr_command * sizeof(*meta->command));
	writer->written.nr_command = meta->nr_command;
	/* One record is the whole command; a longer one is cut. */
	for (size_t i = 0; i < meta->nr_command && out->nr_rows < RECORD_ROWS_MAX; i++) {
		schema_put(RECORD_COMMAND, out, &meta->command[i], NULL);
		out->nr_rows++;
	}
	return writer_emit(writer, RECORD_COMMAND, err);
}

/* All but the duration, which grows at every flush and is known from the samples until the end. */
static bool meta_changed(const struct profile_meta *written, const struct profile_meta *now)
{
	struct profile_meta same = *now;

	same.duration_ns = written->duration_ns;
	return !schema_equal(RECORD_META, written, &same);
}

static int write_meta(struct store_writer *writer, const struct profile_meta *meta, struct err *err)
{
	if (writer->written.wrote_meta && !meta_changed(&writer->written.meta, meta))
		return 0;
	writer_begin(writer, RECORD_META);
	schema_put(RECORD_META, &writer->columns, meta, NULL);
	writer->columns.nr_rows++;
	writer->written.meta = *meta;
	writer->written.wrote_meta = true;
	return writer_emit(writer, RECORD_META, err);
}

int writer_write_meta_and_command(struct store_writer *writer, const struct profile *profile,
				  struct err *err)
{
	int status = write_meta(writer, &profile->meta, err);

	return status ? status : write_command(writer, &profile->meta, err);
}
