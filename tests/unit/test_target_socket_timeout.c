// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "target/socket_timeout.h"

/* A process may look at itself as it may at those that it traces. */
static bool read_own(int fd, enum socket_direction direction, struct socket_timeout *timeout)
{
	return socket_timeout_read(getpid(), fd, direction, timeout);
}

static void set(int fd, int option, long ms)
{
	const struct timeval length = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	assert_int_equal(setsockopt(fd, SOL_SOCKET, option, &length, sizeof(length)), 0);
}

static void test_socket_timeout__is_read_for_each_direction(void **state)
{
	struct socket_timeout timeout;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	set(pair[0], SO_RCVTIMEO, 1500);
	set(pair[0], SO_SNDTIMEO, 2000);
	assert_true(read_own(pair[0], SOCKET_RECEIVES, &timeout));
	assert_int_equal(timeout.timeout_ns, 1500 * NS_PER_MS);
	assert_int_equal(timeout.domain, AF_UNIX);
	assert_true(read_own(pair[0], SOCKET_SENDS, &timeout));
	assert_int_equal(timeout.timeout_ns, 2000 * NS_PER_MS);
	close(pair[0]);
	close(pair[1]);
}

static void test_socket_timeout__of_a_socket_without_is_none(void **state)
{
	struct socket_timeout timeout;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_false(read_own(fd, SOCKET_RECEIVES, &timeout));
	set(fd, SO_SNDTIMEO, 100);
	assert_false(read_own(fd, SOCKET_RECEIVES, &timeout));
	assert_true(read_own(fd, SOCKET_SENDS, &timeout));
	assert_int_equal(timeout.domain, AF_INET);
	close(fd);
}

static void test_socket_timeout__of_other_files_is_none(void **state)
{
	struct socket_timeout timeout;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_false(read_own(ends[0], SOCKET_RECEIVES, &timeout));
	close(ends[0]);
	close(ends[1]);
	assert_false(read_own(ends[0], SOCKET_RECEIVES, &timeout));
	assert_false(read_own(-1, SOCKET_RECEIVES, &timeout));
}

static void test_socket_timeout__keeps_no_descriptor(void **state)
{
	struct socket_timeout timeout;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), next = dup(fd);

	(void)state;
	close(next);
	set(fd, SO_RCVTIMEO, 100);
	assert_true(read_own(fd, SOCKET_RECEIVES, &timeout));
	assert_int_equal(dup(fd), next);
	close(next);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_socket_timeout__is_read_for_each_direction),
		cmocka_unit_test(test_socket_timeout__of_a_socket_without_is_none),
		cmocka_unit_test(test_socket_timeout__of_other_files_is_none),
		cmocka_unit_test(test_socket_timeout__keeps_no_descriptor),
	};

	return cmocka_run_group_tests_name("socket_timeout", tests, NULL, NULL);
}
