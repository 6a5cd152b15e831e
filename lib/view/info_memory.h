/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_INFO_MEMORY_H
#define PROFC_VIEW_INFO_MEMORY_H

#include <stdbool.h>

#include "view/style.h"

struct buf;
struct json;
struct profile;
struct sink;

/*
 * Append "recorded 1,204 of 98,000 blocks, 1.21 GiB; 3.20 MiB in 40 blocks were not freed", in one
 * line. False, and nothing appended, if memory was not recorded.
 */
bool info_append_memory(struct buf *out, const struct profile *profile);

/*
 * The allocated, live and peak memory; then how the resident memory divides. Nothing if memory was
 * not recorded.
 */
void info_print_memory(const struct profile *profile, const struct view *view, struct sink *sink);
/* The member "heap": null if memory was not recorded. */
void info_write_memory(struct json *json, const struct profile *profile);

#endif
