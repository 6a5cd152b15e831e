/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_CPYTHON_NAMES_H
#define PROFC_SCRIPT_CPYTHON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpython;
struct script_frame;
struct script_place;
struct snapshot;
struct space;

/*
 * The functions of code objects in one process, as they were read while it ran on. Each time that
 * one is asked for, its object is looked at again, in the snapshot if that has it, else as it is
 * now: if it is another function's, or has other texts, that is what is said. An object that is
 * gone has no name.
 */
struct cpython_names;

struct cpython_names *cpython_names_new(void);
void cpython_names_free(struct cpython_names *names);

/* The places of frames in their sources; texts are borrowed until the next call. */
void cpython_names_find(struct cpython_names *names, const struct cpython *python,
			struct space *space, const struct snapshot *snapshot,
			const struct script_frame *frames, size_t nr, struct script_place *places);

/*
 * Was the function of this object the same in several snapshots, over some time? Then it is enough
 * if a copy made right after a stop shows that it still is.
 */
bool cpython_names_is_steady(const struct cpython_names *names, uint64_t code);

#endif
