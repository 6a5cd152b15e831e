// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/* The sampling thread sleeps for SIGCHLD; this one is meant for it alone. */
static void wake(struct sampler *sampler)
{
	pthread_kill(sampler->sampling_thread, SIGCHLD);
}

void sampler_stop(struct sampler *sampler)
{
	atomic_store_explicit(&sampler->stop_asked, true, memory_order_relaxed);
	wake(sampler);
}

void sampler_pause(struct sampler *sampler)
{
	atomic_store_explicit(&sampler->paused, true, memory_order_relaxed);
	wake(sampler);
}

void sampler_resume(struct sampler *sampler)
{
	atomic_store_explicit(&sampler->paused, false, memory_order_relaxed);
	wake(sampler);
}

bool sampler_is_paused(const struct sampler *sampler)
{
	return atomic_load_explicit(&sampler->paused, memory_order_relaxed);
}

/* The number of the stop, and below it the signal: that of the last stop stays with a 0. */
#define SIGNAL_BITS 8

static struct command_stop unpack(uint64_t packed)
{
	return (struct command_stop){.signal = (int)(packed & ((1u << SIGNAL_BITS) - 1)),
				     .nr = packed >> SIGNAL_BITS};
}

void control_command_stops(void *context, int signal)
{
	struct sampler *sampler = context;
	uint64_t one = 1;
	uint64_t nr = unpack(atomic_load(&sampler->command_stop)).nr + (signal != 0);

	atomic_store(&sampler->command_stop, nr << SIGNAL_BITS | (unsigned int)signal);
	if (signal && write(sampler->command_stop_fd, &one, sizeof(one)) < 0)
		return; /* it is readable already, or there is none */
}

struct command_stop sampler_command_stop(const struct sampler *sampler)
{
	return unpack(atomic_load(&sampler->command_stop));
}

int sampler_command_stop_fd(const struct sampler *sampler)
{
	return sampler->command_stop_fd;
}

/* Should a thread that was asked to stop take longer, it has to stand still until we go on. */
#define STAND_BY_TRIES	  50
#define STAND_BY_PAUSE_NS NS_PER_MS

void sampler_stand_by(struct sampler *sampler)
{
	const struct timespec pause = {.tv_nsec = (long)STAND_BY_PAUSE_NS};

	atomic_store(&sampler->stands_by, false);
	atomic_store(&sampler->stand_by_asked, true);
	wake(sampler);
	for (int i = 0; i < STAND_BY_TRIES && !atomic_load(&sampler->stands_by); i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

void sampler_go_on(struct sampler *sampler)
{
	atomic_store(&sampler->stand_by_asked, false);
	wake(sampler);
}

bool control_stands_by(struct sampler *sampler, uint64_t now_ns)
{
	bool asked = atomic_load(&sampler->stand_by_asked);

	if (asked != sampler->stood_by)
		schedule_skip(&sampler->schedule, now_ns);
	sampler->stood_by = asked;
	if (asked && !sampler->move_owed && !look_nr_awaited(sampler) &&
	    !target_any_is_to_stop(sampler->target))
		atomic_store(&sampler->stands_by, true);
	return asked;
}

void control_init(struct sampler *sampler)
{
	pthread_mutex_init(&sampler->words_lock, NULL);
	atomic_init(&sampler->cut_due_ns, NO_CUT_NS);
}

void control_release(struct sampler *sampler)
{
	pthread_mutex_destroy(&sampler->words_lock);
	free(sampler->words);
}

/* The time is taken under the lock: words are in its order. */
static void put_word(struct sampler *sampler, struct pending_word word)
{
	pthread_mutex_lock(&sampler->words_lock);
	word.time_ns = clock_monotonic_ns();
	ARRAY_GROW(sampler->words, sampler->nr_words, sampler->cap_words);
	sampler->words[sampler->nr_words++] = word;
	if (word.cut && atomic_load(&sampler->cut_due_ns) == NO_CUT_NS)
		atomic_store(&sampler->cut_due_ns, word.time_ns);
	pthread_mutex_unlock(&sampler->words_lock);
}

void sampler_mark(struct sampler *sampler, const char *text)
{
	put_word(sampler, (struct pending_word){.mark = xstrdup(text)});
}

void sampler_cut(struct sampler *sampler, struct sampler_cut *cut)
{
	sem_init(&cut->made, 0, 0);
	put_word(sampler, (struct pending_word){.cut = cut});
	sampler_wake_worker(sampler);
}

void control_cut_made(struct sampler_cut *cut, uint64_t nr_bytes)
{
	cut->nr_bytes = nr_bytes;
	sem_post(&cut->made);
}

uint64_t sampler_cut_wait(struct sampler_cut *cut)
{
	while (sem_wait(&cut->made) < 0 && errno == EINTR)
		continue;
	sem_destroy(&cut->made);
	return cut->nr_bytes;
}

/* The first words are done with. */
static void drop_words(struct sampler *sampler, size_t nr)
{
	uint64_t due_ns = NO_CUT_NS;

	if (nr == 0) /* nor may there be an array yet */
		return;
	sampler->nr_words -= nr;
	memmove(sampler->words, sampler->words + nr, sampler->nr_words * sizeof(*sampler->words));
	for (size_t i = sampler->nr_words; i-- > 0;) {
		if (sampler->words[i].cut)
			due_ns = sampler->words[i].time_ns;
	}
	atomic_store(&sampler->cut_due_ns, due_ns);
}

struct sampler_cut *control_take_words(struct sampler *sampler, uint64_t until_ns)
{
	struct sampler_cut *cut = NULL;
	size_t nr = 0;

	pthread_mutex_lock(&sampler->words_lock);
	while (!cut && nr < sampler->nr_words && sampler->words[nr].time_ns <= until_ns) {
		struct pending_word *word = &sampler->words[nr++];

		cut = word->cut;
		if (word->mark)
			profile_add_mark(sampler->profile, word->time_ns - sampler->start_ns,
					 word->mark);
		free(word->mark);
	}
	drop_words(sampler, nr);
	pthread_mutex_unlock(&sampler->words_lock);
	return cut;
}
