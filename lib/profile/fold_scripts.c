// SPDX-License-Identifier: GPL-2.0-or-later
/* Leaves the machinery of interpreters out of stacks. */
#include "profile/fold_scripts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/profile.h"

struct folder {
	struct profile *profile;
	struct frame_id *path; /* owned: a stack from its root on */
	size_t nr, cap;
	bool *is_hidden; /* owned: of each frame of the path */
	size_t cap_hidden;
	uint32_t *folded; /* owned: by stack, 1 + the one that replaces it; 0: not known yet */
	uint32_t nr_stacks;
	uint32_t *names; /* owned; by frame, 1 + its row of the names of JIT-compiled code */
	bool *have_code; /* owned; by module: each function of the script has code of its own */
};

static struct module_id module_at(const struct folder *folder, size_t i)
{
	return folder->profile->frames[folder->path[i].v].where.module;
}

static bool is_script(const struct folder *folder, size_t i)
{
	return module_table_get(folder->profile->modules, module_at(folder, i))->kind ==
	       MODULE_KIND_SCRIPT;
}

static const struct jit_name *name_of(const struct folder *folder, size_t i)
{
	uint32_t row = folder->names[folder->path[i].v];

	return row ? &folder->profile->jit.names[row - 1] : NULL;
}

/* The rest of a text that begins with this; NULL: it does not, or is NULL. */
static const char *after(const char *text, const char *beginning)
{
	size_t length = strlen(beginning);

	return text && strncmp(text, beginning, length) == 0 ? text + length : NULL;
}

/*
 * With -X perf, CPython makes a stub for each function, "py::f:/srv/app.py", that calls the
 * interpreter for it. Is it that of the function at `script`?
 */
static bool is_stub(const struct folder *folder, size_t i, size_t script)
{
	const struct jit_name *stub = name_of(folder, i), *function = name_of(folder, script);
	const char *rest;

	if (!stub || !function)
		return false;
	rest = after(profile_str(folder->profile, stub->name), "py::");
	rest = after(rest, profile_str(folder->profile, function->name));
	rest = after(rest, ":");
	return rest && strcmp(rest, profile_str(folder->profile, function->function_file)) == 0;
}

static void take_path(struct folder *folder, struct stack_id stack)
{
	const struct stack_trie *trie = folder->profile->stacks;
	size_t i;

	folder->nr = 0;
	for (struct stack_id at = stack; at.v != STACK_EMPTY.v; at = stack_trie_parent(trie, at))
		folder->nr++;
	ARRAY_RESERVE(folder->path, folder->nr, folder->cap);
	ARRAY_RESERVE(folder->is_hidden, folder->nr, folder->cap_hidden);
	i = folder->nr;
	for (struct stack_id at = stack; at.v != STACK_EMPTY.v; at = stack_trie_parent(trie, at)) {
		folder->path[--i] = stack_trie_frame(trie, at);
		folder->is_hidden[i] = false;
	}
}

/*
 * The native frames before the script's function at `at`, which the last of them evaluates, down to
 * `from`. Before the outermost function of a script only those that directly lead to it.
 */
static void hide_before(struct folder *folder, size_t from, size_t at, bool is_outermost)
{
	struct module_id own = module_at(folder, at - 1);

	for (size_t i = at; i-- > from;) {
		bool is_own =
			module_at(folder, i).v == own.v || (i + 2 == at && is_stub(folder, i, at));

		if (!is_own && is_outermost)
			return;
		folder->is_hidden[i] = is_own;
	}
}

/* The function of a frame that others are inlined into; NULL: it has no name. */
static const struct function *function_of(const struct folder *folder, struct frame_id frame)
{
	const struct profile_symbols *symbols = &folder->profile->symbols;
	const struct frame_symbols *found;

	if (!symbols->frames || frame.v >= symbols->nr_frames || !symbols->frames[frame.v].nr)
		return NULL;
	found = &symbols->frames[frame.v];
	return &symbols->functions[symbols->locations[found->first + found->nr - 1].function.v];
}

/* Do both frames evaluate functions of scripts? */
static bool is_like(const struct folder *folder, size_t i, struct frame_id evaluation)
{
	const struct function *function = function_of(folder, evaluation);

	return folder->path[i].v == evaluation.v ||
	       (function && function_of(folder, folder->path[i]) == function);
}

/*
 * Below the last function of a script, keep the first frame of each run of interpreter frames. An
 * evaluation there has functions that are not known, as those of a subinterpreter: it stays, and
 * begins another run.
 */
static void hide_after(struct folder *folder, size_t from, size_t evaluation)
{
	struct module_id own = module_at(folder, evaluation);
	struct frame_id frame = folder->path[evaluation];

	for (size_t i = from + 1; i < folder->nr; i++)
		folder->is_hidden[i] = module_at(folder, i).v == own.v &&
				       module_at(folder, i - 1).v == own.v &&
				       !is_like(folder, i, frame) && !is_like(folder, i - 1, frame);
}

/* Its native frame is all that there is of it: what it calls is no machinery. */
static bool has_own_code(const struct folder *folder, size_t i)
{
	return folder->have_code[module_at(folder, i).v];
}

/* False: there is nothing to hide. */
static bool hide(struct folder *folder)
{
	size_t next = 0; /* after the last function of a script */
	size_t evaluation = 0;
	bool is_any = false;

	for (size_t i = 1; i < folder->nr; i++) {
		if (!is_script(folder, i))
			continue;
		is_any = true;
		if (has_own_code(folder, i)) {
			folder->is_hidden[i - 1] = true;
			continue;
		}
		if (!is_script(folder, i - 1)) {
			evaluation = i - 1;
			hide_before(folder, next, i, !next);
		}
		next = i + 1;
	}
	if (next)
		hide_after(folder, next, evaluation);
	return is_any;
}

static struct stack_id fold(struct folder *folder, struct stack_id stack)
{
	struct stack_id folded = STACK_EMPTY;

	if (stack.v == STACK_EMPTY.v || stack.v >= folder->nr_stacks)
		return stack;
	if (folder->folded[stack.v])
		return (struct stack_id){folder->folded[stack.v] - 1};
	take_path(folder, stack);
	if (!hide(folder)) {
		folded = stack;
	} else {
		for (size_t i = 0; i < folder->nr; i++) {
			if (!folder->is_hidden[i])
				folded = stack_trie_intern(folder->profile->stacks, folded,
							   folder->path[i]);
		}
	}
	folder->folded[stack.v] = folded.v + 1;
	return folded;
}

bool profile_has_scripts(const struct profile *profile)
{
	for (uint32_t i = 0; i < module_table_nr(profile->modules); i++) {
		if (module_table_get(profile->modules, (struct module_id){i})->kind ==
		    MODULE_KIND_SCRIPT)
			return true;
	}
	return false;
}

void profile_fold_scripts(struct profile *profile)
{
	struct folder folder = {.profile = profile, .nr_stacks = stack_trie_nr(profile->stacks)};

	if (!profile_has_scripts(profile))
		return;
	folder.names = xcalloc(profile->nr_frames, sizeof(*folder.names));
	for (size_t i = 0; i < profile->jit.nr_names; i++)
		folder.names[profile->jit.names[i].frame.v] = (uint32_t)i + 1;
	folder.have_code = xcalloc(module_table_nr(profile->modules), sizeof(*folder.have_code));
	for (size_t i = 0; i < profile->jit.nr_sources; i++)
		folder.have_code[profile->jit.sources[i].module.v] =
			profile->jit.sources[i].source == SYMBOL_SOURCE_COMPILER;
	folder.folded = xcalloc(folder.nr_stacks, sizeof(*folder.folded));
	for (size_t i = 0; i < profile->nr_samples; i++)
		profile->samples[i].stack = fold(&folder, profile->samples[i].stack);
	for (size_t i = 0; profile->advances.charged && i < profile->advances.nr; i++)
		profile->advances.charged[i] = fold(&folder, profile->advances.charged[i]);
	for (size_t i = 0; i < profile->heap.nr_allocations; i++) {
		struct profile_allocation *block = &profile->heap.allocations[i];

		block->stack = fold(&folder, block->stack);
		block->freed_stack = fold(&folder, block->freed_stack);
	}
	free(folder.names);
	free(folder.have_code);
	free(folder.path);
	free(folder.is_hidden);
	free(folder.folded);
}
