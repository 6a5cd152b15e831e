// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of allocators by name. */
#include "heap/heap_names.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct named {
	const char *name;
	enum heap_function function;
};

static const struct named plain[] = {
	{"malloc", HEAP_MALLOC},
	{"calloc", HEAP_CALLOC},
	{"realloc", HEAP_REALLOC},
	{"reallocarray", HEAP_REALLOCARRAY},
	{"memalign", HEAP_MEMALIGN},
	{"aligned_alloc", HEAP_MEMALIGN},
	{"posix_memalign", HEAP_POSIX_MEMALIGN},
	{"valloc", HEAP_VALLOC},
	{"pvalloc", HEAP_VALLOC},
	{"free", HEAP_FREE},
	{"cfree", HEAP_FREE},
	{"free_sized", HEAP_FREE},
	{"free_aligned_sized", HEAP_FREE},
	{"_exit", HEAP_EXIT},
	{"_Exit", HEAP_EXIT},
};

static const struct named others[] = {
	{"mallocx", HEAP_MALLOC},
	{"rallocx", HEAP_REALLOC},
	{"dallocx", HEAP_FREE},
	{"sdallocx", HEAP_FREE},
	{"mi_free_size", HEAP_FREE},
	{"mi_free_size_aligned", HEAP_FREE},
	{"mi_free_aligned", HEAP_FREE},
	{"mi_zalloc", HEAP_MALLOC},
	{"tc_free_sized", HEAP_FREE},
	{"_Znwm", HEAP_NEW},
	{"_Znam", HEAP_NEW},
	{"_ZnwmRKSt9nothrow_t", HEAP_MALLOC},
	{"_ZnamRKSt9nothrow_t", HEAP_MALLOC},
	{"_ZnwmSt11align_val_t", HEAP_NEW_ALIGNED},
	{"_ZnamSt11align_val_t", HEAP_NEW_ALIGNED},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", HEAP_NEW_NOTHROW_ALIGNED},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", HEAP_NEW_NOTHROW_ALIGNED},
};

/* Prefixes of C names in libraries that are built with one, and in Rust's. */
static const char *const prefixes[] = {"je_", "tc_", "mi_", "_rjem_", "jemalloc_"};

static bool find(const struct named *rows, size_t nr, const char *name,
		 enum heap_function *function)
{
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(rows[i].name, name) == 0) {
			*function = rows[i].function;
			return true;
		}
	}
	return false;
}

/* All forms of operator delete, of one object and of arrays, take the pointer first. */
static bool is_delete(const char *name)
{
	return strncmp(name, "_ZdlPv", 6) == 0 || strncmp(name, "_ZdaPv", 6) == 0;
}

bool heap_function_of(const char *name, enum heap_function *function)
{
	if (is_delete(name)) {
		*function = HEAP_FREE;
		return true;
	}
	if (find(plain, ARRAY_SIZE(plain), name, function) ||
	    find(others, ARRAY_SIZE(others), name, function))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t nr = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], nr) == 0 &&
		    (find(plain, ARRAY_SIZE(plain), name + nr, function) ||
		     find(others, 4, name + nr, function)))
			return true;
	}
	return false;
}

/* The name without the prefix. */
static const char *in_c(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return name + strlen(prefixes[i]);
	}
	return name;
}

bool heap_name_is_plain(const char *name)
{
	static const char *const names[] = {"malloc", "memalign", "aligned_alloc"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(in_c(name), names[i]) == 0)
			return true;
	}
	return false;
}

bool heap_name_tells_kin(const char *name)
{
	/* gperftools; mimalloc; jemalloc. */
	return strcmp(name, "tc_malloc") == 0 || strcmp(name, "mi_malloc") == 0 ||
	       strcmp(in_c(name), "mallocx") == 0;
}

struct heap_form heap_form_of(enum heap_function function)
{
	static const struct heap_form forms[HEAP_FUNCTION_COUNT] = {
		[HEAP_MALLOC] = {.size = 1},
		[HEAP_CALLOC] = {.count = 1, .size = 2},
		[HEAP_REALLOC] = {.pointer = 1, .size = 2},
		[HEAP_REALLOCARRAY] = {.pointer = 1, .count = 2, .size = 3},
		[HEAP_MEMALIGN] = {.size = 2},
		[HEAP_POSIX_MEMALIGN] = {.out = 1, .size = 3},
		[HEAP_VALLOC] = {.size = 1},
		[HEAP_NEW] = {.size = 1},
		[HEAP_NEW_ALIGNED] = {.size = 1},
		[HEAP_NEW_NOTHROW_ALIGNED] = {.size = 1},
		[HEAP_FREE] = {.pointer = 1},
	};
	struct heap_form form = forms[function];

	form.function = function;
	return form;
}

/* The forms of operator delete that compilers call. */
static const char *const deletes[] = {
	"_ZdlPv",
	"_ZdaPv",
	"_ZdlPvm",
	"_ZdaPvm",
	"_ZdlPvRKSt9nothrow_t",
	"_ZdaPvRKSt9nothrow_t",
	"_ZdlPvSt11align_val_t",
	"_ZdaPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t",
};

bool heap_name_at(size_t index, char *name, size_t cap, enum heap_function *function)
{
	const char *prefix = "", *rest;

	if (index < ARRAY_SIZE(deletes)) {
		rest = deletes[index];
	} else if ((index -= ARRAY_SIZE(deletes)) < ARRAY_SIZE(others)) {
		rest = others[index].name;
	} else {
		index -= ARRAY_SIZE(others);
		if (index >= ARRAY_SIZE(plain) * (ARRAY_SIZE(prefixes) + 1))
			return false;
		rest = plain[index % ARRAY_SIZE(plain)].name;
		if (index >= ARRAY_SIZE(plain))
			prefix = prefixes[index / ARRAY_SIZE(plain) - 1];
	}
	snprintf(name, cap, "%s%s", prefix, rest);
	return heap_function_of(name, function);
}

bool heap_map_name_at(size_t index, const char **name, enum heap_function *function)
{
	static const struct named maps[] = {
		{"mmap", HEAP_MAP},
		{"mmap64", HEAP_MAP},
		{"munmap", HEAP_UNMAP},
		{"mremap", HEAP_REMAP},
	};

	if (index >= ARRAY_SIZE(maps))
		return false;
	*name = maps[index].name;
	*function = maps[index].function;
	return true;
}
