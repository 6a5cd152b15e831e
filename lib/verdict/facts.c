// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums up a profile for the rules: its calls, locks and descriptors. */
#include "verdict/facts_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/minmax.h"
#include "base/syscall_name.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/observe.h"
#include "calltree/wait_function.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "profile/tasks.h"
#include "view/cut.h"

#define NR_CALLS (INT16_MAX + 1)
/* Work of less than this share of the elapsed time is judged by the elapsed time. */
#define LEAST_PART_OF_ELAPSED 20
#define NAME_COLUMNS	      48

bool facts_is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++) {
		if (strcmp(name, *names) == 0)
			return true;
	}
	return false;
}

/* --- calls --- */

static enum call_kind kind_of_call(const char *name)
{
	static const char *const for_event[] = {
		"accept",     "accept4",      "epoll_pwait",   "epoll_pwait2",
		"epoll_wait", "io_getevents", "io_pgetevents", "io_uring_enter",
		"poll",	      "ppoll",	      "pselect6",      "select",
		NULL};
	static const char *const for_work[] = {"pause", "restart_syscall", "rt_sigsuspend",
					       "rt_sigtimedwait", NULL};
	static const char *const for_child[] = {"vfork", "wait4", "waitid", NULL};
	static const char *const work[] = {"brk",	"copy_file_range",
					   "creat",	"execve",
					   "execveat",	"fallocate",
					   "fdatasync", "flock",
					   "fsync",	"getdents64",
					   "link",	"madvise",
					   "mkdir",	"mmap",
					   "mprotect",	"mremap",
					   "msync",	"munmap",
					   "open",	"openat",
					   "pread64",	"preadv",
					   "pwrite64",	"pwritev",
					   "rename",	"renameat",
					   "renameat2", "rmdir",
					   "stat",	"statx",
					   "sync",	"sync_file_range",
					   "syncfs",	"truncate",
					   "unlink",	"unlinkat",
					   NULL};

	if (facts_is_one_of(name, for_event))
		return CALL_FOR_EVENT;
	if (facts_is_one_of(name, for_work))
		return CALL_FOR_WORK;
	if (facts_is_one_of(name, for_child))
		return CALL_CHILD;
	if (strcmp(name, "futex") == 0)
		return CALL_LOCK;
	return facts_is_one_of(name, work) ? CALL_WORK : CALL_ALONE;
}

static const char *name_of_call(const struct profile *profile, int nr)
{
	const char *name = syscall_name(profile_str(profile, profile->meta.arch), nr);

	return name ? name : "";
}

bool facts_is_sleep(const struct facts *facts, int nr)
{
	static const char *const names[] = {"clock_nanosleep", "nanosleep", NULL};

	return facts_is_one_of(name_of_call(facts->profile, nr), names);
}

bool facts_is_fork(const struct facts *facts, int nr)
{
	static const char *const names[] = {"clone", "clone3", "fork", "vfork", NULL};

	return nr >= 0 && facts_is_one_of(name_of_call(facts->profile, nr), names);
}

uint64_t facts_life_ns(const struct facts *facts, uint64_t start_ns, uint64_t end_ns)
{
	if (!end_ns)
		end_ns = facts->profile->meta.duration_ns;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

static struct call_fact *call_of(struct facts *facts, int nr)
{
	struct call_facts *calls = &facts->calls;

	if (!calls->of_nr[nr]) {
		ARRAY_GROW(calls->rows, calls->nr, calls->cap);
		calls->rows[calls->nr] = (struct call_fact){
			.nr = nr, .kind = kind_of_call(name_of_call(facts->profile, nr))};
		calls->of_nr[nr] = (uint32_t)++calls->nr;
	}
	return &calls->rows[calls->of_nr[nr] - 1];
}

/* This takes some time: call it only where they are needed. */
static void find_wait_functions(struct facts *facts)
{
	if (!facts->wait_functions)
		facts->wait_functions = wait_functions_of_stacks(facts->expansion);
}

static void add_to_call(struct facts *facts, struct call_fact *call,
			const struct observation *observation)
{
	uint32_t function;

	find_wait_functions(facts);
	function = facts->wait_functions[observation->sample.stack.v];
	tally_add_observation(&call->work, observation);
	if (function != WAIT_FUNCTION_NONE)
		pairs_add(&facts->calls.callers, (uint32_t)call->nr, function, observation->weight);
}

static void sum_cpu(struct facts *facts)
{
	struct observation_walk walk;
	struct observation observation;

	observation_walk_init(&walk, facts->selection, METRIC_CPU);
	while (observation_walk_next(&walk, &observation)) {
		const struct sample *sample = &observation.sample;

		facts->runq_ns += sample->runq_ns;
		facts->blocked_ns += sample->blocked_ns;
		struct cpu_fact *thread = &facts->of_thread[sample->thread.v];
		struct cpu_fact *process =
			&facts->of_process[facts->profile->threads[sample->thread.v].process];

		thread->busy_ns += observation.weight + sample->runq_ns;
		tally_add_observation(&thread->all, &observation);
		tally_add_observation(&process->all, &observation);
		if (!observation.weight || sample->kind != SAMPLE_RUNNING || sample->syscall_nr < 0)
			continue;
		add_to_call(facts, call_of(facts, sample->syscall_nr), &observation);
		tally_add_observation(&facts->in_calls, &observation);
		tally_add_observation(&thread->in_calls, &observation);
		tally_add_observation(&process->in_calls, &observation);
	}
	observation_walk_release(&walk);
	facts->cpu_ns = facts->cpu->total.weight;
	facts->work = facts->cpu->total;
}

/* --- objects --- */

static uint32_t add_to_object(struct object_facts *objects, const struct observation *observation)
{
	uint32_t number = blame_add(objects->blame, observation);

	while (objects->nr <= number) {
		ARRAY_GROW(objects->rows, objects->nr, objects->cap);
		objects->rows[objects->nr] = (struct object_fact){.number = (uint32_t)objects->nr};
		objects->nr++;
	}
	return number;
}

/* Does a thread have it at a time? Conditions and semaphores have no owners. */
static bool is_lock(const struct facts *facts, uint32_t number)
{
	const struct blame_object *object = blame_object(facts->locks.blame, number);
	enum wait_kind kind;

	if (object->what != BLAME_OBJECT)
		return false;
	kind = (enum wait_kind)profile_waits(facts->profile)->rows[object->wait].kind;
	if (kind == WAIT_THREAD || object->kind == LOCK_CONDITION || object->kind == LOCK_SEMAPHORE)
		return false;
	return kind == WAIT_MUTEX || kind == WAIT_OWNED || object->kind == LOCK_MUTEX ||
	       object->kind == LOCK_RWLOCK || object->kind == LOCK_GIL;
}

/* Is it the name of a file, and not of a device? */
static bool is_file(const char *name)
{
	return *name == '/' && strncmp(name, "/dev/", 5) != 0;
}

static bool is_of_file(const struct facts *facts, const struct sample *sample)
{
	const struct profile_wait *row;

	if (!sample->wait)
		return false;
	row = &profile_waits(facts->profile)->rows[sample->wait - 1];
	return row->kind == WAIT_FILE && is_file(profile_str(facts->profile, row->name));
}

static void add_descriptor(struct facts *facts, const struct call_fact *call,
			   const struct observation *observation)
{
	uint32_t number;

	if (!facts->descriptors.blame || !observation->sample.wait)
		return;
	number = add_to_object(&facts->descriptors, observation);
	if (blame_object(facts->descriptors.blame, number)->what != BLAME_OBJECT)
		return;
	tally_add_observation(&facts->descriptors.rows[number].tally, observation);
	pairs_add(&facts->calls.objects, (uint32_t)call->nr, number, observation->weight);
}

static void add_lock(struct facts *facts, const struct observation *observation)
{
	uint32_t number;

	if (!facts->locks.blame)
		return;
	number = add_to_object(&facts->locks, observation);
	if (!is_lock(facts, number))
		return;
	tally_add_observation(&facts->locks.rows[number].tally, observation);
	tally_add_observation(&facts->work, observation);
}

/*
 * By process: the row that all execs of it, and so their children, descend from. The caller frees
 * it.
 */
static uint32_t *first_rows(const struct profile *profile)
{
	uint32_t *first = xcalloc(profile->nr_processes + 1, sizeof(*first));

	for (uint32_t i = 0; i < profile->nr_processes; i++)
		first[i] = profile_process_is_exec(profile, i) ? first[profile->processes[i].parent]
							       : i;
	return first;
}

static void find_relatives(struct facts *facts)
{
	const struct profile *profile = facts->profile;
	cleanup_free uint32_t *firsts = first_rows(profile);

	for (uint32_t i = 0; i < profile->nr_processes; i++) {
		uint32_t first = firsts[i], parent = profile->processes[first].parent;

		if (parent == PROCESS_NONE)
			continue;
		facts->has_relative[first] = true;
		facts->has_child[firsts[parent]] = true;
		facts->has_relative[firsts[parent]] = true;
	}
	for (uint32_t i = 0; i < profile->nr_processes; i++) {
		facts->has_child[i] = facts->has_child[firsts[i]];
		facts->has_relative[i] = facts->has_relative[firsts[i]];
	}
}

/* Is the thread blocked on a pipe to a recorded process? That does the work meanwhile. */
static bool is_pipe_of_relative(const struct facts *facts, const struct sample *sample)
{
	uint32_t process = facts->profile->threads[sample->thread.v].process;
	const struct profile_wait *row;

	if (!sample->wait || !facts->has_relative[process])
		return false;
	row = &profile_waits(facts->profile)->rows[sample->wait - 1];
	return row->kind == WAIT_FILE &&
	       strncmp(profile_str(facts->profile, row->name), "pipe:[", strlen("pipe:[")) == 0;
}

static void add_sleep(struct facts *facts, const struct observation *observation)
{
	const struct sample *sample = &observation->sample;
	uint32_t function;

	find_wait_functions(facts);
	function = facts->wait_functions[sample->stack.v];
	tally_add_observation(&facts->sleeps[sample->thread.v], observation);
	pairs_add(&facts->sleep_calls, sample->thread.v, (uint32_t)sample->syscall_nr,
		  observation->weight);
	if (function != WAIT_FUNCTION_NONE)
		pairs_add(&facts->sleep_functions, sample->thread.v, function, observation->weight);
}

static void add_blocked(struct facts *facts, const struct observation *observation)
{
	const struct sample *sample = &observation->sample;
	struct call_fact *call;

	if (sample->kind != SAMPLE_BLOCKED || sample->syscall_nr < 0)
		return;
	if (facts_is_sleep(facts, sample->syscall_nr))
		add_sleep(facts, observation);
	call = call_of(facts, sample->syscall_nr);
	switch (call->kind) {
	case CALL_FOR_EVENT:
		facts->of_thread[sample->thread.v].listening_ns += observation->weight;
		return;
	case CALL_FOR_WORK:
		return;
	case CALL_CHILD:
		if (facts->is_alone[sample->thread.v] &&
		    !facts->has_child[facts->profile->threads[sample->thread.v].process])
			break;
		return;
	case CALL_LOCK:
		add_lock(facts, observation);
		return;
	case CALL_WORK:
		break;
	case CALL_ALONE:
		if (is_of_file(facts, sample) ||
		    (facts->is_alone[sample->thread.v] && !is_pipe_of_relative(facts, sample)))
			break;
		return;
	}
	tally_add_observation(&facts->work, observation);
	if (call->kind == CALL_CHILD) {
		tally_add_observation(&facts->of_child, observation);
		return;
	}
	add_to_call(facts, call, observation);
	add_descriptor(facts, call, observation);
}

static void sum_blocked(struct facts *facts)
{
	struct observation_walk walk;
	struct observation observation;

	observation_walk_init(&walk, facts->selection, METRIC_BLOCKED);
	while (observation_walk_next(&walk, &observation)) {
		if (observation.weight)
			add_blocked(facts, &observation);
	}
	observation_walk_release(&walk);
}

static void find_alone(struct facts *facts)
{
	const struct profile *profile = facts->profile;
	cleanup_free uint32_t *nr = xcalloc(profile->nr_processes + 1, sizeof(*nr));
	cleanup_free bool *is_seen = xcalloc(profile->nr_threads + 1, sizeof(*is_seen));

	for (size_t i = 0; i < profile->nr_samples; i++)
		is_seen[profile->samples[i].thread.v] = true;
	for (size_t i = 0; i < profile->nr_threads; i++)
		nr[profile->threads[i].process] += is_seen[i];
	for (size_t i = 0; i < profile->nr_threads; i++)
		facts->is_alone[i] = nr[profile->threads[i].process] == 1;
}

static int heavier_call(const void *left, const void *right)
{
	const struct call_fact *a = left, *b = right;

	if (a->work.weight != b->work.weight)
		return a->work.weight < b->work.weight ? 1 : -1;
	return a->nr - b->nr;
}

static int heavier_object(const void *left, const void *right)
{
	const struct object_fact *a = left, *b = right;

	if (a->tally.weight != b->tally.weight)
		return a->tally.weight < b->tally.weight ? 1 : -1;
	return a->number < b->number ? -1 : 1;
}

static void finish_objects(struct object_facts *objects)
{
	if (objects->blame)
		blame_finish(objects->blame);
	if (objects->nr)
		qsort(objects->rows, objects->nr, sizeof(*objects->rows), heavier_object);
}

static uint64_t elapsed_of(const struct selection *selection)
{
	uint64_t end_ns =
		min_u64(selection->to_ns, selection->expansion->profile->meta.duration_ns);

	return end_ns > selection->from_ns ? end_ns - selection->from_ns : 0;
}

void facts_init(struct facts *facts, const struct weights *cpu, const struct flat *functions)
{
	const struct selection *selection = cpu->selection;
	const struct expansion *expansion = selection->expansion;
	const struct profile *profile = expansion->profile;

	*facts = (struct facts){
		.selection = selection, .expansion = expansion, .profile = profile, .cpu = cpu};
	facts->elapsed_ns = elapsed_of(selection);
	facts->is_alone = xcalloc(profile->nr_threads + 1, sizeof(*facts->is_alone));
	facts->sleeps = xcalloc(profile->nr_threads + 1, sizeof(*facts->sleeps));
	facts->has_child = xcalloc(profile->nr_processes + 1, sizeof(*facts->has_child));
	facts->has_relative = xcalloc(profile->nr_processes + 1, sizeof(*facts->has_relative));
	facts->of_thread = xcalloc(profile->nr_threads + 1, sizeof(*facts->of_thread));
	facts->of_process = xcalloc(profile->nr_processes + 1, sizeof(*facts->of_process));
	facts->calls.of_nr = xcalloc(NR_CALLS, sizeof(*facts->calls.of_nr));
	if (profile->meta.knows_waits) {
		facts->locks.blame = blame_new(expansion, true);
		facts->descriptors.blame = blame_new(expansion, false);
	}
	facts->own_functions = functions ? NULL : flat_new(cpu, BY_FUNCTION);
	facts->functions = functions ? functions : facts->own_functions;
	if (profile_has_heap(profile))
		find_wait_functions(facts);
	find_alone(facts);
	find_relatives(facts);
	sum_cpu(facts);
	sum_blocked(facts);
	finish_objects(&facts->locks);
	finish_objects(&facts->descriptors);
	if (facts->work.weight < facts->elapsed_ns / LEAST_PART_OF_ELAPSED)
		facts->work.weight = facts->elapsed_ns;
	pairs_sort(&facts->calls.callers);
	pairs_sort(&facts->calls.objects);
	pairs_sort(&facts->sleep_calls);
	pairs_sort(&facts->sleep_functions);
	if (facts->calls.nr)
		qsort(facts->calls.rows, facts->calls.nr, sizeof(*facts->calls.rows), heavier_call);
	free(facts->calls.of_nr);
	facts->calls.of_nr = NULL;
}

static void release_objects(struct object_facts *objects)
{
	blame_free(objects->blame);
	free(objects->rows);
}

void facts_release(struct facts *facts)
{
	flat_free(facts->own_functions);
	free(facts->calls.rows);
	pairs_release(&facts->calls.callers);
	pairs_release(&facts->calls.objects);
	release_objects(&facts->locks);
	release_objects(&facts->descriptors);
	free(facts->wait_functions);
	free(facts->sleeps);
	free(facts->is_alone);
	free(facts->has_child);
	free(facts->has_relative);
	pairs_release(&facts->sleep_calls);
	pairs_release(&facts->sleep_functions);
	free(facts->of_thread);
	free(facts->of_process);
}

const struct object_fact *object_facts_heaviest(const struct object_facts *objects)
{
	static const struct object_fact none = {.number = 0};

	return objects->nr ? &objects->rows[0] : &none;
}

/* --- names --- */

void facts_append_text(struct buf *out, const char *text)
{
	struct buf escaped = {0};

	escape_terminal(&escaped, text);
	append_cut(out, buf_str(&escaped), NAME_COLUMNS, CUT_MIDDLE);
	buf_release(&escaped);
}

void facts_append_name(struct buf *out, const struct facts *facts, uint32_t label)
{
	struct buf name = {0};

	label_append_name(&name, facts->expansion, label, NAME_SHORT);
	facts_append_text(out, buf_str(&name));
	buf_release(&name);
}

void facts_append_call(struct buf *out, const struct facts *facts, int nr)
{
	const char *name = name_of_call(facts->profile, nr);

	if (*name)
		buf_append_str(out, name);
	else
		buf_printf(out, "system call %d", nr);
}

bool facts_append_word(struct buf *out, const struct facts *facts, uint32_t label)
{
	struct buf name = {0}, escaped = {0};
	bool is_word;

	label_append_name(&name, facts->expansion, label, NAME_SHORT);
	escape_terminal(&escaped, buf_str(&name));
	/* Programs choose their names: none is an option of the command. */
	is_word = buf_str(&name)[0] != '-' && strcmp(buf_str(&name), buf_str(&escaped)) == 0 &&
		  text_columns(buf_str(&name)) <= 2 * (size_t)NAME_COLUMNS;
	if (is_word)
		escape_shell(out, buf_str(&name));
	buf_release(&name);
	buf_release(&escaped);
	return is_word;
}
