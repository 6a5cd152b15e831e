// SPDX-License-Identifier: GPL-2.0-or-later
/* The keys of tables: one dimension, or two. */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/nearest.h"
#include "calltree/blame.h"
#include "calltree/flat.h"
#include "calltree/label_filter.h"
#include "profile/fold_scripts.h"
#include "profile/profile.h"

static int refuse(const char *word, struct err *err)
{
	struct buf all = {0};
	const char *nearest;
	size_t nr = 0;

	for (; dimension_names[nr]; nr++)
		buf_printf(&all, "%s%s%s", nr ? ", " : "", dimension_names[nr],
			   dimension_needs_key((enum dimension)nr) ? ":KEY" : "");
	err_set(err, ERR_INVALID, "invalid value '%s' for --by: must be one of %s", word,
		buf_str(&all));
	nearest = nearest_word(word, dimension_names, nr);
	if (nearest)
		err_hint(err, "did you mean '%s%s'?", nearest,
			 strcmp(nearest, dimension_names[BY_LABEL]) == 0 ? ":KEY" : "");
	buf_release(&all);
	return ERR_INVALID;
}

#define LABEL "label:"

/* The key is a part of the whole text, which outlives the word. */
static bool is_label(const char *word, const char *in_text, struct flat_keys *keys)
{
	if (strncmp(word, LABEL, strlen(LABEL)) != 0 || !word[strlen(LABEL)])
		return false;
	keys->label = (struct label_key){.text = in_text + strlen(LABEL),
					 .nr_bytes = strlen(word) - strlen(LABEL)};
	return true;
}

static int parse_one(const char *word, const char *in_text, struct flat_keys *keys,
		     enum dimension *dimension, struct err *err)
{
	if (is_label(word, in_text, keys)) {
		*dimension = BY_LABEL;
		return 0;
	}
	for (size_t i = 0; dimension_names[i]; i++) {
		if (strcmp(dimension_names[i], word) == 0 &&
		    !dimension_needs_key((enum dimension)i)) {
			*dimension = (enum dimension)i;
			return 0;
		}
	}
	return refuse(word, err);
}

int flat_keys_parse(const char *text, struct flat_keys *keys, struct err *err)
{
	const char *comma = strchr(text, ',');
	struct flat_keys parsed = {.first = BY_FUNCTION, .second = BY_FUNCTION};
	struct buf first = {0};
	int status;

	buf_append(&first, text, comma ? (size_t)(comma - text) : strlen(text));
	status = parse_one(buf_str(&first), text, &parsed, &parsed.first, err);
	buf_release(&first);
	if (status == 0)
		status = parse_one(comma ? comma + 1 : text, comma ? comma + 1 : text, &parsed,
				   &parsed.second, err);
	if (status)
		return status;
	if (comma && (parsed.first == parsed.second ||
		      (dimension_info(parsed.first)->implies & DIMENSION_BIT(parsed.second)))) {
		err_set(err, ERR_INVALID, "--by %s: a row of one %s has one %s alone", text,
			dimension_names[parsed.first], dimension_names[parsed.second]);
		if (parsed.first != parsed.second &&
		    !(dimension_info(parsed.second)->implies & DIMENSION_BIT(parsed.first)))
			err_hint(err, "--by %s,%s divides the other way round",
				 dimension_names[parsed.second], dimension_names[parsed.first]);
		return ERR_INVALID;
	}
	if (comma && dimension_info(parsed.second)->charges_callers &&
	    dimension_is_code(parsed.first))
		return err_set(err, ERR_INVALID,
			       "--by %s: rows of %s have the time of all code that they called",
			       text, dimension_names[parsed.second]);
	if (comma && (dimension_is_of_waits(parsed.first) || dimension_is_of_waits(parsed.second)))
		return err_set(
			err, ERR_INVALID, "--by %s: %s cannot be combined with another key", text,
			dimension_names[dimension_is_of_waits(parsed.first) ? parsed.first
									    : parsed.second]);
	*keys = parsed;
	return 0;
}

int flat_keys_check(const struct flat_keys *keys, enum metric metric, struct err *err)
{
	enum dimension wrong = dimension_divides(keys->first, metric) ? keys->second : keys->first;

	if (dimension_divides(wrong, metric))
		return 0;
	if (dimension_info(wrong)->divides == DIMENSION_DIVIDES_MEMORY)
		return err_set(err, ERR_INVALID, "--by %s needs a metric of memory",
			       dimension_names[wrong]);
	if (dimension_info(wrong)->divides == DIMENSION_DIVIDES_ELAPSED)
		return err_set(err, ERR_INVALID, "--by %s needs --metric elapsed",
			       dimension_names[wrong]);
	return err_set(err, ERR_INVALID, "memory cannot be divided by %s", dimension_names[wrong]);
}

enum metric flat_keys_metric(const struct flat_keys *keys)
{
	enum metric first = dimension_info(keys->first)->metric;
	enum metric second = dimension_info(keys->second)->metric;

	if (first == METRIC_CPU || first == second)
		return second;
	return second == METRIC_CPU ? first : METRIC_WALL;
}

int flat_keys_find(const struct flat_keys *keys, const struct profile *profile, struct err *err)
{
	struct str_id label;

	if (dimension_is_of_waits(keys->first))
		return blame_require(profile, err);
	if (keys->label.nr_bytes && label_filter_find_key(profile, &keys->label, &label, err))
		return ERR_NOT_FOUND;
	if ((dimension_info(keys->first)->needs_scripts ||
	     dimension_info(keys->second)->needs_scripts) &&
	    !profile_has_scripts(profile))
		return err_set(err, ERR_NOT_FOUND, "no functions of scripts in the recording");
	if (profile->nr_marks > 0 || (!dimension_info(keys->first)->needs_marks &&
				      !dimension_info(keys->second)->needs_marks))
		return 0;
	err_set(err, ERR_NOT_FOUND, "no marks in the recording");
	err_hint(err, "'profc record --control fifo:PATH' sets one when somebody says "
		      "'echo \"mark TEXT\" >PATH'");
	return ERR_NOT_FOUND;
}
