// SPDX-License-Identifier: GPL-2.0-or-later
/* Both ends of the socket of a flight recorder, in one process. */
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/keep_socket.h"
#include "tests/unit/unit.h"

static bool has_event(const struct keep_socket *keep_socket, int timeout_ms)
{
	struct pollfd event = {.fd = keep_socket->events, .events = POLLIN};

	return poll(&event, 1, timeout_ms) == 1;
}

static enum keep_request next_request(struct keep_socket *keep_socket)
{
	char label[64];
	int client;
	enum keep_request request = keep_socket_next(keep_socket, label, sizeof(label), &client);

	if (request == KEEP_REQUEST_DUMP)
		close(client);
	return request;
}

TEST(cmd_keep_socket, without_descriptors_it_pauses_and_comes_back)
{
	char directory[] = "/tmp/profc-unit-XXXXXX";
	struct keep_socket keep_socket;
	struct rlimit limit, none;
	int client;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(keep_socket_open(&keep_socket, directory, NULL), 0);
	assert_int_equal(keep_socket_connect(directory, &client, NULL), 0);
	assert_int_equal(write(client, "dump", 4), 4);
	getrlimit(RLIMIT_NOFILE, &limit);
	none = (struct rlimit){3, limit.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	assert_true(has_event(&keep_socket, 0));
	assert_int_equal(next_request(&keep_socket), KEEP_REQUEST_NONE);
	assert_int_equal(keep_socket.nr_pauses, 1);
	/* It would be readable all the time. */
	assert_false(has_event(&keep_socket, 0));
	keep_socket_look(&keep_socket);
	assert_false(has_event(&keep_socket, 0));
	setrlimit(RLIMIT_NOFILE, &limit);
	while (!has_event(&keep_socket, 100))
		keep_socket_look(&keep_socket);
	assert_int_equal(next_request(&keep_socket), KEEP_REQUEST_DUMP);
	assert_int_equal(keep_socket.nr_pauses, 1);
	close(client);
	keep_socket_close(&keep_socket);
	rmdir(directory);
}
