// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waits_for_known_peers DIRECTORY [MS]: threads that wait, each for a descriptor of another kind:
 * "accepts" for a client of a port, "serves" for what one does not say, "asks" for an answer,
 * "local" for a client of the socket DIRECTORY/socket, "child" for what a child process does not
 * write, "tells" until a child reads what it has written, "epoll", "polls" one descriptor,
 * "polls-two" and "selects" one, "fifo" for a writer of DIRECTORY/fifo. Prints
 * {"port", "client", "child", "fds"}, and after that time {"waited_ns"}, how long all have.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "self_measure.h"

static int listener, served, asker, local, from_child[2], to_child[2], epoll, pair[2], fifo;

struct task {
	const char *name;
	int *fd;
	void (*wait)(int fd);
};

NOINLINE static void wait_to_accept(int fd)
{
	accept(fd, NULL, NULL);
	__asm__ volatile(""); /* so that it is a call and no jump */
}

NOINLINE static void wait_to_read(int fd)
{
	char byte;

	if (read(fd, &byte, 1) < 0)
		perror("read");
}

NOINLINE static void wait_to_write(int fd)
{
	static char bytes[1 << 20];

	if (write(fd, bytes, sizeof(bytes)) < 0)
		perror("write");
}

NOINLINE static void wait_for_events(int fd)
{
	struct epoll_event event;

	epoll_wait(fd, &event, 1, -1);
	__asm__ volatile("");
}

NOINLINE static void wait_to_poll(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	poll(&polled, 1, -1);
}

NOINLINE static void wait_to_poll_two(int fd)
{
	struct pollfd polled[] = {{.fd = fd, .events = POLLIN}, {.fd = listener, .events = POLLIN}};

	poll(polled, 2, -1);
}

NOINLINE static void wait_to_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	select(fd + 1, &set, NULL, NULL, NULL);
}

static void *task_main(void *argument)
{
	const struct task *task = argument;

	prctl(PR_SET_NAME, task->name);
	task->wait(*task->fd);
	return NULL;
}

/* A server and its client, and a server that none comes to. */
static void open_sockets(const char *directory, struct sockaddr_in *server,
			 struct sockaddr_in *client)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(*server);

	*server = (struct sockaddr_in){.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	listener = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)server, sizeof(*server));
	listen(listener, 4);
	getsockname(listener, (struct sockaddr *)server, &size);
	asker = socket(AF_INET, SOCK_STREAM, 0);
	connect(asker, (struct sockaddr *)server, sizeof(*server));
	served = accept(listener, (struct sockaddr *)client, &size);
	local = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(path.sun_path, sizeof(path.sun_path), "%.80s/socket", directory);
	bind(local, (struct sockaddr *)&path, sizeof(path));
	listen(local, 4);
}

static pid_t begin_child(void)
{
	pid_t child;

	if (pipe(from_child) < 0 || pipe(to_child) < 0)
		exit(1);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_NAME, "silent");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(from_child[0]);
		close(to_child[1]);
		pause();
		_exit(0);
	}
	close(from_child[1]);
	close(to_child[0]);
	return child;
}

int main(int argc, char **argv)
{
	static const struct task tasks[] = {
		{"accepts", &listener, wait_to_accept}, {"serves", &served, wait_to_read},
		{"asks", &asker, wait_to_read},		{"local", &local, wait_to_accept},
		{"child", &from_child[0], wait_to_read}, {"tells", &to_child[1], wait_to_write},
		{"epoll", &epoll, wait_for_events},	{"polls", &pair[0], wait_to_poll},
		{"polls-two", &pair[0], wait_to_poll_two}, {"selects", &pair[1], wait_to_select},
		{"fifo", &fifo, wait_to_read},
	};
	const struct timespec end = {.tv_sec = (time_t)(number_argument(argc, argv, 2, 2000) / 1000),
				     .tv_nsec = (long)(number_argument(argc, argv, 2, 2000) % 1000 *
						       1000000)};
	struct sockaddr_in server, client;
	pthread_t thread;
	uint64_t begin_ns;
	char name[128];
	pid_t child;

	child = begin_child();
	open_sockets(argv[1], &server, &client);
	epoll = epoll_create1(0);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	snprintf(name, sizeof(name), "%.80s/fifo", argv[1]);
	mkfifo(name, 0600);
	fifo = open(name, O_RDWR);
	printf("{\"port\": %d, \"client\": %d, \"child\": %d, \"fds\": {", ntohs(server.sin_port),
	       ntohs(client.sin_port), (int)child);
	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
		printf("%s\"%s\": %d", i ? ", " : "", tasks[i].name, *tasks[i].fd);
	printf("}}\n");
	fflush(stdout);
	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
		pthread_create(&thread, NULL, task_main, (void *)(uintptr_t)&tasks[i]);
	begin_ns = monotonic_ns();
	nanosleep(&end, NULL);
	printf("{\"waited_ns\": %llu}\n", (unsigned long long)(monotonic_ns() - begin_ns));
	fflush(stdout);
	_exit(0);
}
