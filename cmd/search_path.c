// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs in $PATH. */
#include "cmd/search_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "proc/exec_failure.h"
#include "proc/search_path.h"

/* As execvp(3) does it, which reads an empty PATH as the current directory. */
const char *search_directories(void)
{
	const char *path = getenv("PATH");

	return path ? path : "/bin:/usr/bin";
}

bool in_search_path(const char *program)
{
	struct buf path = {0};
	bool found = search_path_find(search_directories(), program, &path);

	buf_release(&path);
	return found;
}

bool program_has_own_rights(const char *program)
{
	struct buf path = {0};
	struct stat found;
	bool has;

	if (strchr(program, '/') || !search_path_find(search_directories(), program, &path))
		buf_append_str(&path, program);
	has = stat(buf_str(&path), &found) == 0 && found.st_mode & (S_ISUID | S_ISGID);
	buf_release(&path);
	return has;
}

int program_explain_failure(const char *program, int reason, struct err *err)
{
	return exec_failure_explain(search_directories(), program, reason, err);
}

int program_foresee_failure(const char *program)
{
	return exec_failure_foresee(search_directories(), program);
}

int program_refuse_32_bit(const char *program, struct err *err)
{
	return exec_refuse_32_bit(search_directories(), program, err);
}
