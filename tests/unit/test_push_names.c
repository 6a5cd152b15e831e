// SPDX-License-Identifier: GPL-2.0-or-later
/* Receivers, labels and files of headers. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "push/header_file.h"
#include "push/labels.h"
#include "push/receiver.h"
#include "push/transport.h"
#include "tests/unit/unit.h"

static void assert_receiver(const char *text, enum push_kind kind, const char *where)
{
	struct push_receiver receiver;

	assert_int_equal(push_receiver_parse(&receiver, text, NULL), 0);
	assert_int_equal(receiver.kind, kind);
	assert_string_equal(receiver.where, where);
	push_receiver_release(&receiver);
}

TEST(push_receiver, kinds)
{
	assert_receiver("pyroscope+https://a.example", PUSH_PYROSCOPE, "https://a.example");
	assert_receiver("pyroscope+http://a:4040/prefix//", PUSH_PYROSCOPE, "http://a:4040/prefix");
	assert_receiver("parca+http://[::1]:7070/", PUSH_PARCA, "http://[::1]:7070");
	assert_receiver("profiles/", PUSH_DIRECTORY, "profiles/");
	assert_receiver("/var/x@y", PUSH_DIRECTORY, "/var/x@y");
	assert_receiver("pyroscope", PUSH_DIRECTORY, "pyroscope");
}

static void assert_no_receiver(const char *text, const char *what)
{
	struct push_receiver receiver;
	struct err err = ERR_INIT;

	assert_int_equal(push_receiver_parse(&receiver, text, &err), ERR_INVALID);
	assert_non_null(strstr(err.what, what));
	assert_null(strstr(err.what, "secret"));
	assert_null(strstr(err.hint, "secret"));
}

TEST(push_receiver, what_is_none)
{
	assert_no_receiver("", "needs");
	assert_no_receiver("http://a", "needs to know what is at that URL");
	assert_no_receiver("ftp://a", "does not know");
	assert_no_receiver("pyroscope+ftp://a", "does not know");
	assert_no_receiver("pyroscope+http://", "no host");
	assert_no_receiver("pyroscope+http:///x", "no host");
	assert_no_receiver("pyroscope+http://a b", "a blank");
	assert_no_receiver("parca+http://a/?tenant=1", "a query");
	assert_no_receiver("pyroscope+https://user:secret@a", "user or password");
	assert_no_receiver("https://user:secret@a", "user or password");
	assert_no_receiver("pyroscope+https://secret@a/", "user or password");
	assert_no_receiver("pyroscope+https://user:sec/secret@a/", "user or password");
}

TEST(push_labels, are_sorted_and_replaced)
{
	struct push_labels labels = {.labels = NULL};

	assert_int_equal(push_labels_parse(&labels, "zone=a=b", NULL), 0);
	assert_int_equal(push_labels_parse(&labels, "env=old", NULL), 0);
	assert_int_equal(push_labels_parse(&labels, "env=a\nb", NULL), 0);
	assert_int_equal(push_labels_set(&labels, "middle", "1", NULL), 0);
	assert_int_equal(push_labels_parse(&labels, "middle=", NULL), 0);
	assert_int_equal(push_labels_parse(&labels, "absent=", NULL), 0);
	assert_int_equal(labels.nr, 2);
	assert_string_equal(labels.labels[0].name, "env");
	assert_string_equal(labels.labels[0].value, "a_b");
	assert_string_equal(push_labels_get(&labels, "zone"), "a=b");
	assert_null(push_labels_get(&labels, "middle"));
	push_labels_release(&labels);
}

TEST(push_labels, names_that_receivers_refuse)
{
	static const char *const wrong[] = {"env", "=a", "1a=b", "a-b=c", "a.b=c", "__name__=x"};
	struct push_labels labels = {.labels = NULL};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(push_labels_parse(&labels, wrong[i], NULL), ERR_INVALID);
	assert_int_equal(labels.nr, 0);
	push_labels_release(&labels);
}

TEST(push_headers, lines)
{
	struct push_headers headers;

	assert_int_equal(push_headers_parse(&headers,
					    "# token\n\nAuthorization: Bearer x \r\n"
					    "X-Scope-OrgID:a\nX-Last: y",
					    NULL),
			 0);
	assert_int_equal(headers.nr, 3);
	assert_string_equal(headers.lines[0], "Authorization: Bearer x");
	assert_string_equal(headers.lines[1], "X-Scope-OrgID:a");
	assert_string_equal(headers.lines[2], "X-Last: y");
	push_headers_release(&headers);
}

TEST(push_headers, errors_do_not_repeat_the_line)
{
	static const struct {
		const char *text, *what;
	} wrong[] = {
		{"A: b\nsecret\n", "line 2 is no header"},
		{"secret token: x\n", "line 1 is no header"},
		{"A: secret\001\n", "line 1 has a control character"},
		{"A: secret\rB: c\n", "line 1 has a control character"},
		{"content-type: secret\n", "line 1 is a header that profc sets itself"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct push_headers headers;
		struct err err = ERR_INIT;

		assert_int_equal(push_headers_parse(&headers, wrong[i].text, &err), ERR_INVALID);
		assert_string_equal(err.what, wrong[i].what);
	}
}

static void write_headers(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

TEST(push_headers, files_that_others_can_read_are_told)
{
	char directory[] = "/tmp/profc-headers-XXXXXX", path[64];
	struct push_headers headers;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/headers", directory);
	assert_int_equal(push_headers_read(&headers, path, NULL), ERR_SYS);
	assert_int_equal(push_headers_read(&headers, directory, NULL), ERR_INVALID);
	write_headers(path, "A: b\n", 0600);
	assert_int_equal(push_headers_read(&headers, path, NULL), 0);
	assert_false(headers.is_readable_by_others);
	push_headers_release(&headers);
	write_headers(path, "A: b\n", 0640);
	assert_int_equal(push_headers_read(&headers, path, NULL), 0);
	assert_true(headers.is_readable_by_others);
	push_headers_release(&headers);
	unlink(path);
	rmdir(directory);
}

TEST(push_outcome, of_statuses)
{
	assert_int_equal(push_outcome_of_status(200), PUSH_DELIVERED);
	assert_int_equal(push_outcome_of_status(204), PUSH_DELIVERED);
	assert_int_equal(push_outcome_of_status(302), PUSH_DENIED);
	assert_int_equal(push_outcome_of_status(400), PUSH_REFUSED);
	assert_int_equal(push_outcome_of_status(401), PUSH_DENIED);
	assert_int_equal(push_outcome_of_status(404), PUSH_DENIED);
	assert_int_equal(push_outcome_of_status(413), PUSH_REFUSED);
	assert_int_equal(push_outcome_of_status(429), PUSH_FAILED);
	assert_int_equal(push_outcome_of_status(503), PUSH_FAILED);
}
