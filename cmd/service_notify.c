// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/service_notify.h"

#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"

/* A path, or with '@' in front a name in the abstract space. False: there is no manager. */
static bool find_manager(struct sockaddr_un *address, socklen_t *nr_bytes)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path ? strlen(path) : 0;

	if (length < 2 || length >= sizeof(address->sun_path) || !strchr("/@", *path))
		return false;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path, path, length);
	if (*path == '@')
		*address->sun_path = '\0';
	*nr_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	return true;
}

/* One datagram. Nothing depends on it, and a recording must not wait for it. */
static void notify(const char *text)
{
	struct sockaddr_un address;
	socklen_t nr_bytes;
	cleanup_close int fd = -1;

	if (!find_manager(&address, &nr_bytes))
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
			     (const struct sockaddr *)&address, nr_bytes);
}

void service_notify_ready(void)
{
	notify("READY=1\nSTATUS=recording");
}

void service_notify_stopping(void)
{
	notify("STOPPING=1");
}

void service_notify_state(bool is_waiting, const char *format, ...)
{
	char text[512];
	int begin = snprintf(text, sizeof(text), "STATUS=%s",
			     is_waiting ? "waiting for a process" : "recording");
	va_list args;

	va_start(args, format);
	vsnprintf(text + begin, sizeof(text) - (size_t)begin, format, args);
	va_end(args);
	/* A line of its own would be another message. */
	for (char *at = text + begin; *at; at++) {
		if (iscntrl((unsigned char)*at))
			*at = '?';
	}
	notify(text);
}
