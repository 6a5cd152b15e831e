// SPDX-License-Identifier: GPL-2.0-or-later
/* Estimates where short-lived processes spent the CPU time that no sample of theirs has. */
#include "profile/short_lives.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "profile/profile.h"
#include "profile/share_out.h"
#include "profile/unseen_time.h"

/*
 * A process with more samples keeps the time of its own. With few, their sum is not shared evenly:
 * the time at both ends of a life goes to its first and last sample, and the one at the end is the
 * longer, since the clock is not read after the last tick. In a model of lives of 1.5 gaps between
 * ticks the second half got 24 % too much, where only lives with one sample are evened out 16 %,
 * four 1 %, eight nothing.
 */
#define FEW_SAMPLES 8
/*
 * A sample stands for at most so many times the mean: by chance one time in 400 is larger. Then
 * something else kept the ticks away.
 */
#define MOST_MEANS 6

bool process_is_unseen(const struct profile *profile, const struct profile_process *process)
{
	/* A process may take that name, but no pid of 0. */
	return process->is_unseen ||
	       (process->pid == 0 &&
		strcmp(profile_str(profile, process->name), SHORT_LIVED_NAME) == 0);
}

/* A process, as its samples show it. */
struct life {
	uint64_t nr;	  /* samples on a CPU */
	size_t last;	  /* the number of the last of them + 1; 0: none */
	bool is_unseen;	  /* the processes that were never found */
	bool is_short;	  /* it has ended, with few samples */
	uint32_t program; /* processes of one name, in one run, below one ancestor */
};

/* The time of the processes of a run that no clock has. */
struct unseen {
	size_t sample;	    /* the number of the one that has it + 1; 0: there is none */
	uint64_t ns;	    /* as much of it as samples stand for */
	uint64_t nr_likely; /* of program.nr_likely */
};

struct program {
	uint64_t short_ns;	     /* unseen time that samples of its short processes stand for */
	uint64_t nr_short, known_ns; /* short processes that were found, and their CPU time */
	uint64_t nr_likely;	     /* that make up short_ns, if they lived as long */
	uint32_t run;
	uint32_t row; /* this process + 1; 0: not yet */
	struct thread_id thread;
};

/* A sample of a short process. */
struct entry {
	uint32_t program;
	struct stake stake;
};

struct estimate {
	struct profile *profile;
	struct life *lives;		  /* by process; owned, as are all below */
	struct unseen_process *processes; /* likewise */
	struct program *programs;	  /* by number */
	struct unseen *unseen;		  /* by run */
	struct entry *entries;		  /* by program, in time order */
	size_t nr_processes, nr_programs, nr_runs, nr_entries;
	uint64_t mean_ns, most_ns; /* of one sample */
	struct share_list shares;
};

static bool is_observation(const struct sample *sample)
{
	return sample->kind == SAMPLE_RUNNING && sample->nr && sample->cpu_ns;
}

static uint32_t process_of(const struct profile *profile, size_t sample)
{
	return profile->threads[profile->samples[sample].thread.v].process;
}

static struct life *life_of(const struct estimate *estimate, size_t sample)
{
	return &estimate->lives[process_of(estimate->profile, sample)];
}

static uint32_t run_of(const struct estimate *estimate, size_t sample)
{
	return estimate->processes[process_of(estimate->profile, sample)].run;
}

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
		estimate->lives[keys[i].process].program = (uint32_t)estimate->nr_programs - 1;
	}
	free(keys);
}

static void see_samples(struct estimate *estimate)
{
	const struct profile *profile = estimate->profile;
	uint64_t cpu_ns = 0, nr = 0;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];
		struct life *life = life_of(estimate, i);

		cpu_ns += sample->cpu_ns;
		estimate->processes[process_of(profile, i)].cpu_ns += sample->cpu_ns;
		if (is_observation(sample)) {
			nr += sample->nr;
			life->nr += sample->nr;
			life->last = i + 1;
		}
	}
	estimate->mean_ns = nr ? cpu_ns / nr : 0;
	estimate->most_ns = share_bound(MOST_MEANS, estimate->mean_ns);
}

static void see_processes(struct estimate *estimate)
{
	const struct profile *profile = estimate->profile;

	for (uint32_t i = 0; i < estimate->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];
		struct life *life = &estimate->lives[i];

		life->is_unseen = process_is_unseen(profile, process);
		life->is_short = process->end_ns && !life->is_unseen && life->nr <= FEW_SAMPLES;
		estimate->processes[i].stands = life->last && process->stands_for_unseen;
	}
}

static void see_programs(struct estimate *estimate)
{
	number_programs(estimate);
	estimate->programs = xcalloc(estimate->nr_programs + 1, sizeof(*estimate->programs));
	for (uint32_t i = 0; i < estimate->nr_processes; i++) {
		const struct life *life = &estimate->lives[i];

		if (life->is_short) {
			estimate->programs[life->program].nr_short++;
			estimate->programs[life->program].known_ns += estimate->processes[i].cpu_ns;
		}
	}
}

/*
 * The only process of its name is no example of others: what no sample of it has stays without a
 * stack, as where it ran on after a pause of the recording.
 */
static void leave_out_single_ones(struct estimate *estimate)
{
	for (uint32_t i = 0; i < estimate->nr_processes; i++) {
		struct life *life = &estimate->lives[i];
		struct program *program = &estimate->programs[life->program];

		if (!life->is_short || estimate->processes[i].stands || program->nr_short > 1)
			continue;
		life->is_short = false;
		program->nr_short = 0;
		program->known_ns = 0;
	}
}

/* --- time that no clock has --- */

static void find_unseen(struct estimate *estimate)
{
	const struct profile *profile = estimate->profile;
	struct sample *samples = profile->samples;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		struct unseen *unseen = &estimate->unseen[run_of(estimate, i)];

		if (!life_of(estimate, i)->is_unseen || !samples[i].cpu_ns)
			continue;
		if (!unseen->sample) {
			unseen->sample = i + 1;
		} else { /* parts of one recording were joined */
			samples[unseen->sample - 1].cpu_ns += samples[i].cpu_ns;
			samples[i].cpu_ns = 0;
		}
	}
}

static void divide_unseen(struct estimate *estimate)
{
	const struct sample *samples = estimate->profile->samples;
	uint64_t *run_ns = xcalloc(estimate->nr_runs + 1, sizeof(*run_ns));

	for (size_t run = 0; run < estimate->nr_runs; run++)
		if (estimate->unseen[run].sample)
			run_ns[run] = samples[estimate->unseen[run].sample - 1].cpu_ns;
	unseen_divide(&(struct unseen_division){.profile = estimate->profile,
						.processes = estimate->processes,
						.run_ns = run_ns,
						.nr_runs = estimate->nr_runs,
						.mean_ns = estimate->mean_ns,
						.most_ns = estimate->most_ns});
	free(run_ns);
}

static void give_unseen(struct estimate *estimate, uint32_t run, size_t to, uint64_t ns)
{
	struct share share = {.from = estimate->unseen[run].sample - 1,
			      .to = to,
			      .to_time_ns = estimate->profile->samples[to].time_ns,
			      .ns = ns};

	if (ns)
		share_list_add(&estimate->shares, &share);
}

/* The row of a program's unseen time, like that of the first of its processes. */
static void need_row(struct estimate *estimate, uint32_t process)
{
	struct profile *profile = estimate->profile;
	uint32_t run = estimate->processes[process].run;
	struct program *program = &estimate->programs[estimate->lives[process].program];
	size_t sample = estimate->unseen[run].sample - 1;
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
	program->thread = profile_add_thread(profile, &thread);
	program->row = thread.process + 1;
}

/*
 * Give each last sample its part. That of a short process is given to all samples of short ones of
 * its program together.
 */
static void give_parts(struct estimate *estimate)
{
	for (uint32_t i = 0; i < estimate->nr_processes; i++) {
		const struct unseen_process *process = &estimate->processes[i];
		const struct life *life = &estimate->lives[i];
		struct program *program = &estimate->programs[life->program];
		struct unseen *unseen = &estimate->unseen[process->run];

		if (!process->stands || !unseen->sample)
			continue;
		need_row(estimate, i);
		unseen->ns += process->ns;
		if (life->is_short)
			program->short_ns += process->ns;
		else
			give_unseen(estimate, process->run, life->last - 1, process->ns);
	}
}

static void divide_run(struct estimate *estimate, uint32_t run)
{
	struct profile *profile = estimate->profile;
	const struct unseen *unseen = &estimate->unseen[run];
	uint64_t *nr_left, nr_all, done = 0;

	if (!unseen->nr_likely)
		return;
	nr_left = &profile->processes[process_of(profile, unseen->sample - 1)].nr_unseen;
	nr_all = share_of(*nr_left, 0, unseen->ns, profile->samples[unseen->sample - 1].cpu_ns);
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
		struct program *program = &estimate->programs[i];

		if (!program->short_ns)
			continue;
		program->nr_likely =
			(uint64_t)((double)program->short_ns * (double)program->nr_short /
				   (double)program->known_ns);
		estimate->unseen[program->run].nr_likely += program->nr_likely;
	}
	for (size_t run = 0; run < estimate->nr_runs; run++)
		divide_run(estimate, (uint32_t)run);
}

/* --- the time of short processes --- */

static int by_entry(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->program != b->program)
		return a->program < b->program ? -1 : 1;
	if (a->stake.time_ns != b->stake.time_ns)
		return a->stake.time_ns < b->stake.time_ns ? -1 : 1;
	return (a->stake.sample > b->stake.sample) - (a->stake.sample < b->stake.sample);
}

static void list_entries(struct estimate *estimate)
{
	const struct profile *profile = estimate->profile;
	size_t cap = 0;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];
		const struct life *life = life_of(estimate, i);

		if (!life->is_short || !sample->cpu_ns)
			continue;
		ARRAY_GROW(estimate->entries, estimate->nr_entries, cap);
		estimate->entries[estimate->nr_entries++] =
			(struct entry){.program = life->program,
				       .stake = {.sample = i,
						 .time_ns = sample->time_ns,
						 .cpu_ns = sample->cpu_ns,
						 .nr = is_observation(sample) ? sample->nr : 0,
						 .is_attributed = sample->kind == SAMPLE_RUNNING}};
	}
	if (estimate->nr_entries)
		qsort(estimate->entries, estimate->nr_entries, sizeof(*estimate->entries),
		      by_entry);
}

static void share_program(struct estimate *estimate, const struct stake *stakes, size_t nr)
{
	const struct life *life = life_of(estimate, stakes[0].sample);
	uint32_t run = run_of(estimate, stakes[0].sample);
	uint64_t unseen_ns = estimate->programs[life->program].short_ns, nr_all = 0, done = 0;

	for (size_t i = 0; i < nr; i++)
		nr_all += stakes[i].nr;
	share_out(stakes, nr, estimate->most_ns, &estimate->shares);
	for (size_t i = 0; i < nr && unseen_ns; i++) {
		give_unseen(estimate, run, stakes[i].sample,
			    share_of(unseen_ns, done, done + stakes[i].nr, nr_all));
		done += stakes[i].nr;
	}
}

static void share_programs(struct estimate *estimate)
{
	struct stake *stakes = xcalloc(estimate->nr_entries + 1, sizeof(*stakes));
	size_t nr = 0;

	for (size_t i = 0; i < estimate->nr_entries; i++) {
		stakes[nr++] = estimate->entries[i].stake;
		if (i + 1 < estimate->nr_entries &&
		    estimate->entries[i + 1].program == estimate->entries[i].program)
			continue;
		share_program(estimate, stakes, nr);
		nr = 0;
	}
	free(stakes);
}

/* --- the new samples --- */

static int by_source(const void *left, const void *right)
{
	const struct share *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to_time_ns != b->to_time_ns)
		return a->to_time_ns < b->to_time_ns ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/*
 * How much each sample stands for, wherever it is. Its own time is what it keeps of it, and more
 * may be in other threads.
 */
static void set_stands(struct estimate *estimate)
{
	struct sample *samples = estimate->profile->samples;

	for (size_t i = 0; i < estimate->shares.nr; i++) {
		const struct share *share = &estimate->shares.rows[i];

		if (!samples[share->to].stands_ns)
			samples[share->to].stands_ns = samples[share->to].cpu_ns;
		samples[share->to].stands_ns += share->ns;
	}
	for (size_t i = 0; i < estimate->shares.nr; i++) {
		struct sample *from = &samples[estimate->shares.rows[i].from];

		from->stands_ns -= min_u64(from->stands_ns, estimate->shares.rows[i].ns);
		from->cpu_ns -= estimate->shares.rows[i].ns;
	}
}

/* The stack of one sample, with time of another, which covers the time since begin_ns. */
struct cut {
	uint64_t begin_ns, end_ns;
	uint64_t done_ns, cpu_ns;
};

static struct sample make_sample(const struct estimate *estimate, const struct share *share,
				 struct cut *cut)
{
	const struct sample *from = &estimate->profile->samples[share->from];
	const struct sample *to = &estimate->profile->samples[share->to];
	struct sample sample = {.thread = from->thread,
				.stack = to->stack,
				.cpu_ns = share->ns,
				.syscall_nr = to->syscall_nr,
				.kind = SAMPLE_RUNNING,
				.end = to->end,
				.stands_ns = to->stands_ns / to->nr};

	cut->done_ns += share->ns;
	sample.time_ns =
		cut->begin_ns + share_of(cut->end_ns - cut->begin_ns, 0, cut->done_ns, cut->cpu_ns);
	if (life_of(estimate, share->from)->is_unseen) {
		sample.thread = estimate->programs[life_of(estimate, share->to)->program].thread;
		sample.time_ns = to->time_ns;
	}
	return sample;
}

/* Those of the given shares, which are of one sample. Returns the number of samples. */
static size_t make_samples(const struct estimate *estimate, const struct share *shares, size_t nr,
			   uint64_t begin_ns, struct sample *out)
{
	const struct sample *from = &estimate->profile->samples[shares->from];
	struct cut cut = {.begin_ns = min_u64(begin_ns, from->time_ns),
			  .end_ns = from->time_ns,
			  .cpu_ns = from->cpu_ns};

	for (size_t i = 0; i < nr; i++)
		cut.cpu_ns += shares[i].ns;
	for (size_t i = 0; i < nr; i++)
		out[i] = make_sample(estimate, &shares[i], &cut);
	return nr;
}

/* The time that gets a stack, for `profc info`. */
static void count_estimated(const struct estimate *estimate)
{
	const struct profile *profile = estimate->profile;
	uint64_t ns = 0;

	for (size_t i = 0; i < estimate->shares.nr; i++)
		if (profile->samples[estimate->shares.rows[i].from].kind == SAMPLE_UNATTRIBUTED)
			ns += estimate->shares.rows[i].ns;
	profile_set_counter(estimate->profile, "estimated_cpu_ns", ns);
}

static void make_all(struct estimate *estimate)
{
	struct profile *profile = estimate->profile;
	const struct share_list *shares = &estimate->shares;
	size_t nr = 0, next = 0;
	struct sample *samples = xmalloc((profile->nr_samples + shares->nr + 1) * sizeof(*samples));
	cleanup_free uint64_t *previous_ns = xcalloc(profile->nr_threads + 1, sizeof(*previous_ns));

	for (size_t i = 0; i < profile->nr_threads; i++)
		previous_ns[i] = profile->threads[i].start_ns;
	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];
		size_t first = next;

		while (next < shares->nr && shares->rows[next].from == i)
			next++;
		if (next > first)
			nr += make_samples(estimate, &shares->rows[first], next - first,
					   previous_ns[sample->thread.v], &samples[nr]);
		previous_ns[sample->thread.v] = sample->time_ns;
		if (next == first || sample->cpu_ns || sample->runq_ns || sample->blocked_ns)
			samples[nr++] = *sample;
	}
	profile_take_samples(profile, samples, nr);
}

void profile_estimate_short_lives(struct profile *profile)
{
	struct estimate estimate = {.profile = profile, .nr_processes = profile->nr_processes};

	if (profile->meta.within.v != STR_EMPTY.v)
		return; /* without the samples outside, which stand for a part */
	estimate.lives = xcalloc(profile->nr_processes + 1, sizeof(*estimate.lives));
	estimate.processes = xcalloc(profile->nr_processes + 1, sizeof(*estimate.processes));
	number_runs(&estimate);
	estimate.unseen = xcalloc(estimate.nr_runs, sizeof(*estimate.unseen));
	see_samples(&estimate);
	see_processes(&estimate);
	find_unseen(&estimate);
	divide_unseen(&estimate);
	see_programs(&estimate);
	leave_out_single_ones(&estimate);
	give_parts(&estimate);
	divide_processes(&estimate);
	list_entries(&estimate);
	share_programs(&estimate);
	if (estimate.shares.nr) {
		qsort(estimate.shares.rows, estimate.shares.nr, sizeof(*estimate.shares.rows),
		      by_source);
		count_estimated(&estimate);
		set_stands(&estimate);
		make_all(&estimate);
	}
	free(estimate.shares.rows);
	free(estimate.entries);
	free(estimate.unseen);
	free(estimate.programs);
	free(estimate.processes);
	free(estimate.lives);
}
