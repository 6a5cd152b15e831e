// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the code of the functions with a name, in all files. */
#include "symbol/named_code.h"

#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "mapping/module.h"
#include "mapping/space.h"
#include "symbol/functions.h"
#include "symbol/symbol.h"

/* The function's code in one file. */
struct searched {
	uint64_t dev, inode, image_offset, file_bytes, modified_ns;
	struct code_range *ranges; /* owned */
	size_t nr, cap;
};

struct named_code {
	const char *name;
	struct symbol_options options;
	pthread_mutex_t lock;	 /* of all below */
	struct searched **files; /* owned, with each file */
	size_t nr_files, cap_files;
	bool is_found;
	unsigned int nr_inlined;
	bool is_only_inlined; /* in at least one file */
	char *nearest;	      /* owned: a similar name in a program without the function; or NULL */
};

struct named_code *named_code_new(const char *name, struct symbol_options options)
{
	struct named_code *code = xcalloc(1, sizeof(*code));

	code->name = name;
	code->options = options;
	code->options.debuginfod = false;
	pthread_mutex_init(&code->lock, NULL);
	return code;
}

void named_code_free(struct named_code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->nr_files; i++) {
		free(code->files[i]->ranges);
		free(code->files[i]);
	}
	free(code->files);
	free(code->nearest);
	pthread_mutex_destroy(&code->lock);
	free(code);
}

/* An expression for the function itself, whatever its parameters. */
static bool compile_exactly(regex_t *regex, const char *name)
{
	struct buf text = {0};
	bool is_compiled;

	buf_append_byte(&text, '^');
	for (const char *c = name; *c; c++) {
		if (strchr("^.[$()|*+?{\\", *c))
			buf_append_byte(&text, '\\');
		buf_append_byte(&text, *c);
	}
	buf_append_str(&text, "($|[(<])");
	is_compiled = regcomp(regex, buf_str(&text), REG_EXTENDED | REG_NOSUB) == 0;
	buf_release(&text);
	return is_compiled;
}

static void look_among_inlined(struct named_code *code, struct symbol_functions *functions)
{
	struct symbol_inlined_function inlined;
	regex_t regex;

	if (!compile_exactly(&regex, code->name))
		return;
	if (symbol_functions_find_inlined(functions, &regex, &inlined)) {
		code->is_only_inlined = true;
		code->nr_inlined += inlined.nr_inlined;
	}
	regfree(&regex);
}

/* Only in programs: libraries have so many names that one is similar to any word. */
static void look_for_nearest(struct named_code *code, const char *path,
			     struct symbol_functions *functions)
{
	const char *nearest =
		strstr(path, ".so") ? NULL : symbol_functions_nearest(functions, code->name);

	if (nearest && !code->nearest)
		code->nearest = xstrdup(nearest);
}

static void add_ranges(struct named_code *code, struct symbol_functions *functions,
		       struct searched *searched)
{
	const struct symbol_function **found;
	unsigned int nr_inlined = 0;
	size_t nr;

	found = symbol_functions_called(functions, code->name, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (found[i]->nr_inlined != SYMBOL_INLINED_UNKNOWN)
			nr_inlined = found[i]->nr_inlined;
		if (found[i]->end <= found[i]->start)
			continue;
		ARRAY_GROW(searched->ranges, searched->nr, searched->cap);
		searched->ranges[searched->nr++] =
			(struct code_range){found[i]->start, found[i]->end};
	}
	free(found);
	code->is_found |= searched->nr > 0;
	code->nr_inlined += nr_inlined;
}

static void search(struct named_code *code, const struct module *module, struct searched *searched)
{
	const struct symbol_request request = {.path = module->path,
					       .chooser = module->owner,
					       .fd = module->fd,
					       .recorded = module};
	struct symbol_functions *functions;
	struct symbol_file *file;

	if (has_ended(code->options.ended) ||
	    symbol_file_open(&code->options, &request, &file, NULL) < 0)
		return;
	functions = symbol_functions_new(file);
	add_ranges(code, functions, searched);
	if (!searched->nr) {
		look_among_inlined(code, functions);
		look_for_nearest(code, module->path, functions);
	}
	symbol_functions_free(functions);
	symbol_file_close(file);
}

static bool is_same(const struct searched *a, const struct searched *b)
{
	return a->inode == b->inode && a->dev == b->dev && a->image_offset == b->image_offset &&
	       a->file_bytes == b->file_bytes && a->modified_ns == b->modified_ns;
}

/* With the lock. */
static const struct searched *searched_of(struct named_code *code, const struct module *module)
{
	const struct searched key = {.dev = module->dev,
				     .inode = module->inode,
				     .image_offset = module->image_offset,
				     .file_bytes = module->file_bytes,
				     .modified_ns = module->modified_ns};
	struct searched *searched;

	for (size_t i = 0; i < code->nr_files; i++) {
		if (is_same(code->files[i], &key))
			return code->files[i];
	}
	searched = xmemdup(&key, sizeof(key));
	search(code, module, searched);
	ARRAY_GROW(code->files, code->nr_files, code->cap_files);
	code->files[code->nr_files++] = searched;
	return searched;
}

const struct code_range *named_code_in(void *context, const struct module *module, size_t *nr)
{
	struct named_code *code = context;
	const struct searched *searched;

	*nr = 0;
	if (module->kind != MODULE_KIND_FILE || module->fd < 0)
		return NULL;
	pthread_mutex_lock(&code->lock);
	searched = searched_of(code, module);
	pthread_mutex_unlock(&code->lock);
	*nr = searched->nr;
	return searched->ranges;
}

int named_code_find(struct named_code *code, const struct module_table *modules, struct err *err)
{
	size_t nr;

	for (uint32_t i = 0; i < module_table_nr(modules) && !code->is_found; i++)
		named_code_in(code, module_table_get(modules, (struct module_id){i}), &nr);
	if (code->is_found)
		return 0;
	if (has_ended(code->options.ended))
		return err_set(err, ERR_GONE, "the search for '%s' was ended", code->name);
	if (code->is_only_inlined)
		return err_set(err, ERR_NOT_FOUND,
			       "%s is inlined everywhere, in %u places: it has no code of its own",
			       code->name, code->nr_inlined);
	err_set(err, ERR_NOT_FOUND, "no function is named '%s'", code->name);
	if (code->nearest)
		err_hint(err, "did you mean '%s'?", code->nearest);
	return ERR_NOT_FOUND;
}

int named_code_attach(struct named_code *code, const pid_t *pids, size_t nr, struct err *err)
{
	struct module_table *modules = module_table_new();
	bool has_any = false;
	int status = 0;

	/* Some may have ended by now. */
	for (size_t i = 0; i < nr && (status == 0 || status == ERR_GONE); i++) {
		struct space *space = space_new(modules, pids[i]);

		status = space_refresh(space, err);
		has_any |= status == 0;
		space_free(space);
	}
	if (has_any && (status == 0 || status == ERR_GONE))
		status = named_code_find(code, modules, err);
	module_table_free(modules);
	return status;
}

unsigned int named_code_nr_inlined(struct named_code *code)
{
	unsigned int nr;

	pthread_mutex_lock(&code->lock);
	nr = code->is_found ? code->nr_inlined : 0;
	pthread_mutex_unlock(&code->lock);
	return nr;
}
