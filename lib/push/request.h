/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the request that sends a profile, in the form of each kind of receiver. */
#ifndef PROFC_PUSH_REQUEST_H
#define PROFC_PUSH_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "push/receiver.h"

struct push_labels;

/* A type of values of a pprof file. */
struct push_type {
	const char *name, *unit; /* "alloc_space", "bytes" */
};

#define PUSH_TYPES_MAX 2

/* One metric of a recording, or of a part of its time. All members are borrowed. */
struct push_profile {
	const char *metric;			/* profc's name of it; in names of files */
	struct push_type types[PUSH_TYPES_MAX]; /* of the file, in its order; at least one */
	size_t nr_types;
	uint64_t from_ns, until_ns;	  /* since the epoch */
	uint32_t rate_hz;		  /* 0: unknown */
	const struct push_labels *labels; /* with PUSH_LABEL_SERVICE */
	const void *pprof;		  /* the file, gzipped */
	size_t nr_bytes;
};

/* A request that is sent, or kept until it can be. Zero-initialised is empty. */
struct push_request {
	char *target;	    /* after the receiver's URL, or the name of a file; owned */
	char *content_type; /* owned */
	struct buf body;
};

/*
 * The request for a profile: the same bytes for the same profile, so that a repeated one can be
 * known. Two profiles of one metric with equal labels and equal times are the same for receivers.
 * Released with push_request_release().
 */
void push_request_make(struct push_request *request, enum push_kind kind,
		       const struct push_profile *profile);
void push_request_release(struct push_request *request);

#endif
