// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * signal_storm [COUNT [MS [UPON]]]: a child sends COUNT SIGUSR1, at random moments, one
 * after the other was seen, to a thread that waits in epoll_pwait with the
 * signal let in only there. Every signal must run the handler once and end one
 * wait with EINTR: fewer EINTR than handlers are lost wake-ups, more are invented. The first that
 * is not seen within 5 s is the last one sent: what follows would tell nothing of its own.
 * Ignored signals (SIGWINCH, SIGURG) come in between and must not be noticed.
 * The wait has a timeout of MS; without it, or with 0, it has none.
 * With UPON each SIGUSR1 follows within 60 us upon an ignored one.
 * Prints {"sent", "handlers", "eintr", "wakes_lost", "invented"}, the last of them when
 * each EINTR came that no handler explains (CLOCK_MONOTONIC, ns).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define INVENTED_MAX 4096

struct shared {
	atomic_uint sent, handlers, eintr, lost;
	uint64_t invented_ns[INVENTED_MAX];
	unsigned nr_invented;
};

static struct shared *shared;

static void count_signal(int number)
{
	(void)number;
	atomic_fetch_add(&shared->handlers, 1);
}

/* Wait until both the handler and the EINTR of signal `nr` were seen; else a lost wake-up. */
static bool wait_until_seen(unsigned nr)
{
	uint64_t patience_ns = monotonic_ns() + 5000 * MS;

	while (atomic_load(&shared->handlers) < nr || atomic_load(&shared->eintr) < nr) {
		if (monotonic_ns() > patience_ns) {
			atomic_fetch_add(&shared->lost, 1);
			return false;
		}
		usleep(20);
	}
	return true;
}

static void spin_randomly(uint64_t longest_ns)
{
	uint64_t until_ns = monotonic_ns() + (uint64_t)random() % longest_ns;

	while (monotonic_ns() < until_ns)
		;
}

static void send_upon_another(pid_t target)
{
	kill(target, SIGWINCH);
	spin_randomly(60000);
	kill(target, SIGUSR1);
}

static void send_signals(pid_t target, unsigned count, bool upon_another)
{
	srandom(7);
	for (unsigned i = 1; i <= count; i++) {
		usleep((useconds_t)(random() % 1500));
		if (i % 5 == 0)
			kill(target, i % 2 ? SIGWINCH : SIGURG);
		if (upon_another)
			send_upon_another(target);
		else
			kill(target, SIGUSR1);
		atomic_store(&shared->sent, i);
		if (!wait_until_seen(i))
			return;
	}
}

/* The handler of a caught signal has run when the wait ends. */
static void note_eintr(void)
{
	unsigned nr = atomic_fetch_add(&shared->eintr, 1) + 1;

	if (nr - shared->nr_invented > atomic_load(&shared->handlers) &&
	    shared->nr_invented < INVENTED_MAX)
		shared->invented_ns[shared->nr_invented++] = monotonic_ns();
}

/* Until the sender ends and with it the other end of the pipe. */
static void wait_for_signals(int sender_end, int timeout_ms)
{
	int epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t none;
	int nr_ready = 0;

	sigemptyset(&none);
	epoll_ctl(epoll, EPOLL_CTL_ADD, sender_end, &event);
	while (nr_ready == 0 || (nr_ready < 0 && errno == EINTR)) {
		nr_ready = epoll_pwait(epoll, &event, 1, timeout_ms, &none);
		if (nr_ready < 0)
			note_eintr();
	}
	close(epoll);
}

static void say(void)
{
	printf("{\"sent\": %u, \"handlers\": %u, \"eintr\": %u, \"wakes_lost\": %u, "
	       "\"invented\": [",
	       atomic_load(&shared->sent), atomic_load(&shared->handlers),
	       atomic_load(&shared->eintr), atomic_load(&shared->lost));
	for (unsigned i = 0; i < shared->nr_invented; i++)
		printf("%s%" PRIu64, i ? ", " : "", shared->invented_ns[i]);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	unsigned count = (unsigned)number_argument(argc, argv, 1, 2000);
	unsigned timeout_ms = (unsigned)number_argument(argc, argv, 2, 0);
	bool upon_another = number_argument(argc, argv, 3, 0);
	struct sigaction action = {.sa_handler = count_signal};
	sigset_t blocked;
	int alive[2];
	pid_t sender;

	if (pipe(alive))
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGUSR1, &action, NULL);
	say_ready();
	sender = fork();
	if (sender == 0) {
		close(alive[0]);
		send_signals(getppid(), count, upon_another);
		_exit(0);
	}
	close(alive[1]);
	wait_for_signals(alive[0], timeout_ms ? (int)timeout_ms : -1);
	waitpid(sender, NULL, 0);
	say();
	return 0;
}
