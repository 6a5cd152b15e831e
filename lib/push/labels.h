/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels by which receivers tell profiles apart. */
#ifndef PROFC_PUSH_LABELS_H
#define PROFC_PUSH_LABELS_H

#include <stddef.h>

struct err;

struct push_label {
	char *name, *value; /* owned */
};

/* In the order of their names, each name once. Zero-initialised is empty and ready. */
struct push_labels {
	struct push_label *labels; /* owned */
	size_t nr, cap;
};

/* The label that is the name of the program, service or job. */
#define PUSH_LABEL_SERVICE "service_name"

/*
 * Set a label, in place of one of that name; an empty value removes it. The value is copied,
 * control characters of it as '_'. ERR_INVALID: receivers do not take that name. They take letters,
 * digits and '_', not a digit first, and not two '_' first.
 */
int push_labels_set(struct push_labels *labels, const char *name, const char *value,
		    struct err *err);
/* Set the label of a user's text "NAME=VALUE". */
int push_labels_parse(struct push_labels *labels, const char *text, struct err *err);
/* The value, borrowed; NULL: there is no such label. */
const char *push_labels_get(const struct push_labels *labels, const char *name);
void push_labels_release(struct push_labels *labels);

#endif
