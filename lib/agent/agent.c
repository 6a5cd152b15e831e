// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent's process, and the thread that starts it, feeds it, and waits for its end. The process
 * is a child of that thread: orphans of a recorded command are children of the main thread and are
 * reaped there, and visitors wait for children of their own.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/lines_priv.h"
#include "agent/stream_priv.h"
#include "agent/write_priv.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

/* Pending data for an agent that reads slowly: some 80,000 rows. */
#define STREAM_MAX_BYTES ((size_t)8 * 1024 * 1024)
#define PATIENCE_NS	 (5 * NS_PER_SEC)
/* Wake the thread after this much: all rows of a second may exceed the limit. */
#define BURST_BYTES ((size_t)256 * 1024)
/* Without pidfds, check this often whether the agent has ended. */
#define ASK_MS 100

struct agent {
	struct agent_options options; /* until it is started */
	pthread_t thread;
	sem_t is_started;
	struct err failure; /* to start */
	pid_t pid;
	int pid_fd;   /* -1: before Linux 5.3 */
	int input_fd; /* the thread's: writes to the agent's standard input; -1: closed */
	int wake_fd;
	int over_fd;
	/* owned; used by the collector's thread only, like the next member */
	struct agent_lines *lines;
	size_t nr_put; /* bytes since the thread was woken */
	struct agent_stream stream;
	int status; /* as from waitpid(2), once has_ended */
	_Atomic bool has_ended;
	_Atomic bool is_ending;
	_Atomic bool is_given_up;
};

/* --- its process --- */

/* The child's side, between fork and exec: only async-signal-safe calls. */
static _Noreturn void run_command(const struct agent_options *options, int input)
{
	/* Otherwise Ctrl-C would end it before it has the rest. */
	setpgid(0, 0);
	/* The processes that it leaves are not taken for orphans of the recorded command. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (input == STDIN_FILENO)
		fcntl(input, F_SETFD, 0);
	else
		dup2(input, STDIN_FILENO);
	if (options->prints_on_stderr)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	pthread_sigmask(SIG_SETMASK, options->mask, NULL);
	execl("/bin/sh", "sh", "-c", options->command, (char *)NULL);
	_exit(127);
}

static int start_process(struct agent *agent)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(&agent->failure, "cannot make a pipe for the agent");
	agent->pid = fork();
	if (agent->pid == 0)
		run_command(&agent->options, ends[0]);
	close(ends[0]);
	agent->input_fd = ends[1];
	if (agent->pid < 0)
		return err_start(&agent->failure, "cannot start the agent");
	/* Set our end only: the agent's end keeps blocking, as programs expect. */
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	agent->pid_fd = (int)syscall(SYS_pidfd_open, agent->pid, 0);
	return 0;
}

/* Leaves the process to be reaped later. */
static bool note_end(struct agent *agent)
{
	siginfo_t info = {.si_pid = 0};

	if (waitid(P_PID, (id_t)agent->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    info.si_pid != agent->pid)
		return false;
	agent->status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status;
	agent->has_ended = true;
	return true;
}

/* --- the thread --- */

static void wake(int fd)
{
	uint64_t one = 1;

	/* This cannot fail: the counter of the eventfd would have to be full. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

static void close_input(struct agent *agent)
{
	agent_stream_close(&agent->stream);
	if (agent->input_fd >= 0)
		close(agent->input_fd);
	agent->input_fd = -1;
}

static int timeout_ms(const struct agent *agent, uint64_t until_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (agent->pid_fd < 0)
		return ASK_MS;
	if (until_ns == UINT64_MAX)
		return -1;
	return until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

static void take_wakes(const struct agent *agent)
{
	uint64_t count;

	if (read(agent->wake_fd, &count, sizeof(count)) < 0)
		return; /* there was none */
}

/* Wait until the agent reads, closes its input or ends, or something was put or requested. */
static void wait_for_news(const struct agent *agent, enum stream_state state, uint64_t until_ns)
{
	struct pollfd fds[] = {
		{.fd = agent->wake_fd, .events = POLLIN},
		{.fd = agent->pid_fd, .events = POLLIN},
		{.fd = agent->input_fd, .events = state == STREAM_WAITS ? POLLOUT : 0},
	};

	poll(fds, ARRAY_SIZE(fds), timeout_ms(agent, until_ns));
	/* Everything put so far is written next. */
	take_wakes(agent);
}

static void wait_for_end(const struct agent *agent)
{
	struct pollfd woken = {.fd = agent->wake_fd, .events = POLLIN};

	poll(&woken, 1, -1);
	take_wakes(agent);
}

/* If the agent has closed its input, or has read everything at the end, just wait for its exit. */
static enum stream_state feed(struct agent *agent, bool is_ending, bool *has_moved)
{
	struct pollfd input = {.fd = agent->input_fd};
	enum stream_state state = agent_stream_write(&agent->stream, agent->input_fd, has_moved);

	if (state == STREAM_EMPTY && poll(&input, 1, 0) == 1 && (input.revents & POLLERR))
		state = STREAM_CLOSED;
	if (state == STREAM_CLOSED || (state == STREAM_EMPTY && is_ending))
		close_input(agent);
	return state;
}

/*
 * Attend to the agent until it ends or waiting does: after the end of the stream, waiting ends once
 * the agent has read nothing for a while, or has read all and does not end.
 */
static void attend(struct agent *agent)
{
	uint64_t until_ns = UINT64_MAX;
	enum stream_state state = STREAM_EMPTY;

	while (!note_end(agent) && !agent->is_given_up) {
		/* Read this before writing: then all lines from before the end are written. */
		bool is_ending = agent->is_ending;
		bool has_moved = is_ending && until_ns == UINT64_MAX;
		uint64_t now_ns = clock_monotonic_ns();

		if (agent->input_fd >= 0) {
			bool was_read;

			state = feed(agent, is_ending, &was_read);
			has_moved |= was_read || agent->input_fd < 0;
		}
		if (is_ending && has_moved)
			until_ns = now_ns + PATIENCE_NS;
		else if (now_ns >= until_ns)
			return;
		wait_for_news(agent, state, until_ns);
	}
}

static void *agent_main(void *argument)
{
	struct agent *agent = argument;
	bool has_started;
	sigset_t all;

	/* Without a reader write(2) then fails with EPIPE. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	has_started = start_process(agent) == 0;
	sem_post(&agent->is_started);
	if (!has_started)
		return NULL;
	attend(agent);
	close_input(agent);
	wake(agent->over_fd);
	/* If this thread ended, its child would go to the main thread, and be reaped there. */
	while (!agent->is_ending && !agent->is_given_up)
		wait_for_end(agent);
	waitpid(agent->pid, NULL, WNOHANG);
	return NULL;
}

/* --- the recording's side --- */

static bool put(void *context, const struct buf *lines, bool is_row)
{
	struct agent *agent = context;

	if (!agent_stream_put(&agent->stream, lines, is_row))
		return false;
	agent->nr_put += lines->nr_bytes;
	if (agent->nr_put >= BURST_BYTES) {
		agent->nr_put = 0;
		wake(agent->wake_fd);
	}
	return true;
}

static bool is_full(void *context)
{
	struct agent *agent = context;

	return agent_stream_is_full(&agent->stream);
}

static void lose(void *context)
{
	struct agent *agent = context;

	agent_stream_lose(&agent->stream);
}

static void release(struct agent *agent)
{
	const int fds[] = {agent->pid_fd, agent->input_fd, agent->wake_fd, agent->over_fd};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	agent_lines_free(agent->lines);
	agent_stream_release(&agent->stream);
	sem_destroy(&agent->is_started);
	free(agent);
}

static struct agent *new_agent(const struct agent_options *options)
{
	struct agent *agent = xcalloc(1, sizeof(*agent));
	const struct agent_outlet outlet = {
		.put = put, .is_full = is_full, .lose = lose, .context = agent};

	agent->options = *options;
	agent->pid_fd = agent->input_fd = -1;
	agent->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	agent->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	agent->lines = agent_lines_new(&outlet);
	agent_stream_init(&agent->stream, STREAM_MAX_BYTES);
	sem_init(&agent->is_started, 0, 0);
	return agent;
}

static int start_thread(struct agent *agent)
{
	if (agent->wake_fd < 0 || agent->over_fd < 0)
		return err_sys(&agent->failure, "cannot make an eventfd");
	errno = pthread_create(&agent->thread, NULL, agent_main, agent);
	if (errno)
		return err_start(&agent->failure, "cannot start a thread");
	while (sem_wait(&agent->is_started) < 0 && errno == EINTR)
		continue;
	if (agent->failure.code)
		pthread_join(agent->thread, NULL);
	return agent->failure.code;
}

struct agent *agent_start(const struct agent_options *options, struct err *err)
{
	struct agent *agent = new_agent(options);

	if (start_thread(agent) == 0)
		return agent;
	*err = agent->failure;
	release(agent);
	return NULL;
}

pid_t agent_pid(const struct agent *agent)
{
	return agent->pid;
}

void agent_look(void *context, const struct profile *profile)
{
	struct agent *agent = context;

	agent_lines_look(agent->lines, profile);
	agent->nr_put = 0;
	wake(agent->wake_fd);
}

int agent_over_fd(const struct agent *agent)
{
	return agent->over_fd;
}

bool agent_has_ended(const struct agent *agent, int *status)
{
	if (!agent->has_ended)
		return false;
	*status = agent->status;
	return true;
}

void agent_end(struct agent *agent, const struct profile *profile)
{
	struct buf line = {0};

	agent_write_end(&line, profile, agent_stream_nr_lost(&agent->stream));
	agent_stream_put_last(&agent->stream, &line);
	buf_release(&line);
	agent->is_ending = true;
	wake(agent->wake_fd);
}

void agent_give_up(struct agent *agent)
{
	agent->is_given_up = true;
	wake(agent->wake_fd);
}

uint64_t agent_free(struct agent *agent)
{
	uint64_t nr_lost;

	if (!agent)
		return 0;
	if (!agent->is_ending)
		agent_give_up(agent);
	pthread_join(agent->thread, NULL);
	nr_lost = agent_stream_nr_lost(&agent->stream);
	release(agent);
	return nr_lost;
}
