// SPDX-License-Identifier: GPL-2.0-or-later
/* `profc info` as JSON. */
#include "base/buf.h"
#include "base/json.h"
#include "base/sink.h"
#include "profile/profile.h"
#include "profile/survey.h"
#include "view/info.h"
#include "view/info_counts.h"
#include "view/info_memory.h"
#include "view/machine_text.h"
#include "view/reach_text.h"

/* The version of the JSON form: raised when a member changes its meaning. */
#define JSON_VERSION 1

static void put_text(struct json *json, const struct profile *profile, const char *key,
		     struct str_id id)
{
	json_key_known_str(json, key, profile_str(profile, id));
}

static void put_share(struct json *json, const char *key, uint64_t part, uint64_t total)
{
	json_key(json, key);
	if (total)
		json_double(json, 100.0 * (double)part / (double)total, 4);
	else
		json_null(json);
}

static void put_sum(struct json *json, const struct survey_sum *sum)
{
	json_key_u64(json, "samples", sum->samples);
	json_key_u64(json, "cpu_ns", sum->cpu_ns);
	json_key_u64(json, "runq_ns", sum->runq_ns);
	json_key_u64(json, "blocked_ns", sum->blocked_ns);
}

/* NULL, not 0, if it is unknown. */
static void put_split(struct json *json, const struct profile *profile)
{
	struct cpu_split split;
	bool is_known = profile_cpu_split(profile, &split);

	json_key(json, "user_ns");
	if (is_known)
		json_u64(json, split.user_ns);
	else
		json_null(json);
	json_key(json, "system_ns");
	if (is_known)
		json_u64(json, split.system_ns);
	else
		json_null(json);
}

/* The runs of a merged recording. */
static void put_runs(struct json *json, const struct profile *profile)
{
	json_key_array_begin(json, "runs");
	for (size_t i = 0; i < profile->runs.nr; i++) {
		const struct profile_run *run = &profile->runs.rows[i];

		json_object_begin(json);
		put_text(json, profile, "command", run->command);
		put_text(json, profile, "hostname", run->hostname);
		json_key_u64(json, "start_realtime_ns", run->start_realtime_ns);
		json_key_u64(json, "duration_ns", run->duration_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_meta(struct json *json, const struct profile *profile)
{
	const struct profile_meta *meta = &profile->meta;

	json_key_array_begin(json, "command");
	for (size_t i = 0; i < meta->nr_command; i++)
		json_str(json, profile_str(profile, meta->command[i]));
	json_array_end(json);
	json_key_bool(json, "attached", meta->attached);
	json_key_bool(json, "complete", meta->complete);
	json_key(json, "wait_status");
	if (meta->exit_status == -1)
		json_null(json);
	else
		json_i64(json, meta->exit_status);
	put_split(json, profile);
	json_key_u64(json, "start_realtime_ns", meta->start_realtime_ns);
	json_key_u64(json, "duration_ns", meta->duration_ns);
	put_text(json, profile, "profc_version", meta->version);
	put_text(json, profile, "hostname", meta->hostname);
	put_text(json, profile, "kernel", meta->kernel);
	put_text(json, profile, "arch", meta->arch);
	put_text(json, profile, "cpu_model", meta->cpu_model);
	json_key_u64(json, "cpus", meta->nr_cpus);
	json_key_u64(json, "frequency_hz", meta->frequency_hz);
	json_key_u64(json, "max_overhead_ppm", meta->max_overhead_ppm);
	put_text(json, profile, "unwinder", meta->unwinder);
	put_text(json, profile, "within", meta->within);
	put_runs(json, profile);
}

static void put_totals(struct json *json, const struct survey *survey)
{
	const struct survey_sum *total = &survey->total;

	json_key_object_begin(json, "totals");
	put_sum(json, total);
	json_key_u64(json, "wall_ns", total->cpu_ns + total->runq_ns + total->blocked_ns);
	json_key_u64(json, "unattributed_cpu_ns", survey->unattributed.cpu_ns);
	json_key_u64(json, "unattributed_blocked_ns", survey->unattributed.blocked_ns);
	json_object_end(json);
}

static void put_ends(struct json *json, const struct profile *profile, const struct survey *survey)
{
	json_array_begin(json);
	for (size_t i = 0; i < survey->nr_ends; i++) {
		const struct survey_end *end = &survey->ends[i];
		const struct module *module = module_table_get(profile->modules, end->module);
		bool is_made_at_run_time = module->kind == MODULE_KIND_JIT;

		json_object_begin(json);
		json_key_known_str(json, "reason", stack_end_name(end->end));
		json_key_known_str(json, "module", module->path);
		put_sum(json, &end->sum);
		json_key_known_str(json, "remedy", stack_end_remedy(end->end, is_made_at_run_time));
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_stacks(struct json *json, const struct profile *profile,
		       const struct survey *survey)
{
	json_key_object_begin(json, "stacks");
	json_key_u64(json, "distinct", stack_trie_nr(profile->stacks) - 1);
	json_key_u64(json, "addresses", profile->nr_frames);
	/*
	 * Shares of all CPU time; time without a stack is never complete. Short waits seldom have a
	 * stack.
	 */
	put_share(json, "complete_cpu_pct", survey->complete.cpu_ns, survey->total.cpu_ns);
	put_share(json, "other_stack_cpu_pct", survey->other_stack.cpu_ns, survey->total.cpu_ns);
	put_share(json, "unproved_cpu_pct", survey->unproved.cpu_ns, survey->total.cpu_ns);
	put_share(json, "complete_blocked_pct", survey->complete.blocked_ns,
		  survey->total.blocked_ns - survey->unattributed.blocked_ns);
	json_key(json, "early_ends");
	put_ends(json, profile, survey);
	json_object_end(json);
}

static void put_processes(struct json *json, const struct profile *profile)
{
	json_key_array_begin(json, "processes");
	for (size_t i = 0; i < profile->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];

		json_object_begin(json);
		json_key_u64(json, "pid", (uint64_t)process->pid);
		json_key(json, "parent_pid");
		if (process->parent == PROCESS_NONE)
			json_null(json);
		else
			json_i64(json, profile->processes[process->parent].pid);
		put_text(json, profile, "name", process->name);
		put_text(json, profile, "exe", process->exe);
		put_text(json, profile, "command", process->command);
		json_key_u64(json, "start_ns", process->start_ns);
		json_key_u64(json, "end_ns", process->end_ns);
		json_key_known_u64(json, "faults", process->split.nr_faults);
		json_key_known_u64(json, "unseen", process->nr_unseen);
		if (process->context.v != STR_EMPTY.v) {
			put_text(json, profile, "context", process->context);
			put_text(json, profile, "context_not_read", process->context_problem);
		}
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_threads(struct json *json, const struct profile *profile)
{
	json_key_array_begin(json, "threads");
	for (size_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		json_object_begin(json);
		json_key_u64(json, "pid", (uint64_t)profile->processes[thread->process].pid);
		json_key_u64(json, "tid", (uint64_t)thread->tid);
		put_text(json, profile, "name", thread->name);
		json_key_u64(json, "start_ns", thread->start_ns);
		json_key_u64(json, "end_ns", thread->end_ns);
		json_key_known_u64(json, "faults", thread->split.nr_faults);
		json_key_known_u64(json, "switches", thread->nr_switches);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_build_id(struct json *json, const struct module *module)
{
	struct buf text = {0};

	for (size_t i = 0; i < module->nr_build_id_bytes; i++)
		buf_printf(&text, "%02x", module->build_id[i]);
	json_key_known_str(json, "build_id", buf_str(&text));
	buf_release(&text);
}

static void put_module_symbols(struct json *json, const struct profile *profile, uint32_t id)
{
	static const struct module_symbols none = {.source = SYMBOL_SOURCE_NONE};
	const struct module_symbols *symbols =
		id < profile->symbols.nr_modules ? &profile->symbols.modules[id] : &none;

	json_key_known_str(json, "names_from", symbol_source_name(symbols->source));
	put_text(json, profile, "debug_path", symbols->debug_path);
	put_text(json, profile, "problem", symbols->problem);
	json_key_bool(json, "mismatched", symbols->mismatched);
}

static void put_modules(struct json *json, const struct profile *profile,
			const struct survey *survey)
{
	json_key_array_begin(json, "modules");
	for (uint32_t i = 0; i < module_table_nr(profile->modules); i++) {
		const struct module *module =
			module_table_get(profile->modules, (struct module_id){i});

		json_object_begin(json);
		json_key_known_str(json, "path", module->path);
		json_key_bool(json, "deleted", module->deleted);
		put_build_id(json, module);
		put_module_symbols(json, profile, i);
		put_sum(json, &survey->modules[i]);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_counters(struct json *json, const struct profile *profile)
{
	json_key_object_begin(json, "counters");
	for (size_t i = 0; i < profile->nr_counters; i++)
		json_key_u64(json, profile_str(profile, profile->counters[i].name),
			     profile->counters[i].value);
	json_object_end(json);
}

/* The searches that a mark has started, if any. */
static void put_search(struct json *json, const struct profile *profile, uint64_t at_ns)
{
	const struct reach_scope scope = {.at_ns = at_ns};

	if (!reach_is_searched(profile, at_ns))
		return;
	json_key(json, "reachable");
	reach_write_searches(json, profile, &scope);
}

static void put_marks(struct json *json, const struct profile *profile)
{
	json_key_array_begin(json, "marks");
	for (size_t i = 0; i < profile->nr_marks; i++) {
		json_object_begin(json);
		json_key_u64(json, "time_ns", profile->marks[i].time_ns);
		put_text(json, profile, "text", profile->marks[i].text);
		put_search(json, profile, profile->marks[i].time_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_refusals(struct json *json, const struct profile *profile)
{
	json_key_array_begin(json, "refused");
	for (size_t i = 0; i < profile->probes.nr_refusals; i++) {
		const struct profile_refusal *refusal = &profile->probes.refusals[i];

		json_object_begin(json);
		put_text(json, profile, "function", refusal->function);
		put_text(json, profile, "module", refusal->module);
		put_text(json, profile, "reason", refusal->reason);
		json_key_u64(json, "pid", (uint64_t)profile->processes[refusal->process].pid);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_probes(struct json *json, const struct profile *profile)
{
	struct counted counted = counted_of(profile);

	json_key_object_begin(json, "probes");
	json_key_u64(json, "counted", counted.functions + counted.calls);
	json_key_u64(json, "functions", counted.functions);
	json_key_u64(json, "call_sites", counted.calls);
	json_key_u64(json, "processes", counted.processes);
	put_refusals(json, profile);
	json_key_u64(json, "install_ns", profile_counter(profile, "probe_install_ns"));
	json_key_u64(json, "stop_ns_max", profile_counter(profile, "probe_stop_ns_max"));
	json_key_u64(json, "dropped", profile_counter(profile, "probe_dropped"));
	json_key_bool(json, "from_start",
		      counted.processes && counted.from_start == counted.processes);
	json_object_end(json);
}

void info_print_json(const struct profile *profile, const struct survey *survey, struct sink *sink)
{
	struct json json;

	json_init(&json, sink);
	json_object_begin(&json);
	json_key_u64(&json, "version", JSON_VERSION);
	put_meta(&json, profile);
	put_totals(&json, survey);
	put_stacks(&json, profile, survey);
	json_key_machine(&json, profile);
	put_processes(&json, profile);
	put_threads(&json, profile);
	put_modules(&json, profile, survey);
	put_probes(&json, profile);
	info_write_memory(&json, profile);
	put_counters(&json, profile);
	put_marks(&json, profile);
	json_object_end(&json);
	json_finish(&json);
}
