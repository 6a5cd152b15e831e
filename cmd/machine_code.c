// SPDX-License-Identifier: GPL-2.0-or-later
/* The instructions of functions of a recording: what it has kept, or by objdump. */
#include "cmd/machine_code.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/chosen_file.h"
#include "base/err.h"
#include "calltree/code.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "cmd/search_path.h"
#include "desktop/objdump.h"
#include "mapping/module.h"
#include "mapping/module_file.h"
#include "profile/profile.h"
#include "symbol/symbol.h"
#include "view/disassembly.h"

/* Only the file that was recorded has the instructions that were executed. -1: it is another. */
static int open_recorded_file(const struct profile *profile, const struct module *module)
{
	int fd = module->kind != MODULE_KIND_FILE || module->image_offset
			 ? -1
			 : chosen_file_open(module->path, profile->meta.owner, NULL);
	cleanup_free char *difference = fd < 0 ? NULL : module_file_difference(module, fd, fd);

	if (!difference)
		return fd;
	close(fd);
	return -1;
}

static struct symbol_file *code_file_open(const struct profile *profile,
					  const struct module *module, int *fd, struct err *err)
{
	const struct symbol_options options = {0};
	const struct symbol_request request = {.path = module->path,
					       .chooser = profile->meta.owner,
					       .fd = -1,
					       .build_id = module->build_id,
					       .nr_build_id_bytes = module->nr_build_id_bytes,
					       .recorded = module};
	struct symbol_file *file;

	if (module->kind != MODULE_KIND_FILE) {
		err_set(err, ERR_NOT_FOUND, "%s is not a file", module->path);
		return NULL;
	}
	*fd = open_recorded_file(profile, module);
	if (*fd < 0) {
		err_set(err, ERR_NOT_FOUND, "%s is missing or differs from the recorded file",
			module->path);
		return NULL;
	}
	if (symbol_file_open(&options, &request, &file, err) < 0)
		return NULL;
	if (symbol_file_mismatch(file)) {
		err_set(err, ERR_NOT_FOUND, "%s", symbol_file_mismatch(file));
		symbol_file_close(file);
		return NULL;
	}
	return file;
}

/* Where the instructions of a function are read from. */
struct code_reader {
	const struct profile *profile;
	struct module_id module;
	struct symbol_file *file; /* NULL until it is needed, or if it cannot be read */
	int fd;			  /* on the same; -1: none */
	bool has_tried;
};

/* Bytes to show from the sampled instruction on if the function's bounds are unknown. */
#define NAMELESS_BYTES 64

static int open_file(struct code_reader *reader, struct err *err)
{
	if (!reader->has_tried)
		reader->file = code_file_open(
			reader->profile, module_table_get(reader->profile->modules, reader->module),
			&reader->fd, err);
	reader->has_tried = true;
	if (reader->file && !in_search_path("objdump"))
		return err_set(err, ERR_NOT_FOUND, "objdump (of binutils) not found");
	return reader->file ? 0 : ERR_NOT_FOUND;
}

/* Addresses of all instructions, ascending; the caller frees them. */
static uint64_t *instruction_addresses(const struct disassembly *disassembly, size_t *nr)
{
	uint64_t *addresses = xcalloc(disassembly->nr, sizeof(*addresses));

	*nr = 0;
	for (size_t i = 0; i < disassembly->nr; i++) {
		const struct disassembly_line *line = &disassembly->lines[i];

		if (line->kind == DISASSEMBLY_INSTRUCTION &&
		    (!*nr || line->address > addresses[*nr - 1]))
			addresses[(*nr)++] = line->address;
	}
	return addresses;
}

/* The line that an instruction was written on, if it is another than that of the one before. */
static void append_position(struct buf *text, const struct symbol_result *result, size_t i,
			    const struct symbol_location **before)
{
	const struct symbol_chain *chain = &result->chains[i];
	const struct symbol_location *here = &result->locations[chain->first];

	if (!chain->nr || !here->file || !here->line)
		return;
	if (!*before || (*before)->line != here->line || strcmp((*before)->file, here->file) != 0)
		buf_printf(text, "%s:%" PRIu32 "\n", here->file, here->line);
	*before = here;
}

/* The lines of objdump again, with those of the source between them. */
static void append_with_positions(struct symbol_file *file, const struct disassembly *disassembly,
				  struct buf *text)
{
	const struct symbol_location *before = NULL;
	size_t nr, next = 0;
	cleanup_free uint64_t *addresses = instruction_addresses(disassembly, &nr);
	struct symbol_result *result = symbol_file_resolve(file, addresses, nr);

	for (size_t i = 0; i < disassembly->nr; i++) {
		const struct disassembly_line *line = &disassembly->lines[i];

		if (line->kind == DISASSEMBLY_FUNCTION)
			buf_printf(text, "%" PRIx64 " %s\n", line->address, line->text);
		if (line->kind != DISASSEMBLY_INSTRUCTION)
			continue;
		if (next < nr && addresses[next] == line->address)
			append_position(text, result, next++, &before);
		buf_printf(text, " %" PRIx64 ":\t%s\n", line->address, line->text);
	}
	symbol_result_free(result);
}

static int read_part(struct code_reader *reader, uint64_t address, uint64_t done,
		     struct code_part *part, struct err *err)
{
	struct disassembly disassembly = {0};
	struct objdump_request request;

	if (open_file(reader, err) < 0)
		return err->code;
	if (!symbol_file_find_function(reader->file, address, &part->start, &part->end)) {
		part->start = address;
		part->end = address + NAMELESS_BYTES;
	}
	if (part->start < done)
		part->start = done;
	request = (struct objdump_request){.directories = search_directories(),
					   .fd = reader->fd,
					   .owner = owner_of_fd(reader->fd),
					   .start = part->start,
					   .end = part->end};
	objdump_run(&request, &disassembly.output);
	disassembly_parse(&disassembly);
	append_with_positions(reader->file, &disassembly, &part->text);
	disassembly_release(&disassembly);
	return 0;
}

static void take_kept(const struct profile *profile, const struct profile_listing *listing,
		      struct code_part *part)
{
	part->start = listing->start;
	part->end = listing->end;
	buf_append_str(&part->text, profile_str(profile, listing->text));
}

bool code_is_kept(const struct codes *codes, const struct code *code)
{
	const struct expansion *expansion = codes->weights->selection->expansion;
	const struct code_cost *costs = codes->costs + code->first_cost;

	for (uint32_t i = 0; i < code->nr_costs; i++) {
		struct code_address where = {expansion->labels[code->label].module,
					     costs[i].address};

		if (!profile_find_listing(expansion->profile, where))
			return false;
	}
	return true;
}

int code_parts_read(const struct codes *codes, const struct code *code, struct code_parts *parts,
		    struct err *err)
{
	const struct expansion *expansion = codes->weights->selection->expansion;
	const struct code_cost *costs = codes->costs + code->first_cost;
	struct code_reader reader = {.profile = expansion->profile,
				     .fd = -1,
				     .module = expansion->labels[code->label].module};
	uint64_t done = 0; /* everything below is read */
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < code->nr_costs; i++) {
		struct code_part part = {.module = reader.module};
		struct code_address where = {reader.module, costs[i].address};
		const struct profile_listing *kept = profile_find_listing(reader.profile, where);

		if (i > 0 && costs[i].address < done)
			continue;
		if (kept)
			take_kept(reader.profile, kept, &part);
		else
			status = read_part(&reader, costs[i].address, done, &part, err);
		if (status < 0) {
			buf_release(&part.text);
			break;
		}
		ARRAY_GROW(parts->parts, parts->nr, parts->cap);
		parts->parts[parts->nr++] = part;
		done = part.end;
	}
	symbol_file_close(reader.file);
	if (reader.fd >= 0)
		close(reader.fd);
	return parts->nr ? 0 : status;
}

void code_parts_release(struct code_parts *parts)
{
	for (size_t i = 0; i < parts->nr; i++)
		buf_release(&parts->parts[i].text);
	free(parts->parts);
	*parts = (struct code_parts){0};
}

int code_disassemble(const struct codes *codes, const struct code *code,
		     struct disassembly *disassembly, struct err *err)
{
	const struct expansion *expansion = codes->weights->selection->expansion;
	const struct module *module = label_module(expansion, code->label);
	struct code_parts parts = {0};
	int status = code_parts_read(codes, code, &parts, err);
	uint64_t start = parts.nr ? parts.parts[0].start : 0;
	uint64_t end = parts.nr ? parts.parts[parts.nr - 1].end : 0;

	for (size_t i = 0; i < parts.nr; i++)
		buf_append_str(&disassembly->output, buf_str(&parts.parts[i].text));
	code_parts_release(&parts);
	if (status < 0)
		return status;
	disassembly_parse(disassembly);
	if (label_is_nameless(expansion, code->label))
		disassembly_count_targets(disassembly, start, end);
	if (!disassembly_has_instructions(disassembly))
		return err_set(err, ERR_EMPTY, "objdump prints no instructions of %s there",
			       module->path);
	return 0;
}
