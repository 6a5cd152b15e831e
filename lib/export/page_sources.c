// SPDX-License-Identifier: GPL-2.0-or-later
/* The source files of the page, those with most of the time first, as far as there is room. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "calltree/tally.h"
#include "calltree/weights.h"
#include "export/extract_priv.h"
#include "export/page_data_priv.h"
#include "mapping/module.h"
#include "view/source_check.h"
#include "view/source_file.h"

/* Sources compress to a fifth: the page stays small enough to be sent. */
#define ALL_MAX_BYTES  ((size_t)6 << 20)
#define FILE_MAX_BYTES ((size_t)2 << 20)

/* The module of the first code found that is from a file, or NULL. */
static const struct module *module_of_file(const struct expansion *expansion, struct str_id file)
{
	for (size_t i = 0; i < expansion->nr_places; i++)
		if (expansion->places[i].file.v == file.v)
			return label_module(expansion, expansion->places[i].label);
	return NULL;
}

static void write_text(struct json *json, const struct source_file_text *text)
{
	struct buf all = {0};

	source_file_append(text, &all);
	json_key_str(json, "text", buf_str(&all));
	buf_release(&all);
}

static void write_doubts(struct page_data *data, struct json *json, struct str_id file,
			 const struct source_file_text *text)
{
	const struct expansion *expansion = data->extract->expansion;
	const struct source_check check = {.profile = expansion->profile,
					   .module = module_of_file(expansion, file),
					   .recorded = profile_str(expansion->profile, file),
					   .text = text};
	struct buf note = {0}, warning = {0};

	source_check(&check, &note, &warning);
	json_key_known_str(json, "note", buf_str(&note));
	json_key_known_str(json, "warning", buf_str(&warning));
	buf_release(&note);
	buf_release(&warning);
}

/* How many bytes of text that was. */
static size_t write_file(struct page_data *data, struct json *json, struct str_id file,
			 size_t left_bytes)
{
	const struct source_maps none = {0}, *maps = data->extract->options->source_maps;
	struct source_file_text text = {0};
	bool fits = true;

	if (!source_file_read(data->extract->profile, profile_str(data->extract->profile, file),
			      NULL, maps ? maps : &none, &text))
		return 0;
	fits = text.nr_bytes <= FILE_MAX_BYTES && text.nr_bytes <= left_bytes;
	json_object_begin(json);
	json_key_u64(json, "file", numbering_of(&data->files, file.v));
	if (fits)
		write_text(json, &text);
	write_doubts(data, json, file, &text);
	json_object_end(json);
	left_bytes = fits ? (size_t)text.nr_bytes : 0;
	source_file_release(&text);
	return left_bytes;
}

/* A file that any line of is in the page, and the weight of samples in its code. */
struct used_file {
	struct str_id file;
	uint64_t self;
};

static int hottest_first(const void *left, const void *right)
{
	const struct used_file *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return (a->file.v > b->file.v) - (a->file.v < b->file.v);
}

/* By str_id, of the innermost levels of stacks. The caller frees it. */
static uint64_t *self_by_file(const struct page_data *data)
{
	const struct expansion *expansion = data->extract->expansion;
	const struct stack_trie *stacks = expansion->profile->stacks;
	struct weights *weights =
		weights_new(data->extract->selection, data->extract->options->metric);
	uint64_t *self = xcalloc(strtab_nr(expansion->profile->strings), sizeof(*self));
	struct stack_weight sum;

	for (size_t next = 0; weights_next_stack(weights, &next, &sum);) {
		struct frame_id frame = stack_trie_frame(stacks, sum.stack);
		const struct level *level = expansion_innermost(expansion, frame);

		self[expansion->places[level->place].file.v] += sum.tally.weight;
	}
	weights_free(weights);
	return self;
}

/* The files with a line in the page, hottest first; the caller frees them. */
static struct used_file *used_files(const struct page_data *data, size_t *nr)
{
	const struct expansion *expansion = data->extract->expansion;
	size_t nr_strings = strtab_nr(expansion->profile->strings);
	cleanup_free uint64_t *self = self_by_file(data);
	cleanup_free bool *met = xcalloc(nr_strings, sizeof(*met));
	struct used_file *files = xcalloc(nr_strings, sizeof(*files));

	*nr = 0;
	for (size_t i = 0; i < data->rows.nr_frames; i++) {
		const struct place *place = &expansion->places[data->rows.frames[i].level->place];

		if (place->file.v == STR_EMPTY.v || !place->line || met[place->file.v])
			continue;
		met[place->file.v] = true;
		files[(*nr)++] = (struct used_file){place->file, self[place->file.v]};
	}
	if (*nr)
		qsort(files, *nr, sizeof(*files), hottest_first);
	return files;
}

void page_sources_write(struct page_data *data, struct json *json)
{
	size_t nr, left_bytes = ALL_MAX_BYTES;
	cleanup_free struct used_file *files = used_files(data, &nr);

	json_key_array_begin(json, "sources");
	for (size_t i = 0; i < nr; i++)
		left_bytes -= write_file(data, json, files[i].file, left_bytes);
	json_array_end(json);
}
