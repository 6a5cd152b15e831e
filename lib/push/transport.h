/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way to a receiver. */
#ifndef PROFC_PUSH_TRANSPORT_H
#define PROFC_PUSH_TRANSPORT_H

#include <stdint.h>

struct push_request;

enum push_outcome {
	PUSH_DELIVERED,
	PUSH_FAILED,  /* not now: no connection, no answer, an overloaded receiver */
	PUSH_DENIED,  /* not until a user changes something: a token, the URL, a disk */
	PUSH_REFUSED, /* this request never, others perhaps: it is too large, or wrong */
};

struct push_answer {
	enum push_outcome outcome;
	uint64_t wait_ns; /* the receiver asks not to come again before; 0: it does not */
	char words[480];  /* why not, raw text, which may be the receiver's; "" if delivered */
};

/*
 * Sends one request and waits for the answer, for as long as it may take: a minute or two. Called
 * by one thread at a time. It stores the answer.
 */
struct push_transport {
	void (*send)(void *context, const struct push_request *request, struct push_answer *answer);
	void *context; /* borrowed */
};

/*
 * The outcome of an HTTP status. 401, 403, 404, redirections and the like are PUSH_DENIED: they are
 * of all requests.
 */
enum push_outcome push_outcome_of_status(long status);

#endif
