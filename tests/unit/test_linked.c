// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlfcn.h>
#include <unistd.h>

#include "mapping/linked.h"
#include "mapping/space.h"
#include "tests/unit/unit.h"

static bool stays(struct space *space, const void *function)
{
	const struct mapping *mapping = space_find(space, (uint64_t)(uintptr_t)function);

	assert_non_null(mapping);
	return linked_for_good(space, mapping->module, mapping->bias);
}

TEST(linked, what_dlopen_has_loaded_may_go)
{
	void *library = dlopen("libthread_db.so.1", RTLD_NOW);
	const void *in_library = library ? dlsym(library, "td_init") : NULL;
	struct module_table *modules = module_table_new();
	struct space *space = space_new(modules, getpid());

	assert_int_equal(space_refresh(space, NULL), 0);
	assert_true(stays(space, (const void *)(uintptr_t)stays));
	assert_true(stays(space, (const void *)(uintptr_t)getpid));
	if (in_library)
		assert_false(stays(space, in_library));
	assert_false(linked_for_good(space, MODULE_UNKNOWN, 0));
	space_free(space);
	module_table_free(modules);
	if (library)
		dlclose(library);
}
