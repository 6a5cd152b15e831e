// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolves all modules of a profile, in parallel. */
#include "symbol/resolve.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/err.h"
#include "profile/profile.h"
#include "symbol/jit_symbols.h"
#include "symbol/kept_files.h"
#include "symbol/source_note.h"
#include "symbol/symbol.h"
#include "symbol/vdso.h"

/* More threads would compete for memory bandwidth, not for processors. */
#define MAX_WORKERS 16

/* The frames of one module, and their result. */
struct module_job {
	struct module_id module;
	uint64_t *addresses; /* ascending; frames intern places, so they are distinct */
	struct frame_id *frames;
	size_t nr;
	struct symbol_result *result; /* NULL: failed, see err */
	struct err err;
};

struct resolve_run {
	struct profile *profile;
	const struct symbol_options *options;
	size_t first_frame;	 /* those before it have had their turn */
	struct module_job *jobs; /* largest first */
	size_t nr_jobs;
	pthread_mutex_t lock; /* guards all members below */
	pthread_cond_t changed;
	size_t next, nr_done;
	size_t last_done;
	char *asked; /* file of the last query to a server, until progress reports it; or NULL */
};

/*
 * Symbols of an earlier resolution. A module keeps them if the new resolution finds fewer: the file
 * was rebuilt, the JIT's process has exited, or this is another machine.
 */
struct known_symbols {
	struct frame_symbols *frames;
	size_t nr_frames;
	struct location *locations;
	struct function *functions;
	struct module_symbols *modules;
	size_t nr_modules;
};

struct place {
	struct code_address where;
	struct frame_id frame;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->where.module.v != right->where.module.v)
		return left->where.module.v < right->where.module.v ? -1 : 1;
	return (left->where.address > right->where.address) -
	       (left->where.address < right->where.address);
}

/* Programs may name code that they make later than it was sampled. */
static bool may_have_news(const struct profile *profile, const struct resolve_run *run,
			  size_t frame)
{
	const struct module *module =
		module_table_get(profile->modules, profile->frames[frame].where.module);

	return frame >= run->first_frame || module->kind == MODULE_KIND_JIT;
}

static struct place *sorted_places(const struct resolve_run *run, size_t *nr)
{
	const struct profile *profile = run->profile;
	struct place *places =
		xcalloc(profile->nr_frames ? profile->nr_frames : 1, sizeof(*places));

	*nr = 0;
	for (size_t i = 0; i < profile->nr_frames; i++) {
		if (may_have_news(profile, run, i))
			places[(*nr)++] = (struct place){.where = profile->frames[i].where,
							 .frame = {(uint32_t)i}};
	}
	qsort(places, *nr, sizeof(*places), compare_places);
	return places;
}

static void fill_job(struct module_job *job, const struct place *places, size_t nr)
{
	*job = (struct module_job){.module = places[0].where.module, .nr = nr};
	job->addresses = xcalloc(nr, sizeof(*job->addresses));
	job->frames = xcalloc(nr, sizeof(*job->frames));
	for (size_t i = 0; i < nr; i++) {
		job->addresses[i] = places[i].where.address;
		job->frames[i] = places[i].frame;
	}
}

/* Can a file, the vdso or names in the recording name code of this module? */
static bool is_resolvable(const struct module *module)
{
	switch (module->kind) {
	case MODULE_KIND_FILE:
	case MODULE_KIND_VDSO:
	case MODULE_KIND_JIT:
	case MODULE_KIND_KERNEL:
	case MODULE_KIND_SCRIPT:
		return true;
	case MODULE_KIND_UNKNOWN:
	case MODULE_KIND_VSYSCALL:
	case MODULE_KIND_ELIDED:
	case MODULE_KIND_BETWEEN:
		break;
	}
	return false;
}

static int compare_jobs(const void *a, const void *b)
{
	const struct module_job *left = a, *right = b;

	return (left->nr < right->nr) - (left->nr > right->nr);
}

static void make_jobs(struct resolve_run *run)
{
	const struct profile *profile = run->profile;
	size_t nr, cap = 0;
	struct place *places = sorted_places(run, &nr);

	for (size_t i = 0, end; i < nr; i = end) {
		struct module_id id = places[i].where.module;

		for (end = i; end < nr && places[end].where.module.v == id.v; end++)
			;
		if (!is_resolvable(module_table_get(profile->modules, id)))
			continue;
		ARRAY_GROW(run->jobs, run->nr_jobs, cap);
		fill_job(&run->jobs[run->nr_jobs++], places + i, end - i);
	}
	free(places);
	if (run->nr_jobs)
		qsort(run->jobs, run->nr_jobs, sizeof(*run->jobs), compare_jobs);
}

static size_t nr_threads(void)
{
	unsigned int nr_cpus = cpus_available();

	return nr_cpus > MAX_WORKERS ? MAX_WORKERS : nr_cpus;
}

/*
 * Often a single module, the program itself, is most of the work. So each module gets its share of
 * the processors, rounded up.
 */
static unsigned int threads_for(const struct resolve_run *run, const struct module_job *job)
{
	size_t nr = 0;

	for (size_t i = 0; i < run->nr_jobs; i++)
		nr += run->jobs[i].nr;
	assert(nr > 0); /* job is one of them, and jobs have addresses */
	return (unsigned int)((nr_threads() * job->nr + nr - 1) / nr);
}

/* In a recording from a file, modules have no owners: the file's owner chose all paths. */
static struct owner chooser_of(const struct profile *profile, const struct module *module)
{
	return module->owner.v == OWNER_NOT_RECORDED.v
		       ? profile->meta.owner
		       : owner_join(profile->meta.owner, module->owner);
}

static void resolve_file(const struct resolve_run *run, struct module_job *job, int fd)
{
	const struct module *module = module_table_get(run->profile->modules, job->module);
	const struct symbol_request request = {
		.path = module->path,
		.chooser = chooser_of(run->profile, module),
		.fd = fd,
		.build_id = module->build_id,
		.nr_build_id_bytes = module->nr_build_id_bytes,
		.recorded = module->kind == MODULE_KIND_FILE ? module : NULL,
		.addresses = job->addresses,
		.nr_addresses = job->nr,
	};

	struct symbol_options options = *run->options;
	struct symbol_file *file;

	options.nr_threads = threads_for(run, job);
	file = kept_files_take(options.kept, &options, &request);
	if (!file && symbol_file_open(&options, &request, &file, &job->err) < 0)
		return;
	job->result = symbol_file_answer(file, &request);
	kept_files_give(options.kept, file);
}

static void resolve_vdso(const struct resolve_run *run, struct module_job *job)
{
	const struct module *module = module_table_get(run->profile->modules, job->module);
	cleanup_close int fd = -1;

	if (module->nr_build_id_bytes == 0) {
		err_set(&job->err, ERR_NOT_FOUND, "the recorded [vdso] has no build-id");
		return;
	}
	fd = vdso_open();
	if (fd < 0)
		err_set(&job->err, ERR_NOT_FOUND, "there is no [vdso] here to take symbols from");
	else
		resolve_file(run, job, fd);
}

static void resolve_job(const struct resolve_run *run, struct module_job *job)
{
	const struct module *module = module_table_get(run->profile->modules, job->module);

	if (has_ended(run->options->ended)) {
		err_set(&job->err, ERR_EMPTY, "the symbol lookup was ended before this module");
		return;
	}
	switch (module->kind) {
	case MODULE_KIND_FILE:
		resolve_file(run, job, module->fd);
		break;
	case MODULE_KIND_VDSO:
		resolve_vdso(run, job);
		break;
	case MODULE_KIND_JIT:
	case MODULE_KIND_KERNEL:
	case MODULE_KIND_SCRIPT:
		job->result = jit_symbols_resolve(run->profile, job->module, job->frames, job->nr);
		break;
	case MODULE_KIND_UNKNOWN:
	case MODULE_KIND_VSYSCALL:
	case MODULE_KIND_ELIDED:
	case MODULE_KIND_BETWEEN:
		break;
	}
}

static void *work(void *argument)
{
	struct resolve_run *run = argument;

	pthread_mutex_lock(&run->lock);
	while (run->next < run->nr_jobs) {
		struct module_job *job = &run->jobs[run->next++];

		pthread_mutex_unlock(&run->lock);
		resolve_job(run, job);
		pthread_mutex_lock(&run->lock);
		run->nr_done++;
		run->last_done = (size_t)(job - run->jobs);
		pthread_cond_signal(&run->changed);
	}
	pthread_mutex_unlock(&run->lock);
	return NULL;
}

/* Note a query for the thread that reports progress; it reports only the latest. */
static void note_question(void *context, const char *path)
{
	struct resolve_run *run = context;
	const char *slash = strrchr(path, '/');

	pthread_mutex_lock(&run->lock);
	free(run->asked);
	run->asked = xstrdup(slash ? slash + 1 : path);
	pthread_cond_signal(&run->changed);
	pthread_mutex_unlock(&run->lock);
}

/* Report progress until all is done. */
static void watch(struct resolve_run *run, const struct resolve_progress *progress)
{
	size_t told = 0;

	while (told < run->nr_jobs) {
		cleanup_free char *asked = NULL;
		const struct module *module;
		size_t done;

		pthread_mutex_lock(&run->lock);
		while (run->nr_done == told && !run->asked)
			pthread_cond_wait(&run->changed, &run->lock);
		done = run->nr_done;
		module = module_table_get(run->profile->modules, run->jobs[run->last_done].module);
		asked = run->asked;
		run->asked = NULL;
		pthread_mutex_unlock(&run->lock);
		if (done != told)
			progress->report(progress->context, done, run->nr_jobs,
					 module_short_name(module));
		if (asked && progress->asks)
			progress->asks(progress->context, asked);
		told = done;
	}
}

static void run_workers(struct resolve_run *run, const struct resolve_progress *progress)
{
	pthread_t workers[MAX_WORKERS];
	size_t wanted = nr_threads(), nr = 0;

	if (wanted > run->nr_jobs)
		wanted = run->nr_jobs;
	while (nr < wanted && pthread_create(&workers[nr], NULL, work, run) == 0)
		nr++;
	if (nr == 0)
		work(run); /* no thread can be started: do it here */
	else if (progress)
		watch(run, progress);
	for (size_t i = 0; i < nr; i++)
		pthread_join(workers[i], NULL);
}

static struct str_id intern(struct profile *profile, const char *text)
{
	return text ? profile_intern(profile, text) : STR_EMPTY;
}

static struct location location_of(struct profile *profile, const struct symbol_location *from)
{
	const struct function function = {
		.name = intern(profile, from->name),
		.linkage_name = intern(profile, from->linkage_name),
		.shared = intern(profile, from->shared),
		.file = intern(profile, from->function_file),
		.line = from->function_line,
	};

	return (struct location){
		.function = profile_intern_function(profile, &function),
		.file = intern(profile, from->file),
		.line = from->line,
	};
}

/*
 * Name a function without a symbol by its first address, known from unwind information, so that its
 * samples are one row.
 */
static void store_start(struct profile *profile, const struct module_job *job, size_t i)
{
	const struct module *module = module_table_get(profile->modules, job->module);
	uint64_t start = job->result->starts ? job->result->starts[i] : SYMBOL_NO_START;
	cleanup_free char *name = NULL;
	struct function function = {.line = 0};
	struct location location = {.line = 0};

	if (start == SYMBOL_NO_START)
		return;
	name = xasprintf("[%s+0x%" PRIx64 "]", module_short_name(module), start);
	function.name = profile_intern(profile, name);
	location.function = profile_intern_function(profile, &function);
	profile_set_chain(profile, job->frames[i], &location, 1);
}

static void store_chains(struct profile *profile, const struct module_job *job)
{
	struct location *chain = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < job->nr; i++) {
		const struct symbol_chain *from = &job->result->chains[i];

		/* A profile of functions cannot show a line without a function. */
		if (!from->nr || !job->result->locations[from->first + from->nr - 1].name) {
			store_start(profile, job, i);
			continue;
		}
		ARRAY_RESERVE(chain, from->nr, cap);
		for (uint32_t k = 0; k < from->nr; k++)
			chain[k] = location_of(profile, &job->result->locations[from->first + k]);
		profile_set_chain(profile, job->frames[i], chain, from->nr);
	}
	free(chain);
}

static size_t nr_resolved(const struct module_job *job)
{
	size_t nr = 0;

	for (size_t i = 0; job->result && i < job->nr; i++)
		nr += job->result->chains[i].nr != 0;
	return nr;
}

/* Did the frame have a real name, not a name made from its address? */
static bool is_known(const struct profile *profile, const struct known_symbols *known,
		     struct frame_id frame)
{
	const struct location *location;

	if (frame.v >= known->nr_frames || !known->frames[frame.v].nr)
		return false;
	location = &known->locations[known->frames[frame.v].first];
	return profile_str(profile, known->functions[location->function.v].name)[0] != '[';
}

static size_t nr_known(const struct profile *profile, const struct known_symbols *known,
		       const struct module_job *job)
{
	size_t nr = 0;

	for (size_t i = 0; i < job->nr; i++)
		nr += is_known(profile, known, job->frames[i]);
	return nr;
}

/* Restore the symbols of a module. Its functions are interned again, because their table is new. */
static void restore_job(struct profile *profile, const struct known_symbols *known,
			const struct module_job *job)
{
	struct location *chain = NULL;
	size_t cap = 0;

	profile->symbols.modules[job->module.v] = known->modules[job->module.v];
	for (size_t i = 0; i < job->nr; i++) {
		const struct frame_symbols *from = &known->frames[job->frames[i].v];

		if (job->frames[i].v >= known->nr_frames || !from->nr)
			continue;
		ARRAY_RESERVE(chain, from->nr, cap);
		for (uint32_t k = 0; k < from->nr; k++) {
			chain[k] = known->locations[from->first + k];
			chain[k].function = profile_intern_function(
				profile, &known->functions[chain[k].function.v]);
		}
		profile_set_chain(profile, job->frames[i], chain, from->nr);
	}
	free(chain);
}

static void store_job(struct profile *profile, const struct known_symbols *known,
		      const struct module_job *job)
{
	struct module_symbols *row = &profile->symbols.modules[job->module.v];

	if (job->module.v < known->nr_modules && nr_known(profile, known, job) > nr_resolved(job)) {
		restore_job(profile, known, job);
		return;
	}
	if (!job->result) {
		row->source = SYMBOL_SOURCE_NONE;
		row->problem = intern(profile, job->err.what);
		return;
	}
	row->source = job->result->source;
	row->debug_path = intern(profile, job->result->debug_path);
	row->problem = intern(profile, job->result->problem);
	row->mismatched = job->result->mismatched;
	row->owner = job->result->owner;
	store_chains(profile, job);
}

/* Copy the tables, because a new resolution empties them. */
static struct known_symbols keep_known(const struct profile *profile)
{
	return (struct known_symbols){
		.frames = xmemdup(profile->symbols.frames,
				  profile->symbols.nr_frames * sizeof(*profile->symbols.frames)),
		.nr_frames = profile->symbols.nr_frames,
		.locations = xmemdup(profile->symbols.locations,
				     profile->symbols.nr_locations *
					     sizeof(*profile->symbols.locations)),
		.functions = xmemdup(profile->symbols.functions,
				     profile->symbols.nr_functions *
					     sizeof(*profile->symbols.functions)),
		.modules = xmemdup(profile->symbols.modules,
				   profile->symbols.nr_modules * sizeof(*profile->symbols.modules)),
		.nr_modules = profile->symbols.nr_modules,
	};
}

static void known_release(struct known_symbols *known)
{
	free(known->frames);
	free(known->locations);
	free(known->functions);
	free(known->modules);
}

static void resolve(struct profile *profile, const struct symbol_options *options,
		    size_t first_frame, const struct resolve_progress *progress)
{
	struct symbol_options own_options = *options;
	struct resolve_run run = {
		.profile = profile, .options = &own_options, .first_frame = first_frame};
	struct known_symbols known = keep_known(profile);

	own_options.debuginfod_deadline_ns =
		clock_monotonic_ns() + options->debuginfod_timeout_ms * NS_PER_MS;
	own_options.asks_server = note_question;
	own_options.asks_server_context = &run;
	if (!first_frame)
		profile_reset_symbols(profile);
	make_jobs(&run);
	pthread_mutex_init(&run.lock, NULL);
	pthread_cond_init(&run.changed, NULL);
	run_workers(&run, progress);
	for (size_t i = 0; i < run.nr_jobs; i++) {
		store_job(profile, &known, &run.jobs[i]);
		symbol_result_free(run.jobs[i].result);
		free(run.jobs[i].addresses);
		free(run.jobs[i].frames);
	}
	if (options->notes_sources && !has_ended(options->ended))
		source_note_all(profile);
	free(run.jobs);
	free(run.asked);
	profile->symbols.nr_asked = profile->symbols.nr_frames;
	known_release(&known);
	pthread_cond_destroy(&run.changed);
	pthread_mutex_destroy(&run.lock);
}

void resolve_profile(struct profile *profile, const struct symbol_options *options,
		     const struct resolve_progress *progress)
{
	resolve(profile, options, 0, progress);
}

void resolve_new_frames(struct profile *profile, const struct symbol_options *options,
			size_t first_frame)
{
	assert(profile->symbols.nr_frames == profile->nr_frames);
	resolve(profile, options, first_frame, NULL);
}
