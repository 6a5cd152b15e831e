// SPDX-License-Identifier: GPL-2.0-or-later
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/signal_pipe.h"

/* The thread needs to be late only once for a test to see it. */
#define NR_TRIES 500

static int set_up(void **state)
{
	struct signal_pipe *pipe = malloc(sizeof(*pipe));
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal_pipe_open(pipe, &signals);
	*state = pipe;
	return 0;
}

static int tear_down(void **state)
{
	struct signal_pipe *pipe = *state;

	signal_pipe_close(pipe);
	assert_int_equal(pipe->fd, -1);
	free(pipe);
	return 0;
}

/* What pipe2(2) has not made can be had without a thread. */
static int set_up_without_thread(void **state)
{
	struct signal_pipe *pipe;

	set_up(state);
	pipe = *state;
	signal_pipe_close(pipe);
	pipe->fd = signalfd(-1, &pipe->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return 0;
}

/* Sends both to the process, and returns the set of what can be read. */
static unsigned int read_both(struct signal_pipe *pipe)
{
	struct signalfd_siginfo info;
	unsigned int seen = 0;

	kill(getpid(), SIGINT);
	kill(getpid(), SIGTERM);
	signal_pipe_settle(pipe);
	while (read(pipe->fd, &info, sizeof(info)) == sizeof(info)) {
		assert_int_equal(info.ssi_code, SI_USER);
		seen |= 1u << info.ssi_signo;
	}
	return seen;
}

static void test_signal_pipe__what_was_sent_can_be_read_once_settled(void **state)
{
	for (int try = 0; try < NR_TRIES; try++)
		assert_int_equal(read_both(*state), 1u << SIGINT | 1u << SIGTERM);
}

static void test_signal_pipe__settling_without_signals_shows_none(void **state)
{
	struct signal_pipe *pipe = *state;
	struct signalfd_siginfo info;

	signal_pipe_settle(pipe);
	assert_int_equal(read(pipe->fd, &info, sizeof(info)), -1);
	assert_false(atomic_load(&pipe->end_asked));
}

/* Waits for it; what the thread did for those before is done by then. */
static void pass_through(struct signal_pipe *pipe, int signal)
{
	struct pollfd readable = {.fd = pipe->fd, .events = POLLIN};
	struct signalfd_siginfo info;

	kill(getpid(), signal);
	assert_int_equal(poll(&readable, 1, -1), 1);
	assert_int_equal(read(pipe->fd, &info, sizeof(info)), sizeof(info));
}

static void test_signal_pipe__a_stray_call_settles_nothing(void **state)
{
	struct signal_pipe *pipe = *state;
	int nr_settled;

	pthread_kill(pipe->thread, SIGURG);
	pass_through(pipe, SIGTERM); /* taken after that, maybe in answer to it */
	pass_through(pipe, SIGTERM);
	assert_int_equal(sem_getvalue(&pipe->settled, &nr_settled), 0);
	assert_int_equal(nr_settled, 0);
}

static void test_signal_pipe__what_is_not_read_pends_again(void **state)
{
	struct signal_pipe *pipe = *state;
	sigset_t signals = pipe->signals;
	int signal = 0;

	kill(getpid(), SIGTERM);
	signal_pipe_settle(pipe);
	signal_pipe_close(pipe);
	assert_int_equal(sigwait(&signals, &signal), 0);
	assert_int_equal(signal, SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_signal_pipe__what_was_sent_can_be_read_once_settled, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_signal_pipe__what_was_sent_can_be_read_once_settled,
			set_up_without_thread, tear_down),
		cmocka_unit_test_setup_teardown(
			test_signal_pipe__settling_without_signals_shows_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_signal_pipe__a_stray_call_settles_nothing,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_signal_pipe__what_is_not_read_pends_again,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
