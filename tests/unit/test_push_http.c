// SPDX-License-Identifier: GPL-2.0-or-later
/* The transport of libcurl, as far as it needs no receiver: tests/cli/test_push.py has those. */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "push/http.h"
#include "push/request.h"
#include "tests/unit/unit.h"

/* Takes connections, and never answers. */
static int listen_in_vain(char *url, size_t nr_url_bytes)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t nr_bytes = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &nr_bytes), 0);
	snprintf(url, nr_url_bytes, "http://127.0.0.1:%u", ntohs(address.sin_port));
	return fd;
}

static struct push_answer send_to(const char *url, const char *header_path,
				  const atomic_bool *ended, uint64_t whole_ns)
{
	const struct push_http_options options = {.url = url,
						  .header_path = header_path,
						  .agent = "test",
						  .ended = ended,
						  .whole_ns = whole_ns};
	const struct push_request request = {.target = (char *)(uintptr_t) "/x",
					     .content_type = (char *)(uintptr_t) "x"};
	struct push_answer answer = {.outcome = PUSH_DELIVERED};
	struct push_transport transport;
	struct push_http *http;
	struct err err = ERR_INIT;

	if (push_http_new(&http, &options, &err)) {
		assert_non_null(strstr(err.what, "libcurl"));
		skip();
	}
	transport = push_http_transport(http);
	transport.send(transport.context, &request, &answer);
	push_http_free(http);
	return answer;
}

static void *set_soon(void *context)
{
	usleep(50000);
	atomic_store((atomic_bool *)context, true);
	return NULL;
}

TEST(push_http, is_ended_while_it_waits)
{
	atomic_bool ended = false;
	char url[64];
	int fd = listen_in_vain(url, sizeof(url));
	pthread_t thread;

	setenv("no_proxy", "*", 1);
	assert_int_equal(pthread_create(&thread, NULL, set_soon, &ended), 0);
	assert_int_equal(send_to(url, NULL, &ended, 0).outcome, PUSH_FAILED);
	pthread_join(thread, NULL);
	close(fd);
}

TEST(push_http, waits_no_longer_than_it_may)
{
	char url[64];
	int fd = listen_in_vain(url, sizeof(url));
	struct push_answer answer = send_to(url, NULL, NULL, 100000000);

	assert_int_equal(answer.outcome, PUSH_FAILED);
	assert_true(*answer.words);
	close(fd);
}

TEST(push_http, headers_that_cannot_be_read_deny)
{
	struct push_answer answer = send_to("http://127.0.0.1:1", "/nowhere/headers", NULL, 0);

	assert_int_equal(answer.outcome, PUSH_DENIED);
	assert_non_null(strstr(answer.words, "/nowhere/headers"));
}

static atomic_bool breaks_pipes; /* libcurl's next writes */
static volatile sig_atomic_t nr_broken;

static void note_broken(int signal)
{
	(void)signal;
	nr_broken++;
}

/* As older libraries of TLS do it: SIGPIPE, if the receiver is gone. */
static void write_to_none(void)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(write(fds[1], "", 1), -1);
	close(fds[1]);
	atomic_store(&breaks_pipes, false);
}

/* libcurl calls this one. */
ssize_t send(int fd, const void *bytes, size_t nr_bytes, int flags)
{
	if (atomic_load(&breaks_pipes))
		write_to_none();
	return syscall(SYS_sendto, fd, bytes, nr_bytes, flags, NULL, 0);
}

TEST(push_http, is_not_ended_by_a_closed_connection)
{
	char url[64];
	int fd = listen_in_vain(url, sizeof(url));
	sigset_t pending;

	assert_true(signal(SIGPIPE, note_broken) != SIG_ERR);
	atomic_store(&breaks_pipes, true);
	assert_int_equal(send_to(url, NULL, NULL, 200000000).outcome, PUSH_FAILED);
	if (atomic_load(&breaks_pipes))
		skip(); /* this libcurl writes otherwise */
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(nr_broken, 0);
	assert_int_equal(sigpending(&pending), 0);
	assert_false(sigismember(&pending, SIGPIPE));
	close(fd);
}
