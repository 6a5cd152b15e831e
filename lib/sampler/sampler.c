// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "profile/profile.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"
#include "target/target.h"

bool sampler_has_room(struct sampler *sampler, size_t nr_bytes)
{
	if (collector_has_room(sampler->collector, nr_bytes))
		return true;
	sampler->counts.nr_dropped_stacks++;
	return false;
}

bool sampler_is_behind(const struct sampler *sampler)
{
	return collector_is_behind(sampler->collector);
}

bool sampler_has_room_for_maps(const struct sampler *sampler)
{
	return collector_queue_bytes(sampler->collector) < COLLECTOR_QUEUE_MAX_BYTES / 8;
}

void sampler_tell(struct sampler *sampler, struct message *message)
{
	collector_publish(sampler->collector, message);
}

static struct sampler *new_sampler(const struct sampler_options *options, struct profile *profile,
				   struct store_writer *writer)
{
	struct sampler *sampler = xcalloc(1, sizeof(*sampler));
	struct target_options target_options = {.follow_children = options->follow_children,
						.command_stops = control_command_stops,
						.context = sampler};
	uint64_t period_ns = NS_PER_SEC / options->frequency_hz;

	sampler->options = *options;
	sampler->profile = profile;
	sampler->writer = writer;
	sampler->start_ns = clock_monotonic_ns();
	profile->meta.start_realtime_ns = clock_realtime_ns();
	sampler->target = target_new(&target_options);
	sampler->done_fd = eventfd(0, EFD_CLOEXEC);
	sampler->command_end_fd = options->argv ? eventfd(0, EFD_CLOEXEC) : -1;
	sampler->command_stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	idle_meter_open(&sampler->idle);
	governor_init(&sampler->governor, period_ns, options->max_overhead_ppm);
	sem_init(&sampler->started, 0, 0);
	atomic_init(&sampler->paused, options->paused);
	return sampler;
}

static void free_sampler(struct sampler *sampler)
{
	collector_free(sampler->collector);
	target_free(sampler->target);
	if (sampler->spare)
		snapshot_release(sampler->spare);
	free(sampler->spare);
	free(sampler->threads);
	free(sampler->revisits);
	free(sampler->chased);
	free(sampler->unseen);
	naps_release(&sampler->naps);
	free(sampler->awaited);
	free(sampler->processes);
	sem_destroy(&sampler->started);
	if (sampler->done_fd >= 0)
		close(sampler->done_fd);
	if (sampler->command_end_fd >= 0)
		close(sampler->command_end_fd);
	if (sampler->command_stop_fd >= 0)
		close(sampler->command_stop_fd);
	idle_meter_close(&sampler->idle);
	free(sampler);
}

static void stop_recording(void *context)
{
	sampler_stop(context);
}

static int start_threads(struct sampler *sampler, struct err *err)
{
	const struct collector_options options = {.profile = sampler->profile,
						  .writer = sampler->writer,
						  .start_ns = sampler->start_ns,
						  .period_ns = sampler->governor.base_period_ns,
						  .unwinder = sampler->options.unwinder,
						  .max_depth = sampler->options.max_depth,
						  .check_unwinder = sampler->options.check_unwinder,
						  .wake = stop_recording,
						  .context = sampler};
	struct collector_result none;

	sampler->collector = collector_start(&options, err);
	if (!sampler->collector)
		return ERR_SYS;
	errno = pthread_create(&sampler->sampling_thread, NULL, sampling_thread_main, sampler);
	if (!errno)
		return 0;
	err_start(err, "cannot start a thread");
	collector_finish(sampler->collector, &none, NULL);
	return ERR_SYS;
}

/*
 * Whoever opens the descriptor for which the kernel's table of them is too small waits for 8-15 ms,
 * until all CPUs have passed through the scheduler, where threads share it; and so do all that are
 * stopped: seven times while 4000 threads are born.
 */
#define MOST_DESCRIPTORS 32768

void sampler_reserve_descriptors(void)
{
	struct rlimit limit = {.rlim_cur = 0};
	int last = MOST_DESCRIPTORS - 1;
	int fd;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur <= MOST_DESCRIPTORS)
		last = (int)limit.rlim_cur - 1;
	fd = last >= 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, last) : -1;
	if (fd >= 0)
		close(fd);
}

struct sampler *sampler_start(const struct sampler_options *options, struct profile *profile,
			      struct store_writer *writer, struct err *err)
{
	struct sampler *sampler = new_sampler(options, profile, writer);

	if (start_threads(sampler, err) < 0) {
		free_sampler(sampler);
		return NULL;
	}
	while (sem_wait(&sampler->started) < 0 && errno == EINTR)
		continue;
	if (sampler->start_status < 0) {
		struct collector_result none;

		pthread_join(sampler->sampling_thread, NULL);
		collector_finish(sampler->collector, &none, NULL);
		if (err)
			*err = sampler->start_err;
		free_sampler(sampler);
		return NULL;
	}
	return sampler;
}

int sampler_done_fd(const struct sampler *sampler)
{
	return sampler->done_fd;
}

int sampler_command_end_fd(const struct sampler *sampler)
{
	return sampler->command_end_fd;
}

pid_t sampler_command_pid(const struct sampler *sampler)
{
	return sampler->result.command_pid; /* written before sampler_start() returned */
}

struct sampler_progress sampler_progress(const struct sampler *sampler)
{
	struct collector_progress progress = collector_progress(sampler->collector);

	return (struct sampler_progress){
		.nr_samples = progress.nr_samples +
			      atomic_load_explicit(&sampler->nr_resting, memory_order_relaxed),
		.nr_threads = progress.nr_threads,
		.nr_asleep = progress.nr_blocked,
		.elapsed_ns = clock_monotonic_ns() - sampler->start_ns,
	};
}

static uint64_t unasked_cost_ns(const struct sampler *sampler)
{
	struct target_stats stats = target_stats(sampler->target);

	return stats.unasked_ns + stats.nr_unasked * GOVERNOR_WAKE_UP_NS;
}

static uint64_t part_ppm(uint64_t cost_ns, uint64_t cpu_ns)
{
	return cpu_ns ? (uint64_t)(1e6 * (double)cost_ns / (double)cpu_ns) : 0;
}

/* Two of them are parts of the CPU time of all threads. */
static void set_counters(struct sampler *sampler, uint64_t cpu_ns)
{
	struct message_counter rows[COUNTERS_MAX];
	size_t nr = counters_read(sampler, rows);
	uint64_t unasked_ns = unasked_cost_ns(sampler);

	for (size_t i = 0; i < nr; i++)
		profile_set_counter(sampler->profile, rows[i].name, rows[i].value);
	profile_set_counter(sampler->profile, "cost_ppm",
			    part_ppm(sampler->counts.cost_ns + unasked_ns, cpu_ns));
	profile_set_counter(sampler->profile, "unasked_cost_ppm", part_ppm(unasked_ns, cpu_ns));
}

void sampler_finish(struct sampler *sampler, struct sampler_result *result, struct err *failure)
{
	struct collector_result collected;

	sampler_stop(sampler);
	pthread_join(sampler->sampling_thread, NULL);
	collector_finish(sampler->collector, &collected, failure);
	sampler->profile->meta.duration_ns = sampler->ended_ns - sampler->start_ns;
	set_counters(sampler, collected.cpu_ns);
	*result = sampler->result;
	result->nr_samples = collected.nr_samples;
	result->cpu_ns = collected.cpu_ns;
	result->unwinder = sampler->options.unwinder;
	result->unwinder_check = collected.unwinder_check;
	if (collected.state == COLLECTOR_WRITE_FAILED)
		result->end = SAMPLER_END_WRITE_FAILED;
	free_sampler(sampler);
}
