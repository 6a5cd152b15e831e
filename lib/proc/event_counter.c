// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters of threads by perf_event_open(2). */
#include "proc/event_counter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/scan.h"

static int open_in_kernel(void *context, const struct perf_event_attr *attr, pid_t tid)
{
	(void)context;
	return (int)syscall(SYS_perf_event_open, attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

const struct event_opener event_opener_of_kernel = {open_in_kernel, NULL};

/* kernel.perf_event_paranoid; -2: not known. */
static int64_t paranoid_level(void)
{
	cleanup_close int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
	char text[24];
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));
	struct scan scan = {text, text + (got > 0 ? got : 0)};
	int64_t level;

	return scan_signed(&scan, &level) ? level : -2;
}

/* The highest level at which a user without capabilities may count it. */
static int64_t allowed_level(const struct event *event)
{
	return event->is_of_kernel ? 1 : 2;
}

static int refused(const struct event *event, struct err *err)
{
	int64_t level = paranoid_level();

	if (level <= allowed_level(event)) {
		err_set(err, ERR_PERMISSION, "perf_event_open(2) is not permitted");
		err_hint(err, "in a container: docker run --cap-add=PERFMON, or another seccomp "
			      "profile");
		return ERR_PERMISSION;
	}
	err_set(err, ERR_PERMISSION,
		"perf_event_open(2) is not permitted: kernel.perf_event_paranoid is %lld",
		(long long)level);
	err_hint(err,
		 "run as root, with CAP_PERFMON, or after: sysctl "
		 "kernel.perf_event_paranoid=%lld",
		 (long long)allowed_level(event));
	return ERR_PERMISSION;
}

static int say_why_not(const struct event *event, struct err *err)
{
	switch (errno) {
	case EACCES:
	case EPERM:
		return refused(event, err);
	case ENOSYS:
		return err_set(err, ERR_UNSUPPORTED, "this kernel has no perf_event_open(2)");
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return err_set(err, ERR_UNSUPPORTED, "this machine has no such counter");
	case ESRCH:
		return err_set(err, ERR_GONE, "the thread has ended");
	default:
		return err_sys(err, "perf_event_open(2)");
	}
}

int event_counter_open(struct event_counter *counter, const struct event_opener *opener,
		       const struct event *event, pid_t tid, enum event_start start,
		       struct err *err)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = !event->is_of_kernel,
		.exclude_hv = !event->is_of_kernel,
		.disabled = start == EVENT_FROM_EXEC,
		.enable_on_exec = start == EVENT_FROM_EXEC,
	};
	int fd = opener->open(opener->context, &attr, tid);

	if (fd < 0) {
		int number = errno;
		int status = say_why_not(event, err);

		if (err)
			err->sys_errno = number;
		return status;
	}
	*counter = (struct event_counter){.fd = fd};
	return 0;
}

bool event_counter_read(struct event_counter *counter)
{
	struct {
		uint64_t value, enabled_ns, running_ns; /* as read_format says */
	} now;
	uint64_t amount, enabled_ns, running_ns;

	if (counter->fd < 0 || read(counter->fd, &now, sizeof(now)) != sizeof(now))
		return false;
	counter->enabled_ns = now.enabled_ns;
	counter->running_ns = now.running_ns;
	amount = now.value - counter->seen.value;
	enabled_ns = now.enabled_ns - counter->seen.enabled_ns;
	running_ns = now.running_ns - counter->seen.running_ns;
	/* Not counted since: what is counted next stands for this time, too. */
	if (!running_ns && enabled_ns)
		return true;
	if (running_ns < enabled_ns)
		amount = (uint64_t)((double)amount * (double)enabled_ns / (double)running_ns);
	counter->sum += amount;
	counter->seen.value = now.value;
	counter->seen.enabled_ns = now.enabled_ns;
	counter->seen.running_ns = now.running_ns;
	return true;
}

void event_counter_close(struct event_counter *counter)
{
	if (counter->fd >= 0)
		close(counter->fd);
	counter->fd = -1;
}
