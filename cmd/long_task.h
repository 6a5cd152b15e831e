/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows how far work has come that takes long. */
#ifndef PROFC_CMD_LONG_TASK_H
#define PROFC_CMD_LONG_TASK_H

#include <pthread.h>
#include <stdbool.h>

#include "base/progress.h"

/*
 * While it runs, a line on standard error, if that is `shown` and a terminal; from the second
 * second on. Nothing else is to be printed there meanwhile.
 */
struct long_task {
	struct progress progress; /* for the work to set */
	const char *what;	  /* "exporting"; borrowed */
	int done_fd;		  /* private, as what follows */
	bool is_shown;
	pthread_t thread;
};

void long_task_begin(struct long_task *task, const char *what, bool shown);
/* The line is empty again. */
void long_task_end(struct long_task *task);

#endif
