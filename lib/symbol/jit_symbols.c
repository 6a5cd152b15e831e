// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols of JIT-compiled code, and of the kernel, from the names in the recording. */
#include "symbol/jit_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/profile.h"
#include "profile/runtime.h"
#include "symbol/builder.h"
#include "symbol/python_source.h"

/* A text that lives as long as the result, or NULL if there is none. */
static const char *text(struct name_pool *pool, const struct profile *profile, struct str_id id)
{
	return id.v == STR_EMPTY.v ? NULL : name_pool_keep(pool, profile_str(profile, id));
}

/* The row of each frame in jit_names, counted from 1. Caller frees. */
static uint32_t *rows_by_frame(const struct profile *profile)
{
	uint32_t *rows = xcalloc(profile->nr_frames, sizeof(*rows));

	for (size_t i = 0; i < profile->jit.nr_names; i++)
		rows[profile->jit.names[i].frame.v] = (uint32_t)i + 1;
	return rows;
}

/* Python names the file: the function is known by its first line, which has all of its time. */
static void find_in_source(struct symbol_location *location, struct python_sources *sources,
			   struct owner chooser)
{
	const char *file = python_file_of(location->name), *source;

	if (!file || location->file)
		return;
	location->file = location->function_file = file;
	source = python_sources_get(sources, file, chooser);
	if (source)
		location->line = location->function_line = python_find_line(location->name, source);
}

static void add_location(struct result_builder *builder, const struct profile *profile,
			 const struct jit_name *row, struct python_sources *sources,
			 struct owner chooser)
{
	struct name_pool *pool = &builder->pool;
	/* As given by the program: not a linkage name, even if it resembles one. */
	struct symbol_location location = {
		.name = text(pool, profile, row->name),
		.file = text(pool, profile, row->file),
		.line = row->line,
		.function_file = text(pool, profile, row->function_file),
		.function_line = row->function_line,
	};

	if (location.name)
		find_in_source(&location, sources, chooser);
	result_builder_add(builder, &location);
}

/* Marked, as the kernel has functions of the names of those of libraries. */
static void add_kernel_function(struct result_builder *builder, const struct profile *profile,
				const struct jit_name *row)
{
	cleanup_free char *name = xasprintf("[k] %s", profile_str(profile, row->name));
	const struct symbol_location location = {.name = name_pool_keep(&builder->pool, name)};

	result_builder_add(builder, &location);
}

static const struct jit_source *source_of(const struct profile *profile, struct module_id module)
{
	struct module_id first = module_table_first(profile->modules, module);

	for (size_t i = profile->jit.nr_sources; i-- > 0;) {
		if (profile->jit.sources[i].module.v == first.v)
			return &profile->jit.sources[i];
	}
	return NULL;
}

/* The runtime of the last program of the process. */
static const struct runtime *runtime_of_process(const struct profile *profile, pid_t pid)
{
	for (size_t i = profile->nr_processes; i-- > 0;) {
		if (profile->processes[i].pid == pid)
			return runtime_of_file(profile_str(profile, profile->processes[i].exe));
	}
	return NULL;
}

/* Code in a readable file that is not an ELF file, such as Wine's libraries. */
static bool is_foreign_file(const struct module *module)
{
	return module->path[0] == '/' && strncmp(module->path, "/memfd:", 7) != 0 &&
	       strncmp(module->path, "/dev/", 5) != 0 && !module->deleted;
}

static char *hint_for_silence(const struct profile *profile, const struct module *module)
{
	const struct runtime *runtime = runtime_of_process(profile, module->owner_pid);

	if (is_foreign_file(module))
		return xstrdup("not an ELF file, and nothing names the code in it");
	if (runtime && runtime->jcmd)
		return xasprintf(
			"JIT-compiled code, and no /tmp/perf-PID.map or jitdump that names it (%s: "
			"%s; if it runs: jcmd %d %s)",
			runtime->name, runtime->advice, module->owner_pid, runtime->jcmd);
	if (runtime && runtime->advice)
		return xasprintf(
			"JIT-compiled code, and no /tmp/perf-PID.map or jitdump that names "
			"it (%s: %s)",
			runtime->name, runtime->advice);
	return xstrdup("JIT-compiled code, and no /tmp/perf-PID.map or jitdump that names it");
}

static char *hint(const struct profile *profile, const struct module *module,
		  const struct jit_source *source, size_t nr_named, size_t nr)
{
	const char *path = source ? profile_str(profile, source->path) : "";

	if (source && source->problem.v != STR_EMPTY.v)
		return xstrdup(profile_str(profile, source->problem));
	if (nr_named == nr)
		return NULL;
	if (module_is_of_probes(module))
		return xstrdup(
			"code of profc's own: what it takes to count calls, or record memory");
	if (nr_named)
		return xasprintf("%s names %zu of its %zu addresses", path, nr_named, nr);
	if (!source)
		return xstrdup("JIT-compiled code, and no names for it in the recording: it is "
			       "incomplete, or from an older profc");
	if (*path)
		return xasprintf("%s does not name this code", path);
	return hint_for_silence(profile, module);
}

struct symbol_result *jit_symbols_resolve(const struct profile *profile, struct module_id module,
					  const struct frame_id *frames, size_t nr)
{
	const struct module *of = module_table_get(profile->modules, module);
	const struct jit_source *source = source_of(profile, module);
	uint32_t *rows = rows_by_frame(profile);
	struct python_sources sources = {.rows = NULL};
	struct result_builder builder;
	size_t nr_named = 0;

	result_builder_init(&builder, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct jit_name *row;

		if (!rows[frames[i].v])
			continue;
		result_builder_begin(&builder, i);
		row = &profile->jit.names[rows[frames[i].v] - 1];
		if (of->kind == MODULE_KIND_KERNEL)
			add_kernel_function(&builder, profile, row);
		else
			add_location(&builder, profile, row, &sources,
				     source ? source->owner : OWNER_NOBODY);
		nr_named++;
	}
	python_sources_release(&sources);
	free(rows);
	if (source) {
		builder.result->source = source->source;
		builder.result->owner = source->owner;
		if (source->path.v != STR_EMPTY.v)
			builder.result->debug_path = xstrdup(profile_str(profile, source->path));
	}
	builder.result->problem = hint(profile, of, source, nr_named, nr);
	return result_builder_finish(&builder);
}
