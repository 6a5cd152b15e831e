// SPDX-License-Identifier: GPL-2.0-or-later
#include "inject/rescue.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/affinity.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/semaphore.h"

/* At real-time priority it comes at once, unless such threads are in the way. */
#define PATIENCE_NS (50 * NS_PER_MS)
#define LOOK_NS	    (20 * NS_PER_MS)

struct rescue {
	pid_t tid;
	pthread_t thread;
	sem_t end;
	cpu_set_t cpus;
	atomic_uint_fast64_t since_ns; /* 0: it does not wait */
	atomic_bool is_used;
};

static void *watch(void *context)
{
	struct rescue *rescue = context;

	while (!semaphore_wait_until(&rescue->end, clock_monotonic_ns() + LOOK_NS)) {
		uint64_t since_ns = atomic_load(&rescue->since_ns);

		if (!since_ns || clock_monotonic_ns() - since_ns < PATIENCE_NS)
			continue;
		atomic_store(&rescue->is_used, true);
		affinity_unbind(rescue->tid, &rescue->cpus);
	}
	return NULL;
}

struct rescue *rescue_new(void)
{
	struct rescue *rescue = xcalloc(1, sizeof(*rescue));

	rescue->tid = gettid();
	sem_init(&rescue->end, 0, 0);
	if (pthread_create(&rescue->thread, NULL, watch, rescue) == 0)
		return rescue;
	sem_destroy(&rescue->end);
	free(rescue);
	return NULL;
}

void rescue_free(struct rescue *rescue)
{
	if (!rescue)
		return;
	sem_post(&rescue->end);
	pthread_join(rescue->thread, NULL);
	sem_destroy(&rescue->end);
	free(rescue);
}

void rescue_await(struct rescue *rescue, const cpu_set_t *cpus)
{
	rescue->cpus = *cpus;
	atomic_store(&rescue->since_ns, clock_monotonic_ns());
}

bool rescue_is_over(struct rescue *rescue)
{
	atomic_store(&rescue->since_ns, 0);
	return !atomic_load(&rescue->is_used);
}
