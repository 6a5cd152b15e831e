// SPDX-License-Identifier: GPL-2.0-or-later
/* The thread that pushes. */
#include "push/pusher.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/semaphore.h"
#include "push/spool.h"

#define IDLE_NS (3600 * NS_PER_SEC)
/* How often is looked whether the end is hurried. */
#define LOOK_NS (100 * NS_PER_MS)

struct pusher {
	struct push_spool *spool; /* borrowed, as is the next */
	atomic_bool *give_up;
	_Atomic uint64_t until_ns; /* UINT64_MAX: it is not to end */
	sem_t woken, done;
	pthread_t thread;
	pthread_mutex_t mutex; /* of what follows */
	struct push_answer trouble;
	bool has_trouble;
};

static void note(struct pusher *pusher, const struct push_answer *answer)
{
	if (answer->outcome == PUSH_DELIVERED)
		return;
	pthread_mutex_lock(&pusher->mutex);
	pusher->trouble = *answer;
	pusher->has_trouble = true;
	pthread_mutex_unlock(&pusher->mutex);
}

/* Makes an attempt, or waits for one. False: that is all. */
static bool go_on(struct pusher *pusher)
{
	uint64_t now_ns = clock_monotonic_ns(), until_ns = atomic_load(&pusher->until_ns), due_ns;
	bool has_any = push_spool_due(pusher->spool, &due_ns);
	struct push_answer answer;

	if (atomic_load(pusher->give_up))
		return false;
	if (until_ns != UINT64_MAX && (!has_any || due_ns > until_ns || now_ns >= until_ns))
		return false;
	if (!has_any)
		semaphore_wait_until(&pusher->woken, now_ns + IDLE_NS);
	else if (due_ns > now_ns)
		semaphore_wait_until(&pusher->woken, due_ns);
	else if (push_spool_step(pusher->spool, &answer) == PUSH_STEP_SENT)
		note(pusher, &answer);
	return true;
}

static void *run(void *context)
{
	struct pusher *pusher = context;

	while (go_on(pusher))
		;
	sem_post(&pusher->done);
	return NULL;
}

static void release(struct pusher *pusher)
{
	sem_destroy(&pusher->woken);
	sem_destroy(&pusher->done);
	pthread_mutex_destroy(&pusher->mutex);
	free(pusher);
}

int pusher_start(struct pusher **pusher, struct push_spool *spool, atomic_bool *give_up,
		 struct err *err)
{
	struct pusher *made = xcalloc(1, sizeof(*made));
	sigset_t all, before;
	int failure;

	made->spool = spool;
	made->give_up = give_up;
	atomic_init(&made->until_ns, UINT64_MAX);
	sem_init(&made->woken, 0, 0);
	sem_init(&made->done, 0, 0);
	pthread_mutex_init(&made->mutex, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failure = pthread_create(&made->thread, NULL, run, made);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failure) {
		release(made);
		errno = failure;
		return err_start(err, "the thread that pushes");
	}
	*pusher = made;
	return 0;
}

void pusher_wake(struct pusher *pusher)
{
	sem_post(&pusher->woken);
}

bool pusher_trouble(struct pusher *pusher, struct push_answer *answer)
{
	bool has_trouble;

	pthread_mutex_lock(&pusher->mutex);
	has_trouble = pusher->has_trouble;
	if (has_trouble)
		*answer = pusher->trouble;
	pthread_mutex_unlock(&pusher->mutex);
	return has_trouble;
}

static bool is_hurried(const atomic_bool *hurried)
{
	return hurried && atomic_load(hurried);
}

void pusher_wait(struct pusher *pusher, uint64_t until_ns, const atomic_bool *hurried)
{
	uint64_t look_ns = 0;

	atomic_store(&pusher->until_ns, until_ns);
	pusher_wake(pusher);
	/* A signal handler ends the wait early, and is no reason to give up. */
	while (!semaphore_wait_until(&pusher->done, min_u64(until_ns, look_ns)) &&
	       !is_hurried(hurried) && clock_monotonic_ns() < until_ns)
		look_ns = clock_monotonic_ns() + LOOK_NS;
}

void pusher_end(struct pusher *pusher)
{
	if (!pusher)
		return;
	atomic_store(pusher->give_up, true);
	pusher_wake(pusher);
	pthread_join(pusher->thread, NULL);
	release(pusher);
}
