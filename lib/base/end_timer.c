// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that ends work when the user's patience is over. */
#include "base/end_timer.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"

#define LOOK_MS 20
/* A machine may be so busy that this process gets hardly any time. */
#define PATIENCE_NS (5 * NS_PER_SEC)

/* The second number of a schedstat: how long the thread was runnable and not running. */
static uint64_t waited_by(int task_dir, const char *tid)
{
	char path[64], text[96], *second;
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "%.20s/schedstat", tid);
	fd = openat(task_dir, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (got <= 0)
		return 0;
	text[got] = '\0';
	strtoull(text, &second, 10);
	return strtoull(second, NULL, 10);
}

/* The longest time that a thread of this process has waited for a CPU. */
static uint64_t longest_wait(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	uint64_t longest_ns = 0;

	while (tasks && (entry = readdir(tasks))) {
		if (entry->d_name[0] != '.')
			longest_ns = max_u64(longest_ns, waited_by(dirfd(tasks), entry->d_name));
	}
	if (tasks)
		closedir(tasks);
	return longest_ns;
}

static void begin(struct end_timer *timer)
{
	timer->is_asked = true;
	timer->begun_ns = clock_monotonic_ns();
	timer->waited_ns = longest_wait();
}

static bool is_over(const struct end_timer *timer)
{
	uint64_t passed_ns = clock_monotonic_ns() - timer->begun_ns;
	uint64_t waited_ns = max_u64(longest_wait(), timer->waited_ns) - timer->waited_ns;

	return passed_ns >= PATIENCE_NS || passed_ns >= timer->time_ns + waited_ns;
}

static void *watch(void *argument)
{
	struct end_timer *timer = argument;
	struct pollfd fds[] = {
		{.fd = timer->asked_fd, .events = POLLIN},
		{.fd = timer->done_fd, .events = POLLIN},
	};
	eventfd_t nr;

	for (;;) {
		bool is_running = timer->is_asked && !atomic_load(&timer->hurried);

		if (poll(fds, ARRAY_SIZE(fds), is_running ? LOOK_MS : -1) < 0 || fds[1].revents)
			return NULL;
		if (is_running && is_over(timer))
			atomic_store(&timer->hurried, true);
		if (!fds[0].revents || eventfd_read(timer->asked_fd, &nr) < 0)
			continue;
		if (timer->is_asked || nr > 1) {
			atomic_store(&timer->ended, true);
			atomic_store(&timer->hurried, true);
		} else {
			begin(timer);
		}
	}
}

void end_timer_start(struct end_timer *timer, int asked_fd, bool is_asked, uint64_t time_ns)
{
	struct pollfd before = {.fd = asked_fd, .events = POLLIN};
	eventfd_t nr;

	*timer = (struct end_timer){.asked_fd = asked_fd, .done_fd = -1, .time_ns = time_ns};
	if (poll(&before, 1, 0) == 1)
		eventfd_read(asked_fd, &nr);
	if (is_asked)
		begin(timer);
	timer->done_fd = eventfd(0, EFD_CLOEXEC);
	timer->has_thread =
		timer->done_fd >= 0 && pthread_create(&timer->thread, NULL, watch, timer) == 0;
	if (!timer->has_thread)
		atomic_store(&timer->hurried, is_asked);
}

void end_timer_stop(struct end_timer *timer)
{
	if (timer->has_thread) {
		eventfd_write(timer->done_fd, 1);
		pthread_join(timer->thread, NULL);
	}
	if (timer->done_fd >= 0)
		close(timer->done_fd);
}
