// SPDX-License-Identifier: GPL-2.0-or-later
/* profc annotate on source files and functions. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/sink.h"
#include "base/source_path.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/find.h"
#include "calltree/source.h"
#include "calltree/tally.h"
#include "calltree/weights.h"
#include "cmd/annotate.h"
#include "cmd/command.h"
#include "cmd/pager.h"
#include "store/store.h"
#include "view/flat_fields.h"
#include "view/line.h"
#include "view/number.h"
#include "view/shared_code_text.h"
#include "view/source_check.h"
#include "view/source_choice.h"
#include "view/source_file.h"
#include "view/source_text.h"
#include "view/summary.h"

#define CONTEXT_DEFAULT 3 /* of the hottest files, as in diffs */
#define CONTEXT_ALL	UINT32_MAX
/* The share of time without line numbers from which a note is printed. */
#define WORTH_A_NOTE_PERCENT 5
#define WHERE_LINES_ARE_KNOWN                                                                      \
	"a function of Node.js has no line once V8 has optimised it, or while V8 interprets it "   \
	"and "                                                                                     \
	"it calls no other"

/* A file or part of one that is to be shown, with its text. */
struct page {
	struct listing listing;
	struct source_file_text text;
};

/* Everything between the command line and the output. */
struct annotation {
	const struct annotate_args *args;
	const struct source *source;
	struct page *pages;
	size_t nr_pages, cap_pages;
	bool is_choice; /* the pages are the hottest files, as none was named */
};

static const struct expansion *expansion_of(const struct annotation *annotation)
{
	return annotation->source->weights->selection->expansion;
}

static void release_pages(struct annotation *annotation)
{
	for (size_t i = 0; i < annotation->nr_pages; i++)
		source_file_release(&annotation->pages[i].text);
	free(annotation->pages);
}

static struct page *add_page(struct annotation *annotation, const struct source_file *file,
			     const char *named)
{
	const struct profile *profile = expansion_of(annotation)->profile;
	struct page *page;

	ARRAY_GROW(annotation->pages, annotation->nr_pages, annotation->cap_pages);
	page = &annotation->pages[annotation->nr_pages++];
	*page = (struct page){.listing = {.source = annotation->source,
					  .file = file,
					  .first = 1,
					  .last = UINT32_MAX,
					  .context = CONTEXT_ALL}};
	if (annotation->args->context != CONTEXT_NOT_GIVEN)
		page->listing.context = (uint32_t)annotation->args->context;
	annotate_read_source(annotation->args, profile, profile_str(profile, file->file), named,
			     &page->text);
	if (page->text.path) {
		page->listing.lines = (const char *const *)page->text.lines;
		page->listing.nr_lines = page->text.nr_lines;
		page->listing.path = page->text.path;
	}
	return page;
}

/* Symbol tables have the files of some functions, but not their lines. */
static bool has_lines(const struct source_file *file)
{
	return file->nr_lines > 0;
}

/*
 * All files of the profile that the word names, by the end of their path. *without_lines: there
 * are some that cannot be shown.
 */
static bool add_files(struct annotation *annotation, const char *word, bool *without_lines)
{
	const struct profile *profile = expansion_of(annotation)->profile;
	cleanup_free char *real = realpath(word, NULL);
	bool any = false;

	*without_lines = false;
	for (size_t i = 0; i < annotation->source->nr_files; i++) {
		const struct source_file *file = &annotation->source->files[i];
		const char *recorded = profile_str(profile, file->file);

		if (!source_path_matches(recorded, word) &&
		    !(real && source_path_matches(recorded, real)))
			continue;
		if (!has_lines(file)) {
			*without_lines = true;
			continue;
		}
		add_page(annotation, file, word);
		any = true;
	}
	return any;
}

static const struct source_file *find_file(const struct source *source, struct str_id name)
{
	for (size_t i = 0; i < source->nr_files; i++)
		if (source->files[i].file.v == name.v)
			return &source->files[i];
	return NULL;
}

static void note_shared_code(const struct annotation *annotation, const bool *wanted)
{
	const struct expansion *expansion = expansion_of(annotation);

	for (uint32_t i = 0; i < expansion->nr_labels; i++) {
		struct buf text = {0};

		if (!wanted[i] || !*label_shared_names(expansion, i))
			continue;
		shared_code_append(&text, expansion, i);
		print_note("%s", buf_str(&text));
		buf_release(&text);
	}
}

/* The file as a module of functions with code of their own, as those of Node.js; NULL: it is none.
 */
static const struct module *compiled_script(const struct profile *profile, struct str_id file)
{
	const char *path = profile_str(profile, file);

	for (size_t i = 0; i < profile->jit.nr_sources; i++) {
		const struct jit_source *source = &profile->jit.sources[i];
		const struct module *module = module_table_get(profile->modules, source->module);

		if (source->source == SYMBOL_SOURCE_COMPILER &&
		    module->kind == MODULE_KIND_SCRIPT && strcmp(module->path, path) == 0)
			return module;
	}
	return NULL;
}

/* As above, for the first function that the word names. */
static const struct module *compiled_script_of(const struct expansion *expansion,
					       const bool *wanted)
{
	const struct module *module = NULL;

	for (uint32_t i = 0; i < expansion->nr_labels && !module; i++) {
		const struct function *function = wanted[i] ? label_function(expansion, i) : NULL;

		if (function)
			module = compiled_script(expansion->profile, function->file);
	}
	return module;
}

static int fail_without_lines(const struct annotation *annotation, const char *word,
			      const bool *wanted, struct err *err)
{
	const char *file = source_python_file(expansion_of(annotation), wanted);
	const struct module *script = compiled_script_of(expansion_of(annotation), wanted);

	if (file) {
		err_set(err, ERR_NOT_FOUND, "the source of '%s' was not found in %s", word, file);
		err_hint(err, "'profc report --callees' with its name shows what it called");
	} else {
		err_set(err, ERR_NOT_FOUND, "the source lines of '%s' are unknown", word);
		err_hint(err, script ? WHERE_LINES_ARE_KNOWN ", and 'profc report --callees' with "
							     "its name shows what it called"
				     : "with --asm its instructions are shown");
	}
	return ERR_NOT_FOUND;
}

static int add_functions(struct annotation *annotation, const char *word, struct err *err)
{
	struct source_span *spans;
	bool *wanted;
	size_t nr, before = annotation->nr_pages;
	int status = find_labels(expansion_of(annotation), word, &wanted, err);

	if (status)
		return status;
	nr = source_find_spans(annotation->source, wanted, &spans);
	for (size_t i = 0; i < nr; i++) {
		const struct source_file *file = find_file(annotation->source, spans[i].file);
		struct page *page;

		if (!file || !has_lines(file))
			continue;
		page = add_page(annotation, file, NULL);
		page->listing.first = spans[i].first;
		page->listing.last =
			source_function_end(&page->text, spans[i].first, spans[i].last);
	}
	free(spans);
	if (annotation->nr_pages > before)
		note_shared_code(annotation, wanted);
	else
		status = fail_without_lines(annotation, word, wanted, err);
	free(wanted);
	return status;
}

static void hint_for_lines(struct err *err, const struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;
	struct module_id most = source_hottest_without_lines(weights);
	const struct module *module;
	const char *problem = "", *name;

	if (most.v == MODULE_UNKNOWN.v) {
		err_hint(err, "'profc report' says why there is no stack");
		return;
	}
	module = module_table_get(profile->modules, most);
	name = module_short_name(module);
	if (module->kind == MODULE_KIND_SCRIPT) {
		err_hint(err,
			 "%s: " WHERE_LINES_ARE_KNOWN ", and 'profc report' shows the functions",
			 name);
		return;
	}
	if (most.v < profile->symbols.nr_modules)
		problem = profile_str(profile, profile->symbols.modules[most.v].problem);
	if (*problem)
		err_hint(err, "most of it is in %s: %s", name, problem);
	else
		err_hint(err,
			 "most of it is in %s: build it with -g, or install its debug "
			 "information",
			 name);
}

static int add_word(struct annotation *annotation, const char *word)
{
	struct err err = ERR_INIT;
	bool without_lines;

	if (add_files(annotation, word, &without_lines) ||
	    add_functions(annotation, word, &err) == 0)
		return EXIT_DONE;
	if (store_is_profile(word)) {
		err = (struct err)ERR_INIT;
		err_set(&err, ERR_INVALID, "'%s' is a profile, but one is already given", word);
		err_hint(&err, "give one profile: profc annotate -i %s", word);
	} else if (without_lines) {
		err = (struct err)ERR_INIT;
		err_set(&err, ERR_NOT_FOUND, "the line numbers of '%s' are unknown", word);
		hint_for_lines(&err, annotation->source->weights);
	} else if (strchr(word, '.') || strchr(word, '/')) {
		err_set(&err, ERR_NOT_FOUND, "no samples in '%s'", word);
	}
	if (!err.hint[0])
		err_hint(&err, "'profc report --by file' lists the files, 'profc report' the "
			       "functions");
	return fail_with(&err);
}

static void add_hottest_files(struct annotation *annotation)
{
	const struct annotate_args *args = annotation->args;
	const struct source_maps maps = annotate_maps(args);
	const struct source_choice choice = {.maps = &maps,
					     .limit = annotate_limit(args),
					     .or_missing = args->limit != LIMIT_NOT_GIVEN};
	size_t nr;
	cleanup_free const struct source_file **chosen =
		source_choose(annotation->source, &choice, &nr);

	annotation->is_choice = true;
	for (size_t i = 0; i < nr; i++) {
		struct page *page = add_page(annotation, chosen[i], NULL);

		if (args->context == CONTEXT_NOT_GIVEN && !args->json)
			page->listing.context = CONTEXT_DEFAULT;
	}
}

/* The module that code of a file is in, or NULL: the first that was met. */
static const struct module *module_of_file(const struct expansion *expansion, struct str_id file)
{
	for (size_t i = 0; i < expansion->nr_places; i++)
		if (expansion->places[i].file.v == file.v)
			return label_module(expansion, expansion->places[i].label);
	return NULL;
}

static void check_page(const struct annotation *annotation, const struct page *page)
{
	const struct expansion *expansion = expansion_of(annotation);
	const struct source_file *file = page->listing.file;
	struct source_check check = {.profile = expansion->profile,
				     .module = module_of_file(expansion, file->file),
				     .recorded = profile_str(expansion->profile, file->file),
				     .text = &page->text};

	if (file->nr_lines)
		check.last_line =
			annotation->source->lines[file->first_line + file->nr_lines - 1].line;
	annotate_say_doubts(&check);
}

/* Else functions that run for long in themselves would look as if they took no time. */
static void note_unknown_lines(const struct annotation *annotation, const struct source_file *file)
{
	const struct source *source = annotation->source;
	const struct profile *profile = expansion_of(annotation)->profile;
	const struct module *module = compiled_script(profile, file->file);
	struct tally unknown = file->self;
	struct buf text = {0};

	if (!module)
		return;
	for (uint32_t i = 0; i < file->nr_lines; i++)
		tally_subtract(&unknown, &source->lines[file->first_line + i].self);
	if (!unknown.weight)
		return;
	append_percent(&text, tally_percent(&unknown, &source->weights->total));
	print_note("%s%% of the time is in %s at no known line: " WHERE_LINES_ARE_KNOWN,
		   buf_str(&text), module_short_name(module));
	buf_release(&text);
}

/* The module of a script, by its path; NULL: the file is none. */
static const struct module *script_of(const struct profile *profile, const char *path)
{
	for (uint32_t i = 0; i < module_table_nr(profile->modules); i++) {
		const struct module *module =
			module_table_get(profile->modules, (struct module_id){i});

		if (module->kind == MODULE_KIND_SCRIPT && strcmp(module->path, path) == 0)
			return module;
	}
	return NULL;
}

/* Is this the stack of native code that a function of the script has called? */
static bool is_called_by(const struct profile *profile, const struct module *script,
			 struct stack_id stack)
{
	bool is_native = false;

	for (; stack.v != STACK_EMPTY.v; stack = stack_trie_parent(profile->stacks, stack)) {
		struct frame_id frame = stack_trie_frame(profile->stacks, stack);
		const struct module *module =
			module_table_get(profile->modules, profile->frames[frame.v].where.module);

		if (module->kind == MODULE_KIND_SCRIPT)
			return is_native && module == script;
		is_native = true;
	}
	return false;
}

/* Else a line that sorts or parses would look as if it took no time. */
static void note_native_code(const struct annotation *annotation, const struct source_file *file)
{
	const struct weights *weights = annotation->source->weights;
	const struct profile *profile = expansion_of(annotation)->profile;
	const struct module *script = script_of(profile, profile_str(profile, file->file));
	struct tally native = {0};
	struct stack_weight sum;
	struct buf text = {0};

	for (size_t next = 0; script && weights_next_stack(weights, &next, &sum);) {
		if (is_called_by(profile, script, sum.stack))
			tally_add(&native, &sum.tally);
	}
	if (!native.weight || tally_percent(&native, &weights->total) < WORTH_A_NOTE_PERCENT)
		return;
	append_percent(&text, tally_percent(&native, &weights->total));
	print_note("%s%% of the time is in native code that %s calls: in the total of its lines, "
		   "and not in their self; 'profc report --by script,line' adds it to self",
		   buf_str(&text), module_short_name(script));
	buf_release(&text);
}

/* Once for each file, however many of its functions are shown. */
static void check_sources(const struct annotation *annotation)
{
	for (size_t i = 0; i < annotation->nr_pages; i++) {
		size_t first = 0;

		while (annotation->pages[first].listing.file != annotation->pages[i].listing.file)
			first++;
		if (first != i)
			continue;
		check_page(annotation, &annotation->pages[i]);
		note_unknown_lines(annotation, annotation->pages[i].listing.file);
		note_native_code(annotation, annotation->pages[i].listing.file);
	}
}

/* If files were chosen by time: a note on time without line numbers, if it is much. */
static void warn_about_code_without_lines(const struct annotation *annotation)
{
	const struct source *source = annotation->source;
	struct tally known = {0};
	struct err err = ERR_INIT;
	double percent;

	for (size_t i = 0; i < source->nr_files; i++)
		if (has_lines(&source->files[i]))
			tally_add(&known, &source->files[i].self);
	percent = 100 - tally_percent(&known, &source->weights->total);
	if (!annotation->is_choice || percent < WORTH_A_NOTE_PERCENT ||
	    source->weights->total.weight == 0)
		return;
	hint_for_lines(&err, source->weights);
	print_note("%.1f%% of the time is in code without line numbers; %s", percent, err.hint);
}

/* The object is that of the first file, so that it always has the same members. */
static void print_more_files(const struct annotation *annotation, struct json *json)
{
	json_key_array_begin(json, "more_files");
	for (size_t i = 1; i < annotation->nr_pages; i++) {
		json_object_begin(json);
		listing_write_json(&annotation->pages[i].listing, json);
		json_object_end(json);
	}
	json_array_end(json);
}

static int print_json(const struct annotation *annotation)
{
	struct json json;
	struct sink sink;

	sink_init_fd(&sink, STDOUT_FILENO);
	json_init(&json, &sink);
	json_begin_view(&json, annotation->source->weights);
	listing_write_json(&annotation->pages[0].listing, &json);
	if (annotation->nr_pages > 1)
		print_more_files(annotation, &json);
	json_object_end(&json);
	json_finish(&json);
	return flush_stdout(&sink);
}

static bool is_shown(const struct annotation *annotation, const struct source_file *file)
{
	for (size_t i = 0; i < annotation->nr_pages; i++) {
		if (annotation->pages[i].listing.file == file)
			return true;
	}
	return false;
}

static void print_left_out(const struct annotation *annotation, const struct view *view,
			   struct sink *sink)
{
	const struct source *source = annotation->source;
	size_t nr = 0;
	struct tally self = {0};
	struct buf text = {0};

	for (size_t i = 0; i < source->nr_files; i++) {
		const struct source_file *file = &source->files[i];

		if (!has_lines(file) || is_shown(annotation, file))
			continue;
		nr++;
		tally_add(&self, &file->self);
	}
	if (nr == 0)
		return;
	buf_printf(&text, "and %zu more file%s with ", nr, nr == 1 ? "" : "s");
	append_percent(&text, tally_percent(&self, &source->weights->total));
	buf_append_str(&text, "% of self ('profc report --by file' lists them)");
	sink_str(sink, "\n");
	line_print(sink, view, STYLE_DIM, buf_str(&text));
	buf_release(&text);
}

static int print_text(const struct annotation *annotation)
{
	struct view view = view_options_resolve(&annotation->args->view);
	struct pager pager;

	pager_begin(&pager, !annotation->args->view.no_pager);
	summary_print_heading(annotation->source->weights, &view, &pager.sink);
	for (size_t i = 0; i < annotation->nr_pages; i++) {
		sink_str(&pager.sink, "\n");
		listing_print_text(&annotation->pages[i].listing, &view, &pager.sink);
	}
	if (annotation->is_choice)
		print_left_out(annotation, &view, &pager.sink);
	summary_print_notes(annotation->source->weights, &view, &pager.sink);
	return pager_end(&pager);
}

static int no_lines(const struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;
	struct err err = ERR_INIT;
	int status;

	err_set(&err, ERR_EMPTY, "no samples in code with line numbers");
	if (profile_is_resolved(profile))
		hint_for_lines(&err, weights);
	else
		err_hint(&err, "%s: 'profc symbolize -i FILE' adds them",
			 profile->meta.complete ? "recorded with --no-symbols"
						: "the recording did not finish");
	status = fail_with(&err);
	print_hint("with --asm instructions are shown, which needs no debug information");
	return status;
}

static int print_pages(const struct annotate_args *args, const struct source *source,
		       char *const *words)
{
	struct annotation annotation = {.args = args, .source = source};
	int status = EXIT_DONE, printed = EXIT_DONE;

	if (source->nr_lines == 0)
		return no_lines(source->weights);
	for (; *words; words++)
		if (add_word(&annotation, *words) != EXIT_DONE)
			status = EXIT_CANNOT;
	if (annotation.nr_pages == 0 && status == EXIT_DONE)
		add_hottest_files(&annotation);
	if (annotation.nr_pages > 0) {
		check_sources(&annotation);
		warn_about_code_without_lines(&annotation);
		printed = args->json ? print_json(&annotation) : print_text(&annotation);
	}
	release_pages(&annotation);
	return status == EXIT_DONE ? printed : status;
}

int annotate_source(const struct annotate_args *args, const struct weights *weights,
		    char *const *words)
{
	struct source *source = source_new(weights);
	int status = print_pages(args, source, words);

	source_free(source);
	return status;
}
