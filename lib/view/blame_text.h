/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_BLAME_TEXT_H
#define PROFC_VIEW_BLAME_TEXT_H

#include "calltree/expand.h"

struct blame;
struct buf;
struct json;

/* Cells in the tables of locks and descriptors, for a row's number in the blame. Raw text. */

/* "mutex", "cond" …; nothing for other objects than locks. */
void append_lock_kind(struct buf *out, const struct blame *blame, uint32_t number);
/*
 * As a frame below those of a sleeping thread: "mutex queue_lock", "GIL of python3", "end of thread
 * 77 worker", "socket 10.0.0.1:5432 (fd 7)".
 */
void append_wait_frame(struct buf *out, const struct blame *blame, uint32_t number);
/* The function in which threads wait. */
void append_waiting_in(struct buf *out, const struct blame *blame, uint32_t number,
		       enum name_style style);
/*
 * "worker 71%, main 29%": the owners, each with its share of the waiting; "worker? 71%" if only its
 * memory suggests an owner.
 */
void append_owners(struct buf *out, const struct blame *blame, uint32_t number);
/* The function in which the first owner spent most of that time. */
void append_owner_in(struct buf *out, const struct blame *blame, uint32_t number,
		     enum name_style style);
/* The innermost function, likewise, in the C library or not. */
void append_owner_leaf(struct buf *out, const struct blame *blame, uint32_t number,
		       enum name_style style);
/* Both: "Logger::info > fdatasync 94%", with the share of that time in the latter. */
void append_held_in(struct buf *out, const struct blame *blame, uint32_t number,
		    enum name_style style);

/* The member "owners" of a row of locks: all of them, with their functions. */
void json_key_owners(struct json *json, const struct blame *blame, uint32_t number);

#endif
