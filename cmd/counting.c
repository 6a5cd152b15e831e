// SPDX-License-Identifier: GPL-2.0-or-later
/* Which functions and calls of a file the options mean. */
#include "cmd/counting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/search_path.h"
#include "cmd/symbol_options.h"
#include "elf/elf_image.h"
#include "probe/call_sites.h"
#include "probe/prober.h"
#include "symbol/function_pattern.h"
#include "symbol/functions.h"
#include "symbol/symbol.h"
#include "symbol/written_in.h"
#include "tracee/launch.h"
#include "tracee/permission.h"

/* Lines of a source file, or a function by its name. */
struct calls_wanted {
	const char *text;     /* as it was given */
	const char *function; /* NULL: the lines */
	struct source_lines lines;
	char *path; /* owned: of the lines */
	bool is_found;
};

struct counting {
	struct prober *prober;
	struct symbol_options symbols;
	struct function_pattern *patterns; /* owned */
	bool *is_found;			   /* of each */
	bool *has_module;		   /* of each: some file was searched for it */
	size_t nr_patterns;
	struct calls_wanted *calls; /* owned */
	size_t nr_calls;
	const char *within; /* a function's name, or NULL */
	char *nearest;	    /* owned: a name like that of a pattern that was not found; or NULL */
	size_t nr_files;
	struct err trouble; /* of counting_launch() */
	bool is_removed;
};

/* One file as it is searched. */
struct search {
	struct counting *counting;
	const struct probe_file *file;
	struct symbol_file *symbols;
	struct symbol_functions *functions;
	const struct symbol_function **all; /* owned: by address */
	size_t nr_all;
	struct wanted *wanted;
};

static void refuse_copies(const struct search *search, const struct symbol_function *function)
{
	char reason[96];

	if (!function->nr_inlined || function->nr_inlined == SYMBOL_INLINED_UNKNOWN)
		return;
	if (function->nr_inlined == 1)
		snprintf(reason, sizeof(reason), "its copy that is inlined in 1 place is no call");
	else
		snprintf(reason, sizeof(reason),
			 "its copies that are inlined in %u places are no calls",
			 function->nr_inlined);
	wanted_refuse(search->wanted, function->name, reason);
}

static void add_entry(const struct search *search, const struct symbol_function *function)
{
	switch (function->kind) {
	case SYMBOL_FUNCTION_WHOLE:
		wanted_add(search->wanted, WANTED_ENTRY, function->start,
			   function->end - function->start, function->name);
		refuse_copies(search, function);
		return;
	case SYMBOL_FUNCTION_PART:
		return; /* no call enters it, or none of the function */
	case SYMBOL_FUNCTION_IFUNC:
		wanted_refuse(search->wanted, function->name,
			      "which function bears this name is chosen at run time");
		return;
	}
}

static void find_pattern(struct search *search, size_t index)
{
	struct counting *counting = search->counting;
	const struct function_pattern *pattern = &counting->patterns[index];
	struct symbol_inlined_function inlined;
	const struct symbol_function **found;
	const char *nearest;
	char reason[96];
	size_t nr;

	if (!function_pattern_takes_module(pattern, search->file->path))
		return;
	counting->has_module[index] = true;
	found = symbol_functions_find(search->functions, function_pattern_regex(pattern), &nr);
	for (size_t i = 0; i < nr; i++)
		add_entry(search, found[i]);
	free(found);
	counting->is_found[index] |= nr > 0;
	if (nr || !pattern->has_function)
		return;
	if (symbol_functions_find_inlined(search->functions, &pattern->function, &inlined)) {
		snprintf(reason, sizeof(reason), "it is inlined everywhere, in %u places",
			 inlined.nr_inlined);
		wanted_refuse(search->wanted, inlined.name, reason);
		return;
	}
	/* Of libraries any name would be like some. */
	nearest = counting->nr_files == 1
			  ? symbol_functions_nearest(search->functions, pattern->name)
			  : NULL;
	if (nearest && !counting->nearest)
		counting->nearest = xstrdup(nearest);
}

/* Is it another function that a jump leads to, rather than a part of the same? */
static bool is_function(const void *context, uint64_t address)
{
	const struct search *search = context;
	size_t low = 0, high = search->nr_all;
	const struct symbol_function *before;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->all[middle]->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	before = low ? search->all[low - 1] : NULL;
	if (before && before->start == address)
		return before->kind != SYMBOL_FUNCTION_PART;
	/* Of what no function has: through a word, or in a PLT. */
	return !before || address >= before->end;
}

static void add_sites(const struct search *search, const struct symbol_function *function,
		      struct call_sites *sites)
{
	size_t nr_bytes = (size_t)(function->end - function->start);
	uint8_t *bytes = alloc_bounded(nr_bytes + 1, 1, (size_t)1 << 30);

	if (!bytes)
		return;
	nr_bytes = elf_image_read(search->file->image, function->start, bytes, nr_bytes);
	call_sites_add(sites,
		       &(const struct call_code){.function = function->name,
						 .address = function->start,
						 .bytes = bytes,
						 .nr_bytes = nr_bytes,
						 .is_function = is_function,
						 .context = search},
		       search->wanted);
	free(bytes);
}

static size_t want_written(const struct search *search, const struct call_sites *sites,
			   const struct source_lines *wanted)
{
	uint64_t *addresses = xcalloc(sites->nr + 1, sizeof(*addresses));
	uint32_t *lines = xcalloc(sites->nr + 1, sizeof(*lines));
	size_t nr;

	for (size_t i = 0; i < sites->nr; i++)
		addresses[i] = sites->at[i].site.address;
	nr = symbol_file_written_in(search->symbols, wanted, addresses, sites->nr, lines);
	for (size_t i = 0; i < sites->nr; i++) {
		if (lines[i])
			call_sites_want(sites, i, search->wanted);
	}
	free(addresses);
	free(lines);
	return nr;
}

static void find_calls(struct search *search, struct calls_wanted *calls)
{
	const struct symbol_function **functions;
	struct call_sites sites = {0};
	size_t nr;

	functions = calls->function
			    ? symbol_functions_called(search->functions, calls->function, &nr)
			    : symbol_functions_find(search->functions, NULL, &nr);
	for (size_t i = 0; i < nr; i++)
		add_sites(search, functions[i], &sites);
	if (calls->function) {
		for (size_t i = 0; i < sites.nr; i++)
			call_sites_want(&sites, i, search->wanted);
		calls->is_found |= nr > 0;
	} else {
		calls->is_found |= want_written(search, &sites, &calls->lines) > 0;
	}
	free(functions);
	call_sites_release(&sites);
}

static void want_named(const struct search *search, const char *name, enum wanted_kind whole)
{
	const struct symbol_function **found;
	size_t nr;

	found = symbol_functions_called(search->functions, name, &nr);
	for (size_t i = 0; i < nr; i++)
		wanted_add(search->wanted,
			   found[i]->kind == SYMBOL_FUNCTION_WHOLE ? whole : WANTED_GATE_PART,
			   found[i]->start, found[i]->end - found[i]->start, name);
	free(found);
}

/* Where code of the file must not be overwritten behind. */
static void add_starts(const struct search *search)
{
	for (size_t i = 0; i < search->nr_all; i++)
		wanted_add_start(search->wanted, search->all[i]->start);
}

static bool is_of_interest(const struct counting *counting, const char *path)
{
	for (size_t i = 0; i < counting->nr_patterns; i++) {
		if (function_pattern_takes_module(&counting->patterns[i], path))
			return true;
	}
	return counting->nr_calls > 0 || counting->within;
}

/* prober_options.find */
static void find(void *context, const struct probe_file *file, struct wanted *wanted)
{
	struct counting *counting = context;
	struct search search = {.counting = counting, .file = file, .wanted = wanted};
	const struct symbol_request request = {.path = file->path, .fd = file->fd};

	counting->nr_files++;
	if (!is_of_interest(counting, file->path) ||
	    symbol_file_open(&counting->symbols, &request, &search.symbols, NULL) < 0)
		return;
	search.functions = symbol_functions_new(search.symbols);
	search.all = symbol_functions_find(search.functions, NULL, &search.nr_all);
	for (size_t i = 0; i < counting->nr_patterns; i++)
		find_pattern(&search, i);
	for (size_t i = 0; i < counting->nr_calls; i++)
		find_calls(&search, &counting->calls[i]);
	if (counting->within) {
		want_named(&search, counting->within, WANTED_GATE_ENTRY);
		/* By which C++ tells that an exception is caught, and frames are gone. */
		want_named(&search, "__cxa_begin_catch", WANTED_GATE_NOTICE);
	}
	if (wanted->nr_places)
		add_starts(&search);
	free(search.all);
	symbol_functions_free(search.functions);
	symbol_file_close(search.symbols);
}

static int add_patterns(struct counting *counting, const struct option_list *texts, struct err *err)
{
	counting->patterns = xcalloc(texts->nr + 1, sizeof(*counting->patterns));
	counting->is_found = xcalloc(texts->nr + 1, sizeof(*counting->is_found));
	counting->has_module = xcalloc(texts->nr + 1, sizeof(*counting->has_module));
	for (size_t i = 0; i < texts->nr; i++) {
		if (function_pattern_init(&counting->patterns[i], texts->values[i], err) < 0) {
			err_prefix(err, "--count");
			return err->code;
		}
		counting->nr_patterns++;
	}
	return 0;
}

static int add_calls(struct counting *counting, const struct count_options *options,
		     struct err *err)
{
	counting->calls =
		xcalloc(options->calls_in.nr + options->lines.nr + 1, sizeof(*counting->calls));
	for (size_t i = 0; i < options->calls_in.nr; i++) {
		struct calls_wanted *calls = &counting->calls[counting->nr_calls++];

		calls->text = options->calls_in.values[i];
		if (source_lines_read(&calls->lines, &calls->path, options->calls_in.values[i],
				      err) < 0) {
			err_prefix(err, "--count-calls-in");
			return err->code;
		}
		calls->function = calls->path ? NULL : options->calls_in.values[i];
	}
	for (size_t i = 0; i < options->lines.nr; i++)
		counting->calls[counting->nr_calls++] = (struct calls_wanted){
			.text = options->lines.values[i],
			.lines = {
				.path = options->lines.values[i], .first = 1, .last = UINT32_MAX}};
	return 0;
}

int counting_new(const struct count_options *options, const struct symbol_option_values *symbols,
		 struct counting **counting, struct err *err)
{
	struct counting *made;

	*counting = NULL;
	if (!options->functions.nr && !options->calls_in.nr && !options->lines.nr)
		return 0;
	made = xcalloc(1, sizeof(*made));
	made->within = options->within;
	made->symbols = symbol_options_of(symbols);
	made->symbols.debuginfod = false; /* a command or a user waits meanwhile */
	if (add_patterns(made, &options->functions, err) < 0 || add_calls(made, options, err) < 0) {
		counting_free(made);
		return err->code;
	}
	made->prober = prober_new(&(const struct prober_options){.find = find,
								 .context = made,
								 .max_places = options->max,
								 .has_gate = made->within});
	*counting = made;
	return 0;
}

void counting_free(struct counting *counting)
{
	if (!counting)
		return;
	prober_free(counting->prober);
	for (size_t i = 0; i < counting->nr_patterns; i++)
		function_pattern_release(&counting->patterns[i]);
	for (size_t i = 0; i < counting->nr_calls; i++)
		free(counting->calls[i].path);
	free(counting->patterns);
	free(counting->is_found);
	free(counting->has_module);
	free(counting->calls);
	free(counting->nearest);
	free(counting);
}

struct prober *counting_prober(struct counting *counting)
{
	return counting ? counting->prober : NULL;
}

/* `command`: what was launched, or NULL. */
static int check_found(const struct counting *counting, const char *command, struct err *err)
{
	for (size_t i = 0; i < counting->nr_patterns; i++) {
		if (counting->is_found[i])
			continue;
		err_set(err, ERR_NOT_FOUND, "--count: no %s matches '%s'",
			counting->has_module[i] ? "function" : "module",
			counting->patterns[i].text);
		if (counting->nearest)
			err_hint(err, "did you mean '%s'?", counting->nearest);
		else if (command)
			err_hint(err, "this is of %s; programs that it executes are searched, too",
				 command);
		return ERR_NOT_FOUND;
	}
	for (size_t i = 0; i < counting->nr_calls; i++) {
		const struct calls_wanted *calls = &counting->calls[i];

		if (!calls->is_found)
			return err_set(err, ERR_NOT_FOUND, "no call is %s '%s'",
				       calls->function ? "in a function named" : "written in",
				       calls->text);
	}
	return 0;
}

static void hint_at_max(struct err *err)
{
	if (err->code == ERR_LIMIT && strstr(err->what, "too many"))
		err_hint(err, "--count-max N allows more, or use a narrower expression");
}

int counting_attach(struct counting *counting, const pid_t *pids, size_t nr, struct err *err)
{
	int status = 0;
	pid_t process;

	for (size_t i = 0; i < nr && status == 0; i++) {
		status = permission_to_trace(pids[i], &process, err);
		if (status == 0)
			status = prober_attach(counting->prober, process, err);
		if (status != ERR_INVALID)
			continue;
		print_warning("%s", err->what);
		print_hint("%s", err->hint);
		status = 0;
	}
	if (status == 0)
		status = check_found(counting, NULL, err);
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
		check_found(counting, program, trouble);
	hint_at_max(trouble);
	return failed;
}

void counting_say_trouble(struct counting *counting)
{
	if (!counting || !counting->trouble.code)
		return;
	print_warning("%s", counting->trouble.what);
	if (*counting->trouble.hint)
		print_hint("%s", counting->trouble.hint);
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
	print_hint("they do no harm; the next profc that counts there takes them away");
}
