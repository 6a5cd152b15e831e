// SPDX-License-Identifier: GPL-2.0-or-later
/* Shows how far work has come that takes long. */
#include "cmd/long_task.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cmd/command.h"
#include "view/progress_text.h"

#define FIRST_MS 1000
#define NEXT_MS	 200

/* The last moments without anything. */
struct moments {
	uint64_t began_ns, counted_ns, written_ns;
};

static void show(const struct long_task *task, struct moments *moments)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct progress_state state = {.done = atomic_load(&task->progress.done),
				       .total = atomic_load(&task->progress.total),
				       .bytes = atomic_load(&task->progress.bytes),
				       .elapsed_ns = now_ns - moments->began_ns};
	struct buf text = {0};

	if (!state.done)
		moments->counted_ns = now_ns;
	if (!state.bytes)
		moments->written_ns = now_ns;
	state.counted_ns = now_ns - moments->counted_ns;
	state.written_ns = now_ns - moments->written_ns;
	append_progress(&text, &state);
	if (may_show_progress())
		print_progress("profc: %s%s", task->what, buf_str(&text));
	buf_release(&text);
}

static void *watch(void *argument)
{
	struct long_task *task = argument;
	struct pollfd fd = {.fd = task->done_fd, .events = POLLIN};
	uint64_t now_ns = clock_monotonic_ns();
	struct moments moments = {now_ns, now_ns, now_ns};
	int wait_ms = FIRST_MS;

	while (poll(&fd, 1, wait_ms) == 0) {
		show(task, &moments);
		wait_ms = NEXT_MS;
	}
	if (wait_ms == NEXT_MS && may_show_progress())
		print_progress("%s", "");
	return NULL;
}

void long_task_begin(struct long_task *task, const char *what, bool shown)
{
	sigset_t all, former;

	*task = (struct long_task){.what = what, .done_fd = -1};
	if (!shown || !may_show_progress())
		return;
	task->done_fd = eventfd(0, EFD_CLOEXEC);
	if (task->done_fd < 0)
		return;
	/* Signals are for the thread that works. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &former);
	task->is_shown = pthread_create(&task->thread, NULL, watch, task) == 0;
	pthread_sigmask(SIG_SETMASK, &former, NULL);
}

void long_task_end(struct long_task *task)
{
	if (task->is_shown) {
		eventfd_write(task->done_fd, 1);
		pthread_join(task->thread, NULL);
	}
	if (task->done_fd >= 0)
		close(task->done_fd);
}
