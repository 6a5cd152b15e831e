/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the connected sockets of this machine. */
#ifndef PROFC_PROC_UNIX_PEER_H
#define PROFC_PROC_UNIX_PEER_H

#include <stdint.h>

/*
 * The inode of the socket that a socket of AF_UNIX is connected to, from the kernel, which knows
 * those of our own network namespace (sock_diag(7)). 0: it is none, or not connected.
 */
uint64_t proc_unix_peer(uint64_t inode);

#endif
