// SPDX-License-Identifier: GPL-2.0-or-later
/* Peers of sockets and other ends of pipes, from tables that are read again for a missing one. */
#include "wait/object_names.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/ends.h"
#include "proc/read.h"
#include "proc/sockets.h"
#include "proc/unix_peer.h"

/* Reading each table takes at most this fraction of a CPU, but may take that much at once. */
#define TIME_PER_READING 100
#define AT_ONCE_NS	 (50 * NS_PER_MS)

struct reading {
	uint64_t total_ns, began_ns; /* CPU time of the thread that reads */
};

struct object_names {
	uint64_t began_ns;
	struct proc_sockets sockets;
	struct proc_ends ends;
	struct reading of_sockets, of_ends;
	bool is_stale; /* a process may have ended or closed an end since the ends were read */
};

struct object_names *object_names_new(void)
{
	struct object_names *names = xcalloc(1, sizeof(*names));

	names->began_ns = clock_monotonic_ns();
	return names;
}

void object_names_free(struct object_names *names)
{
	if (!names)
		return;
	proc_sockets_release(&names->sockets);
	proc_ends_release(&names->ends);
	free(names);
}

static bool is_socket(const char *object)
{
	return strncmp(object, "socket:[", strlen("socket:[")) == 0;
}

static bool is_pipe(const char *object)
{
	return strncmp(object, "pipe:[", strlen("pipe:[")) == 0;
}

bool object_has_peer(const char *object)
{
	return is_socket(object) || is_pipe(object);
}

static uint64_t inode_of(const char *object)
{
	return strtoull(strchr(object, '[') + 1, NULL, 10);
}

/* False: not now. To check what is known is less urgent than to find what is not. */
static bool begin(const struct object_names *names, struct reading *reading, bool is_check)
{
	uint64_t so_far_ns = is_check ? 2 * reading->total_ns : reading->total_ns;
	uint64_t passed_ns = clock_monotonic_ns() - names->began_ns;

	reading->began_ns = clock_thread_cpu_ns();
	return so_far_ns < AT_ONCE_NS + passed_ns / TIME_PER_READING;
}

static void end(struct reading *reading)
{
	reading->total_ns += clock_thread_cpu_ns() - reading->began_ns;
}

/* The end of a pipe or socket at which a thread waits, and the other end. */
struct ends {
	pid_t pid; /* the process of the thread */
	uint64_t own_inode, inode;
	enum proc_end_kind own_kind, kind;
};

/* The processes that may be at the other end. */
struct peers {
	pid_t others[PROC_END_OWNERS];
	size_t nr;
	bool is_own;	 /* the peer may be another thread of the process */
	bool may_change; /* a child that was just forked has not closed an end yet, perhaps */
};

static bool has_threads(pid_t pid)
{
	struct stat stat_of;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return stat(path, &stat_of) == 0 && stat_of.st_nlink > 3; /* ".", "..", a directory each */
}

/*
 * Find the processes at the other end. A process with only the other end is a peer. A process with
 * both ends may have inherited them from the process that made the pipe, which has both, too: if
 * that process has several threads, its peer is rather one of these than a forked child.
 */
static struct peers peers_of(const struct proc_ends *known, const struct ends *ends)
{
	const struct proc_end *other = proc_ends_find(known, ends->inode, ends->kind);
	const struct proc_end *own = proc_ends_find(known, ends->own_inode, ends->own_kind);
	struct peers peers = {.is_own = proc_end_is_of(other, ends->pid)};
	struct peers copies = {.nr = 0};

	for (size_t i = 0; other && i < PROC_END_OWNERS && other->owners[i]; i++) {
		pid_t pid = other->owners[i];
		struct peers *list = proc_end_is_of(own, pid) ? &copies : &peers;

		if (pid != ends->pid)
			list->others[list->nr++] = pid;
	}
	peers.may_change = copies.may_change = copies.nr != 0;
	if (peers.nr)
		peers.is_own = false;
	else if (copies.nr && !(peers.is_own && has_threads(ends->pid)))
		peers = copies;
	return peers;
}

static struct peers find_peers(struct object_names *names, const struct ends *ends)
{
	struct peers peers = peers_of(&names->ends, ends);

	bool is_known = peers.nr || peers.is_own;

	if ((!names->is_stale && is_known) || !begin(names, &names->of_ends, is_known))
		return peers;
	proc_ends_read(&names->ends);
	names->is_stale = false;
	end(&names->of_ends);
	return peers_of(&names->ends, ends);
}

#define PEERS_NAMED 3

/* "pipe from 77 gzip, 78 zcat" */
static void append_peers(struct buf *out, const char *words, const struct peers *peers)
{
	buf_append_str(out, words);
	for (size_t i = 0; i < peers->nr && i < PEERS_NAMED; i++) {
		pid_t pid = peers->others[i];
		char comm[PROC_COMM_MAX_BYTES] = "";

		proc_read_comm(pid, pid, comm, sizeof(comm));
		buf_printf(out, "%s %d%s%s", i ? "," : "", (int)pid, *comm ? " " : "", comm);
	}
	if (peers->nr > PEERS_NAMED)
		buf_printf(out, " and %zu more", peers->nr - PEERS_NAMED);
}

/* Sockets without a name of their own are connected to one that has a name, or to some process. */
static bool name_by_peer(struct object_names *names, pid_t pid, uint64_t inode, uint64_t peer,
			 struct object_name *name)
{
	const char *text = proc_sockets_find(&names->sockets, peer);
	const struct ends ends = {.pid = pid,
				  .own_inode = inode,
				  .inode = peer,
				  .own_kind = PROC_END_SOCKET,
				  .kind = PROC_END_SOCKET};
	struct peers peers = {.nr = 0};

	if (text) {
		buf_printf(name->text, "socket %s", text);
		return true;
	}
	peers = find_peers(names, &ends);
	if (peers.is_own)
		buf_append_str(name->text, "socket within the process");
	else if (peers.nr)
		append_peers(name->text, "socket to", &peers);
	name->peer = peers.nr ? peers.others[0] : 0;
	name->may_change = peers.may_change;
	return peers.is_own || peers.nr;
}

/* For a connected pair of this machine the tables are read only once: many have no name. */
static bool name_socket(struct object_names *names, pid_t pid, const char *object,
			struct object_name *name)
{
	uint64_t inode = inode_of(object);
	const char *text = proc_sockets_find(&names->sockets, inode);
	uint64_t peer = text ? 0 : proc_unix_peer(inode);

	if (!text && (!peer || !names->of_sockets.total_ns) &&
	    begin(names, &names->of_sockets, false)) {
		proc_sockets_read(&names->sockets, pid);
		end(&names->of_sockets);
		text = proc_sockets_find(&names->sockets, inode);
	}
	if (!text)
		return peer && name_by_peer(names, pid, inode, peer, name);
	buf_printf(name->text, "socket %s", text);
	return true;
}

static bool name_pipe(struct object_names *names, pid_t pid, int fd, const char *object,
		      struct object_name *name)
{
	struct ends ends = {.pid = pid,
			    .own_inode = inode_of(object),
			    .inode = inode_of(object),
			    .own_kind = PROC_END_READS,
			    .kind = PROC_END_WRITES};
	struct peers peers;
	bool writes;

	if (!proc_descriptor_writes(pid, fd, &writes))
		return false;
	if (writes) {
		ends.own_kind = PROC_END_WRITES;
		ends.kind = PROC_END_READS;
	}
	peers = find_peers(names, &ends);
	if (peers.is_own)
		buf_append_str(name->text, "pipe within the process");
	else if (peers.nr)
		append_peers(name->text, writes ? "pipe to" : "pipe from", &peers);
	name->peer = peers.nr ? peers.others[0] : 0;
	name->may_change = peers.may_change;
	return peers.is_own || peers.nr;
}

bool object_names_find(struct object_names *names, pid_t pid, int fd, const char *object,
		       struct object_name *name)
{
	name->peer = 0;
	name->may_change = false;
	if (is_socket(object))
		return name_socket(names, pid, object, name);
	return is_pipe(object) && name_pipe(names, pid, fd, object, name);
}

void object_names_forget_ends(struct object_names *names)
{
	names->is_stale = true;
}
