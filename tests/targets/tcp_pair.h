/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_TCP_PAIR_H
#define PROFC_TESTS_TCP_PAIR_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two ends of a connection within the machine. */
static inline void tcp_pair(int ends[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listening, (struct sockaddr *)&address, size) || listen(listening, 1))
		exit(2);
	getsockname(listening, (struct sockaddr *)&address, &size);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(ends[0], (struct sockaddr *)&address, size))
		exit(2);
	ends[1] = accept(listening, NULL, NULL);
	close(listening);
}

#endif
