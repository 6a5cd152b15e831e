// SPDX-License-Identifier: GPL-2.0-or-later
/* Matches the rows of two profiles, or of several runs: functions, lines and the like. */
#include "calltree/diff_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/weights.h"

/* Criteria for equal functions, tried in this order on the rows that earlier ones left. */
enum criterion {
	SAME_FILE,	/* name, module and path of the source file */
	SAME_FILE_END,	/* name, module and the end of that path, with its directory */
	SAME_FILE_NAME, /* name, module and file name of the source */
	SAME_NAME,	/* name and module */
	OTHER_MODULE,	/* name and file name of the source, where a module has no partner */
	CRITERION_COUNT,
};

struct matcher {
	struct diff *diff;
	struct diff_modules sides[2]; /* old, new */
	struct strtab *names;	      /* of the keys of modules */
	struct diff_rename *renames;
	size_t nr_renames;
	/*
	 * The rows with one key: whether they may be joined, and the row that the others are joined
	 * to.
	 */
	struct strtab *keys;
	struct group {
		uint32_t has, row;
	} * groups; /* by str_id of keys */
	size_t nr_groups, cap_groups;
};

enum {
	OLD_SIDE = 1,
	NEW_SIDE = 2,
	BOTH_SIDES = OLD_SIDE | NEW_SIDE,
	/* Code that another module took over; within a module this is trivially so. */
	MAY_MOVE = 4,
	ALL_IT_TAKES = BOTH_SIDES | MAY_MOVE,
};

static uint32_t sides_of(const struct diff_row *row)
{
	return (row->old_at.row == DIFF_NONE ? 0 : OLD_SIDE) |
	       (row->new_at.row == DIFF_NONE ? 0 : NEW_SIDE);
}

/* The place of a row of one side. */
struct found {
	bool is_old;
	const struct flat *flat;
	const struct flat_row *row;
	const struct expansion *expansion;
	const struct diff_modules *modules, *others;
	uint32_t first_module; /* of modules->keys: its run's first */
};

static struct found find_row(const struct matcher *matcher, const struct diff_row *row)
{
	bool is_old = row->old_at.row != DIFF_NONE;
	const struct diff_at *at = is_old ? &row->old_at : &row->new_at;
	const struct flat *flat = matcher->diff->flats[at->run];
	const struct diff_modules *modules = &matcher->sides[is_old ? 0 : 1];
	size_t run = is_old ? at->run : at->run - matcher->diff->old_side.nr;

	return (struct found){.is_old = is_old,
			      .flat = flat,
			      .row = &flat->rows[at->row],
			      .expansion = flat_expansion(flat),
			      .modules = modules,
			      .others = &matcher->sides[is_old ? 1 : 0],
			      .first_module = modules->first[run]};
}

static struct str_id module_key(const struct found *found, uint32_t module)
{
	return found->modules->keys[found->first_module + module];
}

static const char *renamed(const struct matcher *matcher, bool is_old, const char *name)
{
	return is_old ? diff_renamed(name, matcher->renames, matcher->nr_renames) : name;
}

#define RUST_HASH_DIGITS 16

/* The length without "::h0123456789abcdef", which differs between builds by Rust. */
static size_t length_without_hash(const char *name)
{
	size_t length = strlen(name), rest = strlen("::h") + RUST_HASH_DIGITS;

	if (length > rest && memcmp(name + length - rest, "::h", 3) == 0 &&
	    strspn(name + length - RUST_HASH_DIGITS, "0123456789abcdef") == RUST_HASH_DIGITS)
		return length - rest;
	return length;
}

/*
 * Names made of an address begin with the module's name, which the key has anyway: "[prog+0x12]".
 */
static void append_name(struct buf *key, const struct matcher *matcher, bool is_old,
			const struct expansion *expansion, uint32_t label)
{
	struct buf name = {0};
	const char *text, *plus;

	label_append_name(&name, expansion, label, NAME_FULL);
	text = buf_str(&name);
	plus = strrchr(text, '+');
	if (label_is_nameless(expansion, label) && plus)
		text = plus;
	else
		text = renamed(matcher, is_old, text);
	buf_append(key, text, length_without_hash(text));
	buf_release(&name);
}

static const char *file_end(const char *path, unsigned int components)
{
	const char *at = path + strlen(path);

	while (at > path && (at[-1] != '/' || --components))
		at--;
	return at;
}

static void append_file(struct buf *key, const struct matcher *matcher, bool is_old,
			const char *path, enum criterion criterion)
{
	if (criterion == SAME_FILE)
		buf_append_str(key, renamed(matcher, is_old, path));
	else if (criterion == SAME_FILE_END)
		buf_append_str(key, file_end(renamed(matcher, is_old, path), 2));
	else if (criterion != SAME_NAME)
		buf_append_str(
			key, renamed(matcher, is_old, file_end(renamed(matcher, is_old, path), 1)));
}

static bool has_partner(const struct diff_modules *others, struct str_id key)
{
	for (uint32_t i = 0; i < others->nr; i++)
		if (others->keys[i].v == key.v)
			return true;
	return false;
}

/* For functions and lines: the source file, which distinguishes equal names. */
static const char *path_of(const struct found *found, enum dimension by)
{
	const struct profile *profile = found->expansion->profile;
	const struct function *function = label_function(found->expansion, found->row->label);

	if (by == BY_LINE)
		return profile_str(profile, found->row->file);
	return function ? profile_str(profile, function->file) : "";
}

static bool make_code_key(struct buf *key, const struct matcher *matcher, const struct found *found,
			  enum criterion criterion)
{
	enum dimension by = matcher->diff->by;
	const struct expansion *expansion = found->expansion;
	uint32_t label = found->row->label;
	const char *path = path_of(found, by);
	struct str_id module = module_key(found, expansion->labels[label].module.v);

	if (criterion == OTHER_MODULE && (!*path || label_is_nameless(expansion, label)))
		return false;
	append_name(key, matcher, found->is_old, expansion, label);
	buf_append_byte(key, '\n'); /* no compiler puts this into names */
	if (criterion != OTHER_MODULE)
		buf_printf(key, "%" PRIu32, module.v);
	buf_append_byte(key, '\n');
	append_file(key, matcher, found->is_old, path, criterion);
	if (by == BY_LINE)
		buf_printf(key, "\n%" PRIu32, found->row->line);
	return true;
}

/* Code without a file is identified by its module, other rows by their name. */
static bool make_place_key(struct buf *key, const struct matcher *matcher,
			   const struct found *found, enum criterion criterion)
{
	const struct flat_row *row = found->row;

	if (row->file.v != STR_EMPTY.v && criterion < SAME_NAME) {
		append_file(key, matcher, found->is_old,
			    profile_str(found->expansion->profile, row->file), criterion);
		return true;
	}
	if (criterion != SAME_FILE)
		return false;
	if (row->module != FLAT_NONE)
		buf_printf(key, "\n%" PRIu32, module_key(found, row->module).v);
	else
		append_name(key, matcher, found->is_old, found->expansion, row->label);
	return true;
}

#define COMM_BYTES 15 /* of the name of a process or thread, as the kernel keeps it */

/* The name of a process or thread; many have the name of the main program, which may be renamed. */
static void append_task_name(struct buf *key, const struct matcher *matcher, bool is_old,
			     const char *name)
{
	const struct diff_modules *old_modules = &matcher->sides[0];
	const struct profile *profile = old_modules->side->runs[0]->selection->expansion->profile;
	const struct module *main =
		module_table_get(profile->modules, (struct module_id){old_modules->main});
	const char *now = renamed(matcher, is_old, name);

	if (is_old && now == name && old_modules->main &&
	    strncmp(name, module_short_name(main), COMM_BYTES) == 0)
		now = strtab_get(matcher->names, old_modules->keys[old_modules->main]);
	buf_append(key, now, strnlen(now, COMM_BYTES));
}

/* Threads of one name are the same in programs of one name. */
static bool make_name_key(struct buf *key, const struct matcher *matcher, const struct found *found,
			  enum criterion criterion)
{
	const struct profile *profile = found->expansion->profile;
	struct buf name = {0};
	uint32_t process;

	if (criterion != SAME_FILE)
		return false;
	flat_append_name(&name, found->flat, found->row, NAME_FULL);
	if (dimension_info(matcher->diff->by)->kind == DIMENSION_OF_TASKS)
		append_task_name(key, matcher, found->is_old, buf_str(&name));
	else
		buf_append_str(key, renamed(matcher, found->is_old, buf_str(&name)));
	buf_release(&name);
	if (matcher->diff->by != BY_THREAD)
		return true;
	process = profile->threads[found->row->thread].process;
	buf_append_byte(key, '\n');
	append_task_name(key, matcher, found->is_old,
			 profile_str(profile, profile->processes[process].name));
	return true;
}

/* The key of a row of one side; false where the criterion does not apply to it. */
static bool make_key(struct buf *key, const struct matcher *matcher, const struct diff_row *row,
		     enum criterion criterion)
{
	struct found found = find_row(matcher, row);

	buf_clear(key);
	switch (dimension_info(matcher->diff->by)->kind) {
	case DIMENSION_OF_FUNCTIONS:
		return make_code_key(key, matcher, &found, criterion);
	case DIMENSION_OF_PLACES:
		return make_place_key(key, matcher, &found, criterion);
	case DIMENSION_OF_TASKS:
	case DIMENSION_OF_WAITS:
	case DIMENSION_OF_FACTS:
		break;
	}
	return make_name_key(key, matcher, &found, criterion);
}

static bool lacks_partner(const struct matcher *matcher, const struct diff_row *row)
{
	struct found found = find_row(matcher, row);
	uint32_t module = found.expansion->labels[found.row->label].module.v;

	return !has_partner(found.others, module_key(&found, module));
}

#define NO_GROUP UINT32_MAX
#define NO_ROW	 UINT32_MAX

static uint32_t group_of(struct matcher *matcher, const char *key)
{
	struct str_id id = strtab_intern(matcher->keys, key);

	while (matcher->nr_groups <= id.v) {
		ARRAY_GROW(matcher->groups, matcher->nr_groups, matcher->cap_groups);
		matcher->groups[matcher->nr_groups++] = (struct group){.row = NO_ROW};
	}
	return id.v;
}

static void merge_calls(struct diff_calls *into, const struct diff_calls *from)
{
	into->counted = into->counted || from->counted;
	into->calls += from->calls;
	tally_add(&into->called, &from->called);
}

/* The place with the larger weight is shown. */
static void merge_at(struct diff_at *into, const struct diff_at *from, uint64_t have, uint64_t more)
{
	if (from->row != DIFF_NONE && (into->row == DIFF_NONE || more >= have))
		*into = *from;
}

static void merge_row(struct diff *diff, struct diff_row *into, const struct diff_row *from)
{
	double *values = diff->values + (size_t)into->values * diff->nr_runs;
	const double *others = diff->values + (size_t)from->values * diff->nr_runs;

	merge_at(&into->old_at, &from->old_at, into->old_self.weight, from->old_self.weight);
	merge_at(&into->new_at, &from->new_at, into->new_self.weight, from->new_self.weight);
	tally_add(&into->old_self, &from->old_self);
	tally_add(&into->new_self, &from->new_self);
	merge_calls(&into->old_calls, &from->old_calls);
	merge_calls(&into->new_calls, &from->new_calls);
	for (size_t run = 0; run < diff->nr_runs; run++)
		values[run] += others[run];
	diff->parts[from->values] = into->values;
}

/* The group of each row that has no partner yet; the caller frees it. */
static uint32_t *group_rows(struct matcher *matcher, uint32_t of_sides, enum criterion criterion)
{
	const struct diff *diff = matcher->diff;
	uint32_t *groups = xmalloc((diff->nr + 1) * sizeof(*groups));
	struct buf key = {0};

	for (size_t i = 0; i < diff->nr; i++) {
		uint32_t sides = sides_of(&diff->rows[i]);

		groups[i] = NO_GROUP;
		if (!(sides & of_sides) || sides == BOTH_SIDES ||
		    !make_key(&key, matcher, &diff->rows[i], criterion))
			continue;
		groups[i] = group_of(matcher, buf_str(&key));
		matcher->groups[groups[i]].has |= sides;
		/* In modules that both sides have, they are two functions of one name. */
		if (criterion != OTHER_MODULE || lacks_partner(matcher, &diff->rows[i]))
			matcher->groups[groups[i]].has |= MAY_MOVE;
	}
	buf_release(&key);
	return groups;
}

/* Merge the groups that have rows on all required sides. */
static void merge_groups(struct matcher *matcher, const uint32_t *groups, uint32_t all_it_takes)
{
	struct diff *diff = matcher->diff;
	size_t kept = 0;

	for (size_t i = 0; i < diff->nr; i++) {
		struct group *group = groups[i] == NO_GROUP ? NULL : &matcher->groups[groups[i]];

		if (group && (group->has & all_it_takes) == all_it_takes && group->row != NO_ROW) {
			merge_row(diff, &diff->rows[group->row], &diff->rows[i]);
			continue;
		}
		if (group)
			group->row = (uint32_t)kept;
		diff->rows[kept++] = diff->rows[i];
	}
	diff->nr = kept;
}

static void match_by(struct matcher *matcher, uint32_t of_sides, uint32_t all_it_takes,
		     enum criterion criterion)
{
	uint32_t *groups;

	matcher->keys = strtab_new();
	matcher->nr_groups = 0;
	groups = group_rows(matcher, of_sides, criterion);
	merge_groups(matcher, groups, all_it_takes);
	free(groups);
	strtab_free(matcher->keys);
}

/* Are rows with equal keys joined even if the other side has none like them? */
static bool joins_sides(const struct diff *diff)
{
	return diff_has_runs(diff) || (diff->by != BY_FUNCTION && diff->by != BY_LINE);
}

void diff_match_rows(struct diff *diff, struct diff_rename *renames, size_t nr_renames)
{
	struct matcher matcher = {.diff = diff,
				  .sides = {{.side = &diff->old_side}, {.side = &diff->new_side}},
				  .names = strtab_new(),
				  .renames = renames,
				  .nr_renames = nr_renames};

	diff_match_modules(&matcher.sides[0], &matcher.sides[1], matcher.names, renames,
			   nr_renames);
	if (joins_sides(diff)) {
		match_by(&matcher, OLD_SIDE, OLD_SIDE, SAME_FILE);
		match_by(&matcher, NEW_SIDE, NEW_SIDE, SAME_FILE);
	}
	for (int criterion = 0; criterion < CRITERION_COUNT; criterion++)
		match_by(&matcher, BOTH_SIDES, ALL_IT_TAKES, (enum criterion)criterion);
	diff_modules_release(&matcher.sides[0]);
	diff_modules_release(&matcher.sides[1]);
	strtab_free(matcher.names);
	free(matcher.groups);
}
