// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the kind of lock that a stack waits for, and the program's own function there. */
#include "calltree/blame_stacks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "calltree/expand.h"
#include "calltree/wait_function.h"

/* The C library has at most this many levels above the function that programs call. */
#define LEVELS_MAX 8

struct blame_stacks {
	const struct expansion *expansion;
	uint32_t *wait_functions;  /* owned, by stack */
	struct blame_stack *known; /* by stack */
	bool *is_known;
	struct blame_stack other; /* of a sample without a stack */
	struct level_list levels;
};

const char *lock_kind_name(enum lock_kind kind)
{
	static const char *const names[LOCK_KIND_COUNT] = {
		[LOCK_FUTEX] = "futex",	  [LOCK_MUTEX] = "mutex",   [LOCK_CONDITION] = "cond",
		[LOCK_SEMAPHORE] = "sem", [LOCK_RWLOCK] = "rwlock", [LOCK_BARRIER] = "barrier",
		[LOCK_ONCE] = "once",	  [LOCK_JOIN] = "join",	    [LOCK_GIL] = "gil",
	};

	return names[kind];
}

struct blame_stacks *blame_stacks_new(const struct expansion *expansion)
{
	struct blame_stacks *stacks = xcalloc(1, sizeof(*stacks));
	size_t nr = stack_trie_nr(expansion->profile->stacks);

	stacks->expansion = expansion;
	stacks->wait_functions = wait_functions_of_stacks(expansion);
	stacks->known = xcalloc(nr, sizeof(*stacks->known));
	stacks->is_known = xcalloc(nr, sizeof(*stacks->is_known));
	return stacks;
}

void blame_stacks_free(struct blame_stacks *stacks)
{
	if (!stacks)
		return;
	level_list_release(&stacks->levels);
	free(stacks->wait_functions);
	free(stacks->known);
	free(stacks->is_known);
	free(stacks);
}

static bool ends_with(const char *text, const char *end)
{
	size_t nr = strlen(text), nr_end = strlen(end);

	return nr >= nr_end && strcmp(text + nr - nr_end, end) == 0;
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The locks of Rust's standard library wait in a futex of their own. */
static enum lock_kind kind_of_rust(const char *name)
{
	static const struct {
		const char *method;
		enum lock_kind kind;
	} methods[] = {
		{"Mutex::lock_contended", LOCK_MUTEX},
		{"RwLock::read_contended", LOCK_RWLOCK},
		{"RwLock::write_contended", LOCK_RWLOCK},
		{"Condvar::wait_optional_timeout", LOCK_CONDITION},
	};
	struct buf plain = {0};
	enum lock_kind kind = LOCK_FUTEX;

	/* Older versions mangle a method without the brackets: <std::sys::...::Mutex>::lock. */
	for (const char *at = name; *at; at++) {
		if (*at != '<' && *at != '>')
			buf_append_byte(&plain, *at);
	}
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (ends_with(buf_str(&plain), methods[i].method))
			kind = methods[i].kind;
	}
	buf_release(&plain);
	return kind;
}

/* POSIX threads, those of C11, and glibc's internal functions for them; and those of Rust. */
static enum lock_kind kind_of_function(const char *name)
{
	static const struct {
		const char *prefix;
		enum lock_kind kind;
	} prefixes[] = {
		{"pthread_mutex_", LOCK_MUTEX},	   {"lll_lock_wait", LOCK_MUTEX},
		{"lll_mutex_", LOCK_MUTEX},	   {"mtx_lock", LOCK_MUTEX},
		{"mtx_timedlock", LOCK_MUTEX},	   {"pthread_cond_", LOCK_CONDITION},
		{"cnd_wait", LOCK_CONDITION},	   {"cnd_timedwait", LOCK_CONDITION},
		{"pthread_rwlock_", LOCK_RWLOCK},  {"sem_wait", LOCK_SEMAPHORE},
		{"sem_timedwait", LOCK_SEMAPHORE}, {"sem_clockwait", LOCK_SEMAPHORE},
		{"new_sem_wait", LOCK_SEMAPHORE},  {"pthread_barrier_", LOCK_BARRIER},
		{"pthread_once", LOCK_ONCE},	   {"call_once", LOCK_ONCE},
		{"pthread_join", LOCK_JOIN},	   {"pthread_timedjoin", LOCK_JOIN},
		{"pthread_clockjoin", LOCK_JOIN},  {"thrd_join", LOCK_JOIN},
	};

	if (begins_with(name, "std::sys") || begins_with(name, "<std::sys"))
		return kind_of_rust(name);
	name += strspn(name, "_");
	if (begins_with(name, "GI_"))
		name += strlen("GI_") + strspn(name + strlen("GI_"), "_");
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (begins_with(name, prefixes[i].prefix))
			return prefixes[i].kind;
	}
	return LOCK_FUTEX;
}

/*
 * Threads wait for CPython's lock in take_gil(), on a condition: in a program of four threads that
 * compute, for two thirds of their time.
 */
static enum lock_kind kind_in(enum lock_kind known, const char *name)
{
	if (known == LOCK_FUTEX)
		return kind_of_function(name);
	return known == LOCK_CONDITION && strcmp(name, "take_gil") == 0 ? LOCK_GIL : known;
}

static struct blame_stack find(struct blame_stacks *stacks, const struct sample *sample)
{
	const struct expansion *expansion = stacks->expansion;
	const struct level_list *list = &stacks->levels;
	struct blame_stack stack = {.kind = LOCK_FUTEX,
				    .label = stacks->wait_functions[sample->stack.v]};

	expansion_stack(expansion, sample, &stacks->levels);
	if (stack.label == WAIT_FUNCTION_NONE)
		stack.label = list->levels[list->nr - 1].label;
	stack.script = stack.label;
	for (size_t i = 0; i < list->nr; i++) {
		if (label_is_script(expansion, list->levels[i].label))
			stack.script = list->levels[i].label;
	}
	for (size_t i = 1; i <= list->nr && i <= LEVELS_MAX; i++) {
		const struct function *function =
			label_function(expansion, list->levels[list->nr - i].label);

		if (function)
			stack.kind = kind_in(stack.kind,
					     profile_str(expansion->profile, function->name));
	}
	return stack;
}

const struct blame_stack *blame_stacks_get(struct blame_stacks *stacks, const struct sample *sample)
{
	uint32_t stack = sample->stack.v;

	if (stack == STACK_EMPTY.v) {
		stacks->other = find(stacks, sample);
		return &stacks->other;
	}
	if (!stacks->is_known[stack])
		stacks->known[stack] = find(stacks, sample);
	stacks->is_known[stack] = true;
	return &stacks->known[stack];
}

void thread_index_init(struct thread_index *index, const struct profile *profile)
{
	size_t *next = xcalloc(profile->nr_threads + 1, sizeof(*next));

	index->first = xcalloc(profile->nr_threads + 1, sizeof(*index->first));
	index->at = xcalloc(profile->nr_samples + 1, sizeof(*index->at));
	for (size_t i = 0; i < profile->nr_samples; i++)
		index->first[profile->samples[i].thread.v + 1]++;
	for (size_t i = 0; i < profile->nr_threads; i++) {
		index->first[i + 1] += index->first[i];
		next[i] = index->first[i];
	}
	for (size_t i = 0; i < profile->nr_samples; i++)
		index->at[next[profile->samples[i].thread.v]++] = i;
	free(next);
}

void thread_index_release(struct thread_index *index)
{
	free(index->first);
	free(index->at);
	*index = (struct thread_index){0};
}

struct thread_samples_of thread_index_get(const struct thread_index *index, uint32_t thread)
{
	return (struct thread_samples_of){.at = &index->at[index->first[thread]],
					  .nr = index->first[thread + 1] - index->first[thread]};
}
