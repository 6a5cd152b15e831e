// SPDX-License-Identifier: GPL-2.0-or-later
#include "naming/callees.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "probe/heap_names.h"
#include "probe/patch_heap.h"
#include "symbol/functions.h"
#include "symbol/symbol.h"

/* A wrapper or two are between operator new and malloc(); deeper calls have other purposes. */
#define LEVELS		   2
#define FUNCTIONS_MAX	   32
#define FUNCTION_BYTES_MAX 8192

struct searching {
	const struct callees *callees;
	unsigned int nr_left; /* functions that may still be read */
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

static const struct symbol_function *function_at(const struct callees *callees, uint64_t address)
{
	size_t low = 0, high = callees->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (callees->functions[middle]->start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < callees->nr && callees->functions[low]->start == address
		       ? callees->functions[low]
		       : NULL;
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

		if (is_word || target - function->start < nr_bytes)
			continue;
		callee = function_at(callees, target);
		if (is_allocating(callee ? callee->linkage_name
					 : symbol_file_callee_of_stub(callees->symbols, target)))
			return true;
		if (!callee || !nr_levels || !searching->nr_left)
			continue;
		searching->nr_left--;
		if (search(searching, callee, nr_levels - 1))
			return true;
	}
	return false;
}

bool callees_allocate(const struct callees *callees, const struct symbol_function *function)
{
	struct searching searching = {.callees = callees, .nr_left = FUNCTIONS_MAX};

	return search(&searching, function, LEVELS);
}
