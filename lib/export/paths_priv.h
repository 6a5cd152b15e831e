/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_PATHS_PRIV_H
#define PROFC_EXPORT_PATHS_PRIV_H

#include <stdint.h>

#include "calltree/expand.h"
#include "mapping/module.h"
#include "stack/stack.h"

/*
 * From the stacks of a profile to the paths of an export: the nodes that a format can tell apart,
 * root first, with a node for missing callers at the root. Paths are interned in a trie of their
 * own, so that stacks which look alike in a format are one.
 */
enum path_kind {
	PATH_LABELS, /* nodes are labels of the expansion: functions */
	PATH_PLACES, /* places of the expansion: lines of functions */
	PATH_FRAMES, /* frames of the profile, or stand-ins: see path_frame_levels() */
};

struct path_maker;

/* Both are borrowed. `paths` is empty and is filled by path_of(). */
struct path_maker *path_maker_new(const struct expansion *expansion, enum path_kind kind,
				  struct stack_trie *paths);
void path_maker_free(struct path_maker *maker);

/* The path of a sample's stack, never empty; path_kind defines the frame_ids of its nodes. */
struct stack_id path_of(struct path_maker *maker, const struct sample *sample);

/* The nodes of one path, root first. Zero-initialised is empty, the room is reused. */
struct path_nodes {
	uint32_t *nodes; /* owned */
	uint32_t nr;
	size_t cap;
};

/* Replace the content by the nodes of a path. */
void path_nodes_of(struct path_nodes *nodes, const struct stack_trie *paths, struct stack_id path);
void path_nodes_release(struct path_nodes *nodes);

/*
 * The levels of a PATH_FRAMES node, outermost first: those of a frame of the profile, or the one
 * level that replaces missing callers (ids from profile.nr_frames on).
 */
const struct level *path_frame_levels(const struct expansion *expansion, uint32_t node,
				      uint32_t *nr);
/* The code address of a PATH_FRAMES node; NULL for stand-ins and for frames left out. Borrowed. */
const struct code_address *path_frame_address(const struct expansion *expansion, uint32_t node);
/* One past the highest node of any PATH_FRAMES path. */
uint32_t path_nr_frame_nodes(const struct expansion *expansion);

#endif
