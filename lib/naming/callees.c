// SPDX-License-Identifier: GPL-2.0-or-later
#include "naming/callees.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "heap/heap_names.h"
#include "heap/patch_heap.h"
#include "symbol/functions.h"
#include "symbol/symbol.h"

/* A wrapper or two are between operator new and malloc(); deeper calls have other purposes. */
#define LEVELS		   2
#define FUNCTIONS_MAX	   32
#define FUNCTION_BYTES_MAX 8192

struct searching {
	const struct callees *callees;
	bool (*is_wanted)(const char *name);
	bool spares_allocators; /* do not search allocators */
	unsigned int nr_left;	/* functions that may be read yet */
};

/* Also another operator new, which is watched, or not, for itself. */
static bool is_allocating(const char *name)
{
	enum heap_function function;
	struct heap_form form;

	if (!name || !heap_function_of(name, &function))
		return false;
	form = heap_form_of(function);
	return !heap_frees(&form) && function != HEAP_EXIT;
}

static bool is_leaving(const char *name)
{
	static const char *const names[] = {
		"__cxa_throw",		"__cxa_rethrow", "_Unwind_RaiseException",
		"_Unwind_ForcedUnwind", "longjmp",	 "_longjmp",
		"siglongjmp",		"__longjmp_chk"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (name && strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* The function that begins there, or the part of a function that contains the address. */
static const struct symbol_function *function_at(const struct callees *callees, uint64_t address)
{
	const struct symbol_function *function =
		symbol_functions_before(callees->functions, address);

	if (!function || address >= function->end ||
	    (address != function->start && function->kind != SYMBOL_FUNCTION_PART))
		return NULL;
	return function;
}

static bool search(struct searching *searching, const struct symbol_function *function,
		   unsigned int nr_levels)
{
	const struct callees *callees = searching->callees;
	size_t nr_bytes = (size_t)(function->end - function->start);
	cleanup_free uint8_t *bytes = xmalloc(FUNCTION_BYTES_MAX);
	struct patch_heap_leads leads = {.address = function->start, .bytes = bytes};
	uint64_t target;
	bool is_word;

	leads.nr_bytes =
		elf_image_read(callees->image, function->start, bytes,
			       nr_bytes < FUNCTION_BYTES_MAX ? nr_bytes : FUNCTION_BYTES_MAX);
	while (patch_heap_leads_next(&leads, &target, &is_word)) {
		const struct symbol_function *callee;
		const char *name;

		if (is_word || target - function->start < nr_bytes)
			continue;
		callee = function_at(callees, target);
		name = callee ? callee->linkage_name
			      : symbol_file_callee_of_stub(callees->symbols, target);
		if (searching->is_wanted(name))
			return true;
		if (!callee || !nr_levels || !searching->nr_left ||
		    (searching->spares_allocators && is_allocating(name)))
			continue;
		searching->nr_left--;
		if (search(searching, callee, nr_levels - 1))
			return true;
	}
	return false;
}

bool callees_allocate(const struct callees *callees, const struct symbol_function *function)
{
	struct searching searching = {
		.callees = callees, .is_wanted = is_allocating, .nr_left = FUNCTIONS_MAX};

	return search(&searching, function, LEVELS);
}

bool callees_leave(const struct callees *callees, const struct symbol_function *function)
{
	struct searching searching = {.callees = callees,
				      .is_wanted = is_leaving,
				      .spares_allocators = true,
				      .nr_left = FUNCTIONS_MAX};

	return search(&searching, function, LEVELS);
}
