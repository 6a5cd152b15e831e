// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * serves_on_request: calls handle_request() all the time, for about a millisecond each, as a line
 * of its standard input says, after which it prints {"calls", "longest_ns"}: how many calls have
 * ended so far, and the longest of them, by its own clock:
 *
 *	wait MS    one of them waits so long for a lock that another thread holds, in await_lock()
 *	spin MS    one of them uses so much time, in spin_on_request()
 *	leave MS   one of them does so, and is left by longjmp()
 *	nest MS    it calls itself three times, each of which takes MS / 4
 *	beside MS  such a time is spent in between
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <string.h>

#include "self_measure.h"

static volatile uint64_t sink;
static pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_held;
static jmp_buf back;

struct request {
	char word[16];
	uint64_t ns;
};

NOINLINE static void spin_on_request(uint64_t ns)
{
	uint64_t x = 1, until_ns = monotonic_ns() + ns;

	while (monotonic_ns() < until_ns) {
		for (int i = 0; i < 2000; i++)
			SPIN_STEP(x);
	}
	sink = x;
}

static void *hold(void *ns)
{
	uint64_t held_ns = *(uint64_t *)ns;
	const struct timespec pause = {(time_t)(held_ns / (1000 * MS)),
				       (long)(held_ns % (1000 * MS))};

	pthread_mutex_lock(&big_lock);
	sem_post(&is_held);
	nanosleep(&pause, NULL);
	pthread_mutex_unlock(&big_lock);
	return NULL;
}

NOINLINE static void await_lock(void)
{
	pthread_mutex_lock(&big_lock);
	pthread_mutex_unlock(&big_lock);
	sink++;
}

static void have_it_held(uint64_t *ns)
{
	pthread_t holder;

	pthread_create(&holder, NULL, hold, ns);
	pthread_detach(holder);
	sem_wait(&is_held);
}

NOINLINE static void handle_request(struct request *request, int depth)
{
	if (!strcmp(request->word, "nest") && depth < 3)
		handle_request(request, depth + 1);
	if (!strcmp(request->word, "nest"))
		spin_on_request(request->ns / 4);
	else if (!strcmp(request->word, "wait"))
		await_lock();
	else if (!strcmp(request->word, "spin") || !strcmp(request->word, "leave"))
		spin_on_request(request->ns);
	else
		spin_on_request(MS);
	if (!strcmp(request->word, "leave"))
		longjmp(back, 1);
	sink++;
}

/* False at the end; without a line it is an ordinary request. */
static int next_request(struct request *request)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	unsigned long long ms;
	char line[64] = "";

	*request = (struct request){.word = ""};
	for (size_t nr = 0; nr + 1 < sizeof(line); nr++) {
		if (nr == 0 && poll(&input, 1, 5) == 0)
			return 1;
		if (read(STDIN_FILENO, line + nr, 1) != 1)
			return 0;
		if (line[nr] == '\n')
			break;
	}
	if (sscanf(line, "%15s %llu", request->word, &ms) == 2)
		request->ns = ms * MS;
	return 1;
}

int main(void)
{
	static uint64_t nr, longest_ns; /* kept by longjmp() */
	static struct request request;

	sem_init(&is_held, 0, 0);
	say_ready();
	while (next_request(&request)) {
		static uint64_t begin_ns;

		if (!strcmp(request.word, "wait"))
			have_it_held(&request.ns);
		if (!strcmp(request.word, "beside")) {
			spin_on_request(request.ns);
		} else if (setjmp(back) == 0) {
			begin_ns = monotonic_ns();
			handle_request(&request, 0);
			nr++;
			if (monotonic_ns() - begin_ns > longest_ns)
				longest_ns = monotonic_ns() - begin_ns;
		}
		if (!*request.word)
			continue;
		printf("{\"calls\": %llu, \"longest_ns\": %llu}\n", (unsigned long long)nr,
		       (unsigned long long)longest_ns);
		fflush(stdout);
	}
	return 0;
}
