// SPDX-License-Identifier: GPL-2.0-or-later
/* The transport of libcurl, as far as it needs no receiver: tests/cli/test_push.py has those. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
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
