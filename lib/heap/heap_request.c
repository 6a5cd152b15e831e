// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/heap_request.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/size_text.h"
#include "heap/heap_options.h"
#include "heap/heap_shared.h"

#define RATE_DEFAULT "512K"
/* Bytes of a stack to copy at first; walks that need more raise the number. */
#define STACK_BYTES 8192

bool heap_request_is_rate(const char *word)
{
	uint64_t nr_bytes;

	return strcmp(word, "all") == 0 || size_parse(word, &nr_bytes) == 0;
}

bool heap_request_is_any(const struct heap_request *request)
{
	return request->rate || request->has_pools;
}

static int read_rate(const char *text, struct heap_options *options, struct err *err)
{
	options->is_all = strcmp(text, "all") == 0;
	/* With --mem=all each stack is copied only once. */
	options->stack_bytes = options->is_all ? HEAP_STACK_MAX : STACK_BYTES;
	if (options->is_all)
		return 0;
	if (size_parse(text, &options->mean) < 0 || !options->mean ||
	    options->mean > HEAP_MEAN_MAX) {
		err_set(err, ERR_INVALID, "--mem: '%s' is not a size of 1 to 1G bytes", text);
		err_hint(err, "--mem=64K samples one allocation per 64 KiB on average");
		return ERR_INVALID;
	}
	return 0;
}

/* With --mem=all similar blocks share a row, which has no single place of freeing. */
static int check_all(const struct heap_options *options, struct err *err)
{
	if (!options->is_all || !options->free_stacks)
		return 0;
	err_set(err, ERR_INVALID, "--mem-free-stacks cannot be combined with --mem=all");
	err_hint(err, "--mem=64K finds the same, within the interval shown");
	return ERR_INVALID;
}

int heap_request_read(const struct heap_request *request, struct heap_options *options,
		      struct err *err)
{
	int status;

	*options = (struct heap_options){.mean = 0};
	if (!heap_request_is_any(request)) {
		if (request->free_stacks || request->reachable)
			return err_set(err, ERR_INVALID, "%s needs --mem",
				       request->free_stacks ? "--mem-free-stacks" : "--reachable");
		return 0;
	}
	options->free_stacks = request->free_stacks;
	options->is_searched = request->reachable;
	status = read_rate(request->rate ? request->rate : RATE_DEFAULT, options, err);
	return status < 0 ? status : check_all(options, err);
}
