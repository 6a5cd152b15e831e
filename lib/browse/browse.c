// SPDX-License-Identifier: GPL-2.0-or-later
/* Navigates in a profile. */
#include "browse/browse_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/sink.h"
#include "browse/key.h"
#include "browse/row_key.h"
#include "browse/source_page.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/source.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "profile/fold_scripts.h"
#include "profile/profile.h"
#include "view/summary.h"

static void say(struct browse *browse, const char *text)
{
	buf_clear(&browse->message);
	escape_terminal(&browse->message, text);
}

struct browse *browse_new(const struct browse_options *options)
{
	struct browse *browse = xcalloc(1, sizeof(*browse));

	browse->matter.options = *options;
	browse->matter.wishes = options->wishes;
	browse->pages[browse->nr_pages++] = page_of(PAGE_TABLE, 0, NULL);
	if (options->with_tree)
		browse->pages[browse->nr_pages++] = page_of(PAGE_TREE, 0, NULL);
	browse->view.columns = 80;
	browse->nr_rows = 20;
	return browse;
}

void browse_free(struct browse *browse)
{
	if (!browse)
		return;
	for (size_t i = 0; i < browse->nr_pages; i++)
		page_release(&browse->pages[i]);
	browse_weighing_release(&browse->matter.weighing);
	browse_opened_release(&browse->matter.opened);
	buf_release(&browse->message);
	buf_release(&browse->head.text);
	buf_release(&browse->head.verdict);
	free(browse);
}

const struct browse_wishes *browse_wishes_of(const struct browse *browse)
{
	return &browse->matter.wishes;
}

const struct browse_weighing *browse_weighing_of(const struct browse *browse)
{
	return &browse->matter.weighing;
}

bool browse_is_typing(const struct browse *browse)
{
	return browse->prompt.is_open;
}

bool browse_is_over(const struct browse *browse)
{
	return browse->is_over;
}

static void drop_pages(struct browse *browse)
{
	for (size_t i = 0; i < browse->nr_pages; i++)
		page_drop(&browse->pages[i]);
	browse->head.is_made = false;
	buf_clear(&browse->head.verdict);
}

/* Are there notes? A live recording has them only at its end. */
static bool find_notes(const struct browse *browse)
{
	const struct view view = {.columns = 80};
	struct sink sink = SINK_MEMORY;
	bool any;

	if (browse->matter.options.is_live || weights_of(browse)->total.weight == 0)
		return false;
	summary_print_notes(weights_of(browse), &view, &sink);
	any = sink.pending.nr_bytes > 0;
	sink_release(&sink);
	return any;
}

static int weigh(struct browse *browse, struct err *err)
{
	int status;

	/* Pages refer to the old weights. */
	drop_pages(browse);
	status = browse_weighing_weigh(&browse->matter.weighing, &browse->matter.wishes,
				       browse->matter.options.filter, err);
	if (status == 0)
		browse->has_notes = find_notes(browse);
	return status;
}

int browse_show(struct browse *browse, const struct browse_input *input, struct err *err)
{
	drop_pages(browse);
	browse_weighing_begin(&browse->matter.weighing, input, browse->matter.options.fold_inlines);
	return weigh(browse, err);
}

/* Weigh with new wishes; if that fails, show the reason and restore the former wishes. */
static bool change(struct browse *browse, const struct browse_wishes *wishes)
{
	struct browse_wishes before = browse->matter.wishes;
	struct err err = ERR_INIT;

	browse->matter.wishes = *wishes;
	if (weigh(browse, &err) == 0)
		return true;
	browse->matter.wishes = before;
	say(browse, err.what);
	return false;
}

/* Entirely different rows begin at the first one. */
static void begin_table(struct browse *browse)
{
	page_drop(&browse->pages[0]);
	browse->pages[0].selected = 0;
	browse->pages[0].cursor = (struct browse_cursor){0};
}

static void go_back_to_table(struct browse *browse)
{
	while (browse->nr_pages > 1)
		page_release(&browse->pages[--browse->nr_pages]);
}

static struct page *go_to(struct browse *browse, struct page page)
{
	if (browse->nr_pages == PAGES_MAX) {
		page_release(&browse->pages[1]);
		memmove(&browse->pages[1], &browse->pages[2],
			(PAGES_MAX - 2) * sizeof(browse->pages[0]));
		browse->nr_pages--;
	}
	browse->pages[browse->nr_pages++] = page;
	return page_shown(browse);
}

static uint32_t selected_label(struct browse *browse)
{
	struct page *page = page_shown(browse);

	nr_rows_of(browse, page);
	return page_label(page, page->cursor.at);
}

static void append_label(struct buf *out, const struct browse *browse, uint32_t label)
{
	label_append_name(out, browse->matter.weighing.expansion, label, browse->view.names);
}

void browse_open_function(struct browse *browse, uint32_t label)
{
	const struct page *page = page_shown(browse);
	struct buf name = {0};
	uint64_t key;

	key = browse_weighing_label_keys(&browse->matter.weighing)[label];
	if (page->kind == PAGE_FUNCTION && page->key == key)
		return;
	append_label(&name, browse, label);
	go_to(browse, page_of(PAGE_FUNCTION, key, buf_str(&name)));
	buf_release(&name);
}

static void open_function(struct browse *browse, uint32_t label)
{
	if (label == FLAT_NONE)
		say(browse, "no function is selected");
	else
		browse_open_function(browse, label);
}

/* Open the page of a file, at one of its lines, or at the hottest of several. */
static void open_file(struct browse *browse, const char *recorded, uint32_t first, uint32_t last)
{
	struct page *page = go_to(browse, page_of(PAGE_SOURCE, 0, recorded));
	struct buf words = {0};

	page->first_line = first;
	page->last_line = last;
	nr_rows_of(browse, page);
	if (page->source) {
		source_page_append_doubts(page->source, &words);
	} else {
		buf_printf(&words, "no line numbers are known in '%s'", recorded);
		page_release(page);
		browse->nr_pages--;
	}
	if (words.nr_bytes)
		say(browse, buf_str(&words));
	buf_release(&words);
}

/* Report why there are no lines of it, as far as known. */
static void say_no_lines(struct browse *browse, uint32_t label)
{
	const struct expansion *expansion = browse->matter.weighing.expansion;
	const struct profile *profile = expansion->profile;
	uint32_t module = expansion->labels[label].module.v;
	struct buf words = {0};

	buf_append_str(&words, "the source lines of ");
	append_label(&words, browse, label);
	buf_append_str(&words, " are unknown");
	if (module < profile->symbols.nr_modules &&
	    profile->symbols.modules[module].problem.v != STR_EMPTY.v)
		buf_printf(&words, ": %s",
			   profile_str(profile, profile->symbols.modules[module].problem));
	say(browse, buf_str(&words));
	buf_release(&words);
}

static void open_source(struct browse *browse, uint32_t label)
{
	const struct expansion *expansion = browse->matter.weighing.expansion;
	const struct source *source;
	struct source_span *spans;
	bool *wanted;
	size_t nr;

	if (label == FLAT_NONE) {
		say(browse, "no function is selected");
		return;
	}
	source = browse_weighing_source(&browse->matter.weighing);
	wanted = xcalloc(expansion->nr_labels, sizeof(*wanted));
	wanted[label] = true;
	nr = source_find_spans(source, wanted, &spans);
	if (nr > 0)
		open_file(browse, profile_str(expansion->profile, spans[0].file), spans[0].first,
			  spans[0].last);
	else
		say_no_lines(browse, label);
	free(spans);
	free(wanted);
}

/* Show the functions that the new filter leaves. */
static void filter_functions(struct browse *browse, struct browse_wishes *wishes)
{
	wishes->by = BY_FUNCTION;
	if (change(browse, wishes))
		begin_table(browse);
}

static void set_text(char *out, size_t size, const char *text)
{
	size_t nr = strlen(text);

	nr = nr < size ? nr : size - 1;
	memcpy(out, text, nr);
	out[nr] = '\0';
}

static void set_id(char *out, size_t size, pid_t id)
{
	struct buf text = {0};

	buf_printf(&text, "%d", (int)id);
	set_text(out, size, buf_str(&text));
	buf_release(&text);
}

static void choose_thread(struct browse *browse, uint32_t thread)
{
	const struct profile *profile = browse->matter.weighing.input.profile;
	struct browse_wishes wishes = browse->matter.wishes;

	wishes.thread[0] = '\0';
	if (thread != FLAT_NONE)
		set_id(wishes.thread, sizeof(wishes.thread), profile->threads[thread].tid);
	if (wishes.by != BY_THREAD && change(browse, &wishes))
		begin_table(browse);
	else if (wishes.by == BY_THREAD)
		filter_functions(browse, &wishes);
}

static void choose_process(struct browse *browse, uint32_t process)
{
	const struct profile *profile = browse->matter.weighing.input.profile;
	struct browse_wishes wishes = browse->matter.wishes;

	set_id(wishes.process, sizeof(wishes.process), profile->processes[process].pid);
	filter_functions(browse, &wishes);
}

/* All processes of that name. */
static void choose_program(struct browse *browse, uint32_t process)
{
	const struct profile *profile = browse->matter.weighing.input.profile;
	struct browse_wishes wishes = browse->matter.wishes;

	set_text(wishes.process, sizeof(wishes.process),
		 profile_str(profile, profile->processes[process].name));
	filter_functions(browse, &wishes);
}

static void choose_module(struct browse *browse, uint32_t module)
{
	const struct profile *profile = browse->matter.weighing.input.profile;
	struct browse_wishes wishes = browse->matter.wishes;
	const char *path;

	if (module == FLAT_NONE) {
		say(browse, "it is in no module");
		return;
	}
	path = module_table_get(profile->modules, (struct module_id){module})->path;
	if (strlen(path) >= sizeof(wishes.module)) {
		say(browse, "its path is too long for a filter");
		return;
	}
	set_text(wishes.module, sizeof(wishes.module), path);
	filter_functions(browse, &wishes);
}

static void enter_row(struct browse *browse, const struct flat_row *row)
{
	const struct profile *profile = browse->matter.weighing.input.profile;

	switch (browse->matter.wishes.by) {
	case BY_FUNCTION:
	case BY_SCRIPT:
		open_function(browse, row->label);
		break;
	case BY_LINE:
	case BY_FILE:
		if (row->file.v == STR_EMPTY.v)
			say(browse, "no line of it is known");
		else if (row->line)
			open_file(browse, profile_str(profile, row->file), row->line, row->line);
		else
			open_file(browse, profile_str(profile, row->file), 1, UINT32_MAX);
		break;
	case BY_MODULE:
		choose_module(browse, row->module);
		break;
	case BY_THREAD:
		choose_thread(browse, row->thread);
		break;
	case BY_PROCESS:
		choose_program(browse, row->process);
		break;
	case BY_PID:
		choose_process(browse, row->process);
		break;
	default: /* no more is known of the others, and of future ones, than the row says */
		say(browse, "there is nothing below it: b shows other rows");
		break;
	}
}

static void enter_tree(struct browse *browse, struct page *page)
{
	const struct tree_row *row = &page->rows.rows[page->cursor.at];

	if (row->kind != TREE_ROW_HEAD && row->has_children)
		page_set_open(page, &browse->matter, page->cursor.at, !row->is_open);
	else if (row->kind != TREE_ROW_HEAD)
		open_source(browse, selected_label(browse));
}

static void go_back(struct browse *browse)
{
	struct browse_wishes wishes = browse->matter.wishes;

	if (browse->nr_pages > 1) {
		page_release(&browse->pages[--browse->nr_pages]);
		return;
	}
	if (!browse_wishes_are_filtered(&wishes))
		return;
	browse_wishes_drop_filters(&wishes);
	change(browse, &wishes);
}

static void enter(struct browse *browse)
{
	struct page *page = page_shown(browse);
	size_t nr = nr_rows_of(browse, page), at = page->cursor.at;

	if (at >= nr)
		return;
	switch (page->kind) {
	case PAGE_TABLE:
		enter_row(browse, &page->flat->rows[at]);
		break;
	case PAGE_TREE:
	case PAGE_FUNCTION:
		enter_tree(browse, page);
		break;
	case PAGE_SOURCE:
		if (selected_label(browse) != FLAT_NONE)
			open_function(browse, selected_label(browse));
		break;
	case PAGE_THREADS: {
		uint32_t thread = at == 0 ? FLAT_NONE : page->flat->rows[at - 1].thread;

		page_release(&browse->pages[--browse->nr_pages]);
		choose_thread(browse, thread);
		break;
	}
	case PAGE_KEYS:
	case PAGE_NOTES:
		go_back(browse);
		break;
	}
}

static bool is_tree(const struct page *page)
{
	return page->kind == PAGE_TREE || page->kind == PAGE_FUNCTION;
}

/* The parent row: the next one above that is fewer calls deep. */
static size_t parent_row(const struct page *page, size_t row)
{
	const struct tree_row *rows = page->rows.rows;
	size_t at = row;

	while (at > 0 && rows[at].kind != TREE_ROW_HEAD && rows[at].calls >= rows[row].calls)
		at--;
	return rows[at].kind == TREE_ROW_HEAD ? row : at;
}

static void go_left(struct browse *browse)
{
	struct page *page = page_shown(browse);
	const struct tree_row *row;

	if (!is_tree(page) || page->cursor.at >= nr_rows_of(browse, page))
		return;
	row = &page->rows.rows[page->cursor.at];
	if (row->is_open)
		page_set_open(page, &browse->matter, page->cursor.at, false);
	else
		page->cursor.at = parent_row(page, page->cursor.at);
}

static void go_right(struct browse *browse)
{
	struct page *page = page_shown(browse);
	const struct tree_row *row;

	if (!is_tree(page) || page->cursor.at >= nr_rows_of(browse, page))
		return;
	row = &page->rows.rows[page->cursor.at];
	if (row->has_children && !row->is_open)
		page_set_open(page, &browse->matter, page->cursor.at, true);
	else if (row->is_open && page->cursor.at + 1 < page->rows.nr)
		page->cursor.at++;
}

/* Does the filter match the function of a row? */
static bool matches(struct browse *browse, const struct page *page, size_t row)
{
	const bool *functions = weights_of(browse)->selection->functions;
	uint32_t label = page_label(page, row);

	return functions && label != FLAT_NONE && functions[label];
}

/* Go to the next row that matches, or the previous one; false if there is none. */
static bool go_to_match(struct browse *browse, size_t from, bool backwards)
{
	struct page *page = page_shown(browse);
	size_t nr = nr_rows_of(browse, page);

	for (size_t row = from; row < nr; row += backwards ? SIZE_MAX : 1) {
		if (!matches(browse, page, row))
			continue;
		browse_cursor_go(&page->cursor, row, browse->nr_rows);
		return true;
	}
	return false;
}

static void go_on_to_match(struct browse *browse, bool backwards)
{
	struct page *page = page_shown(browse);
	size_t at = page->cursor.at;

	nr_rows_of(browse, page);
	if (page->source) {
		at = source_page_next(page->source, at, backwards);
		browse_cursor_go(&page->cursor, at, browse->nr_rows);
	} else if (!weights_of(browse)->selection->functions) {
		say(browse, "no function pattern is set: / sets one");
	} else if (!go_to_match(browse, backwards ? at - 1 : at + 1, backwards)) {
		say(browse, backwards ? "there is none before it" : "there is none after it");
	}
}

static void take_typed(struct browse *browse, int key)
{
	struct browse_wishes wishes = browse->matter.wishes;

	if (browse_prompt_key(&browse->prompt, key) != BROWSE_PROMPT_DONE)
		return;
	memcpy(wishes.function, browse->prompt.text, sizeof(wishes.function));
	if (change(browse, &wishes))
		begin_table(browse);
}

static void toggle_tree(struct browse *browse)
{
	bool is_there = page_shown(browse)->kind == PAGE_TREE;

	go_back_to_table(browse);
	if (!is_there)
		go_to(browse, page_of(PAGE_TREE, 0, NULL));
}

static void toggle(struct browse *browse, enum page_kind kind)
{
	if (page_shown(browse)->kind == kind)
		go_back(browse);
	else
		go_to(browse, page_of(kind, 0, NULL));
}

static void next_metric(struct browse *browse)
{
	struct browse_wishes wishes = browse->matter.wishes;

	browse_wishes_next_metric(&wishes);
	if (wishes.metric == browse->matter.wishes.metric)
		say(browse, "the recording has no other metric");
	else
		change(browse, &wishes);
}

static void next_sort(struct browse *browse)
{
	struct browse_wishes *wishes = &browse->matter.wishes;

	if (page_shown(browse)->kind != PAGE_TABLE) {
		say(browse, is_tree(page_shown(browse)) ? "trees have the most total first"
							: "this is not sorted");
		return;
	}
	browse_wishes_next_sort(wishes, wishes->by == BY_FUNCTION &&
						weights_of(browse)->counts->state == COUNTS_KNOWN);
	page_drop(&browse->pages[0]);
}

static void next_dimension(struct browse *browse)
{
	const struct profile *profile = weights_of(browse)->selection->expansion->profile;
	struct browse_wishes *wishes = &browse->matter.wishes;

	go_back_to_table(browse);
	wishes->has_scripts = profile_has_scripts(profile);
	/* Older recordings lack the objects that threads waited for. */
	do
		browse_wishes_next_dimension(wishes);
	while (dimension_is_of_waits(wishes->by) && !profile->meta.knows_waits);
	begin_table(browse);
}

/* A key that changes the page or the view. */
static void take_command(struct browse *browse, int key)
{
	switch (key) {
	case 'q':
	case BROWSE_KEY_CTRL_C:
		browse->is_over = true;
		break;
	case BROWSE_KEY_ENTER:
	case BROWSE_KEY_RETURN:
		enter(browse);
		break;
	case BROWSE_KEY_ESCAPE:
	case BROWSE_KEY_BACKSPACE:
	case BROWSE_KEY_DELETE:
		go_back(browse);
		break;
	case BROWSE_KEY_LEFT:
		go_left(browse);
		break;
	case BROWSE_KEY_RIGHT:
		go_right(browse);
		break;
	case 't':
		toggle_tree(browse);
		break;
	case 'f':
		open_function(browse, selected_label(browse));
		break;
	case 'S':
		open_source(browse, selected_label(browse));
		break;
	case 's':
		next_sort(browse);
		break;
	case 'b':
		next_dimension(browse);
		break;
	case 'm':
		next_metric(browse);
		break;
	case '/':
		browse_prompt_begin(&browse->prompt, "");
		break;
	case 'n':
	case 'N':
		go_on_to_match(browse, key == 'N');
		break;
	case 'T':
		toggle(browse, PAGE_THREADS);
		break;
	case 'i':
		toggle(browse, PAGE_NOTES);
		break;
	case 'h':
	case '?':
		toggle(browse, PAGE_KEYS);
		break;
	default: /* any other byte of a keyboard */
		break;
	}
}

/* Skip rows of words in the direction of the key; at an end, go back. */
static void skip_words(struct browse *browse, struct page *page, size_t before)
{
	size_t nr = nr_rows_of(browse, page), at = page->cursor.at;
	bool up = at < before;

	while (at < nr && !page_is_selectable(page, at))
		at += up ? SIZE_MAX : 1;
	if (at >= nr)
		at = before;
	page->cursor.at = at;
}

static void take_key(struct browse *browse, int key)
{
	struct page *page = page_shown(browse);
	size_t nr = nr_rows_of(browse, page), before = page->cursor.at;

	if (page->kind == PAGE_KEYS || page->kind == PAGE_NOTES) {
		/* Text has no selected row: it scrolls. */
		page->cursor.at = page->cursor.first;
		if (browse_cursor_key(&page->cursor, key, nr, 1)) {
			page->cursor.at = page->cursor.first;
			return;
		}
	} else if (browse_cursor_key(&page->cursor, key, nr, browse->nr_rows)) {
		skip_words(browse, page, before);
		return;
	}
	take_command(browse, key);
}

void browse_key(struct browse *browse, int key)
{
	buf_clear(&browse->message);
	if (!weights_of(browse))
		browse->is_over |= key == 'q' || key == BROWSE_KEY_CTRL_C;
	else if (browse->prompt.is_open)
		take_typed(browse, key);
	else
		take_key(browse, key);
}
