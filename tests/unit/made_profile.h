/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_MADE_PROFILE_H
#define PROFC_TESTS_MADE_PROFILE_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

/*
 * Made-up profiles for tests, stacks written as text, root first:
 *
 *	"main;work@a.c:20+square@v.h:3;libm.so!sqrt"
 *
 * `;` goes to the next frame, `+` opens an inlined level of the same frame,
 * `@FILE:LINE` is where the level stands, `MODULE!` the module of the frame ("prog"
 * when absent; one that ends in .py is a script). A frame `?` has no symbols, `..N` stands for N
 *frames left out, `??` is outside every mapping. Functions are defined in the file of their level,
 *line 1.
 *
 * Use: made_begin(), made_thread() and made_sample() …, made_end(), then read
 * .profile, then profile_free().
 */
struct made {
	struct profile *profile;
	struct thread_id thread; /* of the samples that follow */
	uint64_t time_ns;
};

static inline struct thread_id made_thread(struct made *made, int pid, int tid, const char *name)
{
	struct profile_process process = {.pid = pid, .parent = PROCESS_NONE};
	struct profile_thread thread = {.tid = tid};
	size_t i = 0;

	while (i < made->profile->nr_processes && made->profile->processes[i].pid != pid)
		i++;
	process.name = thread.name = profile_intern(made->profile, name);
	process.command = process.exe = process.name;
	if (i == made->profile->nr_processes)
		profile_add_process(made->profile, &process);
	thread.process = (uint32_t)i;
	made->thread = profile_add_thread(made->profile, &thread);
	return made->thread;
}

static inline struct made made_begin(void)
{
	struct made made = {.profile = profile_new()};
	struct module unknown = {
		.kind = MODULE_KIND_UNKNOWN, .path = strdup("[unknown]"), .fd = -1};

	if (module_table_nr(made.profile->modules) == 0)
		module_table_intern(made.profile->modules, &unknown);
	free(unknown.path);
	made.profile->meta.complete = true;
	made.profile->meta.frequency_hz = 1000;
	made_thread(&made, 100, 100, "prog");
	return made;
}

static inline struct module_id made_module(struct profile *profile, enum module_kind kind,
					   const char *name)
{
	char path[128];
	struct module module = {.kind = kind, .path = path, .fd = -1};

	if (name[0] == '/')
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path),
			 kind == MODULE_KIND_FILE || kind == MODULE_KIND_SCRIPT ? "/bin/%s"
										: "[%s]",
			 name);
	return module_table_intern(profile->modules, &module);
}

/* The address of a frame is the id of its text, so that made_end() finds the text again. */
static inline struct frame_id made_frame(struct profile *profile, char *text)
{
	struct code_address where = {.module = MODULE_UNKNOWN};
	char *bang = strchr(text, '!');
	const char *module = "prog";

	if (bang) {
		*bang = '\0';
		module = text;
		text = bang + 1;
	}
	where.address = profile_intern(profile, text).v;
	if (strncmp(text, "..", 2) == 0) {
		where.module = made_module(profile, MODULE_KIND_ELIDED, "elided");
		where.address = strtoul(text + 2, NULL, 10);
	} else if (strcmp(text, "??") != 0) {
		where.module = made_module(
			profile, strstr(module, ".py") ? MODULE_KIND_SCRIPT : MODULE_KIND_FILE,
			module);
	}
	return profile_intern_frame(profile, where);
}

static inline struct stack_id made_stack(struct profile *profile, const char *text)
{
	char *copy = strdup(text), *save = NULL;
	struct stack_id stack = STACK_EMPTY;

	for (char *at = strtok_r(copy, ";", &save); at; at = strtok_r(NULL, ";", &save))
		stack = stack_trie_intern(profile->stacks, stack, made_frame(profile, at));
	free(copy);
	return stack;
}

/*
 * Calls counted in the process of the current thread, from its beginning to its end: of the
 * function of the frame `where`, or with a callee ("" when it is not known) of the call that is
 * `where`. The row may be changed.
 */
static inline struct profile_count *made_count(struct made *made, const char *where,
					       const char *callee, uint64_t calls)
{
	struct profile *profile = made->profile;
	struct profile_count row = {.process = profile->threads[made->thread.v].process,
				    .kind = callee ? COUNT_CALL : COUNT_ENTRY,
				    .callee = COUNT_NO_CALLEE,
				    .flags = COUNT_FROM_START,
				    .calls = calls,
				    .to_ns = UINT64_MAX};
	char *text = strdup(where), *callee_text = strdup(callee ? callee : "");
	uint32_t index;

	row.where = made_frame(profile, text);
	if (*callee_text)
		row.callee = made_frame(profile, callee_text);
	free(text);
	free(callee_text);
	index = profile_add_count(profile, &row);
	return &profile->probes.counts[index];
}

/* One observation of the current thread, cpu_ms of CPU time since the one before. */
static inline struct sample *made_sample(struct made *made, const char *stack, uint64_t cpu_ms)
{
	struct sample sample = {.cpu_ns = cpu_ms * 1000000,
				.thread = made->thread,
				.nr = 1,
				.syscall_nr = -1,
				.end = STACK_END_ROOT};

	made->time_ns += cpu_ms * 1000000;
	sample.time_ns = made->time_ns;
	sample.stack = made_stack(made->profile, stack);
	profile_add_sample(made->profile, &sample);
	made->profile->meta.duration_ns = made->time_ns;
	return &made->profile->samples[made->profile->nr_samples - 1];
}

/* Nothing says which of its samples follow each other: it did not stay in the stack of those in a
 * row. */
static inline struct profile *made_at_once(struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_samples; i++)
		profile->samples[i].time_ns = profile->meta.duration_ns;
	return profile;
}

/* A block that the current thread allocates so many us after the one before. The row may change. */
static inline struct profile_allocation *made_block(struct made *made, const char *stack,
						    uint64_t size_bytes, uint64_t mean_bytes,
						    uint64_t after_us)
{
	struct profile_allocation row = {.size_bytes = size_bytes,
					 .mean_bytes = mean_bytes,
					 .thread = made->thread,
					 .freed_by = THREAD_NONE,
					 .stack = made_stack(made->profile, stack),
					 .end = STACK_END_ROOT};
	uint32_t index;

	made->time_ns += after_us * SAMPLE_TIME_GRAIN_NS;
	row.time_ns = made->time_ns;
	made->profile->meta.duration_ns = made->time_ns;
	index = profile_add_allocation(made->profile, &row);
	return &made->profile->heap.allocations[index];
}

static inline struct location made_location(struct profile *profile, char *text)
{
	char *at = strchr(text, '@'), *colon = at ? strchr(at, ':') : NULL;
	struct location location = {.line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0};
	struct function function = {.line = at ? 1 : 0};

	if (at)
		*at++ = '\0';
	if (colon)
		*colon = '\0';
	function.name = profile_intern(profile, text);
	function.file = location.file = profile_intern(profile, at ? at : "");
	location.function = profile_intern_function(profile, &function);
	return location;
}

static inline void made_symbols(struct profile *profile, struct frame_id frame, const char *text)
{
	struct location chain[16];
	size_t nr = 0;
	char *copy = strdup(text), *save = NULL;

	for (char *at = strtok_r(copy, "+", &save); at; at = strtok_r(NULL, "+", &save)) {
		assert(nr < 16);
		memmove(chain + 1, chain, nr++ * sizeof(chain[0]));
		chain[0] = made_location(profile, at);
	}
	profile_set_chain(profile, frame, chain, nr);
	free(copy);
}

static inline struct profile *made_end(struct made *made)
{
	struct profile *profile = made->profile;

	profile_reset_symbols(profile);
	for (uint32_t i = 0; i < profile->nr_frames; i++) {
		struct code_address where = profile->frames[i].where;
		struct str_id id = {(uint32_t)where.address};

		enum module_kind kind = module_table_get(profile->modules, where.module)->kind;

		if (kind != MODULE_KIND_FILE && kind != MODULE_KIND_SCRIPT)
			continue;
		if (profile_str(profile, id)[0] != '?')
			made_symbols(profile, (struct frame_id){i}, profile_str(profile, id));
	}
	return profile;
}

/*
 * In 5 ms main() calls work() six times, and three times what is not known; work() is entered ten
 * times in all, and rare(), which is in no sample, twice.
 */
static inline struct profile *made_counted(void)
{
	struct made made = made_begin();

	made_sample(&made, "main@m.c:7;work@w.c:20", 5);
	made_count(&made, "work@w.c:1+inlined@v.h:3", NULL, 10);
	made_count(&made, "main@m.c:7", "work@w.c:1+inlined@v.h:3", 6);
	made_count(&made, "main@m.c:8", "", 3);
	made_count(&made, "rare@r.c:1", NULL, 2);
	return made_end(&made);
}

#endif
