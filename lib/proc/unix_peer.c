// SPDX-License-Identifier: GPL-2.0-or-later
/* Asks the kernel for the peer of a socket, which no file of /proc has. */
#include "proc/unix_peer.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"

static bool ask(int fd, uint64_t inode)
{
	const struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} message = {
		.header = {.nlmsg_len = sizeof(message),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST},
		.request = {.sdiag_family = AF_UNIX,
			    .udiag_states = UINT32_MAX,
			    .udiag_ino = (uint32_t)inode,
			    .udiag_show = UDIAG_SHOW_PEER,
			    .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
	};

	return send(fd, &message, sizeof(message), 0) == sizeof(message);
}

/* The attributes follow the answer, each with its length and kind, aligned to words. */
static uint64_t peer_in(const uint8_t *bytes, size_t nr_bytes)
{
	const size_t first = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
	struct nlmsghdr header;
	struct rtattr attribute;
	uint32_t peer;

	if (nr_bytes < first)
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	for (size_t at = first; at + sizeof(attribute) <= nr_bytes;) {
		memcpy(&attribute, bytes + at, sizeof(attribute));
		if (attribute.rta_len < sizeof(attribute) || attribute.rta_len > nr_bytes - at)
			return 0;
		if (attribute.rta_type == UNIX_DIAG_PEER &&
		    attribute.rta_len == RTA_LENGTH(sizeof(peer))) {
			memcpy(&peer, bytes + at + RTA_LENGTH(0), sizeof(peer));
			return peer;
		}
		at += RTA_ALIGN(attribute.rta_len);
	}
	return 0;
}

uint64_t proc_unix_peer(uint64_t inode)
{
	cleanup_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	uint8_t answer[1024];
	ssize_t got;

	if (fd < 0 || inode > UINT32_MAX || !ask(fd, inode))
		return 0;
	/* It is there when send() returns. */
	got = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	return got > 0 ? peer_in(answer, (size_t)got) : 0;
}
