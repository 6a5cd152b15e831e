// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes requests as files. */
#include "push/directory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/output_file.h"
#include "push/request.h"

int push_directory_make(const char *path, struct err *err)
{
	size_t nr_bytes = strlen(path);
	struct stat found;

	if (stat(path, &found) == 0)
		return S_ISDIR(found.st_mode)
			       ? 0
			       : err_set(err, ERR_INVALID, "--push: %s is no directory", path);
	if (errno == ENOENT && path[nr_bytes - 1] != '/') {
		err_set(err, ERR_INVALID, "--push: there is no directory %s", path);
		err_hint(err,
			 "%s/ would be made; a server is pyroscope+https://HOST:PORT or "
			 "parca+https://HOST:PORT",
			 path);
		return ERR_INVALID;
	}
	if (mkdir(path, 0700) == 0)
		return 0;
	return err_sys(err, "cannot make %s", path);
}

static int write_file(const char *path, const struct buf *body, struct err *err)
{
	struct output_file file;
	int status = output_file_open(&file, path, err);

	if (status)
		return status;
	sink_write(&file.sink, body->bytes, body->nr_bytes);
	return output_file_finish(&file, err);
}

static void send_file(void *context, const struct push_request *request, struct push_answer *answer)
{
	const char *directory = context;
	size_t nr_bytes = strlen(directory);
	cleanup_free char *path = xasprintf(
		"%s%s%s", directory, directory[nr_bytes - 1] == '/' ? "" : "/", request->target);
	struct err err = ERR_INIT;

	*answer = (struct push_answer){.outcome = PUSH_DELIVERED};
	if (write_file(path, &request->body, &err) == 0)
		return;
	answer->outcome = PUSH_DENIED;
	snprintf(answer->words, sizeof(answer->words), "%s", err.what);
}

struct push_transport push_directory_transport(const char *path)
{
	/* Only read, by send_file(). */
	return (struct push_transport){send_file, (void *)(uintptr_t)path};
}
