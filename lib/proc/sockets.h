/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptions of sockets, from the tables of /proc/PID/net, by inode. */
#ifndef PROFC_PROC_SOCKETS_H
#define PROFC_PROC_SOCKETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/index_set.h"

/* "10.0.0.1:5432", its peer; "listening on 0.0.0.0:80"; "listening on /run/x"; "/run/x" … */
struct proc_socket {
	uint64_t inode;
	char *text; /* owned */
};

/* Begins as all 0. */
struct proc_sockets {
	struct proc_socket *rows; /* owned; distinct */
	size_t nr, cap;
	struct index_set set;
};

void proc_sockets_release(struct proc_sockets *sockets);

/*
 * Add the sockets in the text of a file of /proc/PID/net, "tcp", "tcp6", "udp" or "udp6", or
 * "unix". New texts replace those of known sockets. Lines of other forms are skipped; so are
 * sockets without an address, as most of "unix" are.
 */
void proc_sockets_add_inet(struct proc_sockets *sockets, const char *text, size_t nr_bytes);
void proc_sockets_add_unix(struct proc_sockets *sockets, const char *text, size_t nr_bytes);
/* Forget all, and read those of the network namespace of a process. */
void proc_sockets_read(struct proc_sockets *sockets, pid_t pid);

/* NULL: not known. Borrowed until the next change. */
const char *proc_sockets_find(const struct proc_sockets *sockets, uint64_t inode);

#endif
