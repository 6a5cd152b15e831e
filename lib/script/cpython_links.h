/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_CPYTHON_LINKS_H
#define PROFC_SCRIPT_CPYTHON_LINKS_H

#include <stdbool.h>
#include <stdint.h>

struct cpython;
struct frame_links;
struct space;

/*
 * How a thread of the process finds its own frames; `getter` is the address of PyThreadState_Get().
 * False: it cannot be known, as with another C library than glibc. The process runs on.
 */
bool cpython_find_links(const struct cpython *python, struct space *space, uint64_t getter,
			struct frame_links *links);

#endif
