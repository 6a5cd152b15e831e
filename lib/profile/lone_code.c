// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/lone_code.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "profile/profile.h"

/* With fewer samples, it may be chance that no call was seen. */
#define LEAST_SAMPLES 20

struct seen {
	uint64_t cpu_ns, samples;
	bool calls; /* one of its functions was seen to call another one */
};

/* By stack: the innermost JIT memory on it, or MODULE_UNKNOWN. The caller frees it. */
static struct module_id *find_jit_of_stacks(const struct profile *profile, struct seen *modules)
{
	const struct stack_trie *trie = profile->stacks;
	uint32_t nr = stack_trie_nr(trie);
	struct module_id *jit = xcalloc(nr ? nr : 1, sizeof(*jit));

	for (uint32_t i = 0; i < nr; i++) {
		struct stack_id id = {i};
		struct module_id above, own;

		jit[i] = MODULE_UNKNOWN;
		if (id.v == STACK_EMPTY.v)
			continue;
		above = jit[stack_trie_parent(trie, id).v];
		own = module_table_first(
			profile->modules,
			profile->frames[stack_trie_frame(trie, id).v].where.module);
		jit[i] = above;
		if (module_table_get(profile->modules, own)->kind != MODULE_KIND_JIT)
			continue;
		modules[own.v].calls |= above.v == own.v;
		jit[i] = own;
	}
	return jit;
}

bool profile_find_lone_code(const struct profile *profile, struct lone_code *found)
{
	uint32_t nr_modules = module_table_nr(profile->modules);
	cleanup_free struct seen *modules = xcalloc(nr_modules, sizeof(*modules));
	cleanup_free struct module_id *jit = find_jit_of_stacks(profile, modules);
	struct lone_code most = {.module = MODULE_UNKNOWN};

	for (size_t i = 0; i < profile->nr_samples; i++) {
		struct seen *module = &modules[jit[profile->samples[i].stack.v].v];

		module->cpu_ns += profile->samples[i].cpu_ns;
		module->samples += profile->samples[i].nr;
	}
	for (uint32_t i = 0; i < nr_modules; i++) {
		if (i != MODULE_UNKNOWN.v && !modules[i].calls &&
		    modules[i].samples >= LEAST_SAMPLES && modules[i].cpu_ns > most.cpu_ns)
			most = (struct lone_code){.module = {i}, .cpu_ns = modules[i].cpu_ns};
	}
	*found = most;
	return most.module.v != MODULE_UNKNOWN.v;
}
