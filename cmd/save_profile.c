// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/save_profile.h"

#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/output_file.h"
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

int save_profile(struct profile *profile, const char *path, struct err *err)
{
	struct output_file file;
	int status;

	if (strcmp(path, "-") == 0) {
		if (isatty(STDOUT_FILENO))
			return err_set(err, ERR_INVALID,
				       "a profile is no text: standard output is a terminal");
		return save_profile_fd(profile, STDOUT_FILENO, err);
	}
	status = output_file_open(&file, path, err);
	if (status < 0)
		return status;
	status = save_profile_fd(profile, file.sink.fd, err);
	if (status < 0) {
		output_file_discard(&file);
		return status;
	}
	return output_file_finish(&file, err);
}
