// SPDX-License-Identifier: GPL-2.0-or-later
/* The instructions of functions of a recording, by objdump. */
#include "cmd/machine_code.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "calltree/code.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "cmd/objdump.h"
#include "mapping/module.h"
#include "mapping/module_file.h"
#include "symbol/symbol.h"

/* Only the file that was recorded has the instructions that were executed. */
static bool is_recorded_file(const struct module *module)
{
	cleanup_close int fd = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	cleanup_free char *difference = NULL;
	struct stat status;

	if (module->kind != MODULE_KIND_FILE || module->image_offset || fd < 0 ||
	    fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	difference = module_file_difference(module, fd, fd);
	return !difference;
}

struct symbol_file *code_file_open(const struct module *module, struct err *err)
{
	const struct symbol_options options = {0};
	const struct symbol_request request = {.path = module->path,
					       .fd = -1,
					       .build_id = module->build_id,
					       .nr_build_id_bytes = module->nr_build_id_bytes,
					       .recorded = module};
	struct symbol_file *file;

	if (module->kind != MODULE_KIND_FILE) {
		err_set(err, ERR_NOT_FOUND, "%s is not a file", module->path);
		return NULL;
	}
	if (!is_recorded_file(module)) {
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

/* Bytes to show from the sampled instruction on if the function's bounds are unknown. */
#define NAMELESS_BYTES 64

/* Its parts one after the other: a function may be in several, as gcc's .cold ones. */
void code_file_disassemble(struct symbol_file *file, const struct codes *codes,
			   const struct code *code, bool line_numbers, struct buf *output)
{
	const struct module *module =
		label_module(codes->weights->selection->expansion, code->label);
	const struct code_cost *costs = codes->costs + code->first_cost;
	uint64_t done = 0; /* everything below is disassembled */

	for (uint32_t i = 0; i < code->nr_costs; i++) {
		uint64_t start, end;

		if (i > 0 && costs[i].address < done)
			continue;
		if (!symbol_file_find_function(file, costs[i].address, &start, &end)) {
			start = costs[i].address;
			end = start + NAMELESS_BYTES;
		}
		objdump_run(module->path, start > done ? start : done, end, line_numbers, output);
		done = end;
	}
}
