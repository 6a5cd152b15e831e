// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the functions and calls of a file that a user's words mean. */
#include "naming/naming.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/index_set.h"
#include "elf/elf_image.h"
#include "elf/elf_sdt.h"
#include "heap/heap_names.h"
#include "naming/callees.h"
#include "naming/cpython_pools.h"
#include "naming/futex_calls.h"
#include "naming/naming_priv.h"
#include "naming/pool_functions.h"
#include "naming/wrappers.h"
#include "patch/call_sites.h"
#include "probe/wanted.h"
#include "symbol/demangle.h"
#include "symbol/function_pattern.h"
#include "symbol/functions.h"
#include "symbol/kept_files.h"
#include "symbol/symbol.h"
#include "symbol/written_in.h"

/* The search of one file. */
struct search {
	struct naming *naming;
	const struct probe_file *file;
	struct symbol_file *symbols;
	struct symbol_functions *functions;
	struct wanted *wanted;
};

static bool has_copies(const struct symbol_function *function)
{
	return function->nr_inlined && function->nr_inlined != SYMBOL_INLINED_UNKNOWN;
}

static void refuse_copies(const struct search *search, const struct symbol_function *function)
{
	char reason[96];

	if (!has_copies(function))
		return;
	if (function->nr_inlined == 1)
		snprintf(reason, sizeof(reason), "its copy that is inlined in 1 place is no call");
	else
		snprintf(reason, sizeof(reason),
			 "its copies that are inlined in %u places are no calls",
			 function->nr_inlined);
	wanted_refuse(search->wanted, function->name, reason);
}

/* Is the target of a jump another function, rather than a part of the same one? */
static bool is_function(const void *context, uint64_t address)
{
	const struct search *search = context;
	const struct symbol_function *before = symbol_functions_before(search->functions, address);

	if (before && before->start == address)
		return before->kind != SYMBOL_FUNCTION_PART;
	/* Code outside any function: reached through a word, or in a PLT. */
	return !before || address >= before->end;
}

/* False: there is data among its code. */
static bool add_sites(const struct search *search, const struct symbol_function *function,
		      struct call_sites *sites)
{
	size_t nr_bytes = (size_t)(function->end - function->start);
	uint8_t *bytes = alloc_bounded(nr_bytes + 1, 1, (size_t)1 << 30);
	bool is_code;

	if (!bytes)
		return true;
	nr_bytes = elf_image_read(search->file->image, function->start, bytes, nr_bytes);
	is_code = call_sites_add(sites, &(const struct call_code){.function = function->name,
								  .address = function->start,
								  .bytes = bytes,
								  .nr_bytes = nr_bytes,
								  .is_function = is_function,
								  .context = search});
	free(bytes);
	return is_code;
}

static void add_entry(const struct search *search, const struct symbol_function *function)
{
	struct wanted *wanted = search->wanted;

	switch (function->kind) {
	case SYMBOL_FUNCTION_WHOLE:
		wanted_add(wanted, WANTED_ENTRY, function->start, function->end - function->start,
			   function->name);
		refuse_copies(search, function);
		return;
	case SYMBOL_FUNCTION_PART:
		return; /* no call reaches it, or none of the function */
	case SYMBOL_FUNCTION_IFUNC:
		wanted_refuse(search->wanted, function->name,
			      "which function bears this name is chosen at run time");
		return;
	}
}

/* Most functions are counted, and need no name. */
static void add_entries(const struct search *search, const struct symbol_function *const *rows,
			size_t nr)
{
	cleanup_free uint64_t *starts = xcalloc(nr + 1, sizeof(*starts));
	cleanup_free const char **names = xcalloc(nr + 1, sizeof(const char *));
	size_t nr_refused = 0;

	for (size_t i = 0; i < nr; i++) {
		if (rows[i]->kind == SYMBOL_FUNCTION_IFUNC ||
		    (rows[i]->kind == SYMBOL_FUNCTION_WHOLE && has_copies(rows[i])))
			starts[nr_refused++] = rows[i]->start;
	}
	symbol_functions_name(search->functions, starts, nr_refused, names);
	wanted_expect(search->wanted, nr);
	for (size_t i = 0; i < nr; i++)
		add_entry(search, rows[i]);
}

/* The number of places where a function is inlined, if it is inlined everywhere; else 0. */
static unsigned int nr_inlined_only(const struct search *search, const char *name)
{
	struct symbol_inlined_function inlined;
	char *expression = xmalloc(2 * strlen(name) + 3), *at = expression;
	unsigned int nr = 0;
	regex_t regex;

	*at++ = '^';
	for (; *name; name++) {
		if (strchr(".[]()*+?{}^$|\\", *name))
			*at++ = '\\';
		*at++ = *name;
	}
	memcpy(at, "$", 2);
	if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB) == 0) {
		if (symbol_functions_find_inlined(search->functions, &regex, &inlined))
			nr = inlined.nr_inlined;
		regfree(&regex);
	}
	free(expression);
	return nr;
}

/* gcc's clones for some callers have other arguments than the source. */
static bool has_other_arguments(const char *linkage_name)
{
	return linkage_name &&
	       (strstr(linkage_name, ".isra.") || strstr(linkage_name, ".constprop."));
}

static struct callees callees_of(const struct search *search)
{
	return (struct callees){.symbols = search->symbols,
				.image = search->file->image,
				.functions = search->functions};
}

/* The probe of an allocating function waits for its return. */
static bool may_leave(const struct search *search, const struct symbol_function *function,
		      const struct heap_form *form)
{
	const struct callees callees = callees_of(search);

	return form->function == HEAP_POOL && callees_leave(&callees, function);
}

static void add_pool_function(const struct search *search, const struct symbol_function *function,
			      const struct heap_form *form)
{
	switch (function->kind) {
	case SYMBOL_FUNCTION_WHOLE:
		if (has_other_arguments(function->linkage_name))
			wanted_refuse(search->wanted, function->linkage_name,
				      "its arguments were changed by the compiler");
		else if (may_leave(search, function, form))
			wanted_refuse(search->wanted, function->name,
				      "it may leave by an exception or longjmp(3)");
		else
			wanted_add_heap(search->wanted, form, HEAP_KIN_NONE, function->start,
					function->end - function->start, function->name);
		refuse_copies(search, function);
		return;
	case SYMBOL_FUNCTION_PART:
		return;
	case SYMBOL_FUNCTION_IFUNC:
		wanted_refuse(search->wanted, function->name,
			      "which function bears this name is chosen at run time");
		return;
	}
}

static void note_nearest(const struct search *search, const char *name)
{
	struct naming *naming = search->naming;
	/* Among the names of several files, any name would be near some. */
	const char *nearest =
		naming->nr_files == 1 ? symbol_functions_nearest(search->functions, name) : NULL;

	if (nearest && !naming->nearest)
		naming->nearest = xstrdup(nearest);
}

static void find_pool_function(struct search *search, struct pool_function *pool)
{
	const struct symbol_function **found;
	size_t nr;

	found = symbol_functions_called(search->functions, pool->name, &nr);
	for (size_t i = 0; i < nr; i++)
		add_pool_function(search, found[i], &pool->form);
	free(found);
	pool->is_found |= nr > 0;
	if (nr)
		return;
	if (!pool->nr_inlined)
		pool->nr_inlined = nr_inlined_only(search, pool->name);
	note_nearest(search, pool->name);
}

/* gcc inlines the beginning of a function and leaves the rest of it as a function of its own. */
static void refuse_part(const struct search *search, const struct symbol_function *part)
{
	cleanup_free char *reason = xasprintf(
		"only a part of it, %s, has code of its own: the rest is inlined, and no call",
		part->linkage_name ? part->linkage_name : part->name);

	wanted_refuse(search->wanted, part->name, reason);
}

/* Functions that a search found, and those of them that are no parts by their names. */
struct found_functions {
	const struct symbol_function *const *rows;
	size_t nr;
	struct index_set wholes;
};

static bool has_equal_name(const void *owner, uint32_t index, const void *key)
{
	const struct found_functions *found = owner;

	return strcmp(found->rows[index]->name, key) == 0;
}

static bool has_whole(const struct found_functions *found, const char *name)
{
	return index_set_find(&found->wholes, hash_bytes(name, strlen(name)), has_equal_name, found,
			      name) != INDEX_NONE;
}

static void index_wholes(struct found_functions *found)
{
	for (size_t i = 0; i < found->nr && i < INDEX_NONE; i++) {
		const struct symbol_function *row = found->rows[i];

		if (row->kind != SYMBOL_FUNCTION_PART && row->name && !has_whole(found, row->name))
			index_set_add(&found->wholes, hash_bytes(row->name, strlen(row->name)),
				      (uint32_t)i);
	}
}

static void refuse_parts(const struct search *search, const struct symbol_function *const *rows,
			 size_t nr)
{
	struct found_functions found = {.rows = rows, .nr = nr};
	bool is_indexed = false;

	for (size_t i = 0; i < nr; i++) {
		const struct symbol_function *part = rows[i];

		if (part->kind != SYMBOL_FUNCTION_PART || !part->linkage_name ||
		    !strstr(part->linkage_name, ".part."))
			continue;
		if (!is_indexed)
			index_wholes(&found);
		is_indexed = true;
		if (!has_whole(&found, part->name))
			refuse_part(search, part);
	}
	index_set_release(&found.wholes);
}

static void find_pattern(struct search *search, size_t index)
{
	struct naming *naming = search->naming;
	const struct function_pattern *pattern = &naming->patterns[index];
	struct symbol_inlined_function inlined;
	const struct symbol_function **found;
	char reason[96];
	size_t nr;

	if (!function_pattern_takes_module(pattern, search->file->path))
		return;
	naming->has_module[index] = true;
	found = symbol_functions_match(search->functions, function_pattern_regex(pattern),
				       function_pattern_word(pattern), &nr);
	add_entries(search, found, nr);
	refuse_parts(search, found, nr);
	free(found);
	naming->is_found[index] |= nr > 0;
	if (nr || !pattern->has_function)
		return;
	if (symbol_functions_find_inlined(search->functions, &pattern->function, &inlined)) {
		snprintf(reason, sizeof(reason), "it is inlined everywhere, in %u places",
			 inlined.nr_inlined);
		wanted_refuse(search->wanted, inlined.name, reason);
		return;
	}
	note_nearest(search, pattern->name);
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
			wanted_add_call(search->wanted, &sites->at[i]);
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
			    : symbol_functions_find(search->functions, NULL, NULL, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (!add_sites(search, functions[i], &sites))
			wanted_refuse(search->wanted, functions[i]->name,
				      "data stands among its code");
	}
	if (calls->function) {
		for (size_t i = 0; i < sites.nr; i++)
			wanted_add_call(search->wanted, &sites.at[i]);
		calls->is_found |= nr > 0;
	} else {
		calls->is_found |= want_written(search, &sites, &calls->lines) > 0;
	}
	free(functions);
	call_sites_release(&sites);
}

/*
 * Returns how many functions there are of this name. Their parts are places, too, where all of a
 * function's code is watched.
 */
static size_t want_named(const struct search *search, const char *name, enum wanted_kind whole,
			 uint8_t gate)
{
	const struct symbol_function **found;
	size_t nr;

	found = symbol_functions_called(search->functions, name, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (found[i]->kind != SYMBOL_FUNCTION_WHOLE && whole != WANTED_GATE_ENTRY)
			continue;
		wanted_add(search->wanted,
			   found[i]->kind == SYMBOL_FUNCTION_WHOLE ? whole : WANTED_GATE_PART,
			   found[i]->start, found[i]->end - found[i]->start, name);
		search->wanted->places[search->wanted->nr_places - 1].gate =
			gate & WANTED_GATE_MASK;
	}
	free(found);
	return nr;
}

/* A throwing operator new is not watched itself if it calls an allocation function, which is. */
static bool is_sampled_below(const struct search *search, const struct symbol_function *function)
{
	const struct callees callees = callees_of(search);

	return callees_allocate(&callees, function);
}

static void add_allocator_function(const struct search *search, const char *name,
				   enum heap_function function, enum heap_kin kin)
{
	const struct heap_form form = heap_form_of(function);
	const struct symbol_function **found;
	size_t nr;

	found = symbol_functions_linked_as(search->functions, name, &nr);
	for (size_t i = 0; i < nr; i++) {
		bool throws = function == HEAP_NEW || function == HEAP_NEW_ALIGNED;
		cleanup_free char *shown = NULL;

		if (found[i]->kind != SYMBOL_FUNCTION_WHOLE ||
		    (throws && kin != HEAP_KIN_OF_PLAIN && is_sampled_below(search, found[i])))
			continue;
		shown = symbol_demangle(name);
		wanted_add_heap(search->wanted, &form, kin, found[i]->start,
				found[i]->end - found[i]->start, shown);
	}
	free(found);
}

static bool has_function(const struct search *search, const char *name)
{
	size_t nr;

	free(symbol_functions_linked_as(search->functions, name, &nr));
	return nr > 0;
}

/*
 * Has the file a malloc(), and a function which shows that its operator new is the same allocator?
 */
static bool find_malloc(const struct search *search, bool *has_kin)
{
	enum heap_function function;
	bool has_malloc = false;
	char name[64];

	*has_kin = false;
	for (size_t i = 0; heap_name_at(i, name, sizeof(name), &function); i++) {
		size_t length = strlen(name);

		if (length >= 6 && strcmp(name + length - 6, "malloc") == 0)
			has_malloc |= has_function(search, name);
		*has_kin |= heap_name_tells_kin(name) && has_function(search, name);
	}
	return has_malloc;
}

/*
 * Operators of C++ belong to an allocator if its file has a malloc(): other operators call that, or
 * have memory of their own. The loader has a malloc() for the time before the C library's.
 */
static void find_allocator(struct search *search)
{
	enum heap_function function;
	const char *mapping;
	bool has_kin, has_malloc;
	char name[64];

	if (strstr(search->file->path, "/ld-linux"))
		return;
	has_malloc = find_malloc(search, &has_kin);
	for (size_t i = 0; heap_name_at(i, name, sizeof(name), &function); i++) {
		bool throws = function == HEAP_NEW || function == HEAP_NEW_ALIGNED;
		enum heap_kin kin = heap_name_is_plain(name) ? HEAP_KIN_PLAIN : HEAP_KIN_NONE;

		if (throws)
			kin = !has_malloc ? HEAP_KIN_ALONE : has_kin ? HEAP_KIN_OF_PLAIN : kin;
		if (has_malloc || throws)
			add_allocator_function(search, name, function, kin);
	}
	for (size_t i = 0; has_malloc && heap_map_name_at(i, &mapping, &function); i++)
		add_allocator_function(search, mapping, function, HEAP_KIN_NONE);
	search->naming->has_allocator |= has_malloc;
}

static const struct heap_form cpython_forms[NR_CPYTHON_POOLS] = {
	[CPYTHON_MALLOC] = {.function = HEAP_POOL, .size = 2},
	[CPYTHON_CALLOC] = {.function = HEAP_POOL, .count = 2, .size = 3},
	[CPYTHON_REALLOC] = {.function = HEAP_POOL, .pointer = 2, .size = 3},
	[CPYTHON_FREE] = {.function = HEAP_POOL_FREE, .pointer = 2},
};

/* Any function of a CPython's allocator. */
static const char cpython_witness[] = "PyObject_Malloc";

static uint64_t length_of(const struct search *search, uint64_t start)
{
	const struct symbol_function *function = symbol_functions_before(search->functions, start);

	return function && function->start == start ? function->end - start : 0;
}

static void add_cpython_pools(const struct search *search, const struct cpython_pools *pools)
{
	static const char *const names[NR_CPYTHON_POOLS] = {"PyObject_Malloc", "PyObject_Calloc",
							    "PyObject_Realloc", "PyObject_Free"};
	static const char *const domains[CPYTHON_TABLES_MAX] = {"PyObject_Malloc", "PyMem_Malloc"};

	for (size_t i = 0; i < NR_CPYTHON_POOLS; i++) {
		uint64_t function = pools->functions[i];

		wanted_add_heap(search->wanted, &cpython_forms[i], HEAP_KIN_OF_TABLE, function,
				length_of(search, function), names[i]);
		for (size_t k = 0; k < ARRAY_SIZE(domains) && k < pools->nr_tables; k++) {
			if (pools->others[i])
				wanted_add_heap_word(search->wanted,
						     pools->tables[k] + i * sizeof(uint64_t),
						     function, pools->others[i],
						     i == CPYTHON_MALLOC ? domains[k] : "");
		}
	}
}

/*
 * Objects of Python come from an allocator of its own. A word that was made to lead before one of
 * its functions may have been copied by the program, which may bring it back long after a
 * recording: so no probe, whatever it is for, may change what is there.
 */
static void find_cpython_pools(const struct search *search)
{
	struct cpython_pools pools;

	if (!symbol_functions_has_linked_as(search->functions, cpython_witness))
		return;
	if (!cpython_pools_find(search->file->image, &pools)) {
		if (search->naming->wants_allocators)
			wanted_refuse(search->wanted, cpython_witness,
				      "its table of functions is not where profc looks for it");
		return;
	}
	for (size_t i = 0; i < NR_CPYTHON_POOLS; i++) {
		wanted_add_start(search->wanted, pools.functions[i]);
		if (pools.others[i])
			wanted_add_start(search->wanted, pools.others[i]);
	}
	if (search->naming->wants_allocators && pools.has_copies)
		wanted_refuse(search->wanted, cpython_witness,
			      "copies of the functions in its table, which are inlined, cannot be "
			      "watched");
	else if (search->naming->wants_allocators)
		add_cpython_pools(search, &pools);
}

/* Of a C library, or a program that has one linked in. */
static void find_wrappers(struct search *search)
{
	const struct symbol_function **found;
	size_t nr;

	if (!symbol_functions_has_linked_as(search->functions, wrappers_witness))
		return;
	found = symbol_functions_match(search->functions, &search->naming->wrappers, NULL, &nr);
	add_entries(search, found, nr);
	free(found);
	search->naming->has_wrappers |= nr > 0;
}

/* In a C library. */
static void find_futexes(struct search *search)
{
	static const char *const witnesses[] = {"pthread_cond_signal", "sem_post"};

	for (size_t i = 0; i < ARRAY_SIZE(witnesses); i++) {
		if (!symbol_functions_has_linked_as(search->functions, witnesses[i]))
			continue;
		search->naming->futexes.are_found |=
			futex_calls_add(search->wanted, search->file->image);
		return;
	}
}

/* Probes must not overwrite code across starts of functions, and jumps may lead to functions. */
static void add_functions(const struct search *search)
{
	size_t nr;
	uint64_t *starts = symbol_functions_starts(search->functions, &nr);
	enum symbol_function_kind kind;

	for (size_t i = 0; i < nr; i++) {
		uint64_t end = symbol_functions_end(search->functions, i, &kind);

		wanted_add_start(search->wanted, starts[i]);
		wanted_add_function(search->wanted, starts[i], end, kind == SYMBOL_FUNCTION_PART);
	}
	free(starts);
}

static bool is_of_interest(const struct naming *naming, const char *path)
{
	for (size_t i = 0; i < naming->nr_patterns; i++) {
		if (function_pattern_takes_module(&naming->patterns[i], path))
			return true;
	}
	return naming->nr_calls > 0 || naming->gates.nr > 0 || naming->wants_allocators ||
	       naming->wants_wrappers || naming->futexes.are_wanted;
}

/* Allocators are found by their symbols; debug information has other names, and is read for them.
 */
static bool wants_names(const struct naming *naming)
{
	return naming->nr_patterns > 0 || naming->nr_calls > 0 || naming->gates.nr > 0 ||
	       naming->wants_wrappers || naming->pools.nr > 0;
}

int naming_open_file(const struct naming *naming, const struct probe_file *file,
		     struct symbol_file **symbols)
{
	const struct symbol_request request = {.path = file->path,
					       .chooser = owner_of_fd(file->fd),
					       .fd = file->fd,
					       .tables_only = !wants_names(naming)};

	return symbol_file_open(&naming->symbols, &request, symbols, NULL);
}

static bool has_nameless(const struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->nr_places; i++) {
		if (!wanted->places[i].name)
			return true;
	}
	return false;
}

static void note_found(const struct search *search, struct gate_function *function, size_t nr)
{
	if (nr > 0) {
		function->is_found = true;
	} else if (search->naming->gates.are_timed || search->naming->gates.is_pair) {
		if (!function->nr_inlined)
			function->nr_inlined = nr_inlined_only(search, function->name);
		note_nearest(search, function->name);
	}
}

/* Twice the number of its pair, and one more for its end. */
static int number_of_site(const void *context, const char *provider, const char *name)
{
	const struct naming *naming = context;

	for (size_t i = 0; i < naming->gates.nr; i++) {
		const struct gate_wanted *gate = &naming->gates.at[i];

		if (!gate->provider || strcmp(gate->provider, provider) != 0)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(gate->functions); k++) {
			if (strcmp(gate->functions[k].name, name) == 0)
				return (int)(2 * i + k);
		}
	}
	return -1;
}

static void want_site(const struct search *search, const struct elf_sdt_site *site)
{
	uint8_t index = (uint8_t)(site->number / 2);
	struct gate_wanted *gate = &search->naming->gates.at[index];
	struct gate_function *function = &gate->functions[site->number % 2];
	cleanup_free char *name = xasprintf("%s:%s", gate->provider, function->name);

	function->is_found = true;
	wanted_add_site(search->wanted, site->number % 2 ? WANTED_SPAN_TO : WANTED_SPAN_FROM, index,
			site->address, site->semaphore, name);
}

static void find_sites(const struct search *search)
{
	struct elf_sdt sdt = {.wants = number_of_site, .context = search->naming};
	bool is_wanted = false;

	for (size_t i = 0; i < search->naming->gates.nr; i++)
		is_wanted |= search->naming->gates.at[i].provider != NULL;
	if (!is_wanted)
		return;
	elf_image_sdt(search->file->image, &sdt);
	if (sdt.nr > ELF_SDT_SITES_MAX && !search->wanted->gate_refusal)
		search->wanted->gate_refusal =
			xasprintf("static probes are in more than %d places", ELF_SDT_SITES_MAX);
	for (size_t i = 0; i < sdt.nr; i++)
		want_site(search, &sdt.at[i]);
	elf_sdt_release(&sdt);
}

static void find_gate(const struct search *search, uint8_t index)
{
	struct gate_function *functions = search->naming->gates.at[index].functions;
	bool is_pair = functions[1].name;

	if (search->naming->gates.at[index].provider)
		return; /* see find_sites() */
	for (uint8_t i = 0; search->naming->gates.is_pair && i < 2; i++)
		note_found(search, &functions[i],
			   want_named(search, functions[i].name, WANTED_ENTRY, i));
	if (search->naming->gates.is_pair)
		return;
	note_found(search, &functions[0],
		   want_named(search, functions[0].name,
			      is_pair ? WANTED_SPAN_FROM : WANTED_GATE_ENTRY, index));
	if (is_pair)
		note_found(search, &functions[1],
			   want_named(search, functions[1].name, WANTED_SPAN_TO, index));
}

/* Rather than pairs alone, which have no frames. */
static bool has_gate(const struct naming *naming)
{
	for (size_t i = 0; i < naming->gates.nr; i++) {
		if (!naming->gates.at[i].functions[1].name)
			return true;
	}
	return false;
}

static void find_gates(const struct search *search)
{
	for (size_t i = 0; i < search->naming->gates.nr; i++)
		find_gate(search, (uint8_t)i);
	find_sites(search);
	/* C++ calls this when an exception is caught, and frames are gone. */
	if (has_gate(search->naming))
		want_named(search, "__cxa_begin_catch", WANTED_GATE_NOTICE, 0);
}

static void find_all(struct search *search)
{
	struct naming *naming = search->naming;

	if (naming->wants_allocators)
		find_allocator(search);
	if (naming->wants_wrappers)
		find_wrappers(search);
	for (size_t i = 0; i < naming->pools.nr; i++)
		find_pool_function(search, &naming->pools.rows[i]);
	for (size_t i = 0; i < naming->nr_patterns; i++)
		find_pattern(search, i);
	for (size_t i = 0; i < naming->nr_calls; i++)
		find_calls(search, &naming->calls[i]);
	find_gates(search);
	if (naming->futexes.are_wanted)
		find_futexes(search);
	if (naming->wants_allocators || search->wanted->nr_places)
		find_cpython_pools(search);
	if (search->wanted->nr_places)
		add_functions(search);
}

/* Ends a search, unless names of its places may be asked for. */
static void keep_search(const struct search *search)
{
	struct naming *naming = search->naming;

	if (!has_nameless(search->wanted)) {
		symbol_functions_free(search->functions);
		kept_files_give(naming->symbols.kept, search->symbols);
		return;
	}
	/* They are kept while probes are put in. */
	symbol_file_trim(search->symbols);
	symbol_functions_trim(search->functions);
	ARRAY_GROW(naming->searched, naming->nr_searched, naming->cap_searched);
	naming->searched[naming->nr_searched++] =
		(struct searched){search->file->image, search->symbols, search->functions};
}

static void find_in(struct naming *naming, const struct probe_file *file, struct wanted *wanted)
{
	struct search search = {.naming = naming, .file = file, .wanted = wanted};

	naming->nr_files++;
	if (has_ended(naming->symbols.ended) || !is_of_interest(naming, file->path) ||
	    naming_open_file(naming, file, &search.symbols) < 0)
		return;
	search.functions = symbol_functions_new(search.symbols);
	find_all(&search);
	keep_search(&search);
}

void naming_find(void *context, const struct probe_file *file, struct wanted *wanted)
{
	struct naming *naming = context;

	pthread_mutex_lock(&naming->lock);
	find_in(naming, file, wanted);
	pthread_mutex_unlock(&naming->lock);
}
