// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows as lines of JSON. There may be a hundred thousand a second: numbers go straight into the
 * buffer, and names of members and kinds need no escaping.
 */
#include "agent/write_priv.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/syscall_name.h"

static void begin(struct buf *out, const char *type)
{
	buf_append_str(out, "{\"type\":\"");
	buf_append_str(out, type);
	buf_append_byte(out, '"');
}

static void end(struct buf *out)
{
	buf_append_str(out, "}\n");
}

static void key(struct buf *out, const char *name)
{
	buf_append_str(out, ",\"");
	buf_append_str(out, name);
	buf_append_str(out, "\":");
}

static void number(struct buf *out, const char *name, uint64_t value)
{
	key(out, name);
	buf_append_decimal(out, value);
}

static void null(struct buf *out, const char *name)
{
	key(out, name);
	buf_append_str(out, "null");
}

static void number_or_null(struct buf *out, const char *name, bool is_known, uint64_t value)
{
	if (is_known)
		number(out, name, value);
	else
		null(out, name);
}

static void quoted(struct buf *out, const char *text)
{
	buf_append_byte(out, '"');
	escape_json(out, text);
	buf_append_byte(out, '"');
}

/* An empty text is unknown. */
static void text_or_null(struct buf *out, const char *name, const char *text)
{
	if (!text || !*text) {
		null(out, name);
		return;
	}
	key(out, name);
	quoted(out, text);
}

static void str_or_null(struct buf *out, const char *name, const struct profile *profile,
			struct str_id id)
{
	text_or_null(out, name, profile_str(profile, id));
}

/* A text: many readers take JSON's numbers for doubles, which cannot hold all addresses. */
static void address(struct buf *out, uint64_t value)
{
	key(out, "address");
	buf_printf(out, "\"0x%llx\"", (unsigned long long)value);
}

/* --- definitions --- */

void agent_write_hello(struct buf *out, const struct profile *profile)
{
	const struct profile_meta *meta = &profile->meta;

	begin(out, "hello");
	number(out, "version", AGENT_VERSION);
	text_or_null(out, "profc", PROFC_VERSION);
	key(out, "command");
	for (size_t i = 0; i < meta->nr_command; i++) {
		buf_append_byte(out, i ? ',' : '[');
		quoted(out, profile_str(profile, meta->command[i]));
	}
	buf_append_str(out, meta->nr_command ? "]" : "[]");
	key(out, "attached");
	buf_append_str(out, meta->attached ? "true" : "false");
	str_or_null(out, "hostname", profile, meta->hostname);
	str_or_null(out, "arch", profile, meta->arch);
	number(out, "cpus", meta->nr_cpus);
	number(out, "frequency_hz", meta->frequency_hz);
	number(out, "start_realtime_ns", meta->start_realtime_ns);
	end(out);
}

void agent_write_process(struct buf *out, const struct profile *profile, uint32_t id)
{
	const struct profile_process *row = &profile->processes[id];

	begin(out, "process");
	number(out, "id", id);
	number(out, "pid", (uint64_t)row->pid);
	number_or_null(out, "parent", row->parent != PROCESS_NONE, row->parent);
	str_or_null(out, "name", profile, row->name);
	str_or_null(out, "exe", profile, row->exe);
	str_or_null(out, "command", profile, row->command);
	number(out, "start_ns", row->start_ns);
	number_or_null(out, "end_ns", row->end_ns, row->end_ns);
	end(out);
}

void agent_write_thread(struct buf *out, const struct profile *profile, uint32_t id)
{
	const struct profile_thread *row = &profile->threads[id];

	begin(out, "thread");
	number(out, "id", id);
	number(out, "process", row->process);
	number(out, "tid", (uint64_t)row->tid);
	str_or_null(out, "name", profile, row->name);
	number(out, "start_ns", row->start_ns);
	number_or_null(out, "end_ns", row->end_ns, row->end_ns);
	end(out);
}

static const char *module_kind_name(enum module_kind kind)
{
	switch (kind) {
	case MODULE_KIND_UNKNOWN:
		return "unknown";
	case MODULE_KIND_FILE:
		return "file";
	case MODULE_KIND_VDSO:
		return "vdso";
	case MODULE_KIND_VSYSCALL:
		return "vsyscall";
	case MODULE_KIND_JIT:
		return "jit";
	case MODULE_KIND_ELIDED:
		return "elided";
	case MODULE_KIND_BETWEEN:
		return "between";
	case MODULE_KIND_KERNEL:
		return "kernel";
	case MODULE_KIND_SCRIPT:
		return "script";
	}
	return "unknown";
}

/* The build-id of JIT memory is profc's own number. */
static void build_id(struct buf *out, const struct module *module)
{
	if (!module->nr_build_id_bytes || module->kind == MODULE_KIND_JIT) {
		null(out, "build_id");
		return;
	}
	key(out, "build_id");
	buf_append_byte(out, '"');
	for (size_t i = 0; i < module->nr_build_id_bytes; i++)
		buf_printf(out, "%02x", module->build_id[i]);
	buf_append_byte(out, '"');
}

void agent_write_module(struct buf *out, const struct profile *profile, struct module_id id)
{
	const struct module *module = module_table_get(profile->modules, id);

	begin(out, "module");
	number(out, "id", id.v);
	text_or_null(out, "kind", module_kind_name(module->kind));
	text_or_null(out, "path", module->path);
	build_id(out, module);
	key(out, "deleted");
	buf_append_str(out, module->deleted ? "true" : "false");
	number_or_null(out, "pid", module->owner_pid, (uint64_t)module->owner_pid);
	end(out);
}

void agent_write_frame(struct buf *out, const struct profile *profile, struct frame_id id,
		       const struct jit_name *name)
{
	const struct code_address *where = &profile->frames[id.v].where;

	begin(out, "frame");
	number(out, "id", id.v);
	number(out, "module", where->module.v);
	address(out, where->address);
	if (name) {
		str_or_null(out, "function", profile, name->name);
		str_or_null(out, "file", profile, name->file);
		number_or_null(out, "line", name->line, name->line);
	}
	end(out);
}

void agent_write_stack(struct buf *out, const struct profile *profile, struct stack_id id)
{
	const struct stack_trie *stacks = profile->stacks;

	begin(out, "stack");
	number(out, "id", id.v);
	key(out, "frames");
	buf_append_byte(out, '[');
	for (struct stack_id at = id; at.v; at = stack_trie_parent(stacks, at)) {
		if (at.v != id.v)
			buf_append_byte(out, ',');
		buf_append_decimal(out, stack_trie_frame(stacks, at).v);
	}
	buf_append_byte(out, ']');
	end(out);
}

/* --- rows --- */

static const char *sample_kind_name(uint8_t kind)
{
	switch ((enum sample_kind)kind) {
	case SAMPLE_RUNNING:
		return "running";
	case SAMPLE_BLOCKED:
		return "blocked";
	case SAMPLE_UNATTRIBUTED:
	case SAMPLE_KIND_COUNT:
		break;
	}
	return "unattributed";
}

void agent_write_sample(struct buf *out, const struct profile *profile, const struct sample *row)
{
	const char *arch = profile_str(profile, profile->meta.arch);

	begin(out, "sample");
	number(out, "time_ns", row->time_ns);
	number(out, "thread", row->thread.v);
	number(out, "stack", row->stack.v);
	text_or_null(out, "kind", sample_kind_name(row->kind));
	number(out, "samples", row->nr);
	number(out, "cpu_ns", row->cpu_ns);
	number(out, "runq_ns", row->runq_ns);
	number(out, "blocked_ns", row->blocked_ns);
	text_or_null(out, "syscall",
		     row->syscall_nr < 0 ? NULL : syscall_name(arch, row->syscall_nr));
	text_or_null(out, "stack_end", stack_end_name((enum stack_end)row->end));
	end(out);
}

void agent_write_advance(struct buf *out, const struct profile_advance *row)
{
	begin(out, "advance");
	number(out, "time_ns", row->time_ns);
	number(out, "thread", row->thread.v);
	number(out, "before", row->before.v);
	number(out, "after", row->after.v);
	text_or_null(out, "metric",
		     metric_name(metric_of_counter((enum kernel_counter)row->counter)));
	number(out, "amount", row->amount);
	end(out);
}

void agent_write_allocation(struct buf *out, const struct profile_allocation *row, uint32_t id)
{
	begin(out, "allocation");
	number(out, "id", id);
	number(out, "time_ns", row->time_ns);
	number(out, "thread", row->thread.v);
	number(out, "stack", row->stack.v);
	text_or_null(out, "kind", allocation_kind_name((enum allocation_kind)row->kind));
	number(out, "bytes", row->size_bytes);
	number(out, "mean_bytes", row->mean_bytes);
	text_or_null(out, "stack_end", stack_end_name((enum stack_end)row->end));
	number_or_null(out, "former", row->former && row->former != FORMER_UNKNOWN,
		       (uint64_t)row->former - 1);
	end(out);
}

void agent_write_free(struct buf *out, const struct profile_allocation *row, uint32_t id)
{
	begin(out, "free");
	number(out, "allocation", id);
	number(out, "time_ns", row->freed_ns);
	number_or_null(out, "thread", row->freed_by.v != THREAD_NONE.v, row->freed_by.v);
	key(out, "moved");
	buf_append_str(out, row->is_moved ? "true" : "false");
	number_or_null(out, "stack", row->freed_end, row->freed_stack.v);
	end(out);
}

void agent_write_memory(struct buf *out, const struct profile_heap_moment *row)
{
	begin(out, "memory");
	number(out, "time_ns", row->time_ns);
	number(out, "process", row->process);
	number(out, "rss_anon_bytes", row->rss_anon_bytes);
	number(out, "rss_file_bytes", row->rss_file_bytes);
	number(out, "rss_shmem_bytes", row->rss_shmem_bytes);
	number(out, "swap_bytes", row->swap_bytes);
	number(out, "heap_mapped_bytes", row->heap_mapped_bytes);
	number_or_null(out, "allocated_bytes", row->allocated_bytes, row->allocated_bytes);
	number_or_null(out, "allocations", row->nr_allocations, row->nr_allocations);
	number(out, "dropped", row->nr_dropped);
	number(out, "frees_dropped", row->nr_frees_dropped);
	end(out);
}

void agent_write_mark(struct buf *out, const struct profile *profile,
		      const struct profile_mark *row)
{
	begin(out, "mark");
	number(out, "time_ns", row->time_ns);
	key(out, "text");
	quoted(out, profile_str(profile, row->text));
	end(out);
}

void agent_write_count(struct buf *out, const struct profile_count *row, uint32_t id)
{
	begin(out, "count");
	number(out, "id", id);
	number(out, "process", row->process);
	text_or_null(out, "kind", row->kind == COUNT_CALL ? "call" : "entry");
	number(out, "frame", row->where.v);
	number_or_null(out, "callee", row->callee.v != COUNT_NO_CALLEE.v, row->callee.v);
	number(out, "calls", row->calls);
	number(out, "from_ns", row->from_ns);
	number(out, "to_ns", row->to_ns);
	end(out);
}

void agent_write_lost(struct buf *out, uint64_t nr)
{
	begin(out, "lost");
	number(out, "n", nr);
	end(out);
}

void agent_write_end(struct buf *out, const struct profile *profile, uint64_t nr_lost)
{
	begin(out, "end");
	number(out, "duration_ns", profile->meta.duration_ns);
	number(out, "lost", nr_lost);
	end(out);
}
