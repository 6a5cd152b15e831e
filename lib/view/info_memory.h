/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_INFO_MEMORY_H
#define PROFC_VIEW_INFO_MEMORY_H

#include "view/style.h"

struct json;
struct profile;
struct sink;

/*
 * What was allocated, is alive and was at the peak; then how the resident memory divides. Nothing
 * if memory was not recorded.
 */
void info_print_memory(const struct profile *profile, const struct view *view, struct sink *sink);
/* The member "heap": null if memory was not recorded. */
void info_write_memory(struct json *json, const struct profile *profile);

#endif
