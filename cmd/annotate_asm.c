// SPDX-License-Identifier: GPL-2.0-or-later
/* profc annotate --asm: instructions interleaved with source lines. */
#include <stdlib.h>
#include <string.h>

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
#include "cmd/machine_code.h"
#include "cmd/pager.h"
#include "mapping/module.h"
#include "view/asm_lines.h"
#include "view/asm_text.h"
#include "view/disassembly.h"
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
	struct asm_lines lines;
	struct source_file_text source; /* the file last read, for the many lines in a row */
	const char *source_path;	/* what the disassembly calls it, or NULL */
};

static void assembler_release(struct assembler *assembler)
{
	asm_lines_release(&assembler->lines);
	disassembly_release(&assembler->disassembly);
	source_file_release(&assembler->source);
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

/* For asm_lines_append(). */
static const char *source_line(void *context, const char *path, uint32_t line)
{
	struct assembler *assembler = context;

	if (!assembler->source_path || strcmp(assembler->source_path, path) != 0) {
		source_file_release(&assembler->source);
		annotate_read_source(assembler->args, assembler->expansion->profile, path, NULL,
				     &assembler->source);
		assembler->source_path = path;
		check_source(assembler, path);
	}
	if (line == 0 || line > assembler->source.nr_lines)
		return NULL;
	return assembler->source.lines[line - 1];
}

static void disassemble_code(struct assembler *assembler, const struct codes *codes,
			     const struct code *code)
{
	struct err err = ERR_INIT;

	assembler->module = label_module(assembler->expansion, code->label);
	if (code_disassemble(codes, code, &assembler->disassembly, &err) < 0)
		print_note("%s: showing addresses only", err.what);
	else
		asm_lines_append(&assembler->lines, &assembler->disassembly, source_line,
				 assembler);
}

static void print_code(const struct annotate_args *args, const struct codes *codes,
		       const struct code *code, const struct view *view, struct sink *sink,
		       struct strtab *checked)
{
	struct assembler assembler = {.args = args,
				      .expansion = codes->weights->selection->expansion,
				      .checked = checked};
	struct asm_listing listing = {.codes = codes, .code = code, .context = CONTEXT_DEFAULT};

	disassemble_code(&assembler, codes, code);
	listing.lines = assembler.lines.lines;
	listing.nr_lines = assembler.lines.nr;
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
	return fail_with(&err);
}

int annotate_instructions(const struct annotate_args *args, const struct weights *weights,
			  char *const *words)
{
	bool *wanted = *words ? find_words(weights->selection->expansion, words) : NULL;
	size_t limit = *words ? SIZE_MAX : annotate_limit(args);
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
