/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Says how the machines of two recordings differ: then a comparison of times may mislead. */
#ifndef PROFC_VIEW_DIFF_MACHINE_H
#define PROFC_VIEW_DIFF_MACHINE_H

#include "view/style.h"

struct diff;
struct json;
struct sink;

/*
 * Print differences between the first runs of both sides: in the processor, the number of CPUs, the
 * kernel, and libraries that have other contents at the same path. Prints nothing if there are
 * none.
 */
void diff_print_machines(const struct diff *diff, const struct view *view, struct sink *sink);
/* Write the same as members "machine" and "libraries" of the current object. */
void diff_write_machines(struct json *json, const struct diff *diff);

#endif
