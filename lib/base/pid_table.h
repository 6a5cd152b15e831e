/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_PID_TABLE_H
#define PROFC_BASE_PID_TABLE_H

#include <stddef.h>
#include <sys/types.h>

/* Ids of processes or threads, each with a pointer. Begins as all 0. */
struct pid_row {
	pid_t pid; /* 0: free */
	void *value;
};

struct pid_table {
	struct pid_row *rows; /* owned */
	size_t nr, cap;	      /* a power of two, or 0 */
};

void pid_table_release(struct pid_table *table);
/* The pointer borrowed by pid_table_set(), or NULL. */
void *pid_table_get(const struct pid_table *table, pid_t pid);
void pid_table_set(struct pid_table *table, pid_t pid, void *value);
void pid_table_remove(struct pid_table *table, pid_t pid);

#endif
