// SPDX-License-Identifier: GPL-2.0-or-later
/* Output files that appear under their name once they are complete. */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/output_place.h"

/* A file without a name, which needs no clean-up if the process is killed; -1: unsupported. */
static int open_nameless(const char *path)
{
	cleanup_free char *directory = xstrdup(path);
	char *slash = strrchr(directory, '/');

	if (slash)
		slash[slash == directory] = '\0';
	return open(slash ? directory : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
}

static int open_temporary(struct output_file *file, mode_t mode, struct err *err)
{
	file->sink.fd = open_nameless(file->path);
	if (file->sink.fd < 0) {
		file->temporary = xasprintf("%s.XXXXXX", file->path);
		file->sink.fd = mkostemp(file->temporary, O_CLOEXEC);
	}
	if (file->sink.fd < 0) {
		err_sys(err, "cannot write %s", file->path);
		free(file->temporary);
		file->temporary = NULL;
		return ERR_SYS;
	}
	file->is_beside = true;
	(void)fchmod(file->sink.fd, mode);
	return 0;
}

static int open_in_place(struct output_file *file, struct err *err)
{
	file->sink.fd = output_place_open(file->path, err);
	return file->sink.fd < 0 ? err->code : 0;
}

/* The name and rights that another user prepared are not kept. */
static mode_t mode_of(const struct output_file *file, const struct stat *there)
{
	return file->is_new || there->st_uid != geteuid() ? 0600 : there->st_mode & 0777;
}

int output_file_open(struct output_file *file, const char *path, struct err *err)
{
	char *resolved = realpath(path, NULL);
	struct stat there;
	int status = output_place_check(path, err);

	*file = (struct output_file){.sink = {.fd = -1}};
	file->path = resolved ? resolved : xstrdup(path);
	file->is_new = stat(file->path, &there) != 0;
	if (status == 0)
		status = output_place_check(file->path, err);
	if (status < 0) {
		free(file->path);
		return status;
	}
	if (file->is_new || S_ISREG(there.st_mode))
		status = open_temporary(file, mode_of(file, &there), err);
	else
		status = open_in_place(file, err);
	if (status)
		free(file->path);
	return status;
}

int output_file_open_keeping(struct output_file *file, const char *path, struct err *err)
{
	int status = output_file_open(file, path, err);

	if (status == 0 && file->is_beside)
		file->is_new = file->keeps_old = true;
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

/* Link the nameless file under a temporary name: only rename(2) can replace a file. */
static int name_file(struct output_file *file)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->sink.fd);
	for (unsigned int attempt = 0;; attempt++) {
		char *name = xasprintf("%s.%d-%u", file->path, (int)getpid(), attempt);

		if (linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0) {
			file->temporary = name;
			return 0;
		}
		free(name);
		if (errno != EEXIST)
			return -1;
	}
}

/* A new name has no old file to keep. */
static int keep_old(const struct output_file *file, struct err *err)
{
	cleanup_free char *old_path = xasprintf("%s.old", file->path);

	if (rename(file->path, old_path) == 0 || errno == ENOENT)
		return 0;
	return err_sys(err, "cannot rename %s to %s", file->path, old_path);
}

static int put_in_place(struct output_file *file, struct err *err)
{
	int failure = sink_flush(&file->sink);

	if (failure) {
		errno = failure;
		return err_sys(err, "cannot write %s", file->path);
	}
	if (file->is_beside && !file->temporary && name_file(file) < 0)
		return err_sys(err, "cannot write %s", file->path);
	failure = close(file->sink.fd); /* network file systems report a full disk only on close */
	file->sink.fd = -1;
	if (failure)
		return err_sys(err, "cannot write %s", file->path);
	failure = file->keeps_old ? keep_old(file, err) : 0;
	if (failure)
		return failure;
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
