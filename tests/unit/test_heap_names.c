// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of allocators' functions. */
#include "heap/heap_names.h"
#include "tests/unit/unit.h"

TEST(heap_names, functions_are_known_by_name)
{
	static const struct {
		const char *name;
		enum heap_function function;
	} names[] = {
		{"malloc", HEAP_MALLOC},
		{"je_malloc", HEAP_MALLOC},
		{"mi_calloc", HEAP_CALLOC},
		{"_rjem_realloc", HEAP_REALLOC},
		{"_rjem_sdallocx", HEAP_FREE},
		{"je_mallocx", HEAP_MALLOC},
		{"aligned_alloc", HEAP_MEMALIGN},
		{"tc_posix_memalign", HEAP_POSIX_MEMALIGN},
		{"_Znwm", HEAP_NEW},
		{"_ZnamRKSt9nothrow_t", HEAP_MALLOC},
		{"_ZnwmSt11align_val_t", HEAP_NEW_ALIGNED},
		{"_ZnwmSt11align_val_tRKSt9nothrow_t", HEAP_NEW_NOTHROW_ALIGNED},
		{"_ZdlPv", HEAP_FREE},
		{"_ZdaPvmSt11align_val_t", HEAP_FREE},
		{"free_sized", HEAP_FREE},
		{"_exit", HEAP_EXIT},
		{"_Exit", HEAP_EXIT},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		enum heap_function function = HEAP_FUNCTION_COUNT;

		if (!heap_function_of(names[i].name, &function) || function != names[i].function)
			fail_msg("%s: %d", names[i].name, (int)function);
	}
}

TEST(heap_names, others_are_not)
{
	/* xallocx() resizes in place; malloc_usable_size() allocates nothing. */
	static const char *const names[] = {"",
					    "mallocs",
					    "xmalloc",
					    "je_",
					    "xallocx",
					    "my_free",
					    "malloc_usable_size",
					    "mi__Znwm",
					    "__libc_malloc",
					    "_Znwj"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		enum heap_function function;

		if (heap_function_of(names[i], &function))
			fail_msg("%s: %d", names[i], (int)function);
	}
}
