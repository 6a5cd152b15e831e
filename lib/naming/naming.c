// SPDX-License-Identifier: GPL-2.0-or-later
/* The words of a user, which of them were found, and the names of what was found. */
#include "naming/naming.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "elf/elf_image.h"
#include "naming/naming_priv.h"
#include "naming/wrappers.h"
#include "patch/span.h"
#include "probe/wanted.h"
#include "symbol/functions.h"
#include "symbol/kept_files.h"

static struct symbol_functions *functions_searched(const struct naming *naming,
						   const struct probe_file *file)
{
	for (size_t i = 0; i < naming->nr_searched; i++) {
		if (naming->searched[i].image == file->image)
			return naming->searched[i].functions;
	}
	return NULL;
}

/* The place stands for a name that cannot be found any more: the search was ended, or the file. */
static char *name_for(const char *name, uint64_t address)
{
	return name ? xstrdup(name) : xasprintf("[+0x%" PRIx64 "]", address);
}

void naming_name(void *context, const struct probe_file *file, const uint64_t *addresses, size_t nr,
		 char **names)
{
	struct naming *naming = context;
	cleanup_free const char **found = xcalloc(nr + 1, sizeof(const char *));
	struct symbol_functions *functions, *own = NULL;
	struct symbol_file *symbols = NULL;

	pthread_mutex_lock(&naming->lock);
	functions = functions_searched(naming, file);
	if (!functions && naming_open_file(naming, file, &symbols) == 0)
		functions = own = symbol_functions_new(symbols);
	if (functions)
		symbol_functions_name(functions, addresses, nr, found);
	for (size_t i = 0; i < nr; i++)
		names[i] = name_for(found[i], addresses[i]);
	symbol_functions_free(own);
	if (symbols)
		kept_files_give(naming->symbols.kept, symbols);
	pthread_mutex_unlock(&naming->lock);
}

void naming_forget(void *context)
{
	struct naming *naming = context;

	pthread_mutex_lock(&naming->lock);
	for (size_t i = 0; i < naming->nr_searched; i++) {
		symbol_functions_free(naming->searched[i].functions);
		kept_files_give(naming->symbols.kept, naming->searched[i].symbols);
	}
	naming->nr_searched = 0;
	pthread_mutex_unlock(&naming->lock);
}

struct naming *naming_new(const struct symbol_options *symbols)
{
	struct naming *naming = xcalloc(1, sizeof(*naming));

	naming->symbols = *symbols;
	pthread_mutex_init(&naming->lock, NULL);
	return naming;
}

void naming_free(struct naming *naming)
{
	if (!naming)
		return;
	for (size_t i = 0; i < naming->nr_patterns; i++)
		function_pattern_release(&naming->patterns[i]);
	for (size_t i = 0; i < naming->nr_calls; i++)
		free(naming->calls[i].path);
	if (naming->wants_wrappers)
		regfree(&naming->wrappers);
	naming_forget(naming);
	pthread_mutex_destroy(&naming->lock);
	free(naming->searched);
	free(naming->patterns);
	free(naming->is_found);
	free(naming->has_module);
	free(naming->calls);
	for (size_t i = 0; i < naming->gates.nr; i++) {
		free(naming->gates.at[i].provider);
		free(naming->gates.at[i].functions[0].name);
		free(naming->gates.at[i].functions[1].name);
	}
	free(naming->gates.at);
	free(naming->nearest);
	pool_functions_release(&naming->pools);
	free(naming);
}

int naming_add_functions(struct naming *naming, const char *text, struct err *err)
{
	ARRAY_GROW(naming->patterns, naming->nr_patterns, naming->cap_patterns);
	ARRAY_GROW(naming->is_found, naming->nr_patterns, naming->cap_found);
	ARRAY_GROW(naming->has_module, naming->nr_patterns, naming->cap_modules);
	if (function_pattern_init(&naming->patterns[naming->nr_patterns], text, err) < 0)
		return err->code;
	naming->is_found[naming->nr_patterns] = naming->has_module[naming->nr_patterns] = false;
	naming->nr_patterns++;
	return 0;
}

int naming_add_calls(struct naming *naming, const char *text, struct err *err)
{
	struct calls_wanted calls = {.text = text};

	if (source_lines_read(&calls.lines, &calls.path, text, err) < 0)
		return err->code;
	calls.function = calls.path ? NULL : text;
	ARRAY_GROW(naming->calls, naming->nr_calls, naming->cap_calls);
	naming->calls[naming->nr_calls++] = calls;
	return 0;
}

void naming_add_file(struct naming *naming, const char *path)
{
	ARRAY_GROW(naming->calls, naming->nr_calls, naming->cap_calls);
	naming->calls[naming->nr_calls++] = (struct calls_wanted){
		.text = path, .lines = {.path = path, .first = 1, .last = UINT32_MAX}};
}

static struct gate_wanted *add_gate(struct naming *naming, const char *function, const char *to)
{
	struct gate_wanted *gate;

	ARRAY_GROW(naming->gates.at, naming->gates.nr, naming->gates.cap);
	gate = &naming->gates.at[naming->gates.nr++];
	*gate = (struct gate_wanted){.functions[0].name = xstrdup(function)};
	gate->functions[1].name = to ? xstrdup(to) : NULL;
	return gate;
}

void naming_set_within(struct naming *naming, const char *function)
{
	add_gate(naming, function, NULL);
}

void naming_add_span(struct naming *naming, const char *function, const char *to)
{
	assert(naming->gates.nr < PATCH_SPANS_MAX);
	add_gate(naming, function, to);
	naming->gates.are_timed = true;
}

void naming_add_pair(struct naming *naming, const char *first, const char *second)
{
	assert(!naming->gates.nr);
	add_gate(naming, first, second);
	naming->gates.is_pair = true;
}

void naming_add_sites(struct naming *naming, const char *provider, const char *probe,
		      const char *to)
{
	naming_add_span(naming, probe, to);
	naming->gates.at[naming->gates.nr - 1].provider = xstrdup(provider);
}

static const struct gate_function *next_gate_function(const struct naming *naming, size_t *at)
{
	while (*at < 2 * naming->gates.nr) {
		const struct gate_function *function =
			&naming->gates.at[*at / 2].functions[*at % 2];

		(*at)++;
		if (function->name)
			return function;
	}
	return NULL;
}

/* `provider`: NULL where it is a function. */
static bool has_in_gate(const struct naming *naming, const char *provider, const char *name)
{
	for (size_t i = 0; i < naming->gates.nr; i++) {
		const struct gate_wanted *gate = &naming->gates.at[i];

		if (!gate->provider != !provider ||
		    (provider && strcmp(gate->provider, provider) != 0))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(gate->functions); k++) {
			if (gate->functions[k].name && strcmp(gate->functions[k].name, name) == 0)
				return true;
		}
	}
	return false;
}

bool naming_has_span(const struct naming *naming, const char *provider, const char *function)
{
	return has_in_gate(naming, provider, function);
}

void naming_add_allocators(struct naming *naming)
{
	naming->wants_allocators = true;
}

void naming_add_wrappers(struct naming *naming)
{
	if (!naming->wants_wrappers)
		wrappers_compile(&naming->wrappers);
	naming->wants_wrappers = true;
}

void naming_add_futexes(struct naming *naming)
{
	naming->futexes.are_wanted = true;
}

int naming_add_pools(struct naming *naming, const char *text, struct err *err)
{
	return pool_functions_add(&naming->pools, text, err);
}

bool naming_is_empty(const struct naming *naming)
{
	return !naming->nr_patterns && !naming->nr_calls && !naming->wants_allocators &&
	       !naming->wants_wrappers && !naming->futexes.are_wanted && !naming->gates.are_timed &&
	       !naming->gates.is_pair;
}

bool naming_asks(const void *context, const char *name)
{
	const struct naming *naming = context;

	for (size_t i = 0; i < naming->nr_patterns; i++) {
		if (naming->patterns[i].has_function &&
		    regexec(&naming->patterns[i].function, name, 0, NULL, 0) == 0)
			return true;
	}
	return has_in_gate(naming, NULL, name);
}

static void hint_at_others(const struct naming *naming, const char *command, struct err *err)
{
	if (naming->nearest)
		err_hint(err, "did you mean '%s'?", naming->nearest);
	else if (command)
		err_hint(err, "this is of %s; programs that it executes are searched, too",
			 command);
}

static int check_named(const struct naming *naming, const char *command, struct err *err)
{
	const char *option = naming->gates.is_pair ? "--latency" : "--spans";
	bool is_to_be_found = naming->gates.are_timed || naming->gates.is_pair;
	const struct gate_function *gate;
	size_t at = 0;

	while (is_to_be_found && (gate = next_gate_function(naming, &at))) {
		const char *provider = naming->gates.at[(at - 1) / 2].provider;

		if (gate->is_found)
			continue;
		if (provider) {
			err_set(err, ERR_NOT_FOUND, "--spans: there is no static probe %s:%s",
				provider, gate->name);
			err_hint(err, "'readelf -n FILE' lists those of a program or library; what "
				      "is loaded later is searched, too");
			return ERR_NOT_FOUND;
		}
		if (gate->nr_inlined)
			return err_set(err, ERR_NOT_FOUND,
				       "%s: '%s' is inlined everywhere, in %u places", option,
				       gate->name, gate->nr_inlined);
		err_set(err, ERR_NOT_FOUND, "%s: no function is named '%s'", option, gate->name);
		hint_at_others(naming, command, err);
		return ERR_NOT_FOUND;
	}
	return 0;
}

static int check_pools(const struct naming *naming, const char *command, struct err *err)
{
	for (size_t i = 0; i < naming->pools.nr; i++) {
		const struct pool_function *pool = &naming->pools.rows[i];

		if (pool->is_found)
			continue;
		if (pool->nr_inlined)
			return err_set(err, ERR_NOT_FOUND,
				       "--mem-functions: '%s' is inlined everywhere, in %u places",
				       pool->name, pool->nr_inlined);
		err_set(err, ERR_NOT_FOUND, "--mem-functions: no function is named '%s'",
			pool->name);
		hint_at_others(naming, command, err);
		return ERR_NOT_FOUND;
	}
	return 0;
}

int naming_check(const struct naming *naming, const char *command, struct err *err)
{
	if (has_ended(naming->symbols.ended))
		return err_set(err, ERR_GONE, "the search for functions was ended");
	for (size_t i = 0; i < naming->nr_patterns; i++) {
		if (naming->is_found[i])
			continue;
		err_set(err, ERR_NOT_FOUND, "--count: no %s matches '%s'",
			naming->has_module[i] ? "function" : "module", naming->patterns[i].text);
		hint_at_others(naming, command, err);
		return ERR_NOT_FOUND;
	}
	if (naming->wants_wrappers && !naming->has_wrappers) {
		err_set(err, ERR_NOT_FOUND, "--count-syscalls: there is no C library");
		err_hint(err,
			 "is it a stripped static program, or one of Go, which makes its calls "
			 "itself?");
		return ERR_NOT_FOUND;
	}
	if (naming->futexes.are_wanted && !naming->futexes.are_found) {
		err_set(err, ERR_NOT_FOUND, "--wakers: no call of futex is found in a C library");
		err_hint(err,
			 "those of musl, of Go and of programs that are linked statically are not "
			 "found");
		return ERR_NOT_FOUND;
	}
	if (check_named(naming, command, err) < 0)
		return ERR_NOT_FOUND;
	if (check_pools(naming, command, err) < 0)
		return ERR_NOT_FOUND;
	/* A program may have the heaps of its pools only. */
	if (naming->wants_allocators && !naming->has_allocator && !naming->pools.nr) {
		err_set(err, ERR_NOT_FOUND, "--mem: there is no function named malloc");
		err_hint(err, "is it a stripped static program, or one with a heap of its own? "
			      "--mem-functions names the functions of that");
		return ERR_NOT_FOUND;
	}
	for (size_t i = 0; i < naming->nr_calls; i++) {
		const struct calls_wanted *calls = &naming->calls[i];

		if (!calls->is_found)
			return err_set(err, ERR_NOT_FOUND, "no call is %s '%s'",
				       calls->function ? "in a function named" : "written in",
				       calls->text);
	}
	return 0;
}
