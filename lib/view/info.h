/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_INFO_H
#define PROFC_VIEW_INFO_H

#include "view/style.h"

struct profile;
struct sink;
struct survey;

/*
 * The origin and quality of a recording: `profc info`. Command, time and totals first, then stack
 * quality, modules with the source of their symbols, losses, perturbation and overhead.
 */
void info_print_text(const struct profile *profile, const struct survey *survey,
		     const struct view *view, struct sink *sink);

/* As JSON, with every process, thread, module and counter. */
void info_print_json(const struct profile *profile, const struct survey *survey, struct sink *sink);

#endif
