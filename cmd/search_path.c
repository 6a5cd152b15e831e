// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs in $PATH. */
#include "cmd/search_path.h"

#include <stdlib.h>

#include "base/buf.h"
#include "proc/exec_failure.h"
#include "proc/search_path.h"

/* As execvp(3) does it, which reads an empty PATH as the current directory. */
static const char *directories(void)
{
	const char *path = getenv("PATH");

	return path ? path : "/bin:/usr/bin";
}

bool in_search_path(const char *program)
{
	struct buf path = {0};
	bool found = search_path_find(directories(), program, &path);

	buf_release(&path);
	return found;
}

int program_explain_failure(const char *program, int reason, struct err *err)
{
	return exec_failure_explain(directories(), program, reason, err);
}

int program_foresee_failure(const char *program)
{
	return exec_failure_foresee(directories(), program);
}

int program_refuse_32_bit(const char *program, struct err *err)
{
	return exec_refuse_32_bit(directories(), program, err);
}
