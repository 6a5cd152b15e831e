// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * swaps_descriptors path FILE | socket FD: calls counted() all the time, and allocates, while a
 * process that shares its descriptors waits for one to be made that it has not made itself, and
 * puts another file in its place: FILE by its path only (O_PATH), or the one that comes with a
 * message on the socket FD. Says "ready" then, and in the end prints {"calls", "swapped"}.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "self_measure.h"

struct shared {
	atomic_ulong calls, swapped;
};

static struct shared *shared;

NOINLINE void counted(void)
{
	atomic_fetch_add_explicit(&shared->calls, 1, memory_order_relaxed);
}

static void *call(void *nothing)
{
	while (!nothing) {
		char *volatile block = malloc(4096);

		counted();
		free(block);
	}
	return nothing;
}

static int receive(int socket)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec bytes = {&byte, 1};
	struct msghdr message = {.msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof(room)};
	int fd = -1;

	if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void swap(int next, int other, pid_t parent)
{
	while (getppid() == parent) {
		if (!is_open(next))
			continue;
		dup2(other, next);
		shared->swapped++;
		for (int i = 0; i < 20000 && is_open(next); i++)
			sched_yield();
		close(next);
	}
}

int main(int argc, char **argv)
{
	bool is_path = argc == 3 && strcmp(argv[1], "path") == 0;
	int other = argc != 3 ? -1 : is_path ? open(argv[2], O_PATH) : receive(atoi(argv[2]));
	pid_t self = getpid(), helper;
	pthread_t thread;
	char byte;
	int next;

	if (other < 0)
		return 1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	next = dup(other);
	close(next);
	helper = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (helper == 0) {
		swap(next, other, self);
		_exit(0);
	}
	pthread_create(&thread, NULL, call, NULL);
	say_ready();
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	kill(helper, SIGKILL);
	printf("{\"calls\": %lu, \"swapped\": %lu}\n", shared->calls, shared->swapped);
	return 0;
}
