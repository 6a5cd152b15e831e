// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/own_thread.h"

#include <pthread.h>
#include <stddef.h>

struct errand {
	void (*run)(void *context);
	void *context;
};

static void *run_errand(void *context)
{
	const struct errand *errand = context;

	errand->run(errand->context);
	return NULL;
}

void own_thread_run(void (*run)(void *context), void *context)
{
	struct errand errand = {.run = run, .context = context};
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_errand, &errand) == 0)
		pthread_join(thread, NULL);
	else
		run(context);
}
