// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/idle.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"

/* Idle CPUs, in hundredths; two thresholds, so that the answer does not swing. */
#define IDLE_ENTER 60
#define IDLE_LEAVE 40
/* The shortest significant interval, in hundredths of a second. */
#define IDLE_INTERVAL_CS 8

/* The kernel sums up all interrupts for it, which with very many CPUs may take milliseconds. */
#define DEAR_READ_NS (200 * NS_PER_US)
#define TIMES_READ   3 /* the host may have taken the CPU meanwhile */

static bool is_dear(int fd)
{
	uint64_t ticks, least_ns = UINT64_MAX;

	for (int i = 0; i < TIMES_READ; i++) {
		uint64_t began_ns = clock_monotonic_ns();

		if (!proc_read_iowait(fd, &ticks))
			return true;
		least_ns = min_u64(least_ns, clock_monotonic_ns() - began_ns);
	}
	return least_ns > DEAR_READ_NS;
}

static int open_stat(void)
{
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !is_dear(fd))
		return fd;
	close(fd);
	return -1;
}

/* A line of /proc/stat has ten numbers. */
#define STAT_LINE_BYTES 256

/* taskset(1), or the CPUs of a container: others that are idle are of no use to us. */
static void bind_to_own_cpus(struct idle_meter *meter)
{
	size_t nr_cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);

	if (meter->stat_fd < 0 || sched_getaffinity(0, sizeof(meter->cpus), &meter->cpus) < 0 ||
	    CPU_COUNT(&meter->cpus) >= sysconf(_SC_NPROCESSORS_ONLN))
		return;
	meter->text_bytes = (nr_cpus + 1) * STAT_LINE_BYTES;
	meter->text = xmalloc(meter->text_bytes);
}

static bool read_own_idle(const struct idle_meter *meter, struct proc_uptime *now)
{
	ssize_t got = pread(meter->stat_fd, meter->text, meter->text_bytes, 0);
	uint64_t idle_ticks;

	if (got <= 0 ||
	    !proc_idle_of_cpus_parse(meter->text, (size_t)got, &meter->cpus, &idle_ticks))
		return false;
	now->idle_cs = idle_ticks * 100 / meter->ticks_per_sec;
	return true;
}

/* A CPU is also idle while a thread waits for a disk. */
static bool read_idle(const struct idle_meter *meter, struct proc_uptime *now)
{
	uint64_t iowait_ticks;

	if (meter->fd < 0 || !proc_read_uptime(meter->fd, now))
		return false;
	if (meter->text)
		return read_own_idle(meter, now);
	if (meter->stat_fd >= 0 && proc_read_iowait(meter->stat_fd, &iowait_ticks))
		now->idle_cs += iowait_ticks * 100 / meter->ticks_per_sec;
	return true;
}

void idle_meter_open(struct idle_meter *meter)
{
	*meter = (struct idle_meter){.fd = open("/proc/uptime", O_RDONLY | O_CLOEXEC),
				     .stat_fd = open_stat(),
				     .ticks_per_sec = (uint64_t)sysconf(_SC_CLK_TCK)};
	bind_to_own_cpus(meter);
	read_idle(meter, &meter->last);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void idle_meter_close(struct idle_meter *meter)
{
	close_fd(&meter->fd);
	close_fd(&meter->stat_fd);
	free(meter->text);
	meter->text = NULL;
}

void idle_meter_judge(struct idle_meter *meter, const struct proc_uptime *now)
{
	uint64_t interval_cs = now->uptime_cs - meter->last.uptime_cs;
	uint64_t idle_cs =
		now->idle_cs > meter->last.idle_cs ? now->idle_cs - meter->last.idle_cs : 0;

	if (now->uptime_cs < meter->last.uptime_cs + IDLE_INTERVAL_CS)
		return;
	meter->some_idle =
		idle_cs * 100 >= interval_cs * (meter->some_idle ? IDLE_LEAVE : IDLE_ENTER);
	meter->idle_percent = (unsigned int)(idle_cs * 100 / interval_cs);
	meter->last = *now;
}

unsigned int idle_meter_lost_percent(const struct idle_meter *meter)
{
	return meter->some_idle || meter->idle_percent >= 100 ? 0 : 100 - meter->idle_percent;
}

void idle_meter_update(struct idle_meter *meter)
{
	struct proc_uptime now;

	if (read_idle(meter, &now))
		idle_meter_judge(meter, &now);
}
