// SPDX-License-Identifier: GPL-2.0-or-later
/* Labels, sorted by name. */
#include "push/labels.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"

static bool is_name(const char *name, size_t nr_bytes)
{
	if (nr_bytes == 0 || isdigit((unsigned char)name[0]))
		return false;
	if (nr_bytes > 1 && name[0] == '_' && name[1] == '_')
		return false; /* theirs */
	for (size_t i = 0; i < nr_bytes; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

/* The index of the name, or the one where it belongs. */
static size_t find(const struct push_labels *labels, const char *name, bool *found)
{
	size_t i = 0;
	int order = 1;

	while (i < labels->nr && (order = strcmp(labels->labels[i].name, name)) < 0)
		i++;
	*found = i < labels->nr && order == 0;
	return i;
}

static void remove_label(struct push_labels *labels, size_t index)
{
	free(labels->labels[index].name);
	free(labels->labels[index].value);
	labels->nr--;
	memmove(&labels->labels[index], &labels->labels[index + 1],
		(labels->nr - index) * sizeof(*labels->labels));
}

static void insert_label(struct push_labels *labels, size_t index, const char *name,
			 const char *value)
{
	ARRAY_GROW(labels->labels, labels->nr, labels->cap);
	memmove(&labels->labels[index + 1], &labels->labels[index],
		(labels->nr - index) * sizeof(*labels->labels));
	labels->labels[index] = (struct push_label){xstrdup(name), xstrdup(value)};
	labels->nr++;
	for (char *at = labels->labels[index].value; *at; at++)
		if (iscntrl((unsigned char)*at))
			*at = '_';
}

int push_labels_set(struct push_labels *labels, const char *name, const char *value,
		    struct err *err)
{
	bool found;
	size_t index;

	if (!is_name(name, strlen(name))) {
		err_set(err, ERR_INVALID, "'%s' is no name of a label", name);
		err_hint(err,
			 "letters, digits and _, not a digit first, as in --push-label region=eu");
		return ERR_INVALID;
	}
	index = find(labels, name, &found);
	if (found)
		remove_label(labels, index);
	if (*value)
		insert_label(labels, index, name, value);
	return 0;
}

int push_labels_parse(struct push_labels *labels, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	cleanup_free char *name = NULL;

	if (!equals)
		return err_set(err, ERR_INVALID, "--push-label '%s' is not NAME=VALUE", text);
	name = xstrndup(text, (size_t)(equals - text));
	return push_labels_set(labels, name, equals + 1, err);
}

const char *push_labels_get(const struct push_labels *labels, const char *name)
{
	bool found;
	size_t index = find(labels, name, &found);

	return found ? labels->labels[index].value : NULL;
}

void push_labels_release(struct push_labels *labels)
{
	while (labels->nr)
		remove_label(labels, labels->nr - 1);
	free(labels->labels);
	*labels = (struct push_labels){.labels = NULL};
}
