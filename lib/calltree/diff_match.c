// SPDX-License-Identifier: GPL-2.0-or-later
/* Matches the functions of two profiles. */
#include "calltree/diff_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

/* By what rows are the same function; each is tried on what those before it have left. */
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
	/* The rows with one key: whether they may be one, and the row that is to be all of them. */
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
	/* Code that another module took over; within a module this holds of itself. */
	MAY_MOVE = 4,
	ALL_IT_TAKES = BOTH_SIDES | MAY_MOVE,
};

static uint32_t sides_of(const struct diff_row *row)
{
	return (row->old_label == DIFF_NO_LABEL ? 0 : OLD_SIDE) |
	       (row->new_label == DIFF_NO_LABEL ? 0 : NEW_SIDE);
}

static const char *renamed(const struct matcher *matcher, bool is_old, const char *name)
{
	return is_old ? diff_renamed(name, matcher->renames, matcher->nr_renames) : name;
}

#define RUST_HASH_DIGITS 16

/* Without the "::h0123456789abcdef" by which Rust tells builds apart. */
static size_t length_without_hash(const char *name)
{
	size_t length = strlen(name), rest = strlen("::h") + RUST_HASH_DIGITS;

	if (length > rest && memcmp(name + length - rest, "::h", 3) == 0 &&
	    strspn(name + length - RUST_HASH_DIGITS, "0123456789abcdef") == RUST_HASH_DIGITS)
		return length - rest;
	return length;
}

/* Names made of an address begin with the module's, which the key has anyway: "[prog+0x12]". */
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

/* The key of a row of one side; false where the criterion does not apply to it. */
static bool make_key(struct buf *key, const struct matcher *matcher, const struct diff_row *row,
		     enum criterion criterion)
{
	bool is_old = row->old_label != DIFF_NO_LABEL;
	const struct diff_modules *modules = &matcher->sides[is_old ? 0 : 1];
	const struct expansion *expansion = modules->weights->selection->expansion;
	uint32_t label = is_old ? row->old_label : row->new_label;
	const struct function *function = label_function(expansion, label);
	const char *path = function ? profile_str(expansion->profile, function->file) : "";
	struct str_id module = modules->keys[expansion->labels[label].module.v];

	buf_clear(key);
	if (criterion == OTHER_MODULE && (!*path || label_is_nameless(expansion, label)))
		return false;
	append_name(key, matcher, is_old, expansion, label);
	buf_append_byte(key, '\n'); /* in no name by any compiler's doing */
	if (criterion != OTHER_MODULE)
		buf_printf(key, "%" PRIu32, module.v);
	buf_append_byte(key, '\n');
	append_file(key, matcher, is_old, path, criterion);
	return true;
}

static bool lacks_partner(const struct matcher *matcher, const struct diff_row *row)
{
	bool is_old = row->old_label != DIFF_NO_LABEL;
	const struct diff_modules *modules = &matcher->sides[is_old ? 0 : 1];
	const struct expansion *expansion = modules->weights->selection->expansion;
	uint32_t label = is_old ? row->old_label : row->new_label;

	return !has_partner(&matcher->sides[is_old ? 1 : 0],
			    modules->keys[expansion->labels[label].module.v]);
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

static void merge_row(struct diff_row *into, const struct diff_row *from)
{
	if (from->old_label != DIFF_NO_LABEL && from->old_self.weight >= into->old_self.weight)
		into->old_label = from->old_label;
	if (from->new_label != DIFF_NO_LABEL && from->new_self.weight >= into->new_self.weight)
		into->new_label = from->new_label;
	tally_add(&into->old_self, &from->old_self);
	tally_add(&into->new_self, &from->new_self);
	merge_calls(&into->old_calls, &from->old_calls);
	merge_calls(&into->new_calls, &from->new_calls);
}

/* The group of each row that has no partner yet; the caller frees it. */
static uint32_t *group_rows(struct matcher *matcher, enum criterion criterion)
{
	const struct diff *diff = matcher->diff;
	uint32_t *groups = xmalloc((diff->nr + 1) * sizeof(*groups));
	struct buf key = {0};

	for (size_t i = 0; i < diff->nr; i++) {
		uint32_t sides = sides_of(&diff->rows[i]);

		groups[i] = NO_GROUP;
		if (sides == BOTH_SIDES || !make_key(&key, matcher, &diff->rows[i], criterion))
			continue;
		groups[i] = group_of(matcher, buf_str(&key));
		matcher->groups[groups[i]].has |= sides;
		/* Of modules that are there in both, they are two functions of one name. */
		if (criterion != OTHER_MODULE || lacks_partner(matcher, &diff->rows[i]))
			matcher->groups[groups[i]].has |= MAY_MOVE;
	}
	buf_release(&key);
	return groups;
}

static void merge_groups(struct matcher *matcher, const uint32_t *groups)
{
	struct diff *diff = matcher->diff;
	size_t kept = 0;

	for (size_t i = 0; i < diff->nr; i++) {
		struct group *group = groups[i] == NO_GROUP ? NULL : &matcher->groups[groups[i]];

		if (group && group->has == ALL_IT_TAKES && group->row != NO_ROW) {
			merge_row(&diff->rows[group->row], &diff->rows[i]);
			continue;
		}
		if (group)
			group->row = (uint32_t)kept;
		diff->rows[kept++] = diff->rows[i];
	}
	diff->nr = kept;
}

static void match_by(struct matcher *matcher, enum criterion criterion)
{
	uint32_t *groups;

	matcher->keys = strtab_new();
	matcher->nr_groups = 0;
	groups = group_rows(matcher, criterion);
	merge_groups(matcher, groups);
	free(groups);
	strtab_free(matcher->keys);
}

void diff_match_rows(struct diff *diff, struct diff_rename *renames, size_t nr_renames)
{
	struct matcher matcher = {
		.diff = diff,
		.sides = {{.weights = diff->old_weights}, {.weights = diff->new_weights}},
		.names = strtab_new(),
		.renames = renames,
		.nr_renames = nr_renames};

	diff_match_modules(&matcher.sides[0], &matcher.sides[1], matcher.names, renames,
			   nr_renames);
	for (int criterion = 0; criterion < CRITERION_COUNT; criterion++)
		match_by(&matcher, (enum criterion)criterion);
	diff_modules_release(&matcher.sides[0]);
	diff_modules_release(&matcher.sides[1]);
	strtab_free(matcher.names);
	free(matcher.groups);
}
