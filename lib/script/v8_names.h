/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_V8_NAMES_H
#define PROFC_SCRIPT_V8_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct script_frame;
struct script_place;
struct snapshot;
struct space;
struct v8;
struct v8_layout;
struct wanted_memory;

/*
 * The functions of V8 in one process, as they were read while it ran on. The object of a function
 * and its SharedFunctionInfo were copied in the stop of a sample, or right after it if both have
 * been the same for a while. What these lead to is read later: it counts if the SharedFunctionInfo
 * is still the same afterwards.
 */
struct v8_names;

struct v8_names *v8_names_new(const struct v8_layout *layout);
void v8_names_free(struct v8_names *names);

/*
 * The places of frames in their sources; texts are borrowed until the next call. A builtin
 * function, and one that is no longer there, is native.
 */
void v8_names_find(struct v8_names *names, const struct v8 *v8, struct space *space,
		   const struct snapshot *snapshot, const struct script_frame *frames, size_t nr,
		   struct script_place *places);

/* Was this object the same in several snapshots, over some time? */
bool v8_names_is_steady(const struct v8_names *names, uint64_t address);

/* Add those that were lately so, which may be on the stack again at the next sample. */
void v8_names_want_recent(const struct v8_names *names, struct wanted_memory *wanted);

#endif
