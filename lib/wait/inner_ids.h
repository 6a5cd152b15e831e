/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_WAIT_INNER_IDS_H
#define PROFC_WAIT_INNER_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Thread ids inside processes: in a PID namespace of their own they differ from ours. */
#define INNER_PROCESSES 16

struct inner_id {
	pid_t inner, outer;
};

struct inner_process {
	pid_t pid;		  /* 0: none */
	struct inner_id *threads; /* owned */
	size_t nr, cap;
	bool is_inner; /* else the ids are the same */
	uint64_t read_again_ns;
};

/* Begins as all 0. */
struct inner_ids {
	struct inner_process at[INNER_PROCESSES]; /* the oldest is replaced */
	size_t next;
};

void inner_ids_release(struct inner_ids *ids);
/* Our id of a thread, from the id inside its process; 0: there is none. */
pid_t inner_ids_outer(struct inner_ids *ids, pid_t pid, pid_t tid);

#endif
