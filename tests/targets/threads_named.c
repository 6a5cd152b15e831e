// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads_named [CPU_MS]: threads "worker-1" to "worker-3" use 1, 2 and 3 parts
 * of CPU_MS in named_work(). Prints {"name", "tid", "cpu_ns"} for each.
 */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_measure.h"

struct worker {
	pthread_t thread;
	unsigned parts;
	uint64_t part_ns;
	char name[16];
	long tid;
	uint64_t cpu_ns;
};

NOINLINE uint64_t named_work(uint64_t until_ns)
{
	uint64_t x = 1;

	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return x;
}

static void *worker_main(void *arg)
{
	struct worker *self = arg;

	prctl(PR_SET_NAME, self->name);
	self->tid = syscall(SYS_gettid);
	named_work(self->parts * self->part_ns);
	self->cpu_ns = thread_cpu_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[3];

	for (unsigned i = 0; i < 3; i++) {
		workers[i].parts = i + 1;
		workers[i].part_ns = number_argument(argc, argv, 1, 1500) * MS / 6;
		snprintf(workers[i].name, sizeof(workers[i].name), "worker-%u", i + 1);
		pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("{\"name\": \"%s\", \"tid\": %ld, \"cpu_ns\": %llu}\n", workers[i].name,
		       workers[i].tid, (unsigned long long)workers[i].cpu_ns);
	}
	return 0;
}
