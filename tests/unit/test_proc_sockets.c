// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/ends.h"
#include "proc/sockets.h"
#include "proc/unix_peer.h"
#include "tests/unit/unit.h"

/* As a little-endian machine has them. */
static const char tcp[] =
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
	"   0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 11 1 0\n"
	"   1: 0200000A:9C40 0100000A:1538 01 00000000:00000000 02:00000000 00000000  0  0 12 1 0\n"
	"   2: 0200000A:9C41 0100000A:1538 06 00000000:00000000 03:00000000 00000000  0  0 0 1 0\n"
	"no line of it\n"
	"   3: 0200000A:9C42 0100000A";
static const char tcp6[] =
	"  sl  local_address\n"
	"   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A "
	"00000000:00000000 00:00000000 00000000 0 0 21 1\n"
	"   1: 0000000000000000FFFF00000200000A:0050 0000000000000000FFFF00000300000A:D431 01 "
	"00000000:00000000 00:00000000 00000000 0 0 22 1\n"
	"   2: 00000000000000000000000001000000:0050 00000000000000000000000001000000:D432 01 "
	"00000000:00000000 00:00000000 00000000 0 0 23 1\n";
static const char udp[] = "   0: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 "
			  "00000000 0 0 31 2 0\n";
static const char unix_text[] = "Num       RefCount Protocol Flags    Type St Inode Path\n"
				"0: 00000003 00000000 00000000 0001 03  41\n"
				"0: 00000002 00000000 00010000 0001 01  42 /run/a b\n"
				"0: 00000003 00000000 00000000 0001 03  43 @abstract\n";

TEST(proc_sockets, peers_and_listeners)
{
	struct proc_sockets sockets = {0};

	proc_sockets_add_inet(&sockets, tcp, strlen(tcp));
	proc_sockets_add_inet(&sockets, tcp6, strlen(tcp6));
	proc_sockets_add_inet(&sockets, udp, strlen(udp));
	proc_sockets_add_unix(&sockets, unix_text, strlen(unix_text));
	assert_string_equal(proc_sockets_find(&sockets, 11), "listening on 127.0.0.1:80");
	assert_string_equal(proc_sockets_find(&sockets, 12), "10.0.0.1:5432");
	assert_null(proc_sockets_find(&sockets, 0));
	assert_string_equal(proc_sockets_find(&sockets, 21), "listening on [::]:80");
	assert_string_equal(proc_sockets_find(&sockets, 22), "10.0.0.3:54321");
	assert_string_equal(proc_sockets_find(&sockets, 23), "[::1]:54322");
	assert_string_equal(proc_sockets_find(&sockets, 31), "at 127.0.0.1:53");
	assert_null(proc_sockets_find(&sockets, 41));
	assert_string_equal(proc_sockets_find(&sockets, 42), "listening on /run/a b");
	assert_string_equal(proc_sockets_find(&sockets, 43), "at @abstract");
	proc_sockets_release(&sockets);
}

TEST(proc_sockets, is_told_anew)
{
	static const char later[] = "   0: 0100007F:0050 0100000A:1538 01 00000000:00000000 "
				    "00:00000000 00000000 0 0 11 1 0\n";
	struct proc_sockets sockets = {0};

	proc_sockets_add_inet(&sockets, tcp, strlen(tcp));
	proc_sockets_add_inet(&sockets, later, strlen(later));
	assert_string_equal(proc_sockets_find(&sockets, 11), "10.0.0.1:5432");
	proc_sockets_release(&sockets);
}

TEST(proc_ends, of_our_own_pipes)
{
	struct proc_ends known = {0};
	char name[32], target[64] = "";
	uint64_t inode;
	bool writes;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[0]);
	assert_true(readlink(name, target, sizeof(target) - 1) > 0);
	assert_int_equal(sscanf(target, "pipe:[%lu]", &inode), 1);
	proc_ends_read(&known);
	assert_true(proc_end_is_of(proc_ends_find(&known, inode, PROC_END_WRITES), getpid()));
	assert_true(proc_end_is_of(proc_ends_find(&known, inode, PROC_END_READS), getpid()));
	assert_false(proc_end_is_of(proc_ends_find(&known, inode, PROC_END_READS), 1));
	assert_true(proc_descriptor_writes(getpid(), ends[0], &writes) && !writes);
	assert_true(proc_descriptor_writes(getpid(), ends[1], &writes) && writes);
	close(ends[1]);
	proc_ends_read(&known);
	assert_null(proc_ends_find(&known, inode, PROC_END_WRITES));
	assert_false(proc_descriptor_writes(getpid(), ends[1], &writes));
	close(ends[0]);
	proc_ends_release(&known);
}

static uint64_t inode_of(int fd)
{
	struct stat stat;

	assert_int_equal(fstat(fd, &stat), 0);
	return stat.st_ino;
}

TEST(proc_unix_peer, of_our_own_sockets)
{
	struct proc_ends known = {0};
	int pair[2], alone = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	if (!proc_unix_peer(inode_of(pair[0])))
		skip(); /* a kernel without it, or a filter */
	assert_int_equal(proc_unix_peer(inode_of(pair[0])), inode_of(pair[1]));
	assert_int_equal(proc_unix_peer(inode_of(pair[1])), inode_of(pair[0]));
	assert_int_equal(proc_unix_peer(inode_of(alone)), 0);
	assert_int_equal(proc_unix_peer(1), 0);
	proc_ends_read(&known);
	assert_true(
		proc_end_is_of(proc_ends_find(&known, inode_of(alone), PROC_END_SOCKET), getpid()));
	proc_ends_release(&known);
	close(pair[0]);
	close(pair[1]);
	close(alone);
}
