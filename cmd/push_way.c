// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the way to a receiver. */
#include "cmd/push_way.h"

#include <stdlib.h>

#include "cmd/push_options.h"
#include "push/directory.h"
#include "push/http.h"

/* libcurl itself reads the variables of proxies alone. */
static const char *certificates(void)
{
	const char *path = getenv("CURL_CA_BUNDLE");

	return path && *path ? path : getenv("SSL_CERT_FILE");
}

int push_way_open(struct push_way *way, const struct push_target *target, const atomic_bool *ended,
		  struct err *err)
{
	const struct push_http_options options = {.url = target->receiver.where,
						  .header_path = target->options->header_path,
						  .ca_path = certificates(),
						  .agent = "profc/" PROFC_VERSION,
						  .ended = ended};
	int status;

	*way = (struct push_way){.http = NULL};
	if (target->receiver.kind == PUSH_DIRECTORY) {
		way->transport = push_directory_transport(target->receiver.where);
		return push_directory_make(target->receiver.where, err);
	}
	status = push_http_new(&way->http, &options, err);
	if (status == 0)
		way->transport = push_http_transport(way->http);
	return status;
}

void push_way_close(struct push_way *way)
{
	push_http_free(way->http);
	way->http = NULL;
}
