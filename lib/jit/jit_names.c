// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the perf maps and jitdumps of recorded processes, and names their frames. */
#include "jit/jit_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "jit/jit_reader.h"
#include "mapping/target_file.h"
#include "profile/profile.h"

#define SHORTEST_PAUSE_NS (100 * NS_PER_MS)
#define LONGEST_PAUSE_NS  NS_PER_SEC
/* Reading takes at most this fraction of one CPU's time. */
#define PAUSE_PER_READING 50
/*
 * In the ends of programs, and of the recording, so much is read at once, some tenths of a second
 * of work, and so much more later: most was read before.
 */
#define LAST_BYTES_MAX	  (UINT64_C(64) << 20)
#define LAST_BYTES_PER_US 4
/* Each makes us wait once; then no other process is asked for its map. */
#define SILENT_MAX 4

/* An address in code of a process, and its current frame. */
struct jit_place {
	uint64_t address;
	struct frame_id first, now;
	struct str_id name; /* of the latter; STR_EMPTY: not known yet */
	bool has_line;
};

struct jit_process {
	pid_t pid;
	struct jit_reader reader;
	struct jit_place *places; /* by address, except for the new ones at the end */
	size_t nr_places, cap_places, nr_known;
	size_t nr_inherited; /* ranges of an ancestor in which the known addresses were looked up */
	struct module_id *modules; /* the modules of its places */
	size_t nr_modules, cap_modules;
	struct jit_source source; /* as last put into the profile */
	size_t nr_sources;	  /* the number of modules it was put for */
	uint64_t poll_again_ns, pause_ns;
};

struct jit_names {
	struct profile *profile;
	struct jit_process *processes;
	size_t nr_processes, cap_processes;
	pid_t *former; /* processes that have ended and have frames in the profile */
	size_t nr_former, cap_former;
	size_t nr_frames;	/* the number of the profile's frames that were seen */
	uint32_t nr_modules;	/* the same */
	unsigned int nr_silent; /* processes whose /tmp did not answer */
	uint64_t last_bytes, last_bytes_at_ns; /* that may be read in ends, as of then */
	/* By frame, its current frame; up to the last frame that has one. */
	struct frame_id *replaced;
	size_t nr_replaced, cap_replaced;
};

struct jit_names *jit_names_new(struct profile *profile)
{
	struct jit_names *names = xcalloc(1, sizeof(*names));

	names->profile = profile;
	names->last_bytes = LAST_BYTES_MAX;
	names->last_bytes_at_ns = clock_monotonic_ns();
	return names;
}

static void process_release(struct jit_process *process)
{
	jit_reader_release(&process->reader);
	free(process->places);
	free(process->modules);
}

void jit_names_free(struct jit_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->nr_processes; i++)
		process_release(&names->processes[i]);
	free(names->processes);
	free(names->former);
	free(names->replaced);
	free(names);
}

struct frame_id jit_names_frame(const struct jit_names *names, struct frame_id frame)
{
	return frame.v < names->nr_replaced ? names->replaced[frame.v] : frame;
}

static void replace(struct jit_names *names, struct jit_place *place, struct frame_id now)
{
	ARRAY_RESERVE(names->replaced, place->first.v + 1, names->cap_replaced);
	for (; names->nr_replaced <= place->first.v; names->nr_replaced++)
		names->replaced[names->nr_replaced] =
			(struct frame_id){(uint32_t)names->nr_replaced};
	names->replaced[place->first.v] = now;
	place->now = now;
	place->name = STR_EMPTY;
	place->has_line = false;
}

/* --- which process has which addresses --- */

static struct jit_process *find_process(struct jit_names *names, pid_t pid)
{
	for (size_t i = 0; i < names->nr_processes; i++) {
		if (names->processes[i].pid == pid)
			return &names->processes[i];
	}
	return NULL;
}

/* The start of its program, in ns since the epoch, if it was during the recording; else 0. */
static uint64_t started_realtime_ns(const struct profile *profile, pid_t pid)
{
	for (size_t i = profile->nr_processes; i-- > 0;) {
		const struct profile_process *process = &profile->processes[i];

		if (process->pid == pid)
			return process->start_ns
				       ? profile->meta.start_realtime_ns + process->start_ns
				       : 0;
	}
	return 0;
}

/* A process maps its jitdump like code, so it is one of the modules. */
static void look_for_dump(const struct jit_names *names, struct jit_process *process,
			  uint32_t first_module)
{
	const struct module_table *modules = names->profile->modules;

	for (uint32_t i = first_module; i < module_table_nr(modules); i++) {
		const struct module *module = module_table_get(modules, (struct module_id){i});

		if (module->owner_pid == process->pid && module_is_jitdump(module))
			jit_reader_set_dump(&process->reader, module->path, module->fd);
	}
}

/* The process that a forked one copies; 0: none, or it has called execve since. */
static pid_t parent_of(const struct profile *profile, pid_t pid)
{
	for (size_t i = profile->nr_processes; i-- > 0;) {
		const struct profile_process *process = &profile->processes[i];

		if (process->pid != pid)
			continue;
		if (process->parent == PROCESS_NONE ||
		    profile->processes[process->parent].pid == pid)
			return 0;
		return profile->processes[process->parent].pid;
	}
	return 0;
}

static struct jit_process *get_process(struct jit_names *names, pid_t pid)
{
	struct jit_process *process = find_process(names, pid);

	if (process)
		return process;
	ARRAY_GROW(names->processes, names->nr_processes, names->cap_processes);
	process = &names->processes[names->nr_processes++];
	*process = (struct jit_process){.pid = pid};
	jit_reader_init(&process->reader, pid, started_realtime_ns(names->profile, pid),
			names->nr_silent < SILENT_MAX);
	names->nr_silent += process->reader.is_silent;
	look_for_dump(names, process, 0);
	return process;
}

static void add_module(struct jit_process *process, struct module_id module)
{
	for (size_t i = 0; i < process->nr_modules; i++) {
		if (process->modules[i].v == module.v)
			return;
	}
	ARRAY_GROW(process->modules, process->nr_modules, process->cap_modules);
	process->modules[process->nr_modules++] = module;
}

static struct jit_place *add_place(struct jit_process *process, struct code_address where,
				   struct frame_id frame)
{
	struct jit_place *place;

	add_module(process, where.module);
	ARRAY_GROW(process->places, process->nr_places, process->cap_places);
	place = &process->places[process->nr_places++];
	*place = (struct jit_place){.address = where.address, .first = frame, .now = frame};
	return place;
}

/* The owner of a frame in JIT memory without a current frame yet; 0: no such frame. */
static pid_t owner_of(const struct jit_names *names, struct code_address where)
{
	const struct module *module = module_table_get(names->profile->modules, where.module);

	/* Modules with numbers were made here. */
	return module->kind == MODULE_KIND_JIT && !module->nr_build_id_bytes ? module->owner_pid
									     : 0;
}

/* Maximum generations of forks to search for an ancestor. */
#define ANCESTORS_MAX 4

/* Ancestors: a forked process may run their code, even if they were never sampled themselves. */
static void get_ancestors(struct jit_names *names, pid_t pid)
{
	if (find_process(names, pid))
		return;
	for (int i = 0; i < ANCESTORS_MAX && (pid = parent_of(names->profile, pid)); i++)
		get_process(names, pid);
}

static void take_new_frames(struct jit_names *names)
{
	const struct profile *profile = names->profile;

	for (; names->nr_frames < profile->nr_frames; names->nr_frames++) {
		struct code_address where = profile->frames[names->nr_frames].where;
		pid_t owner = owner_of(names, where);

		if (!owner)
			continue;
		get_ancestors(names, owner);
		add_place(get_process(names, owner), where,
			  (struct frame_id){(uint32_t)names->nr_frames});
	}
	for (size_t i = 0; i < names->nr_processes; i++)
		look_for_dump(names, &names->processes[i], names->nr_modules);
	names->nr_modules = module_table_nr(profile->modules);
}

/* --- names for places --- */

static struct str_id intern(struct profile *profile, const char *text)
{
	return profile_intern(profile, text);
}

static void put_name(struct jit_names *names, const struct jit_place *place,
		     const struct jit_code *code, const struct jit_range *range)
{
	const struct jit_line *line = jit_code_line(code, range, place->address);
	const struct jit_line *first = &code->lines[range->first_line];
	struct jit_name row = {.frame = place->now, .name = place->name};

	if (line) {
		row.file = intern(names->profile, jit_code_file(code, line));
		row.line = line->line;
		row.function_file = intern(names->profile, jit_code_file(code, first));
		row.function_line = first->line;
	}
	profile_add_jit_name(names->profile, &row);
}

static void name_place(struct jit_names *names, struct jit_place *place,
		       const struct jit_code *code, const struct jit_range *range)
{
	struct profile *profile = names->profile;
	struct str_id name = intern(profile, jit_code_name(code, range));
	struct code_address where = profile->frames[place->first.v].where;
	struct frame_id now;

	if (name.v == place->name.v && (place->has_line || !range->nr_lines))
		return;
	/* Earlier samples keep the former name. */
	if (name.v != place->name.v && place->name.v != STR_EMPTY.v) {
		if (!profile_add_jit_frame(profile, where, &now))
			return;
		replace(names, place, now);
	}
	place->name = name;
	place->has_line = range->nr_lines;
	put_name(names, place, code, range);
}

/* Look up the sorted addresses from `from` to `to` in `code`, from range `first` on. */
static void look_up(struct jit_names *names, struct jit_process *process, size_t from, size_t to,
		    const struct jit_code *code, size_t first)
{
	struct jit_place *places = process->places + from;
	size_t nr = to - from;
	uint64_t *addresses;
	uint32_t *found;

	if (!nr || first >= code->nr)
		return;
	addresses = xcalloc(nr, sizeof(*addresses));
	found = xcalloc(nr, sizeof(*found));
	for (size_t i = 0; i < nr; i++)
		addresses[i] = places[i].address;
	jit_code_find(code, first, addresses, found, nr);
	for (size_t i = 0; i < nr; i++) {
		if (found[i])
			name_place(names, &places[i], code, &code->ranges[found[i] - 1]);
	}
	free(addresses);
	free(found);
}

static int by_address(const void *left, const void *right)
{
	const struct jit_place *a = left;
	const struct jit_place *b = right;

	if (a->address != b->address)
		return a->address > b->address ? 1 : -1;
	return (a->first.v > b->first.v) - (a->first.v < b->first.v);
}

static void sort_places(struct jit_place *places, size_t nr)
{
	if (nr)
		qsort(places, nr, sizeof(*places), by_address);
}

/* A forked child runs its parent's code without publishing its names again. */
static const struct jit_code *inherited_code(struct jit_names *names,
					     const struct jit_process *process)
{
	pid_t pid = process->pid;

	for (int i = 0; i < ANCESTORS_MAX && (pid = parent_of(names->profile, pid)); i++) {
		struct jit_process *ancestor = find_process(names, pid);

		if (!ancestor)
			continue;
		if (!jit_reader_input(&ancestor->reader)->code.nr)
			jit_reader_read(&ancestor->reader, NULL);
		if (jit_reader_input(&ancestor->reader)->code.nr)
			return &jit_reader_input(&ancestor->reader)->code;
	}
	return NULL;
}

static void look_up_all(struct jit_names *names, struct jit_process *process)
{
	struct jit_input *input = jit_reader_input(&process->reader);
	const struct jit_code *inherited = input->code.nr ? NULL : inherited_code(names, process);
	const struct jit_code *code = inherited ? inherited : &input->code;
	size_t *nr_seen = inherited ? &process->nr_inherited : &input->nr_seen;
	size_t nr_known = process->nr_known;

	if (*nr_seen > code->nr)
		*nr_seen = 0; /* the file was rewritten */
	sort_places(process->places + nr_known, process->nr_places - nr_known);
	look_up(names, process, 0, nr_known, code, *nr_seen);
	look_up(names, process, nr_known, process->nr_places, code, 0);
	if (nr_known != process->nr_places)
		sort_places(process->places, process->nr_places);
	process->nr_known = process->nr_places;
	*nr_seen = code->nr;
}

/* --- reading --- */

/* The root of a container is another one. */
static struct owner owner_of_process(const struct jit_reader *reader)
{
	return reader->owner == 0 && !target_shares_mounts(reader->pid)
		       ? OWNER_NOBODY
		       : owner_of_user(reader->owner);
}

static void put_source(struct jit_names *names, struct jit_process *process)
{
	struct profile *profile = names->profile;
	struct jit_reader *reader = &process->reader;
	const char *path = jit_reader_input(reader)->path;
	struct jit_source source = {.source = jit_reader_source(reader),
				    .owner = owner_of_process(reader)};

	source.path = path ? intern(profile, path) : STR_EMPTY;
	source.problem = reader->problem ? intern(profile, reader->problem) : STR_EMPTY;
	if (process->nr_sources == process->nr_modules && source.source == process->source.source &&
	    source.path.v == process->source.path.v &&
	    source.problem.v == process->source.problem.v)
		return;
	process->source = source;
	process->nr_sources = process->nr_modules;
	for (size_t i = 0; i < process->nr_modules; i++) {
		source.module = process->modules[i];
		profile_add_jit_source(profile, &source);
	}
}

/* The pause before reading it again, in proportion to the time of reading. */
static uint64_t pause_after(struct jit_process *process, uint64_t cpu_ns)
{
	bool is_found = process->reader.map.path || process->reader.dump.path;

	process->pause_ns = is_found ? SHORTEST_PAUSE_NS
				     : min_u64(max_u64(2 * process->pause_ns, SHORTEST_PAUSE_NS),
					       LONGEST_PAUSE_NS);
	return max_u64(process->pause_ns, cpu_ns * PAUSE_PER_READING);
}

static uint64_t *last_bytes_of(struct jit_names *names)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t us = (now_ns - names->last_bytes_at_ns) / NS_PER_US;

	names->last_bytes = min_u64(names->last_bytes + us * LAST_BYTES_PER_US, LAST_BYTES_MAX);
	names->last_bytes_at_ns = now_ns;
	return &names->last_bytes;
}

static void read_process(struct jit_names *names, struct jit_process *process, bool is_last)
{
	uint64_t cpu_ns = clock_thread_cpu_ns();
	bool was_silent = process->reader.is_silent;
	bool has_more = jit_reader_read(&process->reader, is_last ? last_bytes_of(names) : NULL);

	names->nr_silent += process->reader.is_silent && !was_silent;
	look_up_all(names, process);
	put_source(names, process);
	cpu_ns = clock_thread_cpu_ns() - cpu_ns;
	process->poll_again_ns = clock_monotonic_ns();
	if (!has_more)
		process->poll_again_ns += pause_after(process, cpu_ns);
}

void jit_names_poll(struct jit_names *names, uint64_t now_ns)
{
	take_new_frames(names);
	for (size_t i = 0; i < names->nr_processes; i++) {
		if (now_ns >= names->processes[i].poll_again_ns)
			read_process(names, &names->processes[i], false);
	}
}

void jit_names_catch_up(struct jit_names *names)
{
	take_new_frames(names);
	for (size_t i = 0; i < names->nr_processes; i++) {
		struct jit_process *process = &names->processes[i];

		if (process->nr_known != process->nr_places)
			read_process(names, process, false);
	}
}

/* --- beginnings and ends --- */

/* Its addresses get new frames once the process runs another program. */
static void leave_places(struct jit_names *names, pid_t pid)
{
	struct profile *profile = names->profile;
	size_t nr_frames = profile->nr_frames; /* without those added below */

	for (size_t i = 0; i < nr_frames; i++) {
		struct code_address where = profile->frames[i].where;
		struct frame_id frame = {(uint32_t)i}, now;

		if (owner_of(names, where) == pid && profile_add_jit_frame(profile, where, &now))
			replace(names, add_place(get_process(names, pid), where, frame), now);
	}
}

void jit_names_begin(struct jit_names *names, pid_t pid)
{
	jit_names_end(names, pid);
	for (size_t i = 0; i < names->nr_former; i++) {
		if (names->former[i] != pid)
			continue;
		names->former[i] = names->former[--names->nr_former];
		leave_places(names, pid);
		return;
	}
}

static void leave_process(struct jit_names *names, struct jit_process *process)
{
	pid_t pid = process->pid;

	process_release(process);
	*process = names->processes[--names->nr_processes];
	ARRAY_GROW(names->former, names->nr_former, names->cap_former);
	names->former[names->nr_former++] = pid;
}

void jit_names_end(struct jit_names *names, pid_t pid)
{
	struct jit_process *process;

	take_new_frames(names);
	process = find_process(names, pid);
	if (!process)
		return;
	read_process(names, process, true);
	/* Children that run its code may have ended in the same moment, and are reported later. */
	for (size_t i = 0; i < names->nr_processes; i++) {
		if (names->processes[i].nr_known != names->processes[i].nr_places)
			look_up_all(names, &names->processes[i]);
	}
	leave_process(names, process);
}

void jit_names_end_all(struct jit_names *names)
{
	take_new_frames(names);
	for (size_t i = 0; i < names->nr_processes; i++)
		read_process(names, &names->processes[i], true);
	/* Children use the names of their parents, whichever was read first. */
	while (names->nr_processes) {
		struct jit_process *process = &names->processes[names->nr_processes - 1];

		look_up_all(names, process);
		put_source(names, process);
		leave_process(names, process);
	}
}
