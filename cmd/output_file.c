// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"

/* The mode a newly created file would have; umask() can only be read by setting it. */
static mode_t default_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static int open_temporary(struct output_file *file, mode_t mode, struct err *err)
{
	file->temporary = xasprintf("%s.XXXXXX", file->path);
	file->sink.fd = mkostemp(file->temporary, O_CLOEXEC);
	if (file->sink.fd < 0) {
		err_sys(err, "cannot write %s", file->path);
		free(file->temporary);
		file->temporary = NULL;
		return ERR_SYS;
	}
	(void)fchmod(file->sink.fd, mode);
	return 0;
}

static int open_in_place(struct output_file *file, struct err *err)
{
	file->sink.fd = open(file->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return file->sink.fd < 0 ? err_sys(err, "cannot write %s", file->path) : 0;
}

int output_file_open(struct output_file *file, const char *path, struct err *err)
{
	char *resolved = realpath(path, NULL);
	struct stat there;
	int status;

	*file = (struct output_file){.sink = {.fd = -1}};
	file->path = resolved ? resolved : xstrdup(path);
	if (stat(file->path, &there) != 0)
		status = open_temporary(file, default_mode(), err);
	else if (S_ISREG(there.st_mode))
		status = open_temporary(file, there.st_mode & 07777, err);
	else
		status = open_in_place(file, err);
	if (status)
		free(file->path);
	return status;
}

void output_file_discard(struct output_file *file)
{
	if (file->sink.fd >= 0)
		close(file->sink.fd);
	if (file->temporary)
		unlink(file->temporary);
	sink_release(&file->sink);
	free(file->temporary);
	free(file->path);
}

static int put_in_place(struct output_file *file, struct err *err)
{
	int failure = sink_flush(&file->sink);

	if (failure) {
		errno = failure;
		return err_sys(err, "cannot write %s", file->path);
	}
	failure = close(file->sink.fd); /* network file systems tell of a full disk only now */
	file->sink.fd = -1;
	if (failure)
		return err_sys(err, "cannot write %s", file->path);
	if (file->temporary && rename(file->temporary, file->path) != 0)
		return err_sys(err, "cannot rename %s to %s", file->temporary, file->path);
	return 0;
}

int output_file_finish(struct output_file *file, struct err *err)
{
	int status = put_in_place(file, err);

	if (!status) {
		free(file->temporary);
		file->temporary = NULL; /* it has its name: nothing to remove */
	}
	output_file_discard(file);
	return status;
}
