// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/reaper.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"
#include "target/wait_status.h"

/* A seizure takes microseconds; one that lasts longer than this waits for somebody. */
#define PATIENCE_NS (2 * NS_PER_MS)

struct watched {
	pid_t tgid, tid;
};

struct reaper {
	pthread_t thread;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	bool ends;
	uint64_t seizing_since_ns; /* 0: no seizure is going on */
	struct watched *watched;
	size_t nr_watched, cap_watched;
	struct reaped *reaped;
	size_t nr_reaped, cap_reaped;
	size_t next_reaped;
};

/* Exits only: stops are left to the thread that traces. */
static bool reap(const struct watched *watched, struct reaped *reaped)
{
	const int flags = WEXITED | WNOHANG | __WALL;
	siginfo_t info = {0};
	int fd;

	if (waitid(P_PID, (id_t)watched->tid, &info, flags | WNOWAIT) < 0 || !info.si_pid)
		return false;
	/* The clocks of a zombie are final; after the reaping they are gone. */
	fd = proc_open_task_file(watched->tgid, watched->tid, "schedstat");
	*reaped = (struct reaped){.tid = watched->tid, .wait_status = wait_status_of(&info)};
	reaped->has_final =
		fd >= 0 && proc_read_schedstat(fd, &reaped->final) && reaped->final.pcount;
	if (fd >= 0)
		close(fd);
	waitid(P_PID, (id_t)watched->tid, &info, flags);
	return true;
}

static void reap_all(struct reaper *reaper)
{
	for (size_t i = 0; i < reaper->nr_watched;) {
		ARRAY_GROW(reaper->reaped, reaper->nr_reaped, reaper->cap_reaped);
		if (reap(&reaper->watched[i], &reaper->reaped[reaper->nr_reaped])) {
			reaper->nr_reaped++;
			reaper->watched[i] = reaper->watched[--reaper->nr_watched];
		} else {
			i++;
		}
	}
}

static void wait_shortly(struct reaper *reaper)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)PATIENCE_NS;
	if (until.tv_nsec >= (long)NS_PER_SEC) {
		until.tv_sec++;
		until.tv_nsec -= (long)NS_PER_SEC;
	}
	pthread_cond_timedwait(&reaper->changed, &reaper->lock, &until);
}

static void *reaper_main(void *argument)
{
	struct reaper *reaper = argument;

	pthread_mutex_lock(&reaper->lock);
	while (!reaper->ends) {
		wait_shortly(reaper);
		if (reaper->seizing_since_ns &&
		    clock_monotonic_ns() - reaper->seizing_since_ns >= PATIENCE_NS)
			reap_all(reaper);
	}
	pthread_mutex_unlock(&reaper->lock);
	return NULL;
}

static void free_reaper(struct reaper *reaper)
{
	pthread_cond_destroy(&reaper->changed);
	pthread_mutex_destroy(&reaper->lock);
	free(reaper->watched);
	free(reaper->reaped);
	free(reaper);
}

struct reaper *reaper_start(void)
{
	struct reaper *reaper = xcalloc(1, sizeof(*reaper));
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&reaper->changed, &clock);
	pthread_condattr_destroy(&clock);
	pthread_mutex_init(&reaper->lock, NULL);
	if (pthread_create(&reaper->thread, NULL, reaper_main, reaper) != 0) {
		free_reaper(reaper);
		return NULL;
	}
	return reaper;
}

void reaper_end(struct reaper *reaper)
{
	if (!reaper)
		return;
	pthread_mutex_lock(&reaper->lock);
	reaper->ends = true;
	pthread_cond_signal(&reaper->changed);
	pthread_mutex_unlock(&reaper->lock);
	pthread_join(reaper->thread, NULL);
	free_reaper(reaper);
}

void reaper_watch(struct reaper *reaper, pid_t tgid, pid_t tid)
{
	if (!reaper)
		return;
	pthread_mutex_lock(&reaper->lock);
	ARRAY_GROW(reaper->watched, reaper->nr_watched, reaper->cap_watched);
	reaper->watched[reaper->nr_watched++] = (struct watched){.tgid = tgid, .tid = tid};
	pthread_mutex_unlock(&reaper->lock);
}

static void set_seizing(struct reaper *reaper, uint64_t since_ns)
{
	if (!reaper)
		return;
	pthread_mutex_lock(&reaper->lock);
	reaper->seizing_since_ns = since_ns;
	pthread_mutex_unlock(&reaper->lock);
}

void reaper_seize_begins(struct reaper *reaper)
{
	set_seizing(reaper, clock_monotonic_ns());
}

void reaper_seize_ends(struct reaper *reaper)
{
	set_seizing(reaper, 0);
}

bool reaper_next(struct reaper *reaper, struct reaped *reaped)
{
	bool any;

	if (!reaper)
		return false;
	pthread_mutex_lock(&reaper->lock);
	any = reaper->next_reaped < reaper->nr_reaped;
	if (any)
		*reaped = reaper->reaped[reaper->next_reaped++];
	pthread_mutex_unlock(&reaper->lock);
	return any;
}
