// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files of a spool, files of headers, receivers and labels that lie. What is accepted is sent to
 * the receiver and nowhere else, and no value adds a line to a request.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "push/header_file.h"
#include "push/labels.h"
#include "push/receiver.h"
#include "push/request.h"
#include "push/spool_file_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

static void read_spool_file(const uint8_t *bytes, size_t nr_bytes)
{
	struct push_request request;
	struct buf again = {0};

	if (spool_file_parse(bytes, nr_bytes, &request, NULL))
		return;
	assert(request.target[0] == '/' && !strpbrk(request.target, " \r\n"));
	assert(!strpbrk(request.content_type, "\r\n"));
	assert(request.body.nr_bytes < nr_bytes);
	spool_file_append(&again, &request);
	push_request_release(&request);
	assert(spool_file_parse(again.bytes, again.nr_bytes, &request, NULL) == 0);
	push_request_release(&request);
	buf_release(&again);
}

static void read_headers(const char *text)
{
	struct push_headers headers;

	if (push_headers_parse(&headers, text, NULL))
		return;
	for (size_t i = 0; i < headers.nr; i++)
		assert(strchr(headers.lines[i], ':') && !strpbrk(headers.lines[i], "\r\n"));
	push_headers_release(&headers);
}

static void read_receiver(const char *text)
{
	struct push_receiver receiver;

	if (push_receiver_parse(&receiver, text, NULL))
		return;
	assert(*receiver.where);
	if (receiver.kind != PUSH_DIRECTORY)
		assert(strncmp(receiver.where, "http", 4) == 0 &&
		       !strpbrk(receiver.where, "@?# \r\n"));
	push_receiver_release(&receiver);
}

/* As labels of a profile, in each form. */
static void read_label(const char *text)
{
	struct push_labels labels = {.labels = NULL};
	const struct push_profile profile = {.metric = "cpu",
					     .types = {{"cpu", "nanoseconds"}},
					     .nr_types = 1,
					     .labels = &labels,
					     .pprof = text,
					     .nr_bytes = strlen(text)};

	if (push_labels_parse(&labels, text, NULL) == 0) {
		push_labels_set(&labels, PUSH_LABEL_SERVICE, strchr(text, '=') + 1, NULL);
		for (int kind = PUSH_PYROSCOPE; kind <= PUSH_DIRECTORY; kind++) {
			struct push_request request;

			push_request_make(&request, (enum push_kind)kind, &profile);
			assert(!strpbrk(request.target, " \r\n"));
			assert(kind != PUSH_DIRECTORY || !strchr(request.target, '/'));
			assert(request.target[0] != '.' || kind != PUSH_DIRECTORY);
			push_request_release(&request);
		}
	}
	push_labels_release(&labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	char *text = xstrndup((const char *)bytes, nr_bytes);

	read_spool_file(bytes, nr_bytes);
	read_headers(text);
	read_receiver(text);
	read_label(text);
	free(text);
	return 0;
}
