// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the names of receivers. */
#include "push/receiver.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"

static const struct scheme {
	const char *prefix;
	size_t nr_kind_bytes; /* of the prefix, which are the kind and its '+' */
	enum push_kind kind;
} schemes[] = {
	{"pyroscope+http://", 10, PUSH_PYROSCOPE},
	{"pyroscope+https://", 10, PUSH_PYROSCOPE},
	{"parca+http://", 6, PUSH_PARCA},
	{"parca+https://", 6, PUSH_PARCA},
};

static const struct scheme *find_scheme(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
			return &schemes[i];
	return NULL;
}

static int refuse_scheme(const char *text, struct err *err)
{
	bool is_http = strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;

	if (is_http) {
		err_set(err, ERR_INVALID, "--push needs to know what is at that URL");
		err_hint(err, "write pyroscope+%s or parca+%s", text, text);
	} else {
		err_set(err, ERR_INVALID, "--push does not know this kind of URL");
		err_hint(err, "pyroscope+https://HOST:PORT, parca+https://HOST:PORT (or +http), or "
			      "the path of a directory");
	}
	return ERR_INVALID;
}

static int refuse_user(struct err *err)
{
	err_set(err, ERR_INVALID,
		"--push does not take a user or password in the URL, where all users of this "
		"machine can read them");
	err_hint(err, "put the line 'Authorization: Basic BASE64' or 'Authorization: Bearer TOKEN' "
		      "into a file for --push-header-file");
	return ERR_INVALID;
}

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (!isgraph((unsigned char)*text))
			return false;
	return true;
}

/* Checks the URL after "//". */
static int check_rest(const char *rest, struct err *err)
{
	size_t nr_host_bytes = strcspn(rest, "/?#:");

	if (nr_host_bytes == 0 || !is_plain(rest))
		return err_set(err, ERR_INVALID, "the URL of --push has no host, or a blank");
	if (strpbrk(rest, "?#")) {
		err_set(err, ERR_INVALID, "the URL of --push has a query or a fragment");
		err_hint(err, "it is the address of the server: its paths are added to it");
		return ERR_INVALID;
	}
	return 0;
}

int push_receiver_parse(struct push_receiver *receiver, const char *text, struct err *err)
{
	const struct scheme *scheme = find_scheme(text);
	size_t nr_bytes;
	int status;

	/* Before anything else, so that no message has a password. */
	if (strstr(text, "://") && strchr(strstr(text, "://"), '@'))
		return refuse_user(err);
	if (!scheme) {
		if (strstr(text, "://"))
			return refuse_scheme(text, err);
		if (!*text)
			return err_set(err, ERR_INVALID, "--push needs a URL or a directory");
		*receiver = (struct push_receiver){PUSH_DIRECTORY, xstrdup(text)};
		return 0;
	}
	status = check_rest(text + strlen(scheme->prefix), err);
	if (status)
		return status;
	text += scheme->nr_kind_bytes;
	nr_bytes = strlen(text);
	while (text[nr_bytes - 1] == '/')
		nr_bytes--;
	*receiver = (struct push_receiver){scheme->kind, xstrndup(text, nr_bytes)};
	return 0;
}

void push_receiver_release(struct push_receiver *receiver)
{
	free(receiver->where);
	receiver->where = NULL;
}
