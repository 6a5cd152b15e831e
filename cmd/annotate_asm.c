// SPDX-License-Identifier: GPL-2.0-or-later
/* profc annotate --asm: instructions interleaved with source lines. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/sink.h"
#include "base/strtab.h"
#include "calltree/code.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/find.h"
#include "calltree/weights.h"
#include "cmd/annotate.h"
#include "cmd/command.h"
#include "cmd/disassembly.h"
#include "cmd/pager.h"
#include "mapping/module.h"
#include "mapping/module_file.h"
#include "symbol/symbol.h"
#include "view/asm_text.h"
#include "view/source_check.h"
#include "view/source_file.h"
#include "view/summary.h"

#define CONTEXT_DEFAULT 10

/* The lines of one function for the view, made from its disassembly and its sources. */
struct assembler {
	const struct annotate_args *args;
	const struct expansion *expansion;
	const struct module *module;
	struct strtab *checked; /* sources that were already checked; borrowed */
	struct disassembly disassembly;
	struct strtab *texts;		/* of source lines */
	struct source_file_text source; /* the file last read, for the many lines in a row */
	const char *source_path;	/* what the disassembly calls it, or NULL */
	struct asm_line *lines;
	size_t nr, cap;
};

static void assembler_init(struct assembler *assembler, const struct annotate_args *args,
			   const struct expansion *expansion)
{
	*assembler =
		(struct assembler){.args = args, .expansion = expansion, .texts = strtab_new()};
}

static void assembler_release(struct assembler *assembler)
{
	disassembly_release(&assembler->disassembly);
	source_file_release(&assembler->source);
	strtab_free(assembler->texts);
	free(assembler->lines);
}

/* Lines of many files alternate. */
static void check_source(struct assembler *assembler, const char *path)
{
	const struct source_check check = {.profile = assembler->expansion->profile,
					   .module = assembler->module,
					   .recorded = path,
					   .text = &assembler->source};
	uint32_t nr = strtab_nr(assembler->checked);

	if (strtab_intern(assembler->checked, path).v >= nr && assembler->source.path)
		annotate_say_doubts(&check);
}

/* The text of a line of source, or NULL. */
static const char *source_line(struct assembler *assembler, const char *path, uint32_t line)
{
	if (!assembler->source_path || strcmp(assembler->source_path, path) != 0) {
		source_file_release(&assembler->source);
		annotate_read_source(assembler->args, path, NULL, &assembler->source);
		assembler->source_path = path;
		check_source(assembler, path);
	}
	if (line == 0 || line > assembler->source.nr_lines)
		return NULL;
	return assembler->source.lines[line - 1];
}

static void append_line(struct assembler *assembler, struct asm_line line)
{
	ARRAY_GROW(assembler->lines, assembler->nr, assembler->cap);
	assembler->lines[assembler->nr++] = line;
}

/* "prog.c:12  while (rounds--)" */
static void append_source(struct assembler *assembler, const struct disassembly_line *position)
{
	const char *text = source_line(assembler, position->text, position->line);
	const char *slash = strrchr(position->text, '/');
	struct buf line = {0};
	struct str_id id;

	buf_printf(&line, "%s:%u", slash ? slash + 1 : position->text, position->line);
	if (text) {
		buf_append_str(&line, "  ");
		buf_append_str(&line, text + strspn(text, " \t"));
	}
	id = strtab_intern(assembler->texts, buf_str(&line));
	append_line(assembler,
		    (struct asm_line){.is_source = true, .text = strtab_get(assembler->texts, id)});
	buf_release(&line);
}

static void assemble(struct assembler *assembler)
{
	const struct disassembly *disassembly = &assembler->disassembly;

	for (size_t i = 0; i < disassembly->nr; i++) {
		const struct disassembly_line *line = &disassembly->lines[i];

		switch (line->kind) {
		case DISASSEMBLY_FUNCTION:
			append_line(assembler,
				    (struct asm_line){.is_source = true, .text = line->text});
			break;
		case DISASSEMBLY_POSITION:
			append_source(assembler, line);
			break;
		case DISASSEMBLY_INSTRUCTION:
			append_line(assembler, (struct asm_line){.address = line->address,
								 .text = line->text});
			break;
		}
	}
}

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

/* The file whose symbols give the bounds of functions of a module; NULL with a note. */
static struct symbol_file *open_module(const struct module *module)
{
	const struct symbol_options options = {0};
	const struct symbol_request request = {.path = module->path,
					       .fd = -1,
					       .build_id = module->build_id,
					       .nr_build_id_bytes = module->nr_build_id_bytes,
					       .recorded = module};
	struct symbol_file *file;
	struct err err = ERR_INIT;

	if (module->kind != MODULE_KIND_FILE) {
		print_note("%s is not a file: showing addresses only", module->path);
		return NULL;
	}
	if (!is_recorded_file(module)) {
		print_note(
			"%s is missing or differs from the recorded file: showing addresses only",
			module->path);
		return NULL;
	}
	if (symbol_file_open(&options, &request, &file, &err) < 0) {
		print_note("%s: showing addresses only", err.what);
		return NULL;
	}
	if (symbol_file_mismatch(file)) {
		print_note("%s: showing addresses only", symbol_file_mismatch(file));
		symbol_file_close(file);
		return NULL;
	}
	return file;
}

/* Bytes to show from the sampled instruction on if the function's bounds are unknown. */
#define NAMELESS_BYTES 64

/* Its parts one after the other: a function may be in several, as gcc's .cold ones. */
static void disassemble_parts(struct assembler *assembler, const struct codes *codes,
			      const struct code *code, struct symbol_file *file, const char *path)
{
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
		disassemble(path, start > done ? start : done, end, &assembler->disassembly);
		done = end;
	}
}

static void disassemble_code(struct assembler *assembler, const struct codes *codes,
			     const struct code *code)
{
	const struct module *module = label_module(assembler->expansion, code->label);
	struct symbol_file *file = open_module(module);

	assembler->module = module;
	if (!file)
		return;
	if (can_disassemble()) {
		disassemble_parts(assembler, codes, code, file, module->path);
		disassembly_parse(&assembler->disassembly);
		if (disassembly_has_instructions(&assembler->disassembly))
			assemble(assembler);
		else
			print_note("objdump prints no instructions of %s there: showing addresses "
				   "only",
				   module->path);
	} else {
		print_note("objdump (of binutils) not found: showing addresses only");
	}
	symbol_file_close(file);
}

static void print_code(const struct annotate_args *args, const struct codes *codes,
		       const struct code *code, const struct view *view, struct sink *sink,
		       struct strtab *checked)
{
	struct assembler assembler;
	struct asm_listing listing = {.codes = codes, .code = code, .context = CONTEXT_DEFAULT};

	assembler_init(&assembler, args, codes->weights->selection->expansion);
	assembler.checked = checked;
	disassemble_code(&assembler, codes, code);
	listing.lines = assembler.lines;
	listing.nr_lines = assembler.nr;
	if (args->context != CONTEXT_NOT_GIVEN)
		listing.context = args->context;
	asm_print_text(&listing, view, sink);
	assembler_release(&assembler);
}

static int print_codes(const struct annotate_args *args, const struct codes *codes, size_t limit)
{
	struct view view = view_options_resolve(&args->view);
	struct strtab *checked = strtab_new();
	struct pager pager;

	pager_begin(&pager, !args->view.no_pager);
	summary_print_heading(codes->weights, &view, &pager.sink);
	for (size_t i = 0; i < codes->nr && i < limit; i++) {
		sink_str(&pager.sink, "\n");
		print_code(args, codes, &codes->codes[i], &view, &pager.sink, checked);
	}
	strtab_free(checked);
	summary_print_notes(codes->weights, &view, &pager.sink);
	return pager_end(&pager);
}

/* The labels that any of the words means; NULL with a message when one means none. */
static bool *find_words(const struct expansion *expansion, char *const *words)
{
	bool *wanted = xcalloc(expansion->nr_labels, sizeof(*wanted));
	struct err err = ERR_INIT;

	for (; *words; words++) {
		if (find_labels_or_file(expansion, *words, wanted, &err)) {
			print_err(&err);
			free(wanted);
			return NULL;
		}
	}
	return wanted;
}

static int no_instructions(void)
{
	struct err err = ERR_INIT;

	err_set(&err, ERR_EMPTY, "no samples in the functions' own instructions");
	print_err(&err);
	return EXIT_CANNOT;
}

int annotate_instructions(const struct annotate_args *args, const struct weights *weights,
			  char *const *words)
{
	bool *wanted = *words ? find_words(weights->selection->expansion, words) : NULL;
	size_t limit = *words ? SIZE_MAX : args->limit;
	struct codes *codes;
	int status;

	if (*words && !wanted)
		return EXIT_CANNOT;
	codes = codes_new(weights, wanted);
	status = codes->nr > 0 ? print_codes(args, codes, limit) : no_instructions();
	codes_free(codes);
	free(wanted);
	return status;
}
