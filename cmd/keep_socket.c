// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/keep_socket.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"

#define NAME  ".control"
#define DUMP  "dump"
#define STOP  "stop"
#define BEGUN "begun"
/* How long a client waits for a recorder to accept it, and to answer that it has heard. */
#define ANSWER_S 10
/* And for a profile, or the end: the names of large programs take long on a busy machine. */
#define COMPLETE_S 300
/* Without descriptors, no client is accepted for so long. */
#define PAUSE_NS NS_PER_SEC

static int open_directory(const char *path, struct err *err)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_sys(err, "cannot open the directory %s", path) : fd;
}

/* By the descriptor of its directory: a path may be longer than an address, or change meanwhile. */
static struct sockaddr_un address_in(int directory)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" NAME, directory);
	return address;
}

static int new_socket(int flags)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
}

/* --- the recorder --- */

static bool is_answered(const struct sockaddr_un *address)
{
	cleanup_close int fd = new_socket(SOCK_NONBLOCK);

	/* EAGAIN: it has many clients. */
	return fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
			   errno == EAGAIN);
}

/* What a recorder that was killed has left. */
static int remove_stale(int directory, const struct sockaddr_un *address, struct err *err)
{
	struct stat found;

	if (fstatat(directory, NAME, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!S_ISSOCK(found.st_mode) || found.st_uid != geteuid())
		return err_set(err, ERR_PERMISSION, "%s is there, and no socket of ours", NAME);
	if (is_answered(address))
		return err_set(err, ERR_LIMIT, "another recorder writes to the directory");
	if (unlinkat(directory, NAME, 0) < 0)
		return err_sys(err, "cannot remove %s", NAME);
	return 0;
}

static int add_event(const struct keep_socket *keep_socket, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(keep_socket->events, EPOLL_CTL_ADD, fd, &event);
}

static int listen_in(struct keep_socket *keep_socket, struct err *err)
{
	struct sockaddr_un address = address_in(keep_socket->directory);
	int status = remove_stale(keep_socket->directory, &address, err);
	struct stat made;

	if (status < 0)
		return status;
	keep_socket->listener = new_socket(SOCK_NONBLOCK);
	keep_socket->events = epoll_create1(EPOLL_CLOEXEC);
	if (keep_socket->listener < 0 || keep_socket->events < 0)
		return err_sys(err, "cannot make a socket");
	/* The name gets the mode of the socket: there is no moment in which others can connect. */
	if (fchmod(keep_socket->listener, 0600) < 0 ||
	    bind(keep_socket->listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fstatat(keep_socket->directory, NAME, &made, AT_SYMLINK_NOFOLLOW) < 0 ||
	    listen(keep_socket->listener, KEEP_CLIENTS_MAX) < 0 ||
	    add_event(keep_socket, keep_socket->listener) < 0)
		return err_sys(err, "cannot make the socket %s", NAME);
	keep_socket->device = made.st_dev;
	keep_socket->inode = made.st_ino;
	return 0;
}

int keep_socket_open(struct keep_socket *keep_socket, const char *directory, struct err *err)
{
	int status = open_directory(directory, err);

	*keep_socket = (struct keep_socket)KEEP_SOCKET_NONE;
	keep_socket->directory = status;
	if (status >= 0)
		status = listen_in(keep_socket, err);
	if (status < 0)
		keep_socket_close(keep_socket);
	return status;
}

static void close_and_forget(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void keep_socket_close(struct keep_socket *keep_socket)
{
	struct stat found;

	/* It may be that of a later recorder by now. */
	if (keep_socket->inode &&
	    fstatat(keep_socket->directory, NAME, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
	    found.st_dev == keep_socket->device && found.st_ino == keep_socket->inode)
		(void)unlinkat(keep_socket->directory, NAME, 0);
	keep_socket->inode = 0;
	close_and_forget(&keep_socket->listener);
	close_and_forget(&keep_socket->events);
	close_and_forget(&keep_socket->directory);
	for (size_t i = 0; i < KEEP_CLIENTS_MAX; i++)
		close_and_forget(&keep_socket->clients[i]);
}

/* Is the other end root's or of that user? */
static bool is_peer_of(int fd, uid_t user)
{
	struct ucred peer;
	socklen_t nr_bytes = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &nr_bytes) == 0 &&
	       (peer.uid == 0 || peer.uid == user);
}

static int *place_of(struct keep_socket *keep_socket, int client)
{
	for (size_t i = 0; i < KEEP_CLIENTS_MAX; i++) {
		if (keep_socket->clients[i] == client)
			return &keep_socket->clients[i];
	}
	return NULL;
}

static void accept_client(struct keep_socket *keep_socket)
{
	int fd = accept4(keep_socket->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int *place = place_of(keep_socket, -1);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
		/* It would stay readable. */
		epoll_ctl(keep_socket->events, EPOLL_CTL_DEL, keep_socket->listener, NULL);
		keep_socket->again_ns = clock_monotonic_ns() + PAUSE_NS;
		keep_socket->nr_pauses++;
	} else if (fd >= 0 && place && is_peer_of(fd, geteuid()) &&
		   add_event(keep_socket, fd) == 0) {
		*place = fd;
	} else if (fd >= 0) {
		close(fd);
	}
}

void keep_socket_look(struct keep_socket *keep_socket)
{
	if (keep_socket->again_ns && clock_monotonic_ns() >= keep_socket->again_ns &&
	    add_event(keep_socket, keep_socket->listener) == 0)
		keep_socket->again_ns = 0;
}

/* A label becomes the text of a mark. */
static void copy_label(char *label, size_t nr_bytes, const char *text)
{
	snprintf(label, nr_bytes, "%s", text + strspn(text, " "));
	for (; *label; label++) {
		if (iscntrl((unsigned char)*label))
			*label = '?';
	}
}

static enum keep_request read_request(struct keep_socket *keep_socket, int client, char *label,
				      size_t nr_label_bytes)
{
	char text[512];
	ssize_t nr_bytes = recv(client, text, sizeof(text) - 1, MSG_DONTWAIT);
	int *place = place_of(keep_socket, client);

	if (nr_bytes < 0 && errno == EAGAIN)
		return KEEP_REQUEST_NONE;
	epoll_ctl(keep_socket->events, EPOLL_CTL_DEL, client, NULL);
	text[nr_bytes > 0 ? nr_bytes : 0] = '\0';
	if (strcmp(text, STOP) == 0 &&
	    send(client, "stopping", strlen("stopping"), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		return KEEP_REQUEST_STOP;
	*place = -1;
	if (strncmp(text, DUMP, strlen(DUMP)) == 0 && strchr(" ", text[strlen(DUMP)])) {
		copy_label(label, nr_label_bytes, text + strlen(DUMP));
		return KEEP_REQUEST_DUMP;
	}
	if (nr_bytes > 0)
		keep_socket_answer(client, "failed this recorder does not know '%s'", text);
	else
		close(client);
	return KEEP_REQUEST_NONE;
}

enum keep_request keep_socket_next(struct keep_socket *keep_socket, char *label, size_t nr_bytes,
				   int *client)
{
	enum keep_request request = KEEP_REQUEST_NONE;
	struct epoll_event event = {.data.fd = -1};

	while (request == KEEP_REQUEST_NONE && epoll_wait(keep_socket->events, &event, 1, 0) == 1) {
		if (event.data.fd == keep_socket->listener)
			accept_client(keep_socket);
		else
			request = read_request(keep_socket, event.data.fd, label, nr_bytes);
	}
	*client = event.data.fd;
	return request;
}

void keep_socket_begin(int client)
{
	(void)send(client, BEGUN, strlen(BEGUN), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void keep_socket_answer(int client, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)send(client, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(client);
}

/* --- the client --- */

static int no_recorder(const char *path, const char *why, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, "no recorder writes to %s%s", path, why);
}

static int refuse_owner(const char *path, uid_t user, struct err *err)
{
	return err_set(err, ERR_PERMISSION,
		       "the recorder of %s is not asked: it is another user's (uid %u)", path,
		       (unsigned int)user);
}

static int check_owner(int directory, const char *path, int fd, uid_t *owner, struct err *err)
{
	struct stat of_directory, found;

	if (fstat(directory, &of_directory) < 0 || fstat(fd, &found) < 0)
		return err_sys(err, "cannot use %s", path);
	*owner = of_directory.st_uid;
	if (!S_ISSOCK(found.st_mode))
		return err_set(err, ERR_INVALID, "%s/" NAME " is no socket of a recorder", path);
	if (found.st_uid != 0 && found.st_uid != geteuid() && found.st_uid != *owner)
		return refuse_owner(path, found.st_uid, err);
	return 0;
}

/* Not its name: the owner of the directory may give that to another one, or to a link. */
static int open_name(int directory, const char *path, uid_t *owner, struct err *err)
{
	int fd = openat(directory, NAME, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int status;

	if (fd < 0)
		return errno == ENOENT ? no_recorder(path, "", err)
				       : err_sys(err, "cannot reach the recorder of %s", path);
	status = check_owner(directory, path, fd, owner, err);
	if (status == 0)
		return fd;
	close(fd);
	return status;
}

static int connect_to(int name, const char *path, int fd, struct err *err)
{
	const struct timeval patience = {.tv_sec = ANSWER_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", name);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return 0;
	if (errno == ECONNREFUSED)
		return no_recorder(path, " any more: it was killed", err);
	if (errno == EAGAIN)
		return err_set(err, ERR_LIMIT, "the recorder of %s does not listen", path);
	return err_sys(err, "cannot reach the recorder of %s", path);
}

int keep_socket_connect(const char *path, int *fd, struct err *err)
{
	cleanup_close int directory = open_directory(path, err);
	uid_t owner = 0;
	cleanup_close int name =
		directory < 0 ? directory : open_name(directory, path, &owner, err);
	int status;

	if (name < 0)
		return name;
	*fd = new_socket(0);
	if (*fd < 0)
		return err_sys(err, "cannot make a socket");
	status = connect_to(name, path, *fd, err);
	if (status == 0 && !is_peer_of(*fd, geteuid()) && !is_peer_of(*fd, owner))
		status = err_set(err, ERR_PERMISSION,
				 "the recorder of %s is not asked: it is another user's", path);
	if (status < 0)
		close(*fd);
	return status;
}

/* By its id, which is 0 if it is of another namespace. */
static int no_answer(int fd, int seconds, struct err *err)
{
	struct ucred peer = {.pid = 0};
	socklen_t nr_bytes = sizeof(peer);

	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &nr_bytes);
	err_set(err, ERR_LIMIT, "the recorder, process %d, has not answered for %d s",
		(int)peer.pid, seconds);
	if (peer.pid > 0)
		err_hint(err, "if it is stopped: kill -CONT %d", (int)peer.pid);
	return ERR_LIMIT;
}

/* 0: the end of the connection. */
static ssize_t receive(int fd, int seconds, char *text, size_t nr_bytes, struct err *err)
{
	const struct timeval patience = {.tv_sec = seconds};
	ssize_t nr;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	nr = recv(fd, text, nr_bytes - 1, 0);
	if (nr < 0 && errno == EAGAIN)
		return no_answer(fd, seconds, err);
	text[nr > 0 ? nr : 0] = '\0';
	return nr > 0 ? nr : 0;
}

int keep_socket_ask(int fd, const char *request, char *answer, size_t nr_bytes, struct err *err)
{
	ssize_t nr = 0;

	if (send(fd, request, strlen(request), MSG_NOSIGNAL) > 0)
		nr = receive(fd, ANSWER_S, answer, nr_bytes, err);
	if (nr > 0 && strcmp(answer, BEGUN) == 0)
		nr = receive(fd, COMPLETE_S, answer, nr_bytes, err);
	if (nr < 0)
		return (int)nr;
	return nr ? 0 : err_set(err, ERR_GONE, "the recorder has ended before it answered");
}

int keep_socket_wait_for_end(int fd, struct err *err)
{
	char rest[2];
	ssize_t nr;

	while ((nr = receive(fd, COMPLETE_S, rest, sizeof(rest), err)) > 0)
		;
	return (int)nr;
}
