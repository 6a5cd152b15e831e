/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the machines of two recordings differ, which a comparison of their times should say first. */
#ifndef PROFC_VIEW_DIFF_MACHINE_H
#define PROFC_VIEW_DIFF_MACHINE_H

#include "view/style.h"

struct diff;
struct json;
struct sink;

/*
 * The processor, the number of CPUs, the kernel, and libraries of one path with other contents, of
 * the first run on either side. Nothing where all is the same.
 */
void diff_print_machines(const struct diff *diff, const struct view *view, struct sink *sink);
/* The same as members "machine" and "libraries" of the current object. */
void diff_write_machines(struct json *json, const struct diff *diff);

#endif
