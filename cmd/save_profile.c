// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a whole profile to a file. */
#include "cmd/save_profile.h"

#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/output_file.h"
#include "store/store.h"

int save_profile_fd(struct profile *profile, int fd, struct err *err)
{
	struct store_writer *writer;
	int status = store_writer_new(fd, &writer, err);

	if (status == 0) {
		status = store_writer_finish(writer, profile, err);
		store_writer_free(writer);
	}
	return status;
}

/* Into the open file, which is finished or discarded. */
static int save(struct profile *profile, struct output_file *file, const char *path,
		struct err *err)
{
	int status = save_profile_fd(profile, file->sink.fd, err);

	if (status < 0) {
		err_prefix(err, "%s", path);
		output_file_discard(file);
		return status;
	}
	return output_file_finish(file, err);
}

static int save_to_stdout(struct profile *profile, struct err *err)
{
	int status;

	if (isatty(STDOUT_FILENO))
		return err_set(err, ERR_INVALID, "not writing a profile to a terminal");
	status = save_profile_fd(profile, STDOUT_FILENO, err);
	if (status < 0)
		err_prefix(err, "standard output");
	return status;
}

static int save_to(struct profile *profile, const char *path,
		   int (*open_file)(struct output_file *file, const char *path, struct err *err),
		   struct err *err)
{
	struct output_file file;
	int status;

	if (strcmp(path, "-") == 0)
		return save_to_stdout(profile, err);
	status = open_file(&file, path, err);
	return status < 0 ? status : save(profile, &file, path, err);
}

int save_profile(struct profile *profile, const char *path, struct err *err)
{
	return save_to(profile, path, output_file_open, err);
}

int save_profile_keeping(struct profile *profile, const char *path, struct err *err)
{
	return save_to(profile, path, output_file_open_keeping, err);
}
