/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_SURVIVORS_H
#define PROFC_CMD_SURVIVORS_H

#include <stddef.h>
#include <sys/types.h>

struct profile;
struct survivor;

/* The processes that lived at the end of a recording, to be attached to again. */
struct survivors {
	struct survivor *rows; /* owned */
	size_t nr, cap;
};

/* To be asked at once, before others have their ids. */
void survivors_init(struct survivors *survivors, const struct profile *profile);
void survivors_release(struct survivors *survivors);
/* Those that live still, *nr of them; the caller owns them. */
pid_t *survivors_pids(const struct survivors *survivors, size_t *nr);

#endif
