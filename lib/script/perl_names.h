/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PERL_NAMES_H
#define PROFC_SCRIPT_PERL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perl_layout;
struct script_frame;
struct script_place;
struct snapshot;
struct space;

/*
 * The subs and statements of one process, as they were read while it ran on. Each statement has a
 * number that no other has: where the one of the snapshot is no longer there when its file is read,
 * or the first one of a sub when its name is read, they are gone.
 */
struct perl_names;

struct perl_names *perl_names_new(const struct perl_layout *layout); /* borrowed */
void perl_names_free(struct perl_names *names);

/*
 * Was the object with this size the same in several snapshots, over some time? Then it is enough
 * if a copy made right after a stop shows that it still is.
 */
bool perl_names_is_steady(const struct perl_names *names, uint64_t at, uint64_t nr_bytes);

/* The places of frames in their sources; texts are borrowed until the next call. */
void perl_names_find(struct perl_names *names, struct space *space, const struct snapshot *snapshot,
		     const struct script_frame *frames, size_t nr, struct script_place *places);

#endif
