// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolves symbols with progress on the terminal, until done or interrupted. */
#include "cmd/resolve_progress.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cmd/command.h"
#include "cmd/mapped_files.h"
#include "cmd/signal_pipe.h"
#include "symbol/resolve.h"

static void report(void *context, size_t done, size_t nr, const char *module)
{
	(void)context;
	print_progress("profc: symbols: %zu of %zu modules, %s", done, nr, module);
}

static void report_question(void *context, const char *module)
{
	(void)context;
	print_progress("profc: symbols: querying DEBUGINFOD_URLS for %s", module);
}

void resolve_with_progress(struct profile *profile, const struct symbol_options *options,
			   bool shown)
{
	const struct resolve_progress progress = {.report = report, .asks = report_question};

	shown = shown && may_show_progress();
	if (shown)
		print_progress("profc: resolving symbols");
	resolve_profile(profile, options, shown ? &progress : NULL);
	if (shown)
		print_progress("%s", "");
	if (mapped_files_were_cut())
		print_warning("a program file was truncated while it was read: symbols may be "
			      "missing ('profc symbolize' tries again)");
}

/* Waits for a signal that ends the resolution. */
struct listener {
	int signal_fd;
	int done_fd; /* readable when the search is over */
	atomic_bool ended;
};

static void *listen_for_end(void *argument)
{
	struct listener *listener = argument;
	struct pollfd fds[] = {
		{.fd = listener->signal_fd, .events = POLLIN},
		{.fd = listener->done_fd, .events = POLLIN},
	};

	while (!atomic_load(&listener->ended)) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 || fds[1].revents)
			break;
		if (signal_pipe_asks_for_end(listener->signal_fd))
			atomic_store(&listener->ended, true);
	}
	return NULL;
}

bool resolve_until_signal(struct profile *profile, const struct symbol_options *options, bool shown,
			  int signal_fd)
{
	cleanup_close int done_fd = eventfd(0, EFD_CLOEXEC);
	struct listener listener = {.signal_fd = signal_fd, .done_fd = done_fd};
	struct symbol_options own_options = *options;
	pthread_t thread;

	own_options.ended = &listener.ended;
	if (done_fd < 0 || pthread_create(&thread, NULL, listen_for_end, &listener) != 0) {
		resolve_with_progress(profile, options, shown); /* cannot be ended, then */
		return false;
	}
	resolve_with_progress(profile, &own_options, shown);
	eventfd_write(done_fd, 1);
	pthread_join(thread, NULL);
	return atomic_load(&listener.ended);
}
