// SPDX-License-Identifier: GPL-2.0-or-later
/* Estimates where short-lived processes spent the CPU time that no sample of theirs has. */
#include "profile/short_lives.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/lives_priv.h"
#include "profile/profile.h"
#include "profile/share_out.h"
#include "profile/short_threads_priv.h"
#include "profile/unseen_time.h"

bool process_is_unseen(const struct profile *profile, const struct profile_process *process)
{
	/* A process may take that name, but no pid of 0. */
	return process->is_unseen ||
	       (process->pid == 0 &&
		strcmp(profile_str(profile, process->name), SHORT_LIVED_NAME) == 0);
}

/* Processes of one name, in one run, below one ancestor. */
struct program {
	uint64_t nr_likely; /* processes that make up its unseen time, if they lived as long */
	uint32_t run;
	uint32_t row; /* the process with its unseen time + 1; 0: there is none */
};

/* The time of the processes of a run that no clock has. */
struct unseen {
	uint64_t ns;	    /* as much of it as samples stand for */
	uint64_t nr_likely; /* of program.nr_likely */
};

struct estimate {
	struct profile *profile;
	struct lives lives;		  /* by process */
	struct unseen_process *processes; /* likewise; owned, as are all below */
	struct program *programs;	  /* by number, as groups of lives */
	struct unseen *unseen;		  /* by run, as pools */
	size_t nr_processes, nr_programs, nr_runs;
};

/* --- processes and programs --- */

static void number_runs(struct estimate *estimate)
{
	const struct profile *profile = estimate->profile;
	const struct profile_runs *runs = &profile->runs;
	uint64_t end = 0;
	uint32_t process = 0;

	estimate->nr_runs = runs->nr ? runs->nr : 1;
	for (uint32_t run = 0; run < runs->nr; run++) {
		end += runs->rows[run].nr_processes;
		for (; process < end && process < estimate->nr_processes; process++)
			estimate->processes[process].run = run;
	}
}

struct program_key {
	uint32_t run, ancestor, name, process;
};

static int by_program(const void *left, const void *right)
{
	const struct program_key *a = left, *b = right;

	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	if (a->ancestor != b->ancestor)
		return a->ancestor < b->ancestor ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

static void number_programs(struct estimate *estimate)
{
	const struct profile *profile = estimate->profile;
	struct program_key *keys = xcalloc(estimate->nr_processes + 1, sizeof(*keys));

	for (uint32_t i = 0; i < estimate->nr_processes; i++)
		keys[i] = (struct program_key){.run = estimate->processes[i].run,
					       .ancestor = estimate->processes[i].ancestor,
					       .name = profile->processes[i].name.v,
					       .process = i};
	qsort(keys, estimate->nr_processes, sizeof(*keys), by_program);
	for (size_t i = 0; i < estimate->nr_processes; i++) {
		if (i == 0 || by_program(&keys[i - 1], &keys[i]) != 0)
			estimate->nr_programs++;
		estimate->lives.rows[keys[i].process].group = (uint32_t)estimate->nr_programs - 1;
	}
	free(keys);
}

static void set_lives(struct estimate *estimate)
{
	const struct profile *profile = estimate->profile;

	for (size_t i = 0; i < profile->nr_threads; i++)
		estimate->lives.of_thread[i] = profile->threads[i].process;
	for (size_t i = 0; i < estimate->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];

		estimate->lives.rows[i] =
			(struct life){.pool = estimate->processes[i].run,
				      .has_ended = process->end_ns != 0,
				      .is_unseen = process_is_unseen(profile, process),
				      .stands = process->stands_for_unseen};
	}
}

/* --- time that no clock has --- */

static void divide_unseen(struct estimate *estimate)
{
	struct lives *lives = &estimate->lives;
	cleanup_free uint64_t *run_ns = xcalloc(estimate->nr_runs + 1, sizeof(*run_ns));

	for (uint32_t run = 0; run < estimate->nr_runs; run++)
		run_ns[run] = lives_unseen_ns(lives, run);
	for (size_t i = 0; i < estimate->nr_processes; i++) {
		estimate->processes[i].cpu_ns = lives->rows[i].cpu_ns;
		estimate->processes[i].stands = lives->rows[i].stands;
	}
	unseen_divide(&(struct unseen_division){.profile = estimate->profile,
						.processes = estimate->processes,
						.run_ns = run_ns,
						.nr_runs = estimate->nr_runs,
						.mean_ns = lives->mean_ns,
						.most_ns = lives->most_ns});
	for (size_t i = 0; i < estimate->nr_processes; i++)
		lives->rows[i].part_ns = estimate->processes[i].ns;
}

/* The row of a program's unseen time, like that of the first of its processes. */
static void need_row(struct estimate *estimate, uint32_t process)
{
	struct profile *profile = estimate->profile;
	uint32_t run = estimate->processes[process].run;
	uint32_t number = estimate->lives.rows[process].group;
	struct program *program = &estimate->programs[number];
	size_t sample = estimate->lives.pools[run].sample - 1;
	const struct profile_thread *from = &profile->threads[profile->samples[sample].thread.v];
	struct profile_process row = profile->processes[process];
	struct profile_thread thread = {.name = row.name, .start_ns = from->start_ns};

	if (program->row) {
		struct profile_process *former = &profile->processes[program->row - 1];

		if (former->command.v != row.command.v)
			former->command = STR_EMPTY;
		return;
	}
	row.pid = 0;
	row.parent = PROCESS_NONE;
	row.start_ns = from->start_ns;
	row.end_ns = from->end_ns;
	row.split = (struct cpu_split){0};
	row.nr_unseen = 0;
	row.is_unseen = true;
	program->run = run;
	thread.process = profile_add_process(profile, &row).v;
	program->row = thread.process + 1;
	estimate->lives.groups[number].thread = profile_add_thread(profile, &thread);
	estimate->lives.groups[number].has_thread = true;
}

static void make_rows(struct estimate *estimate)
{
	for (uint32_t i = 0; i < estimate->nr_processes; i++) {
		const struct life *life = &estimate->lives.rows[i];

		if (!life->stands || !estimate->lives.pools[life->pool].sample)
			continue;
		need_row(estimate, i);
		estimate->unseen[life->pool].ns += life->part_ns;
	}
}

static void divide_run(struct estimate *estimate, uint32_t run)
{
	struct profile *profile = estimate->profile;
	const struct unseen *unseen = &estimate->unseen[run];
	uint64_t *nr_left, nr_all, done = 0;
	struct thread_id from;

	if (!unseen->nr_likely)
		return;
	from = profile->samples[estimate->lives.pools[run].sample - 1].thread;
	nr_left = &profile->processes[profile->threads[from.v].process].nr_unseen;
	nr_all = share_of(*nr_left, 0, unseen->ns, lives_unseen_ns(&estimate->lives, run));
	*nr_left -= nr_all;
	for (size_t i = 0; i < estimate->nr_programs; i++) {
		const struct program *program = &estimate->programs[i];

		if (!program->row || program->run != run)
			continue;
		profile->processes[program->row - 1].nr_unseen =
			share_of(nr_all, done, done + program->nr_likely, unseen->nr_likely);
		done += program->nr_likely;
	}
}

/* Processes that were never found are divided by how many of each program its time would fill. */
static void divide_processes(struct estimate *estimate)
{
	for (size_t i = 0; i < estimate->nr_programs; i++) {
		const struct life_group *group = &estimate->lives.groups[i];
		struct program *program = &estimate->programs[i];

		if (!group->short_ns)
			continue;
		program->nr_likely = (uint64_t)((double)group->short_ns * (double)group->nr_short /
						(double)group->known_ns);
		estimate->unseen[program->run].nr_likely += program->nr_likely;
	}
	for (size_t run = 0; run < estimate->nr_runs; run++)
		divide_run(estimate, (uint32_t)run);
}

void profile_estimate_short_lives(struct profile *profile)
{
	struct estimate estimate = {.profile = profile, .nr_processes = profile->nr_processes};

	if (profile->meta.within.v != STR_EMPTY.v)
		return; /* without the samples outside, which stand for a part */
	profile_estimate_short_threads(profile);
	estimate.processes = xcalloc(profile->nr_processes + 1, sizeof(*estimate.processes));
	number_runs(&estimate);
	estimate.unseen = xcalloc(estimate.nr_runs, sizeof(*estimate.unseen));
	lives_begin(&estimate.lives, profile, estimate.nr_processes, estimate.nr_runs);
	set_lives(&estimate);
	lives_see(&estimate.lives);
	divide_unseen(&estimate);
	number_programs(&estimate);
	estimate.programs = xcalloc(estimate.nr_programs + 1, sizeof(*estimate.programs));
	lives_set_groups(&estimate.lives, estimate.nr_programs);
	make_rows(&estimate);
	divide_processes(&estimate);
	lives_share(&estimate.lives);
	lives_end(&estimate.lives);
	free(estimate.unseen);
	free(estimate.programs);
	free(estimate.processes);
}
