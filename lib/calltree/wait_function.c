// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/wait_function.h"

#include <string.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/pairs.h"
#include "profile/profile.h"
#include "stack/stack.h"

static bool starts_with_any(const char *text, const char *const *prefixes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

bool wait_module_is_library(const struct module *module)
{
	static const char *const names[] = {
		"libc.so",    "libc-2.",      "libc.musl",   "ld-",	   "ld.so",
		"libpthread", "librt.so",     "librt-2.",    "libuClibc",  "libstdc++.so",
		"libc++.so",  "libc++abi.so", "libgcc_s.so", "libgomp.so",
	};

	if (module->kind != MODULE_KIND_FILE)
		return module->kind != MODULE_KIND_JIT;
	return starts_with_any(module_short_name(module), names, ARRAY_SIZE(names));
}

/* Code of templates and inline functions is in the program, but its source is the library's. */
static bool is_system_source(const char *file)
{
	static const char *const directories[] = {"/usr/include/", "/usr/lib/gcc/", "/rustc/",
						  "/usr/lib/go-", "/usr/local/go/src/"};

	return starts_with_any(file, directories, ARRAY_SIZE(directories)) ||
	       strstr(file, "/include/c++/");
}

/*
 * Names that a language reserves, or that are in the packages of its runtime: for functions without
 * known source that are inlined or linked in.
 */
static bool is_of_language(const char *name)
{
	static const char *const prefixes[] = {"__",	   "std::",   "core::",	      "alloc::",
					       "<std::",   "<core::", "<alloc::",     "runtime.",
					       "runtime/", "sync.(*", "sync/atomic.", "internal/",
					       "syscall.", "os.(*",   "os.Open",      "net.(*"};

	return starts_with_any(name, prefixes, ARRAY_SIZE(prefixes));
}

/* Waiting functions of a C library, for programs that have it linked in. */
static bool is_library_function(const char *name)
{
	static const char *const prefixes[] = {"_",    "pthread_", "sem_",  "futex_",  "lll_",
					       "mtx_", "cnd_",	   "thrd_", "syscall."};
	static const char *const names[] = {
		"accept",	"accept4",	"clock_nanosleep",
		"connect",	"epoll_pwait",	"epoll_wait",
		"fdatasync",	"fflush",	"fgets",
		"flock",	"fread",	"fsync",
		"futex",	"fwrite",	"getline",
		"msgrcv",	"msgsnd",	"nanosleep",
		"open",		"openat",	"pause",
		"poll",		"ppoll",	"pread",
		"pselect",	"pwrite",	"read",
		"readv",	"recv",		"recvfrom",
		"recvmsg",	"select",	"send",
		"sendmsg",	"sendto",	"sigsuspend",
		"sigtimedwait", "sigwait",	"sigwaitinfo",
		"sleep",	"start_thread", "syscall",
		"usleep",	"wait",		"wait4",
		"waitid",	"waitpid",	"write",
		"writev",	"clone",	"clone3",
		"call_once",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return starts_with_any(name, prefixes, ARRAY_SIZE(prefixes));
}

/* Can it be a wait function if the leaf is in a library; and if that is linked in? */
static void judge(const struct expansion *expansion, uint32_t label, bool *waits, bool *is_linked)
{
	const struct function *function = label_function(expansion, label);
	const struct module *module = label_module(expansion, label);
	const char *name, *file;

	if (!module || wait_module_is_library(module))
		return;
	name = function ? profile_str(expansion->profile, function->name) : "";
	file = function ? profile_str(expansion->profile, function->file) : "";
	*waits = !is_system_source(file) && !is_of_language(name);
	*is_linked = *waits && !is_library_function(name);
}

static bool is_in_library(const struct expansion *expansion, struct frame_id frame)
{
	const struct module *module =
		label_module(expansion, expansion_outermost(expansion, frame)->label);

	return module && wait_module_is_library(module);
}

/* The innermost candidate of a frame, or WAIT_FUNCTION_NONE. */
static uint32_t candidate_of(const struct expansion *expansion, struct frame_id frame,
			     const bool *candidates)
{
	struct frame_levels levels = expansion->frames[frame.v];

	for (uint32_t i = levels.nr; i-- > 0;) {
		uint32_t label = expansion->levels[levels.first + i].label;

		if (candidates[label])
			return label;
	}
	return WAIT_FUNCTION_NONE;
}

/* Native code of an interpreter waits on behalf of the function that the interpreter runs. */
static uint32_t waiting_of(const struct expansion *expansion, uint32_t inner, uint32_t outer)
{
	bool is_for_script = outer != WAIT_FUNCTION_NONE && label_is_script(expansion, outer) &&
			     inner != WAIT_FUNCTION_NONE && !label_is_script(expansion, inner);

	return inner == WAIT_FUNCTION_NONE || is_for_script ? outer : inner;
}

uint32_t *wait_functions_of_stacks(const struct expansion *expansion)
{
	const struct stack_trie *trie = expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);
	uint32_t *found = xmalloc(nr * sizeof(*found));
	cleanup_free uint32_t *linked_in = xmalloc(nr * sizeof(*linked_in));
	cleanup_free bool *waits = xcalloc(expansion->nr_labels, sizeof(*waits));
	cleanup_free bool *is_linked = xcalloc(expansion->nr_labels, sizeof(*is_linked));

	for (uint32_t label = 0; label < expansion->nr_labels; label++) {
		judge(expansion, label, &waits[label], &is_linked[label]);
		if (label_is_script(expansion, label))
			waits[label] = is_linked[label] = true;
	}
	found[STACK_EMPTY.v] = linked_in[STACK_EMPTY.v] = WAIT_FUNCTION_NONE;
	/* Callers come first, so the parent's result is known. */
	for (uint32_t id = 1; id < nr; id++) {
		struct frame_id frame = stack_trie_frame(trie, (struct stack_id){id});
		uint32_t parent = stack_trie_parent(trie, (struct stack_id){id}).v;

		found[id] =
			waiting_of(expansion, candidate_of(expansion, frame, waits), found[parent]);
		linked_in[id] = waiting_of(expansion, candidate_of(expansion, frame, is_linked),
					   linked_in[parent]);
	}
	for (uint32_t id = 1; id < nr; id++) {
		if (!is_in_library(expansion, stack_trie_frame(trie, (struct stack_id){id})))
			found[id] = linked_in[id];
	}
	return found;
}

/* The outermost candidate of a frame, or WAIT_FUNCTION_NONE. */
static uint32_t outermost_of(const struct expansion *expansion, struct frame_id frame,
			     const bool *candidates)
{
	struct frame_levels levels = expansion->frames[frame.v];

	for (uint32_t i = 0; i < levels.nr; i++) {
		uint32_t label = expansion->levels[levels.first + i].label;

		if (candidates[label])
			return label;
	}
	return WAIT_FUNCTION_NONE;
}

/* By stack, the outermost candidate. */
static uint32_t *outermost_of_stacks(const struct expansion *expansion, const bool *candidates)
{
	const struct stack_trie *trie = expansion->profile->stacks;
	uint32_t nr = stack_trie_nr(trie);
	uint32_t *found = xmalloc(nr * sizeof(*found));

	found[STACK_EMPTY.v] = WAIT_FUNCTION_NONE;
	for (uint32_t id = 1; id < nr; id++) {
		found[id] = found[stack_trie_parent(trie, (struct stack_id){id}).v];
		if (found[id] == WAIT_FUNCTION_NONE)
			found[id] = outermost_of(expansion,
						 stack_trie_frame(trie, (struct stack_id){id}),
						 candidates);
	}
	return found;
}

uint32_t *start_functions_of_threads(const struct expansion *expansion)
{
	const struct profile *profile = expansion->profile;
	uint32_t *starts = xmalloc((profile->nr_threads + 1) * sizeof(*starts));
	cleanup_free bool *waits = xcalloc(expansion->nr_labels, sizeof(*waits));
	cleanup_free bool *is_linked = xcalloc(expansion->nr_labels, sizeof(*is_linked));
	cleanup_free uint32_t *of_stack = NULL;
	struct pairs times = {0};

	for (uint32_t label = 0; label < expansion->nr_labels; label++)
		judge(expansion, label, &waits[label], &is_linked[label]);
	of_stack = outermost_of_stacks(expansion, is_linked);
	/* Before main(), a program is in the constructors of its libraries. */
	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];
		uint32_t label = of_stack[sample->stack.v];

		if (label != WAIT_FUNCTION_NONE && sample->end == STACK_END_ROOT)
			pairs_add(&times, sample->thread.v, label,
				  sample->cpu_ns + sample->runq_ns + sample->blocked_ns);
	}
	pairs_sort(&times);
	for (uint32_t i = 0; i < profile->nr_threads; i++) {
		size_t nr;
		const struct pair *of_thread = pairs_of(&times, i, &nr);

		starts[i] = nr ? of_thread[0].b : WAIT_FUNCTION_NONE;
	}
	pairs_release(&times);
	return starts;
}
