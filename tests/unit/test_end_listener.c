// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals that ask for the end while something else is at work. */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/end_listener.h"
#include "tests/unit/unit.h"

#define PATIENCE_MS 20000

static atomic_int nr_stops;

static void stop(void)
{
	nr_stops++;
}

static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	assert_int_equal(sigprocmask(SIG_BLOCK, &all, NULL), 0);
}

static bool is_pending(int signal)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, signal);
}

TEST(end_listener, hears_who_asks_for_the_end)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct end_listener listener;

	block_signals();
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct pollfd asked = {.events = POLLIN};

		end_listener_start(&listener, NULL);
		asked.fd = listener.asked_fd;
		assert_int_equal(poll(&asked, 1, 0), 0);
		assert_false(listener.asked);
		kill(getpid(), signals[i]);
		assert_int_equal(poll(&asked, 1, PATIENCE_MS), 1);
		assert_true(listener.asked);
		assert_true(end_listener_stop(&listener));
		assert_int_equal(listener.info.ssi_signo, signals[i]);
		assert_false(is_pending(signals[i]));
		assert_false(end_listener_stop(&listener));
	}
}

TEST(end_listener, hears_what_came_before)
{
	struct end_listener listener;

	block_signals();
	kill(getpid(), SIGTERM);
	end_listener_start(&listener, NULL);
	assert_true(end_listener_stop(&listener));
}

TEST(end_listener, leaves_other_signals_alone)
{
	struct end_listener listener;
	sigset_t rest;

	block_signals();
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGTSTP);
	end_listener_start(&listener, NULL);
	assert_false(end_listener_stop(&listener));
	assert_true(is_pending(SIGUSR1));
	assert_true(is_pending(SIGTSTP));
	end_listener_start(&listener, stop);
	assert_false(end_listener_stop(&listener));
	assert_int_equal(nr_stops, 1);
	assert_false(is_pending(SIGTSTP));
	sigemptyset(&rest);
	sigaddset(&rest, SIGUSR1);
	sigwaitinfo(&rest, NULL);
}
