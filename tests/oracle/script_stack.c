// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of an interpreter on the stack of one thread, as profc's rooms find them:
 *
 *	script_stack PID TID
 *
 * Prints, leaf first, "FUNCTION FILE:LINE" for each, without the classes of functions; or
 * "# REASON" where they are not proved. The thread is copied until nothing is missing, and is let
 * run on as it was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapping/module.h"
#include "mapping/space.h"
#include "script/script.h"
#include "snapshot/snapshot.h"
#include "tracee/tracee.h"
#include "tracee/visit.h"
#include "unwind/unwind.h"

/* The data stack, generators, and more of them: each copy shows where the next ones are. */
#define COPIES_MAX	80
#define STACK_BYTES_MAX (UINT32_C(8) << 20)

struct target {
	struct module_table *modules;
	struct space *space;
	struct script_modules *script_modules;
	struct script_process *process;
	struct script_thread thread;
	struct unwinder *unwinder;
	struct unwind_walk natives;
	struct script_walk walk;
	struct snapshot snapshot;
};

static enum script_outcome copy_and_walk(struct target *target, struct tracee *tracee,
					 struct visit *visit)
{
	visit_capture(visit, tracee, STACK_BYTES_MAX, &target->snapshot);
	unwinder_walk(target->unwinder, target->space, &target->snapshot, NULL, &target->natives);
	return script_walk(target->process, &target->thread, &target->snapshot, &target->natives,
			   &target->walk);
}

static enum script_outcome look(struct target *target, struct tracee *tracee, struct visit *visit)
{
	enum script_outcome outcome;
	struct wanted_memory nothing = {.nr = 0};
	struct wanted_more more;

	/* The first copy shows which interpreter it is, the next is that of a first sample. */
	copy_and_walk(target, tracee, visit);
	target->thread = (struct script_thread){0};
	script_find_more(target->process, NULL, &more);
	tracee_set_wanted(tracee, &nothing, &more);
	outcome = copy_and_walk(target, tracee, visit);
	for (int nr = 1; outcome == SCRIPT_NOT_COPIED && nr < COPIES_MAX; nr++) {
		script_find_more(target->process, &target->thread, &more);
		tracee_set_wanted(tracee, &target->walk.wanted, &more);
		outcome = copy_and_walk(target, tracee, visit);
	}
	return outcome;
}

static void show(struct target *target, enum script_outcome outcome)
{
	const struct script_place *places;
	const char *problem = script_process_problem(target->process);

	if (outcome != SCRIPT_PROVED) {
		printf("# %s; %zu native frames, end %d\n",
		       problem ? problem : script_outcome_name(outcome), target->natives.nr_frames,
		       target->natives.end);
		return;
	}
	places = script_find_places(target->process, &target->snapshot, &target->walk);
	for (size_t i = 0; i < target->walk.nr_frames; i++) {
		const char *dot = places[i].name ? strrchr(places[i].name, '.') : NULL;

		printf("%s %s:%u\n",
		       dot		? dot + 1
		       : places[i].name ? places[i].name
					: "[gone]",
		       places[i].file ? places[i].file : "", places[i].line);
	}
}

static int visit_and_show(struct target *target, struct tracee *tracee)
{
	struct visit visit;
	enum visit_outcome stop = visit_begin(&visit, tracee->tgid, tracee->tid);

	while (stop == VISIT_PENDING)
		stop = visit_wait(&visit, true);
	if (stop != VISIT_STOPPED)
		return EXIT_FAILURE;
	show(target, look(target, tracee, &visit));
	visit_end(&visit);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct tracee_host *host = tracee_host_new();
	struct target target = {.natives = {0}};
	struct tracee tracee;
	int status;

	if (argc != 3)
		return EXIT_FAILURE;
	target.modules = module_table_new();
	target.space = space_new(target.modules, (pid_t)strtol(argv[1], NULL, 10));
	target.script_modules = script_modules_new();
	target.process = script_process_new(target.script_modules, target.space);
	target.unwinder = unwinder_new(UNWINDER_AUTO, 0);
	if (space_refresh(target.space, NULL) < 0)
		return EXIT_FAILURE;
	tracee_open(&tracee, host, (pid_t)strtol(argv[1], NULL, 10),
		    (pid_t)strtol(argv[2], NULL, 10));
	status = visit_and_show(&target, &tracee);
	tracee_close(&tracee);
	script_walk_release(&target.walk);
	unwind_walk_release(&target.natives);
	unwinder_forget_space(target.unwinder, target.space);
	unwinder_free(target.unwinder);
	script_process_free(target.process);
	script_modules_free(target.script_modules);
	snapshot_release(&target.snapshot);
	space_free(target.space);
	module_table_free(target.modules);
	tracee_host_free(host);
	return status;
}
