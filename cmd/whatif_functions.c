// SPDX-License-Identifier: GPL-2.0-or-later
/* Which functions `profc whatif` tries. */
#include "cmd/whatif_functions.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/weights.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

/* A smaller part of the CPU time cannot be seen in the program's speed. */
#define LEAST_PERCENT 2.0

struct search {
	struct whatif_candidates *found;
	const struct whatif_request *request;
	const struct flat *flat;
};

static struct symbol_file *open_file(const struct profile *profile, const struct module *module)
{
	const struct symbol_options options = {0};
	const struct symbol_request request = {.path = module->path,
					       .chooser = profile->meta.owner,
					       .fd = -1,
					       .build_id = module->build_id,
					       .nr_build_id_bytes = module->nr_build_id_bytes,
					       .tables_only = true,
					       .recorded = module};
	struct symbol_file *file;

	return symbol_file_open(&options, &request, &file, NULL) < 0 ? NULL : file;
}

static bool is_known(const struct code_range *parts, size_t nr, uint64_t address)
{
	for (size_t i = 0; i < nr; i++)
		if (address >= parts[i].start && address < parts[i].end)
			return true;
	return false;
}

/* The parts of the function that have samples, as in its file. The caller frees the array. */
static struct code_range *parts_of(const struct search *search, const struct flat_row *row,
				   struct module_id id, size_t *nr)
{
	const struct profile *profile = search->request->profile;
	const struct expansion *expansion = flat_expansion(search->flat);
	struct symbol_file *file = open_file(profile, module_table_get(profile->modules, id));
	struct code_range *parts = NULL;
	size_t cap = 0;

	*nr = 0;
	for (uint32_t i = 0; file && i < profile->nr_frames; i++) {
		struct code_address where = profile->frames[i].where;
		struct code_range part;

		if (where.module.v != id.v || !expansion->frames[i].nr ||
		    expansion_outermost(expansion, (struct frame_id){i})->label != row->label ||
		    is_known(parts, *nr, where.address) ||
		    !symbol_file_find_function(file, where.address, &part.start, &part.end))
			continue;
		ARRAY_GROW(parts, *nr, cap);
		parts[(*nr)++] = part;
	}
	symbol_file_close(file);
	return parts;
}

static void add_ranges(struct whatif_candidate *candidate, const struct space *space,
		       const struct code_range *part)
{
	for (size_t i = 0; i < space_nr_mappings(space); i++) {
		const struct mapping *mapping = space_mapping_at(space, i);
		uint64_t start = part->start + mapping->bias;

		if (!mapping->executable || mapping->module.v != candidate->module.v ||
		    start < mapping->start || start >= mapping->end)
			continue;
		ARRAY_GROW(candidate->ranges, candidate->nr_ranges, candidate->cap_ranges);
		candidate->ranges[candidate->nr_ranges++] =
			(struct experiment_range){.start = start, .end = part->end + mapping->bias};
	}
}

static void map(struct whatif_candidate *candidate, const struct space *space)
{
	candidate->nr_ranges = 0;
	for (size_t i = 0; i < candidate->nr_parts; i++)
		add_ranges(candidate, space, &candidate->parts[i]);
}

static void release(struct whatif_candidate *candidate)
{
	free(candidate->parts);
	free(candidate->ranges);
}

/* Unless its code is not known, or is not there any more. */
static void add(struct search *search, const struct flat_row *row)
{
	struct whatif_candidates *found = search->found;
	const struct tally *total = &search->flat->weights->total;
	struct whatif_candidate candidate = {
		.module = flat_expansion(search->flat)->labels[row->label].module};
	struct buf name = {0}, location = {0};

	candidate.parts = parts_of(search, row, candidate.module, &candidate.nr_parts);
	if (found->space)
		map(&candidate, found->space);
	if (found->space ? !candidate.nr_ranges : !candidate.nr_parts) {
		release(&candidate);
		return;
	}
	flat_append_name(&name, search->flat, row, search->request->names);
	flat_append_location(&location, search->flat, row);
	found->candidates[found->nr] = candidate;
	found->rows[found->nr++] =
		(struct whatif_row){.name = xstrdup(buf_str(&name)),
				    .location = xstrdup(buf_str(&location)),
				    .percent = tally_percent(&row->self, total),
				    .half_percent = tally_interval(&row->self, total)};
	buf_release(&name);
	buf_release(&location);
}

static void add_all(struct search *search)
{
	const struct flat *flat = search->flat;

	for (size_t i = 0; i < flat->nr && search->found->nr < search->request->limit; i++) {
		const struct flat_row *row = &flat->rows[i];

		if (tally_percent(&row->self, &flat->weights->total) < LEAST_PERCENT)
			break;
		if (flat_expansion(flat)->labels[row->label].kind == LABEL_FUNCTION)
			add(search, row);
	}
}

int whatif_candidates_find(struct whatif_candidates *found, const struct whatif_request *request,
			   struct err *err)
{
	static const struct filter everything = {.to_ns = 0};
	struct search search = {.found = found, .request = request};
	struct expansion *expansion = expansion_new(request->profile, true);
	struct selection *selection;
	int status = selection_new(expansion, &everything, &selection, err);

	*found = (struct whatif_candidates){
		.rows = xcalloc(request->limit, sizeof(*found->rows)),
		.candidates = xcalloc(request->limit, sizeof(*found->candidates)),
		.modules = request->profile->modules};
	if (request->pid)
		found->space = space_new(found->modules, request->pid);
	if (status == 0 && request->pid)
		status = space_refresh(found->space, err);
	if (status == 0) {
		struct weights *cpu = weights_new(selection, METRIC_CPU);
		struct flat *flat = flat_new(cpu, BY_FUNCTION);

		search.flat = flat;
		add_all(&search);
		flat_free(flat);
		weights_free(cpu);
		selection_free(selection);
	}
	expansion_free(expansion);
	if (status == 0 && !found->nr)
		return err_set(err, ERR_NOT_FOUND,
			       "no function with a name was seen on a CPU: nothing to try");
	return status;
}

void whatif_candidates_map(struct whatif_candidates *candidates, pid_t pid)
{
	struct err err = ERR_INIT;

	/* Another process, or another program that it has begun since. */
	if (!candidates->space || space_pid(candidates->space) != pid ||
	    space_refresh(candidates->space, &err) == ERR_GONE) {
		if (candidates->space)
			space_free(candidates->space);
		candidates->space = space_new(candidates->modules, pid);
		space_refresh(candidates->space, &err);
	}
	for (size_t i = 0; i < candidates->nr; i++)
		map(&candidates->candidates[i], candidates->space);
}

void whatif_candidates_release(struct whatif_candidates *candidates)
{
	if (candidates->space)
		space_free(candidates->space);
	for (size_t i = 0; i < candidates->nr; i++) {
		free(candidates->rows[i].name);
		free(candidates->rows[i].location);
		release(&candidates->candidates[i]);
	}
	free(candidates->rows);
	free(candidates->candidates);
	*candidates = (struct whatif_candidates){.rows = NULL};
}
