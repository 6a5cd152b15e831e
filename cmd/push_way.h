/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way to the receiver that the options name. */
#ifndef PROFC_CMD_PUSH_WAY_H
#define PROFC_CMD_PUSH_WAY_H

#include <stdatomic.h>

#include "push/transport.h"

struct err;
struct push_http;
struct push_target;

/* Zero-initialised is closed. */
struct push_way {
	struct push_http *http; /* owned; NULL: a directory */
	struct push_transport transport;
};

/*
 * Make the directory, or load libcurl, for which profc has to have one thread yet. `ended`, set,
 * ends a request that is being sent; borrowed, or NULL. The target is borrowed.
 */
int push_way_open(struct push_way *way, const struct push_target *target, const atomic_bool *ended,
		  struct err *err);
void push_way_close(struct push_way *way);

#endif
