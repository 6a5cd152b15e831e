// SPDX-License-Identifier: GPL-2.0-or-later
/* The counting of calls in a recording. */
#include "cmd/counting.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/search_path.h"
#include "cmd/symbol_options.h"
#include "heap/heap_request.h"
#include "heap/heap_ring.h"
#include "naming/naming.h"
#include "patch/patch.h"
#include "patch/span.h"
#include "probe/prober.h"
#include "profile/asked_names.h"
#include "profile/span_limit.h"
#include "roster/attached.h"
#include "symbol/kept_files.h"
#include "symbol/symbol.h"
#include "tracee/launch.h"
#include "tracee/permission.h"

/* For the tables of files that the search has left open. */
#define KEPT_FILES_BYTES (UINT64_C(32) << 20)

struct counting {
	struct naming *naming;	 /* owned */
	struct prober *prober;	 /* owned */
	struct kept_files *kept; /* owned: open after the search; or NULL */
	struct span_limit spans[PATCH_SPANS_MAX];
	struct err trouble; /* of counting_launch() */
	bool is_removed;
};

/* In front of static probes, as others write them, and not of a function named so. */
#define SITES "usdt:"

/* Code has one probe. */
static int check_once(const struct naming *naming, const char *provider, const char *function,
		      struct err *err)
{
	if (!function || !naming_has_span(naming, provider, function))
		return 0;
	err_set(err, ERR_INVALID, "--spans: '%s' is given twice", function);
	err_hint(err, "a function can be in one of --spans only");
	return err->code;
}

/* "PROVIDER:BEGIN:END", of static probes. */
static int add_sites(struct naming *naming, const char *text, struct err *err)
{
	cleanup_free char *provider = NULL, *probes = NULL, *first = NULL, *second = NULL;

	if (!span_pair_read(text, &provider, &probes) || !span_pair_read(probes, &first, &second) ||
	    strcmp(first, second) == 0) {
		err_set(err, ERR_INVALID, "--spans: '" SITES "%s' names no two static probes",
			text);
		err_hint(err, "time is between two of them: --spans '" SITES
			      "python:gc__start:gc__done'");
		return err->code;
	}
	if (check_once(naming, provider, first, err) < 0 ||
	    check_once(naming, provider, second, err) < 0)
		return err->code;
	naming_add_sites(naming, provider, first, second);
	return 0;
}

static int add_span(struct naming *naming, const char *text, struct err *err)
{
	cleanup_free char *first = NULL, *second = NULL;
	const char *function;

	if (strncmp(text, SITES, strlen(SITES)) == 0)
		return add_sites(naming, text + strlen(SITES), err);
	function = span_pair_read(text, &first, &second) ? first : text;
	if (check_once(naming, NULL, function, err) < 0)
		return err->code;
	if (second && strcmp(first, second) == 0)
		return err_set(err, ERR_INVALID, "--spans: '%s' are not two functions", text);
	if (check_once(naming, NULL, second, err) < 0)
		return err->code;
	naming_add_span(naming, function, second);
	return 0;
}

/* The functions to be timed, and which of their calls are slow. */
static int add_spans(struct counting *counting, const struct count_options *options,
		     struct err *err)
{
	for (size_t i = 0; i < options->spans.nr; i++) {
		struct span_limit *limit = &counting->spans[i];
		int status = span_limit_parse(options->spans.values[i], limit, err);

		if (status == 0 && limit->percent > 0)
			status = err_set(err, ERR_INVALID,
					 "'%s': a time is wanted, as %s>10ms; without one the "
					 "longest calls are slow",
					 options->spans.values[i], limit->function);
		if (status < 0) {
			err_prefix(err, "--spans");
			return status;
		}
		if (add_span(counting->naming, limit->function, err) < 0)
			return err->code;
	}
	return 0;
}

/* Two functions that are counted, each by itself. */
static int add_pair(struct naming *naming, const char *text, struct err *err)
{
	cleanup_free char *first = NULL, *second = NULL;

	if (!text)
		return 0;
	if (!span_pair_read(text, &first, &second)) {
		err_set(err, ERR_INVALID, "--latency: '%s' names no two functions", text);
		err_hint(err, "time is from calls of the first to those of the second: "
			      "--latency 'begin_request:end_request'");
		return err->code;
	}
	if (strcmp(first, second) == 0)
		return err_set(err, ERR_INVALID, "--latency: '%s' are not two functions", text);
	naming_add_pair(naming, first, second);
	return 0;
}

static void set_spans(const struct counting *counting, struct prober_options *made)
{
	for (size_t i = 0; i < ARRAY_SIZE(counting->spans); i++) {
		const struct span_limit *limit = &counting->spans[i];

		made->slow_ns[i] = limit->least_ns;
		if (limit->function && span_is_pair(limit->function))
			made->pairs[i] = limit->function;
	}
}

int counting_await_slow(struct counting *counting, const char *function, uint64_t length_ns,
			uint32_t *number, struct err *err)
{
	for (uint32_t i = 0; counting && i < ARRAY_SIZE(counting->spans); i++) {
		const struct span_limit *limit = &counting->spans[i];

		if (!limit->function || strcmp(limit->function, function) != 0)
			continue;
		if (limit->least_ns > length_ns)
			return err_set(err, ERR_INVALID,
				       "--spans '%s>TIME' leaves out calls that are to trigger",
				       function);
		prober_await_slow(counting->prober, i, length_ns);
		*number = i;
		return 0;
	}
	return err_set(err, ERR_INVALID, "calls of '%s' are not timed: it needs --spans '%s'",
		       function, function);
}

static int add_all(struct naming *naming, const struct count_options *options, struct err *err)
{
	int status = 0;

	if (options->within)
		naming_set_within(naming, options->within);
	for (size_t i = 0; i < options->functions.nr && status == 0; i++) {
		status = naming_add_functions(naming, options->functions.values[i], err);
		if (status < 0)
			err_prefix(err, "--count");
	}
	for (size_t i = 0; i < options->calls_in.nr && status == 0; i++) {
		status = naming_add_calls(naming, options->calls_in.values[i], err);
		if (status < 0)
			err_prefix(err, "--count-calls-in");
	}
	for (size_t i = 0; i < options->pools.nr && status == 0; i++) {
		status = naming_add_pools(naming, options->pools.values[i], err);
		if (status < 0)
			err_prefix(err, "--mem-functions");
	}
	if (options->syscalls)
		naming_add_wrappers(naming);
	if (options->wakers)
		naming_add_futexes(naming);
	for (size_t i = 0; i < options->lines.nr; i++)
		naming_add_file(naming, options->lines.values[i]);
	return status;
}

static int check_spans(const struct count_options *options, struct err *err)
{
	if (!options->spans.nr)
		return 0;
	if (options->spans.nr > PATCH_SPANS_MAX)
		return err_set(err, ERR_INVALID,
			       "--spans: %zu functions are too many, %d can be timed at once",
			       options->spans.nr, PATCH_SPANS_MAX);
	if (options->within)
		return err_set(err, ERR_INVALID, "--spans cannot be combined with --within");
	if (!PATCH_HAS_SPANS)
		return err_set(err, ERR_UNSUPPORTED,
			       "--spans: calls cannot be timed on this kind of processor yet");
	if (!heap_ring_has_cycles())
		return err_set(err, ERR_UNSUPPORTED,
			       "--spans: the processor has no clock that runs evenly (invariant "
			       "TSC)");
	return 0;
}

static int check_wakers(const struct count_options *options, struct err *err)
{
	if (!options->wakers)
		return 0;
	if (!PATCH_HAS_SPANS)
		return err_set(
			err, ERR_UNSUPPORTED,
			"--wakers: what ends a wait cannot be noted on this kind of processor "
			"yet");
	if (!heap_ring_has_cycles())
		return err_set(err, ERR_UNSUPPORTED,
			       "--wakers: the processor has no clock that runs evenly (invariant "
			       "TSC)");
	return 0;
}

static int refuse_nothing(struct err *err)
{
	err_set(err, ERR_INVALID, "--no-cpu leaves nothing to be recorded");
	err_hint(err, "it goes with --mem or --count");
	return ERR_INVALID;
}

/*
 * A search takes tens of megabytes for a moment, in a thread of its own: by itself the C library
 * would learn from them to keep ever larger pieces, and those of a thread are kept for long.
 */
static void return_large_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	/* The memory of a thread grows by a call for each page else. */
	mallopt(M_TOP_PAD, 128 << 10);
#endif
}

/* Debug information that was read for names is in many small pieces. */
static void forget_names(void *context)
{
	naming_forget(context);
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static struct prober *new_prober(const struct counting *counting,
				 const struct count_options *options,
				 const struct heap_options *heap)
{
	struct prober_options made = {.find = naming_find,
				      .name = naming_name,
				      .forget = forget_names,
				      .context = counting->naming,
				      .heap = *heap,
				      .max_places = options->max,
				      .has_gate = options->within,
				      .has_span = options->spans.nr};

	set_spans(counting, &made);
	return prober_new(&made);
}

int counting_new(const struct count_options *options, struct symbol_options symbols,
		 bool keeps_files, struct counting **counting, struct err *err)
{
	struct counting *made;
	const struct heap_request request = {.rate = options->memory,
					     .has_pools = options->pools.nr > 0,
					     .free_stacks = options->free_stacks,
					     .reachable = options->reachable};
	struct heap_options heap;
	int status;

	*counting = NULL;
	if (check_spans(options, err) < 0 || check_wakers(options, err) < 0)
		return err->code;
	made = xcalloc(1, sizeof(*made));
	return_large_memory();
	symbols.debuginfod = false; /* a command or a user waits meanwhile */
	symbols.kept = made->kept = keeps_files ? kept_files_new(KEPT_FILES_BYTES) : NULL;
	made->naming = naming_new(&symbols);
	status = add_all(made->naming, options, err);
	if (status == 0)
		status = add_spans(made, options, err);
	if (status == 0)
		status = add_pair(made->naming, options->latency, err);
	if (status == 0)
		status = heap_request_read(&request, &heap, err);
	if (status == 0 && heap_options_are_set(&heap))
		naming_add_allocators(made->naming);
	if (status < 0 || naming_is_empty(made->naming)) {
		counting_free(made);
		return status == 0 && options->no_cpu ? refuse_nothing(err) : status;
	}
	made->prober = new_prober(made, options, &heap);
	*counting = made;
	return 0;
}

void counting_free(struct counting *counting)
{
	if (!counting)
		return;
	prober_free(counting->prober);
	naming_free(counting->naming);
	for (size_t i = 0; i < PATCH_SPANS_MAX; i++)
		span_limit_release(&counting->spans[i]);
	kept_files_free(counting->kept);
	free(counting);
}

struct kept_files *counting_kept_files(struct counting *counting)
{
	return counting ? counting->kept : NULL;
}

struct prober *counting_prober(struct counting *counting)
{
	return counting ? counting->prober : NULL;
}

static void hint_at_max(struct err *err)
{
	if (err->code == ERR_LIMIT && strstr(err->what, "too many"))
		err_hint(err, "--count-max N allows more, or use a narrower expression");
}

static void say_not_counted(const struct err *err)
{
	print_warning("%s", err->what);
	if (*err->hint)
		print_hint("%s", err->hint);
}

int counting_attach(struct counting *counting, const struct attached *attached, struct err *err)
{
	int status = 0;
	pid_t process;

	for (size_t i = 0; i < attached->nr && status == 0; i++) {
		bool is_descendant = i >= attached->nr_named;

		status = permission_to_trace(attached->pids[i], &process, err);
		if (status == 0)
			status = prober_attach(counting->prober, process, err);
		if (is_descendant && status == ERR_GONE)
			status = 0;
		if (status != ERR_INVALID && !is_descendant)
			continue;
		if (status < 0)
			say_not_counted(err);
		status = 0;
	}
	if (status == 0)
		status = naming_check(counting->naming, NULL, err);
	if (status < 0) {
		hint_at_max(err);
		counting_end(counting);
	}
	return status;
}

int counting_launch(struct counting *counting, struct launch *launch, const char *program)
{
	struct err *trouble = &counting->trouble;
	int failed;

	/* Traced, it would not get them. */
	if (!may_trace_all() && program_has_own_rights(program)) {
		err_set(trouble, ERR_UNSUPPORTED,
			"%s runs with the rights of its owner: its calls are not counted", program);
		return launch_run(launch);
	}
	failed = prober_launch(counting->prober, launch, trouble);
	if (failed)
		*trouble = (struct err)ERR_INIT; /* there is nothing to count in */
	else if (!trouble->code)
		naming_check(counting->naming, program, trouble);
	hint_at_max(trouble);
	return failed;
}

void counting_say_trouble(struct counting *counting)
{
	if (!counting || !counting->trouble.code)
		return;
	say_not_counted(&counting->trouble);
	counting->trouble = (struct err)ERR_INIT;
}

void counting_end(struct counting *counting)
{
	struct err err = ERR_INIT;
	size_t nr_left = 0;

	if (!counting || counting->is_removed)
		return;
	counting->is_removed = true;
	prober_remove(counting->prober, &nr_left, &err);
	if (!nr_left)
		return;
	print_warning("probes stay in %zu %s: %s", nr_left, nr_left == 1 ? "process" : "processes",
		      err.what);
	print_hint("%s", *err.hint ? err.hint
				   : "they do no harm; the next profc that counts there takes them "
				     "away");
}

void counting_forget_probes(struct counting *counting)
{
	if (!counting)
		return;
	prober_free(counting->prober);
	counting->prober = NULL;
}

void counting_show_asked(const struct counting *counting, struct profile *profile)
{
	if (counting)
		profile_show_asked(profile, naming_asks, counting->naming);
}
