/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How 'profc ctl DIR' speaks with the flight recorder that writes to DIR: both ends. */
#ifndef PROFC_CMD_KEEP_SOCKET_H
#define PROFC_CMD_KEEP_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/*
 * A socket in the directory, for its owner only. A client asks with one packet, "dump", "dump
 * LABEL" or "stop", and is answered at once with one, "begun", "failed WHY" or "stopping". After
 * "begun" comes "wrote NAME" or "failed WHY" as soon as the profile is complete. The end of the
 * connection after "stopping" is the end of the recording, with all profiles written.
 */

#define KEEP_CLIENTS_MAX 8 /* that have not asked yet, or wait for the end */

/* The end of the recorder. Without a socket all functions do nothing. */
struct keep_socket {
	int directory, listener, events; /* descriptors; -1: none */
	dev_t device;			 /* of the socket's name */
	ino_t inode;
	int clients[KEEP_CLIENTS_MAX]; /* -1: none */
	uint64_t again_ns;	/* CLOCK_MONOTONIC: when clients are accepted again; 0: they are */
	unsigned int nr_pauses; /* for want of descriptors or memory */
};

#define KEEP_SOCKET_NONE                                                                           \
	{                                                                                          \
		.directory = -1, .listener = -1, .events = -1, .clients = {                        \
			-1,                                                                        \
			-1,                                                                        \
			-1,                                                                        \
			-1,                                                                        \
			-1,                                                                        \
			-1,                                                                        \
			-1,                                                                        \
			-1                                                                         \
		}                                                                                  \
	}

enum keep_request {
	KEEP_REQUEST_NONE,
	KEEP_REQUEST_DUMP,
	KEEP_REQUEST_STOP,
};

/* A socket that a killed recorder has left is replaced. */
int keep_socket_open(struct keep_socket *keep_socket, const char *directory, struct err *err);
/* Remove the socket, and end all connections. May be called more than once. */
void keep_socket_close(struct keep_socket *keep_socket);
/*
 * The next request, to be called when `events` is readable until there is none. Never waits. Of
 * KEEP_REQUEST_DUMP `label` is set, "" if there is none, and *client, which is to be answered by
 * keep_socket_answer().
 */
enum keep_request keep_socket_next(struct keep_socket *keep_socket, char *label, size_t nr_bytes,
				   int *client);
/*
 * Accept clients again some time after there was no descriptor for one. To be called at least once
 * a second.
 */
void keep_socket_look(struct keep_socket *keep_socket);
/* Say that the profile is coming. Never waits. */
void keep_socket_begin(int client);
/* Answer, and close the connection. Never waits. Any thread may call this. */
void keep_socket_answer(int client, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The end of the client: a connection to the recorder that writes to the directory. ERR_NOT_FOUND:
 * there is none. ERR_PERMISSION: it is neither the caller's, nor root's, nor that of the owner of
 * the directory.
 */
int keep_socket_connect(const char *path, int *fd, struct err *err);
/*
 * Ask, and wait for the answer. ERR_GONE: the recorder has ended before it answered. ERR_LIMIT: it
 * has not answered for too long, as one that is stopped does not.
 */
int keep_socket_ask(int fd, const char *request, char *answer, size_t nr_bytes, struct err *err);
/* Wait for the end of the recording. ERR_LIMIT: as above. */
int keep_socket_wait_for_end(int fd, struct err *err);

#endif
