// SPDX-License-Identifier: GPL-2.0-or-later
/* The agent of a recording: its beginning, its end, and what is said of these. */
#include "cmd/recording_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "cmd/command.h"
#include "cmd/record_options.h"
#include "profile/profile.h"

int recording_agent_start(struct recording *recording, bool prints_on_stderr, struct err *err)
{
	const struct agent_options options = {
		.command = recording->options->agent,
		.mask = &recording->former_signals.mask,
		.prints_on_stderr = prints_on_stderr,
	};

	if (!options.command)
		return 0;
	recording->agent = agent_start(&options, err);
	return recording->agent ? 0 : err->code;
}

int recording_agent_fd(const struct recording *recording)
{
	return recording->agent ? agent_over_fd(recording->agent) : -1;
}

void recording_agent_say_ended(const struct recording *recording)
{
	int status;

	if (!agent_has_ended(recording->agent, &status))
		return;
	if (WIFSIGNALED(status))
		print_warning("the agent was ended by signal %d: the recording goes on without it",
			      WTERMSIG(status));
	else
		print_warning("the agent has ended with status %d: the recording goes on without "
			      "it",
			      WEXITSTATUS(status));
}

/* It has some seconds for what it has not read, and some to end. */
static void wait_for_agent(const struct recording *recording)
{
	struct pollfd fds[] = {
		{.fd = agent_over_fd(recording->agent), .events = POLLIN},
		{.fd = recording->ending.listener.asked_fd, .events = POLLIN},
	};

	while (!fds[0].revents) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents & POLLIN)
			break;
	}
	agent_give_up(recording->agent);
}

void recording_agent_finish(struct recording *recording, struct profile *profile)
{
	bool was_over, has_ended;
	struct pollfd over = {.fd = recording_agent_fd(recording), .events = POLLIN};
	uint64_t nr_lost;
	int status;

	if (!recording->agent)
		return;
	was_over = poll(&over, 1, 0) == 1;
	agent_end(recording->agent, profile);
	wait_for_agent(recording);
	has_ended = agent_has_ended(recording->agent, &status);
	nr_lost = agent_free(recording->agent);
	recording->agent = NULL;
	profile_set_counter(profile, "agent_lost", nr_lost);
	if (!has_ended)
		print_warning("the agent does not end: it is left alone");
	else if (!was_over && status)
		print_warning("the agent has failed with status %d",
			      WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	if (nr_lost && !was_over && !recording->options->quiet)
		print_note("%llu samples and other rows were not read by the agent",
			   (unsigned long long)nr_lost);
}
