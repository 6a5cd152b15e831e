// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the options of pushing. */
#include "cmd/push_options.h"

#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "cmd/command.h"
#include "push/header_file.h"
#include "push/labels.h"

static int check_without_receiver(const struct push_options *options, struct err *err)
{
	if (options->labels.nr)
		return err_set(err, ERR_INVALID, "--push-label needs --push");
	if (options->header_path)
		return err_set(err, ERR_INVALID, "--push-header-file needs --push");
	return 0;
}

static int check_labels(const struct push_options *options, struct err *err)
{
	struct push_labels labels = {.labels = NULL};
	int status = 0;

	for (size_t i = 0; i < options->labels.nr && !status; i++)
		status = push_labels_parse(&labels, options->labels.values[i], err);
	push_labels_release(&labels);
	return status;
}

/* Not one that only begins so, such as localhost.example or 127.example. */
static bool is_on_this_machine(const char *url)
{
	const char *host = url + strlen("http://");
	size_t nr_bytes = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");

	if (strncmp(host, "127.", 4) == 0)
		return strspn(host, "0123456789.") == nr_bytes;
	return (nr_bytes == 9 && strncasecmp(host, "localhost", 9) == 0) ||
	       (nr_bytes == 5 && strncmp(host, "[::1]", 5) == 0);
}

static int check_headers(const struct push_target *target, struct err *err)
{
	const char *path = target->options->header_path;
	struct push_headers headers;
	int status;

	if (target->receiver.kind == PUSH_DIRECTORY)
		return err_set(err, ERR_INVALID, "--push-header-file needs the URL of a server");
	status = push_headers_read(&headers, path, err);
	if (status)
		return status;
	if (headers.is_readable_by_others)
		print_warning("others can read %s: chmod 600 it", path);
	if (strncmp(target->receiver.where, "http://", 7) == 0 &&
	    !is_on_this_machine(target->receiver.where))
		print_warning("the headers of %s go unencrypted over the network: use +https",
			      path);
	push_headers_release(&headers);
	return 0;
}

int push_options_apply(const struct push_options *options, struct push_target *target,
		       struct err *err)
{
	int status;

	*target = (struct push_target){.options = options};
	if (!options->receiver)
		return check_without_receiver(options, err);
	status = push_receiver_parse(&target->receiver, options->receiver, err);
	if (status)
		return status;
	target->is_wanted = true;
	status = check_labels(options, err);
	if (!status && options->header_path)
		status = check_headers(target, err);
	if (status)
		push_target_release(target);
	return status;
}

void push_target_release(struct push_target *target)
{
	push_receiver_release(&target->receiver);
	target->is_wanted = false;
}
