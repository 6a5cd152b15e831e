// SPDX-License-Identifier: GPL-2.0-or-later
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/strtab.h"
#include "cmd/command.h"
#include "cmd/counting.h"
#include "cmd/record_options.h"
#include "cmd/recording_priv.h"
#include "cmd/search_path.h"
#include "heap/heap_request.h"
#include "mapping/module.h"
#include "proc/read.h"
#include "profile/profile.h"
#include "profile/runtime.h"
#include "store/store.h"
#include "symbol/named_code.h"
#include "tracee/permission.h"
#include "verdict/verdict.h"
#include "view/counter_words.h"
#include "view/info_counts.h"
#include "view/info_memory.h"
#include "view/known_names.h"
#include "view/number.h"
#include "view/rate_text.h"
#include "view/summary.h"

int recording_failed_status(const struct recording *recording)
{
	return recording->argv ? EXIT_PROFC_FAILED : EXIT_CANNOT;
}

void recording_clear_progress(const struct recording *recording)
{
	if (recording->shows_progress && may_show_progress())
		print_progress("%s", "");
}

static const char *file_name(const struct recording_file *file)
{
	return file->path ? file->path : "to standard output";
}

void recording_say_unwritten(const struct record_options *options, const struct recorded *recorded,
			     struct err *err)
{
	const char *path = recorded->file.path;
	struct buf word = {0};

	err_prefix(err, "%s", recording_file_name(&recorded->file));
	if (path && !recording_is_empty(options, recorded)) {
		escape_shell(&word, path);
		err_hint(err, "profc report -i %s shows what was recorded until then",
			 buf_str(&word));
	}
	print_err(err);
	buf_release(&word);
}

void recording_say_check(const struct recorded *recorded)
{
	const struct unwinder_check *check = &recorded->result.unwinder_check;
	const struct module *module;
	struct buf rules = {0};

	print_note("%llu stacks unwound twice, %llu differ", (unsigned long long)check->nr_stacks,
		   (unsigned long long)check->nr_different);
	unwinder_check_append_rules(check, &rules);
	print_note("callers found by %s", buf_str(&rules));
	buf_release(&rules);
	if (!check->nr_different)
		return;
	module = module_table_get(recorded->profile->modules, check->leaf.module);
	print_note("first in thread %d at %s+%#llx: frame %zu is at %#llx by %s, by libunwind at "
		   "%#llx",
		   check->tid, module_short_name(module), (unsigned long long)check->leaf.address,
		   check->at, (unsigned long long)check->pc, unwind_rule_name(check->rule),
		   (unsigned long long)check->libunwind);
}

static bool ended_in_delay(const struct record_options *options, const struct profile *profile)
{
	return profile->meta.duration_ns < options->delay_ns;
}

bool recording_is_empty(const struct record_options *options, const struct recorded *recorded)
{
	const struct profile *profile = recorded->profile;
	const struct profile_probes *probes = &profile->probes;
	/* That functions were never called is a result, too, if counting has begun. */
	bool has_counted = (probes->nr_counts || profile->spans.nr || profile_has_heap(profile)) &&
			   !ended_in_delay(options, profile) && !recorded->ended_paused;

	for (size_t i = 0; i < probes->nr_counts && !has_counted; i++)
		has_counted = probes->counts[i].calls > 0;
	return !recorded->result.nr_samples && !has_counted && !profile->heap.nr_allocations;
}

/* A command that used next to nothing may end without having been seen. */
#define MEASURABLE_NS (20 * NS_PER_MS)

/* The command that shows the recorded metric; CPU time says nothing about a target that only slept.
 */
static const char *words_of_view(const struct count_options *count, const struct recorded *recorded)
{
	bool has_cpu = !count->no_cpu;

	if (recorded->profile->heap.nr_allocations)
		return count->reachable ? "report --leaks --reachable" : "report --leaks";
	if (recorded->profile->spans.nr)
		return "report --spans";
	if (count->wakers && recorded->profile->probes.wakes.nr)
		return "report --wakers";
	if (has_cpu && recorded->result.cpu_ns >= MEASURABLE_NS)
		return "report";
	if (recorded->profile->probes.nr_counts)
		return "report -m calls";
	return has_cpu ? "report -m wall" : "info";
}

void recording_say_next(const struct count_options *count, const struct recorded *recorded,
			const char *path, const struct verdict *verdict)
{
	const char *file = strcmp(path, RECORDING_FILE_DEFAULT) == 0 ? NULL : path;
	const char *words = words_of_view(count, recorded);
	bool is_of_time = strcmp(words, "report") == 0 || strcmp(words, "report -m wall") == 0;
	struct buf text = {0}, of_verdict = {0};

	if (verdict) {
		verdict_append_line(&text, verdict);
		print_note("%s", buf_str(&text));
		buf_clear(&text);
	}
	if (verdict && verdict_first(verdict)) {
		verdict_append_command(&of_verdict, verdict, file);
		print_hint("%s", buf_str(&of_verdict));
	}
	/* Where memory or calls were asked for, they are shown as well. */
	verdict_append_other_command(&text, words, file);
	if (!of_verdict.nr_bytes ||
	    (!is_of_time && strcmp(buf_str(&text), buf_str(&of_verdict)) != 0))
		print_hint("%s", buf_str(&text));
	buf_release(&text);
	buf_release(&of_verdict);
}

/* The environment of a command is that of profc. */
static bool is_without_pool(const struct recording *recording, const struct runtime *runtime)
{
	pid_t pid = recording->argv ? getpid() : recording->attached.pids[0];
	struct buf environment = {0};
	/* It may have ended, and cannot be asked then. */
	bool is_without = !proc_read_process_file(pid, "environ", &environment) ||
			  runtime_is_without_pool(runtime, (const char *)environment.bytes,
						  environment.nr_bytes);

	buf_release(&environment);
	return is_without;
}

/* Some runtimes take much from the C library at a time, and hand it out themselves. */
static void hint_at_pool(const struct recording *recording)
{
	char path[PATH_MAX] = "";
	const char *program = recording->argv ? recording->argv[0] : path;
	const struct runtime *runtime;

	if (!recording->argv && recording->attached.nr)
		proc_read_process_link(recording->attached.pids[0], "exe", path, sizeof(path));
	runtime = runtime_of_file(program);
	if (runtime && runtime->no_pool && !is_without_pool(recording, runtime))
		print_hint("%s hands out memory from blocks of its own: started with %s, each "
			   "piece is recorded",
			   runtime->name, runtime->no_pool);
}

static bool is_stopped(pid_t pid)
{
	struct proc_stat stat;

	return proc_read_task_stat(pid, pid, &stat) && stat.state == 'T';
}

/* The attached process that job control holds, or 0. */
static pid_t stopped_process(const struct recording *recording)
{
	for (size_t i = 0; i < recording->attached.nr; i++) {
		if (is_stopped(recording->attached.pids[i]))
			return recording->attached.pids[i];
	}
	return 0;
}

/* A stopped process has no CPU time, though it may have been seen blocked before. */
static void say_stopped(const struct recording *recording)
{
	pid_t pid = stopped_process(recording);

	if (!pid)
		return;
	print_note("process %d is stopped by job control", (int)pid);
	print_hint("kill -CONT %d lets it go on", (int)pid);
}

/* Says which samples were missed, and how the target was disturbed, if any. */
static void say_counters(const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_counters; i++) {
		const char *name = profile_str(profile, profile->counters[i].name);
		uint64_t value = profile->counters[i].value;
		struct counter_words words = counter_words(name);
		struct buf text = {0};

		if (!value ||
		    (words.group != COUNTER_LOSSES && words.group != COUNTER_PERTURBATION))
			continue;
		append_counter_value(&text, name, value);
		print_note("%s %s", buf_str(&text), counter_words_of(&words, value));
		buf_release(&text);
	}
}

/* Says how far to trust the numbers that follow. */
static void say_missed(const struct profile *profile)
{
	struct buf text = {0};

	if (summary_append_missed(&text, profile))
		print_note("%s", buf_str(&text));
	buf_release(&text);
}

static void say_rate(const struct profile *profile)
{
	struct buf text = {0};

	if (append_rate_achieved(&text, profile))
		print_note("%s", buf_str(&text));
	buf_release(&text);
}

static void say_counts(const struct profile *profile)
{
	struct buf text = {0};

	if (info_append_counts(&text, profile))
		print_note("%s", buf_str(&text));
	buf_clear(&text);
	if (info_append_memory(&text, profile))
		print_note("%s", buf_str(&text));
	buf_release(&text);
}

/* Copies of it in other functions have its name in reports, but no code of their own. */
static void say_inlined(struct named_code *within, const char *name)
{
	unsigned int nr = within ? named_code_nr_inlined(within) : 0;

	if (nr)
		print_note("copies of %s that are inlined elsewhere are left out: %u", name, nr);
}

/* Append "; the command exited with status 3", if it has failed. */
static void append_failure(struct buf *text, const struct recording *recording)
{
	int status = recording->command.status;

	if (!recording->command.is_reaped || status == 0)
		return;
	if (WIFSIGNALED(status))
		buf_printf(text, "; the command was killed by signal %d", WTERMSIG(status));
	else
		buf_printf(text, "; the command exited with status %d", WEXITSTATUS(status));
}

void recording_say_done(const struct recording *recording, const struct recorded *recorded)
{
	const struct sampler_result *result = &recorded->result;
	const struct record_options *options = recording->options;
	bool has_cpu = !options->count.no_cpu;
	struct buf text = {0};

	if (options->quiet)
		return;
	if (has_cpu) {
		append_weight(&text, METRIC_CPU, result->cpu_ns);
		buf_append_str(&text, " of CPU time in ");
	}
	append_weight(&text, METRIC_WALL, recorded->profile->meta.duration_ns);
	if (has_cpu) {
		buf_append_str(&text, ", ");
		append_weight(&text, METRIC_SAMPLES, result->nr_samples);
	}
	buf_printf(&text, ", %.1f kB", (double)store_writer_nr_bytes(recorded->writer) / 1000);
	append_failure(&text, recording);
	print_note("wrote %s: %s", file_name(&recorded->file), buf_str(&text));
	buf_release(&text);
	say_counts(recorded->profile);
	if (count_options_have_memory(&options->count))
		hint_at_pool(recording);
	if (options->verbose)
		say_counters(recorded->profile);
	else if (has_cpu)
		say_missed(recorded->profile);
	say_inlined(recorded->within, options->count.within);
	if (result->cpu_ns < MEASURABLE_NS)
		say_stopped(recording);
	if (has_cpu)
		say_rate(recorded->profile);
	if (!recorded->file.path && recording->argv)
		print_hint("what the command itself prints goes there too and spoils the profile: "
			   "send one of them elsewhere");
}

/* There was no tick: the recording ended within its delay, or paused. False if it did neither. */
static bool never_looked(const struct record_options *options, const struct recorded *recorded,
			 struct err *err)
{
	if (ended_in_delay(options, recorded->profile)) {
		err_set(err, ERR_EMPTY,
			"no samples were taken: it ended before the --delay was over");
		err_hint(err, "give a shorter --delay");
	} else if (recorded->ended_paused) {
		err_set(err, ERR_EMPTY, "no samples were taken: the recording was paused");
		err_hint(err, "SIGUSR1 sent to profc resumes it, and so does --control");
	}
	return err->code != 0;
}

/* --threads has left no thread. */
static bool chose_nobody(const struct recording *recording, const struct profile *profile,
			 struct err *err)
{
	if (!recording->options->threads)
		return false;
	for (size_t i = 0; i < profile->nr_threads; i++) {
		const char *name = profile_str(profile, profile->threads[i].name);

		if (regexec(&recording->threads, name, 0, NULL, 0) == 0)
			return false;
	}
	err_set(err, ERR_EMPTY, "no samples were taken: --threads '%s' is found in no name",
		recording->options->threads);
	known_threads_hint(err, profile);
	return true;
}

static bool was_stopped(const struct recording *recording, struct err *err)
{
	pid_t pid = stopped_process(recording);

	if (!pid)
		return false;
	err_set(err, ERR_EMPTY, "no samples were taken: process %d is stopped by job control",
		(int)pid);
	err_hint(err, "kill -CONT %d lets it go on", (int)pid);
	return true;
}

/* --unit and --comm have found no process. */
static bool waited_in_vain(const struct recording *recording, const struct recorded *recorded,
			   struct err *err)
{
	const struct joiners *joiners = &recording->joining.joiners;
	struct buf words = {0};

	if (joiners_is_empty(joiners) || recorded->profile->nr_processes)
		return false;
	joiners_append_words(joiners, &words);
	err_set(err, ERR_EMPTY, "no samples were taken: there was no process of %s",
		buf_str(&words));
	buf_release(&words);
	return true;
}

/* There were samples, but none of them was wanted. */
static bool was_never_within(const char *name, const struct recorded *recorded, struct err *err)
{
	if (!recorded->within || !profile_counter(recorded->profile, "within_dropped_samples"))
		return false;
	if (named_code_find(recorded->within, recorded->profile->modules, err) == 0) {
		if (recorded->profile->probes.nr_counts)
			return false;
		err_set(err, ERR_EMPTY, "no sample was taken inside of %s", name);
		err_hint(err, "raise --frequency, or record for longer");
	}
	return true;
}

/* Nothing else was asked for, and why it could not be was said. */
static bool has_no_probes(const struct record_options *options, struct err *err)
{
	if (!options->count.no_cpu)
		return false;
	err_set(err, ERR_EMPTY, "nothing was recorded: there were no probes");
	return true;
}

int recording_say_empty(const struct recording *recording, const struct recorded *recorded)
{
	const struct record_options *options = recording->options;
	const struct sampler_result *result = &recorded->result;
	bool measurable = result->cpu_ns >= MEASURABLE_NS;
	bool is_failure = measurable || !recording->argv;
	struct buf failure = {0};
	struct err err = ERR_INIT;

	if (never_looked(options, recorded, &err) || waited_in_vain(recording, recorded, &err) ||
	    chose_nobody(recording, recorded->profile, &err) || has_no_probes(options, &err) ||
	    was_stopped(recording, &err) ||
	    was_never_within(options->count.within, recorded, &err)) {
		print_err(&err);
		return recording_failed_status(recording);
	}
	if (!is_failure && options->quiet)
		return EXIT_DONE;
	if (recorded->within && recorded->profile->probes.nr_counts) {
		print_note("no sample was taken inside of %s; calls were counted",
			   options->count.within);
		return EXIT_DONE;
	}
	append_failure(&failure, recording);
	err_set(&err, ERR_EMPTY, "no samples were taken: %.3f ms of CPU time were used%s",
		(double)result->cpu_ns / (double)NS_PER_MS, buf_str(&failure));
	buf_release(&failure);
	if (!measurable)
		err_hint(&err, "it ended before the first sample; raise --frequency");
	else if (!result->refusal.nr) /* else its reason is said */
		err_hint(&err, "raise --frequency, or record for longer");
	print_err(&err);
	return is_failure ? recording_failed_status(recording) : EXIT_DONE;
}

static bool is_page_name(const char *word)
{
	size_t nr = strlen(word);

	return nr > 5 && strcmp(word + nr - 5, ".html") == 0;
}

int recording_say_exec_failed(const struct recording *recording)
{
	struct err err = ERR_INIT;
	int status =
		program_explain_failure(recording->argv[0], recording->command.exec_errno, &err);

	if (recording->options->count.memory && heap_request_is_rate(recording->argv[0]))
		err_hint(&err, "a rate is written so: --mem=%s", recording->argv[0]);
	if (recording->options->use.html && is_page_name(recording->argv[0]))
		err_hint(&err, "the name of the page is written so: --html=%s", recording->argv[0]);
	print_err(&err);
	return status == ERR_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

void recording_say_refused(const struct sampler_refusal *refusal)
{
	struct err err = ERR_INIT;

	if (!refusal->nr)
		return;
	if (refusal->tracer)
		print_note("%s (pid %d) is traced by %s (pid %d): what it runs meanwhile has no "
			   "stacks",
			   refusal->name, (int)refusal->pid, refusal->tracer_name,
			   (int)refusal->tracer);
	else
		print_note("%s (pid %d) may not be traced: what it runs has no stacks",
			   refusal->name, (int)refusal->pid);
	if (refusal->tracer)
		return;
	if (hint_at_profiles(&err))
		print_hint("%s", err.hint);
	else
		print_hint("it runs as another user or is not dumpable: run profc as root");
}

void recording_say_descendants(const struct recording *recording, const struct sampler *sampler)
{
	size_t nr = sampler_nr_descendants(sampler);

	if (nr == 1 && !recording->options->quiet)
		print_note("1 descendant is recorded, too: --no-children leaves it out");
	else if (nr && !recording->options->quiet)
		print_note("%zu descendants are recorded, too: --no-children leaves them out", nr);
}

static bool is_ancestor(pid_t pid)
{
	struct proc_status status;

	for (pid_t at = getppid(); at > 0; at = status.ppid) {
		if (at == pid)
			return true;
		if (!proc_read_status(at, &status))
			break;
	}
	return false;
}

void recording_warn_of_waiting(const struct recording *recording)
{
	const struct record_options *options = recording->options;

	if (options->duration_ns || options->control || options->quiet)
		return;
	for (size_t i = 0; i < recording->attached.nr_named; i++) {
		if (is_ancestor(recording->attached.pids[i]))
			print_note("process %d started profc and may wait for it: Ctrl-C ends the "
				   "recording, or --duration",
				   (int)recording->attached.pids[i]);
	}
}
