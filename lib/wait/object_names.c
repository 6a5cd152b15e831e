// SPDX-License-Identifier: GPL-2.0-or-later
/* Peers of sockets and other ends of pipes, from tables that are read again for a missing one. */
#include "wait/object_names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/ends.h"
#include "proc/read.h"
#include "proc/sockets.h"
#include "proc/unix_peer.h"

/* Reading each table takes at most this fraction of the time, but may take that much at once. */
#define TIME_PER_READING 100
#define AT_ONCE_NS	 (50 * NS_PER_MS)

struct reading {
	uint64_t total_ns, began_ns;
};

struct object_names {
	uint64_t began_ns;
	struct proc_sockets sockets;
	struct proc_ends ends;
	struct reading of_sockets, of_ends;
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

/* False: not now. */
static bool begin(const struct object_names *names, struct reading *reading)
{
	uint64_t now_ns = clock_monotonic_ns();

	reading->began_ns = now_ns;
	return reading->total_ns < AT_ONCE_NS + (now_ns - names->began_ns) / TIME_PER_READING;
}

static void end(struct reading *reading)
{
	reading->total_ns += clock_monotonic_ns() - reading->began_ns;
}

static pid_t owner_of(struct object_names *names, uint64_t inode, enum proc_end_kind kind,
		      pid_t pid)
{
	pid_t owner = proc_ends_owner(&names->ends, inode, kind, pid);

	if (owner || !begin(names, &names->of_ends))
		return owner;
	proc_ends_read(&names->ends);
	end(&names->of_ends);
	return proc_ends_owner(&names->ends, inode, kind, pid);
}

/* "pipe from 77 gzip" */
static void append_end(struct buf *out, const char *words, pid_t owner)
{
	char comm[PROC_COMM_MAX_BYTES] = "";

	proc_read_comm(owner, owner, comm, sizeof(comm));
	buf_printf(out, "%s %d%s%s", words, (int)owner, *comm ? " " : "", comm);
}

/* Sockets without a name of their own are connected to one that has a name, or to some process. */
static bool name_by_peer(struct object_names *names, pid_t pid, uint64_t peer, struct buf *out)
{
	const char *text = proc_sockets_find(&names->sockets, peer);
	pid_t owner = text ? 0 : owner_of(names, peer, PROC_END_SOCKET, pid);

	if (text)
		buf_printf(out, "socket %s", text);
	else if (owner == pid)
		buf_append_str(out, "socket within the process");
	else if (owner)
		append_end(out, "socket to", owner);
	return text || owner;
}

/* For a connected pair of this machine the tables are read only once: many have no name. */
static bool name_socket(struct object_names *names, pid_t pid, const char *object, struct buf *out)
{
	uint64_t inode = inode_of(object);
	const char *text = proc_sockets_find(&names->sockets, inode);
	uint64_t peer = text ? 0 : proc_unix_peer(inode);

	if (!text && (!peer || !names->of_sockets.total_ns) && begin(names, &names->of_sockets)) {
		proc_sockets_read(&names->sockets, pid);
		end(&names->of_sockets);
		text = proc_sockets_find(&names->sockets, inode);
	}
	if (!text)
		return peer && name_by_peer(names, pid, peer, out);
	buf_printf(out, "socket %s", text);
	return true;
}

static bool name_pipe(struct object_names *names, pid_t pid, int fd, const char *object,
		      struct buf *out)
{
	bool writes;
	pid_t owner;

	if (!proc_descriptor_writes(pid, fd, &writes))
		return false;
	owner = owner_of(names, inode_of(object), writes ? PROC_END_READS : PROC_END_WRITES, pid);
	if (owner == pid)
		buf_append_str(out, "pipe within the process");
	else if (owner)
		append_end(out, writes ? "pipe to" : "pipe from", owner);
	return owner;
}

bool object_names_find(struct object_names *names, pid_t pid, int fd, const char *object,
		       struct buf *out)
{
	if (is_socket(object))
		return name_socket(names, pid, object, out);
	return is_pipe(object) && name_pipe(names, pid, fd, object, out);
}
