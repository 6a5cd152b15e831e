/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_TREE_JSON_H
#define PROFC_VIEW_TREE_JSON_H

struct sink;
struct tree;
struct tree_limits;

/*
 * A call tree for programs: the members every view has, then "nodes", a list in which parents
 * precede their children and "parent" is the index of a node's parent or null. A list, because
 * trees may be deeper than JSON readers can nest.
 */
void tree_print_json(const struct tree *tree, const struct tree_limits *limits, struct sink *sink);

#endif
