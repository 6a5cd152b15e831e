/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends requests over HTTP, by libcurl. */
#ifndef PROFC_PUSH_HTTP_H
#define PROFC_PUSH_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "push/transport.h"

struct err;
struct push_http;

struct push_http_options {
	const char *url;	 /* of the receiver, as in struct push_receiver; borrowed */
	const char *header_path; /* push_headers_read() before each request; NULL: none; borrowed */
	const char *ca_path;	 /* certificates to trust; NULL: those of the library; borrowed */
	const char *agent;	 /* User-Agent; borrowed */
	const atomic_bool *ended; /* set: give up at once; borrowed, or NULL */
	uint64_t whole_ns;	  /* patience; 0: 2 min */
};

/*
 * Load libcurl, which takes proxies from its environment (https_proxy, no_proxy, …), and make ready
 * to send. No redirection is followed, as headers may be secrets. ERR_UNSUPPORTED, with a hint:
 * there is no libcurl, or this profc is static. Freed with push_http_free(). To be called while
 * profc has one thread, for the sake of old libraries.
 */
int push_http_new(struct push_http **http, const struct push_http_options *options,
		  struct err *err);
void push_http_free(struct push_http *http);
/* Valid until that is freed. */
struct push_transport push_http_transport(struct push_http *http);

#endif
