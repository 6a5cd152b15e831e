// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes frames of the functions of interpreted programs. */
#include "collector/script_frames.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/lasting_hash.h"
#include "base/owner.h"
#include "collector/message.h"
#include "collector/wanted_hints.h"
#include "mapping/space.h"
#include "mapping/target_file.h"
#include "proc/read.h"
#include "proc/task.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"
#include "wait/wait.h"

struct script_frames {
	struct profile *profile; /* borrowed */
	struct script_modules *modules;
	struct script_walk walk;
	const struct script_place *places; /* borrowed: of the walk */
	size_t nr_left;			   /* frames that were not pushed so far */
	pid_t pid;			   /* of its process */
	struct owner owner;		   /* of that, at its first walk */
	enum symbol_source source;	   /* its interpreter */
	const char *runtime;		   /* the name of that; static */
	bool *are_known; /* owned; modules by id, up to the last that is a source file */
	size_t nr_known, cap_known;
	uint64_t nr_by_outcome[SCRIPT_OUTCOME_COUNT];
	uint64_t nr_blocks_by_outcome[SCRIPT_OUTCOME_COUNT]; /* of allocations */
	/* Functions with code of their own in samples: of which the line is known, or is not. */
	uint64_t nr_with_line, nr_without_line;
	uint64_t nr_unloadable; /* processes that may unload their interpreter */
};

struct script_frames *script_frames_new(struct profile *profile)
{
	struct script_frames *frames = xcalloc(1, sizeof(*frames));

	frames->profile = profile;
	frames->modules = script_modules_new();
	return frames;
}

void script_frames_free(struct script_frames *frames)
{
	if (!frames)
		return;
	script_modules_free(frames->modules);
	script_walk_release(&frames->walk);
	free(frames->are_known);
	free(frames);
}

/* Root in a container is another one; a set-user-id program works for two users. */
static struct owner owner_of(pid_t pid)
{
	struct proc_status status;

	if (!proc_read_status(pid, &status) || status.real_uid != status.effective_uid ||
	    (status.effective_uid == 0 && !target_shares_mounts(pid)))
		return OWNER_NOBODY;
	return owner_of_user(status.effective_uid);
}

/* Make a counter's name of words. */
static char *counter_of(char *words)
{
	for (char *c = words; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	return words;
}

/* Count the processes of each interpreter, by its version. */
static void count_process(struct script_frames *frames, const struct script_process *process)
{
	const char *version = script_process_version(process);
	char name[64];

	snprintf(name, sizeof(name), "script %s %s%s%s",
		 script_support_name(script_process_support(process)),
		 script_process_runtime(process), *version ? " " : "", version);
	counter_of(name);
	profile_set_counter(frames->profile, name, profile_counter(frames->profile, name) + 1);
}

static void begin_process(struct script_frames *frames, const struct script_subject *subject)
{
	if (*subject->process)
		return;
	*subject->process = script_process_new(frames->modules, subject->space);
	*subject->owner = owner_of(space_pid(subject->space));
}

void script_frames_look(struct script_frames *frames, const struct script_subject *subject)
{
	begin_process(frames, subject);
	if (script_process_version(*subject->process))
		return;
	script_process_look(*subject->process);
	if (script_process_version(*subject->process))
		count_process(frames, *subject->process);
}

/* Have the next snapshot of the thread copy what its walk needs. */
static void set_hints(struct script_frames *frames, const struct script_subject *subject,
		      enum script_outcome outcome)
{
	struct wanted_more more;

	if (!subject->hints || outcome == SCRIPT_NONE)
		return;
	script_find_more(*subject->process, NULL, &more);
	process_hints_set(subject->hints->of_process, &more);
	if (outcome == SCRIPT_NO_THREAD)
		return;
	script_find_more(*subject->process, subject->thread, &more);
	wanted_hints_recall(subject->hints, &frames->walk.wanted);
	script_complete_wanted(*subject->process, &frames->walk.wanted);
	wanted_memory_sort(&frames->walk.wanted);
	wanted_hints_set(subject->hints, &frames->walk.wanted, &more);
	subject->hints->lacks_wanted = subject->thread->lacks_bytes;
}

static void find_lock(struct script_process *process, const struct thread_hints *hints)
{
	struct script_lock found;

	if (script_find_lock(process, &found))
		process_hints_set_lock(
			hints->of_process,
			&(struct wait_lock){.start = found.start,
					    .end = found.end,
					    .holder_at = found.holder_at,
					    .id_offset = found.id_offset,
					    .library_id_offset = found.library_id_offset});
}

static void count_lines(struct script_frames *frames)
{
	for (size_t i = 0; i < frames->walk.nr_frames; i++) {
		if (frames->places[i].line)
			frames->nr_with_line++;
		else if (!frames->places[i].is_native)
			frames->nr_without_line++;
	}
}

/* A walk finds what leads to further objects; then those. */
#define LATE_READS 2

static enum script_outcome walk(struct script_frames *frames, const struct script_subject *subject,
				const struct snapshot *snapshot, const struct unwind_walk *natives)
{
	enum script_outcome outcome =
		script_walk(*subject->process, subject->thread, snapshot, natives, &frames->walk);

	for (int i = 0; i < LATE_READS && outcome == SCRIPT_NOT_COPIED && subject->late; i++) {
		if (!script_read_late(*subject->process, &frames->walk, subject->late))
			break;
		outcome = script_walk(*subject->process, subject->thread, snapshot, natives,
				      &frames->walk);
	}
	return outcome;
}

void script_frames_walk(struct script_frames *frames, const struct script_subject *subject,
			const struct snapshot *snapshot, const struct unwind_walk *natives)
{
	enum script_outcome outcome;
	bool had_interpreter;

	begin_process(frames, subject);
	had_interpreter = script_process_version(*subject->process);
	outcome = walk(frames, subject, snapshot, natives);
	if (!had_interpreter && script_process_version(*subject->process))
		count_process(frames, *subject->process);
	(subject->hints ? frames->nr_by_outcome : frames->nr_blocks_by_outcome)[outcome]++;
	frames->nr_left = frames->walk.nr_frames;
	if (frames->nr_left && subject->hints)
		find_lock(*subject->process, subject->hints);
	if (frames->nr_left)
		frames->places = script_find_places(*subject->process, snapshot, &frames->walk);
	if (frames->nr_left && subject->hints && script_process_has_own_code(*subject->process))
		count_lines(frames);
	set_hints(frames, subject, outcome);
	frames->pid = space_pid(subject->space);
	frames->owner = *subject->owner;
	frames->runtime = script_process_runtime(*subject->process);
	frames->source = script_process_has_own_code(*subject->process) ? SYMBOL_SOURCE_COMPILER
									: SYMBOL_SOURCE_INTERPRETER;
}

void script_frames_drop(struct script_frames *frames)
{
	frames->nr_left = 0;
}

/* --- frames --- */

/* Equal in all recordings: two that are merged have the same frames. */
static uint64_t address_of(const struct script_place *place)
{
	uint64_t hash = lasting_hash(LASTING_HASH_BEGIN, place->name, strlen(place->name));

	return lasting_hash_number(lasting_hash_number(hash, place->first_line), place->line);
}

/*
 * Programs name their files: the user whose program was the first to name one decides whether it is
 * opened to show its lines. A program may name one and become another user's, by an exec or not,
 * before we ask: then it is nobody's.
 */
static void note_owner(struct script_frames *frames, struct module_id module)
{
	struct owner owner = owner_of(frames->pid);

	ARRAY_RESERVE(frames->are_known, (size_t)module.v + 1, frames->cap_known);
	while (frames->nr_known <= module.v)
		frames->are_known[frames->nr_known++] = false;
	if (frames->are_known[module.v])
		return;
	frames->are_known[module.v] = true;
	profile_add_jit_source(
		frames->profile,
		&(struct jit_source){.module = module,
				     .source = frames->source,
				     .owner = owner.v == frames->owner.v ? owner : OWNER_NOBODY});
}

static struct frame_id frame_of(struct script_frames *frames, const struct script_place *at)
{
	struct profile *profile = frames->profile;
	cleanup_free char *path = xstrdup(at->file);
	const struct module row = {.kind = MODULE_KIND_SCRIPT, .path = path, .fd = -1};
	struct module_id module = module_table_intern(profile->modules, &row);
	size_t nr_known = profile->nr_frames;
	struct frame_id frame = profile_intern_frame(
		profile, (struct code_address){.module = module, .address = address_of(at)});
	struct jit_name name = {.frame = frame};

	if (frame.v < nr_known)
		return frame;
	note_owner(frames, module);
	name.name = profile_intern(profile, at->name);
	/* In brackets it is no file. */
	if (at->first_line || at->file[0] != '[') {
		name.file = name.function_file = profile_intern(profile, at->file);
		name.line = at->line;
		name.function_line = at->first_line;
	}
	profile_add_jit_name(profile, &name);
	return frame;
}

#define RUNTIME_CHARACTERS 16

/* "[python, gone]" */
static struct frame_id frame_of_gone(struct script_frames *frames)
{
	char runtime[RUNTIME_CHARACTERS] = "", name[RUNTIME_CHARACTERS + 16],
	     file[RUNTIME_CHARACTERS + 16];

	for (size_t i = 0; i < sizeof(runtime) - 1 && frames->runtime[i]; i++)
		runtime[i] = (char)tolower((unsigned char)frames->runtime[i]);
	snprintf(name, sizeof(name), "[%s, gone]", runtime);
	snprintf(file, sizeof(file), "[%s]", runtime);
	return frame_of(frames, &(struct script_place){.name = name, .file = file});
}

struct stack_id script_frames_push(struct script_frames *frames, struct stack_id stack,
				   size_t native)
{
	while (frames->nr_left && frames->walk.frames[frames->nr_left - 1].native == native) {
		const struct script_place *place = &frames->places[--frames->nr_left];

		if (!place->is_native)
			stack = stack_trie_intern(frames->profile->stacks, stack,
						  place->name ? frame_of(frames, place)
							      : frame_of_gone(frames));
	}
	return stack;
}

static void set_outcomes(const struct script_frames *frames, const char *of,
			 const uint64_t *nr_by_outcome)
{
	for (int outcome = SCRIPT_NONE + 1; outcome < SCRIPT_OUTCOME_COUNT; outcome++) {
		char name[64];

		if (!nr_by_outcome[outcome])
			continue;
		snprintf(name, sizeof(name), "%s %s", of,
			 script_outcome_name((enum script_outcome)outcome));
		profile_set_counter(frames->profile, counter_of(name), nr_by_outcome[outcome]);
	}
}

void script_frames_count_unloadable(struct script_frames *frames)
{
	frames->nr_unloadable++;
}

void script_frames_set_counters(const struct script_frames *frames, size_t nr_lacking)
{
	if (frames->nr_by_outcome[SCRIPT_NOT_COPIED])
		profile_set_counter(frames->profile, SCRIPT_LACKING, nr_lacking);
	if (frames->nr_with_line + frames->nr_without_line) {
		profile_set_counter(frames->profile, "script_with_line", frames->nr_with_line);
		profile_set_counter(frames->profile, "script_without_line",
				    frames->nr_without_line);
	}
	if (frames->nr_unloadable)
		profile_set_counter(frames->profile, "script_unloadable", frames->nr_unloadable);
	set_outcomes(frames, "script", frames->nr_by_outcome);
	set_outcomes(frames, "script blocks", frames->nr_blocks_by_outcome);
}
