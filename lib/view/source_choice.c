// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/source_choice.h"

#include <string.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/source.h"
#include "calltree/weights.h"
#include "view/source_file.h"

enum kind {
	KIND_OWN,    /* its text is there */
	KIND_SYSTEM, /* there, below /usr */
	KIND_MISSING,
	KIND_NO_LINES, /* symbol tables have the files of some functions, but not their lines */
};

static enum kind kind_of(const struct source *source, const struct source_file *file,
			 const struct source_maps *maps)
{
	const struct profile *profile = source->weights->selection->expansion->profile;
	struct source_file_text text = {0};
	enum kind kind = KIND_MISSING;

	if (!file->nr_lines)
		return KIND_NO_LINES;
	if (source_file_read(profile, profile_str(profile, file->file), NULL, maps, &text))
		kind = strncmp(text.path, "/usr/", strlen("/usr/")) == 0 ? KIND_SYSTEM : KIND_OWN;
	source_file_release(&text);
	return kind;
}

/* The file of that kind with the most total, the first of equals; NULL: there is none. */
static const struct source_file *with_most_total(const struct source *source,
						 const enum kind *kinds, enum kind kind)
{
	const struct source_file *found = NULL;

	for (size_t i = 0; i < source->nr_files; i++) {
		const struct source_file *file = &source->files[i];

		if (kinds[i] == kind && (!found || file->total.weight > found->total.weight))
			found = file;
	}
	return found;
}

/* Append the files of a kind that have self, up to the limit. */
static void append_kind(const struct source *source, const enum kind *kinds, enum kind kind,
			size_t limit, const struct source_file **chosen, size_t *nr)
{
	for (size_t i = 0; i < source->nr_files && *nr < limit; i++) {
		if (kinds[i] == kind && source->files[i].self.weight)
			chosen[(*nr)++] = &source->files[i];
	}
}

const struct source_file **source_choose(const struct source *source,
					 const struct source_choice *choice, size_t *nr)
{
	const struct source_file **chosen =
		xcalloc(source->nr_files, sizeof(const struct source_file *));
	cleanup_free enum kind *kinds = xcalloc(source->nr_files, sizeof(*kinds));

	*nr = 0;
	for (size_t i = 0; i < source->nr_files; i++)
		kinds[i] = kind_of(source, &source->files[i], choice->maps);
	for (enum kind kind = KIND_OWN; kind <= KIND_MISSING; kind++) {
		const struct source_file *most;
		size_t before = *nr;

		if (kind == KIND_MISSING && *nr && !choice->or_missing)
			break;
		append_kind(source, kinds, kind, choice->limit, chosen, nr);
		if (*nr > before || (kind != KIND_OWN && *nr))
			continue;
		most = with_most_total(source, kinds, kind);
		if (most && *nr < choice->limit)
			chosen[(*nr)++] = most;
	}
	return chosen;
}

const char *source_python_file(const struct expansion *expansion, const bool *wanted)
{
	for (uint32_t i = 0; i < expansion->nr_labels; i++) {
		const struct function *function = label_function(expansion, i);
		const struct module *module = label_module(expansion, i);
		const char *file;

		if (!wanted[i] || !function || !module || module->kind != MODULE_KIND_JIT)
			continue;
		file = profile_str(expansion->profile, function->file);
		if (source_is_python(file))
			return file;
	}
	return NULL;
}
