// SPDX-License-Identifier: GPL-2.0-or-later
/* Exports as files. */
#include "export/export_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/output_file.h"
#include "base/private_file.h"

int export_to_path(enum export_kind kind, const struct profile *profile,
		   const struct export_options *options, const char *path, struct err *err)
{
	struct output_file file;
	int status = output_file_open(&file, path, err);

	if (status)
		return status;
	status = export_write(kind, profile, options, &file.sink, err);
	if (status)
		output_file_discard(&file);
	else
		status = output_file_finish(&file, err);
	return status;
}

/* Closes it. */
static int write_open(enum export_kind kind, const struct profile *profile,
		      const struct export_options *options, int fd, const char *path,
		      struct err *err)
{
	struct sink sink;
	int status, failure;

	sink_init_fd(&sink, fd);
	status = export_write(kind, profile, options, &sink, err);
	failure = sink_flush(&sink);
	sink_release(&sink);
	if (close(fd) < 0 && !failure)
		failure = errno;
	if (status || !failure)
		return status;
	errno = failure;
	return err_sys(err, "cannot write %s", path);
}

int export_to_private_file(enum export_kind kind, const struct profile *profile,
			   const struct export_options *options, const char *directory, char **path,
			   struct err *err)
{
	char *name;
	int fd = private_file_create(directory, export_format(kind)->extension, &name, err);
	int status;

	if (fd < 0)
		return fd;
	status = write_open(kind, profile, options, fd, name, err);
	if (status) {
		unlink(name);
		free(name);
		return status;
	}
	*path = name;
	return 0;
}

char *export_name_beside(enum export_kind kind, const char *recording)
{
	const char *slash = strrchr(recording, '/');
	const char *name = slash ? slash + 1 : recording;
	const char *dot = strrchr(name, '.');
	size_t nr_bytes = dot && dot > name ? (size_t)(dot - recording) : strlen(recording);

	return xasprintf("%.*s%s", (int)nr_bytes, recording, export_format(kind)->extension);
}
