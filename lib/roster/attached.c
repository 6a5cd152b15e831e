// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the descendants of processes. */
#include "roster/attached.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/pid_table.h"
#include "proc/read.h"

struct child {
	pid_t parent, pid;
};

struct children {
	struct child *rows; /* by parent */
	size_t nr, cap;
};

static int compare(const void *a, const void *b)
{
	const struct child *left = a, *right = b;

	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

static void read_children(struct children *children)
{
	DIR *directory = opendir("/proc");
	pid_t pid;

	while (directory && (pid = proc_next_id(directory))) {
		struct proc_stat stat;

		if (!proc_read_task_stat(pid, pid, &stat) ||
		    (stat.state == 'Z' && stat.nr_threads <= 1))
			continue;
		ARRAY_GROW(children->rows, children->nr, children->cap);
		children->rows[children->nr++] = (struct child){stat.ppid, stat.pid};
	}
	if (directory)
		closedir(directory);
	if (children->nr)
		qsort(children->rows, children->nr, sizeof(*children->rows), compare);
}

static size_t first_of(const struct children *children, pid_t parent)
{
	size_t low = 0, high = children->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (children->rows[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void attached_add_descendants(struct attached *attached)
{
	struct children children = {.rows = NULL};
	struct pid_table known = {.rows = NULL};
	size_t cap = attached->nr;

	read_children(&children);
	for (size_t i = 0; i < attached->nr; i++)
		pid_table_set(&known, attached->pids[i], attached);
	/* The array grows meanwhile: each process has its turn after its parent's. */
	for (size_t i = 0; i < attached->nr; i++) {
		pid_t parent = attached->pids[i];
		size_t at = first_of(&children, parent);

		for (; at < children.nr && children.rows[at].parent == parent; at++) {
			pid_t pid = children.rows[at].pid;

			if (pid == getpid() || pid_table_get(&known, pid))
				continue;
			pid_table_set(&known, pid, attached);
			ARRAY_GROW(attached->pids, attached->nr, cap);
			attached->pids[attached->nr++] = pid;
		}
	}
	free(children.rows);
	pid_table_release(&known);
}

void attached_release(struct attached *attached)
{
	free(attached->pids);
	*attached = (struct attached){.pids = NULL};
}
