// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "profile/profile.h"
#include "sampler/sampler_priv.h"
#include "sampler/worker.h"
#include "snapshot/snapshot.h"
#include "store/store.h"
#include "target/target.h"

/* What may lie between the two threads: beyond it stacks are dropped. */
#define QUEUE_MAX_BYTES ((size_t)32 * 1024 * 1024)

/*
 * The sampling thread hardly ever wakes the worker, which costs it: the worker looks by itself.
 * Processes that have just begun may be over soon, and what is read of them has to be read
 * before; large copies wait for memory. Where nothing begins any more there is no hurry: each
 * waking of an idle CPU costs it some 50 us.
 */
struct pace {
	size_t queue_bytes; /* at least so much was there */
	uint64_t after_ns;  /* or for so long after something began: */
	uint64_t pause_ns;
};
static const struct pace paces[] = {
	{(size_t)4 * 1024 * 1024, 100 * NS_PER_MS, 5 * NS_PER_MS},
	{(size_t)512 * 1024, NS_PER_SEC, 20 * NS_PER_MS},
	{(size_t)256 * 1024, 4 * NS_PER_SEC, 100 * NS_PER_MS},
	{0, UINT64_MAX, 250 * NS_PER_MS},
};
/* Where libraries change places, a stack is worth nothing once its map has changed. */
#define RESTLESS_PAUSE_NS NS_PER_MS
/* Killed by then, a recording has what came before: less of its beginning is much of it. */
#define FIRST_FLUSH_NS (10 * NS_PER_MS)
#define FLUSH_NS       NS_PER_SEC

bool sampler_has_room(struct sampler *sampler, size_t nr_bytes)
{
	size_t used = atomic_load_explicit(&sampler->queue.nr_bytes, memory_order_relaxed);

	if (used + nr_bytes <= QUEUE_MAX_BYTES)
		return true;
	sampler->counts.nr_dropped_stacks++;
	return false;
}

bool sampler_is_behind(const struct sampler *sampler)
{
	return atomic_load_explicit(&sampler->queue.nr_bytes, memory_order_relaxed) >
	       QUEUE_MAX_BYTES / 2;
}

bool sampler_has_room_for_maps(const struct sampler *sampler)
{
	return atomic_load_explicit(&sampler->queue.nr_bytes, memory_order_relaxed) <
	       QUEUE_MAX_BYTES / 8;
}

struct working {
	struct sampler *sampler;
	pthread_t thread;
	_Atomic bool no_more; /* nothing will be put into the queue any more */
	int wake_fd;	      /* eventfd: there is something that cannot wait */
	struct err failure;
	uint64_t cpu_ns;
	uint64_t began_ns;  /* when a process or thread was last heard to begin */
	size_t queue_bytes; /* found in the queue */
};

void sampler_wake_worker(struct sampler *sampler)
{
	uint64_t one = 1;

	/* Should it ever fail: the worker wakes by itself. */
	if (write(sampler->working->wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* A burst, which fills the queue while the worker rests for long: it is called once. */
#define BURST_BYTES  ((size_t)1024 * 1024)
#define LONG_REST_NS (20 * NS_PER_MS)

static bool rests_for_long(const struct sampler *sampler, uint64_t now_ns)
{
	return atomic_load_explicit(&sampler->worker_due_ns, memory_order_relaxed) >
	       now_ns + LONG_REST_NS;
}

/* Not who should have come by now: it is at work, and may rest before it has taken this look. */
static bool comes_soon(const struct sampler *sampler, uint64_t now_ns)
{
	uint64_t due_ns = atomic_load_explicit(&sampler->worker_due_ns, memory_order_relaxed);

	return due_ns > now_ns && due_ns <= now_ns + LONG_REST_NS;
}

/* A program that loads libraries all the time is no reason to. */
#define CODE_CALL_PAUSE_NS (100 * NS_PER_MS)

bool sampler_call_for_code(struct sampler *sampler, uint64_t now_ns)
{
	if (comes_soon(sampler, now_ns))
		return true;
	if (now_ns < sampler->code_call_again_ns)
		return false;
	sampler->code_call_again_ns = now_ns + CODE_CALL_PAUSE_NS;
	sampler->calls_for_code = true;
	return true;
}

static void call_for_code(struct sampler *sampler)
{
	sampler->calls_for_code = false;
	/* Should it not come, for want of a CPU, it is late from now on. */
	atomic_store_explicit(&sampler->worker_due_ns, clock_monotonic_ns(), memory_order_relaxed);
	sampler_wake_worker(sampler);
}

static void call_worker(struct sampler *sampler, bool has_look)
{
	size_t used = atomic_load_explicit(&sampler->queue.nr_bytes, memory_order_relaxed);

	if (sampler->calls_for_code && has_look)
		call_for_code(sampler);
	if (used < BURST_BYTES / 2)
		sampler->has_called_worker = false;
	if (used < BURST_BYTES || sampler->has_called_worker)
		return;
	sampler->has_called_worker = true;
	if (rests_for_long(sampler, clock_monotonic_ns()))
		sampler_wake_worker(sampler);
}

void sampler_tell(struct sampler *sampler, struct message *message)
{
	bool is_look = message->kind == MESSAGE_SIGHTING; /* soon it is the queue's */

	message_queue_put(&sampler->queue, message);
	call_worker(sampler, is_look);
}

static bool is_beginning(const struct message *message)
{
	return message->kind == MESSAGE_PROCESS || message->kind == MESSAGE_THREAD;
}

static void write_out(struct working *working)
{
	struct sampler *sampler = working->sampler;

	if (atomic_load_explicit(&sampler->write_failed, memory_order_relaxed)) {
		sampler->profile->nr_samples = 0;
		return;
	}
	if (worker_flush(sampler->worker, &working->failure) < 0) {
		atomic_store_explicit(&sampler->write_failed, true, memory_order_relaxed);
		sampler_stop(sampler);
	}
}

/* All that the worker has; of what the user said, what was said until then. */
static void flush(struct working *working, uint64_t until_ns)
{
	struct sampler *sampler = working->sampler;
	struct sampler_cut *cut;

	do {
		cut = control_take_words(sampler, until_ns);
		write_out(working);
		if (cut)
			control_cut_made(cut, sampler->write_failed
						      ? 0
						      : store_writer_nr_bytes(sampler->writer));
	} while (cut);
}

static bool has_cut_before(const struct sampler *sampler, uint64_t time_ns)
{
	return atomic_load_explicit(&sampler->cut_due_ns, memory_order_relaxed) < time_ns;
}

static void tell_progress(struct sampler *sampler)
{
	const struct worker_progress *progress = worker_progress(sampler->worker);

	atomic_store_explicit(&sampler->nr_sightings, progress->nr_sightings, memory_order_relaxed);
	atomic_store_explicit(&sampler->nr_threads_there, progress->nr_threads,
			      memory_order_relaxed);
	atomic_store_explicit(&sampler->nr_asleep, progress->nr_asleep, memory_order_relaxed);
}

static void drain(struct working *working)
{
	struct sampler *sampler = working->sampler;
	struct message *message;

	working->queue_bytes = atomic_load_explicit(&sampler->queue.nr_bytes, memory_order_relaxed);
	while ((message = message_queue_take(&sampler->queue))) {
		if (is_beginning(message))
			working->began_ns = clock_monotonic_ns();
		if (has_cut_before(sampler, message->time_ns))
			flush(working, message->time_ns);
		worker_handle(sampler->worker, message);
	}
	worker_watch_maps(sampler->worker);
	tell_progress(sampler);
}

static void pause_working(const struct working *working, uint64_t now_ns)
{
	struct pollfd wake = {.fd = working->wake_fd, .events = POLLIN};
	const struct pace *pace = paces;
	struct timespec pause = {0};
	uint64_t count;

	while (working->queue_bytes < pace->queue_bytes &&
	       now_ns - working->began_ns > pace->after_ns)
		pace++;
	pause.tv_nsec = (long)pace->pause_ns;
	if (now_ns < worker_restless_until_ns(working->sampler->worker))
		pause.tv_nsec = (long)RESTLESS_PAUSE_NS;
	atomic_store_explicit(&working->sampler->worker_due_ns, now_ns + (uint64_t)pause.tv_nsec,
			      memory_order_relaxed);
	if (ppoll(&wake, 1, &pause, NULL) == 1 && read(wake.fd, &count, sizeof(count)) < 0)
		return;
}

static void *working_main(void *argument)
{
	struct working *working = argument;
	uint64_t flushed_ns = clock_monotonic_ns();
	uint64_t pause_ns = FIRST_FLUSH_NS;

	for (;;) {
		/* Asked before draining: what was put before the end is then all taken. */
		bool last = atomic_load_explicit(&working->no_more, memory_order_acquire);
		uint64_t drained_ns = clock_monotonic_ns();
		uint64_t now_ns;

		drain(working);
		if (last)
			break;
		now_ns = clock_monotonic_ns();
		if (now_ns - flushed_ns >= pause_ns ||
		    has_cut_before(working->sampler, drained_ns)) {
			flush(working, drained_ns);
			flushed_ns = now_ns;
			pause_ns = min_u64(2 * pause_ns, FLUSH_NS);
		}
		pause_working(working, now_ns);
	}
	if (has_cut_before(working->sampler, NO_CUT_NS))
		flush(working, NO_CUT_NS);
	worker_end(working->sampler->worker);
	flush(working, NO_CUT_NS);
	working->cpu_ns = clock_thread_cpu_ns();
	return NULL;
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
	atomic_init(&sampler->worker_due_ns, sampler->start_ns);
	profile->meta.start_realtime_ns = clock_realtime_ns();
	sampler->target = target_new(&target_options);
	sampler->done_fd = eventfd(0, EFD_CLOEXEC);
	sampler->command_end_fd = options->argv ? eventfd(0, EFD_CLOEXEC) : -1;
	sampler->command_stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	idle_meter_open(&sampler->idle);
	governor_init(&sampler->governor, period_ns, options->max_overhead_ppm);
	message_queue_init(&sampler->queue);
	sem_init(&sampler->started, 0, 0);
	control_init(sampler);
	atomic_init(&sampler->paused, options->paused);
	return sampler;
}

static void free_sampler(struct sampler *sampler)
{
	worker_free(sampler->worker);
	message_queue_release(&sampler->queue);
	snapshot_ring_release(&sampler->used_snapshots);
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
	control_release(sampler);
	if (sampler->done_fd >= 0)
		close(sampler->done_fd);
	if (sampler->command_end_fd >= 0)
		close(sampler->command_end_fd);
	if (sampler->command_stop_fd >= 0)
		close(sampler->command_stop_fd);
	idle_meter_close(&sampler->idle);
	if (sampler->working && sampler->working->wake_fd >= 0)
		close(sampler->working->wake_fd);
	free(sampler->working);
	free(sampler);
}

static int start_threads(struct sampler *sampler, struct err *err)
{
	struct working *working = xcalloc(1, sizeof(*working));

	sampler->working = working;
	working->sampler = sampler;
	working->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (working->wake_fd < 0)
		return err_sys(err, "cannot make an eventfd");
	working->began_ns = clock_monotonic_ns();
	errno = pthread_create(&working->thread, NULL, working_main, working);
	if (errno)
		return err_start(err, "cannot start a thread");
	errno = pthread_create(&sampler->sampling_thread, NULL, sampling_thread_main, sampler);
	if (!errno)
		return 0;
	err_start(err, "cannot start a thread");
	atomic_store_explicit(&working->no_more, true, memory_order_release);
	sampler_wake_worker(sampler);
	pthread_join(working->thread, NULL);
	return ERR_SYS;
}

static void join_threads(struct sampler *sampler)
{
	struct working *working = sampler->working;

	pthread_join(sampler->sampling_thread, NULL);
	atomic_store_explicit(&working->no_more, true, memory_order_release);
	sampler_wake_worker(sampler);
	pthread_join(working->thread, NULL);
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
	struct worker_options worker_options = {.profile = profile,
						.writer = writer,
						.start_ns = sampler->start_ns,
						.period_ns = sampler->governor.base_period_ns,
						.unwinder = options->unwinder,
						.max_depth = options->max_depth,
						.check_unwinder = options->check_unwinder,
						.used_snapshots = &sampler->used_snapshots};

	sampler->worker = worker_new(&worker_options);
	if (start_threads(sampler, err) < 0) {
		free_sampler(sampler);
		return NULL;
	}
	while (sem_wait(&sampler->started) < 0 && errno == EINTR)
		continue;
	if (sampler->start_status < 0) {
		join_threads(sampler);
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
	return (struct sampler_progress){
		.nr_samples = atomic_load_explicit(&sampler->nr_sightings, memory_order_relaxed) +
			      atomic_load_explicit(&sampler->nr_resting, memory_order_relaxed),
		.nr_threads =
			atomic_load_explicit(&sampler->nr_threads_there, memory_order_relaxed),
		.nr_asleep = atomic_load_explicit(&sampler->nr_asleep, memory_order_relaxed),
		.elapsed_ns = clock_monotonic_ns() - sampler->start_ns,
	};
}

static uint64_t unasked_cost_ns(const struct sampler *sampler)
{
	struct target_stats stats = target_stats(sampler->target);

	return stats.unasked_ns + stats.nr_unasked * GOVERNOR_WAKE_UP_NS;
}

/* Of the CPU time of all threads. */
static uint64_t part_ppm(const struct sampler *sampler, uint64_t cost_ns)
{
	uint64_t cpu_ns = worker_cpu_ns(sampler->worker);

	return cpu_ns ? (uint64_t)(1e6 * (double)cost_ns / (double)cpu_ns) : 0;
}

static void set_counters(struct sampler *sampler)
{
	struct message_counter rows[COUNTERS_MAX];
	size_t nr = counters_read(sampler, rows);

	for (size_t i = 0; i < nr; i++)
		profile_set_counter(sampler->profile, rows[i].name, rows[i].value);
	profile_set_counter(sampler->profile, "cost_ppm",
			    part_ppm(sampler, sampler->counts.cost_ns + unasked_cost_ns(sampler)));
	profile_set_counter(sampler->profile, "unasked_cost_ppm",
			    part_ppm(sampler, unasked_cost_ns(sampler)));
	profile_set_counter(sampler->profile, "working_cpu_ns", sampler->working->cpu_ns);
	worker_set_counters(sampler->worker);
}

void sampler_finish(struct sampler *sampler, struct sampler_result *result, struct err *failure)
{
	sampler_stop(sampler);
	join_threads(sampler);
	sampler->profile->meta.duration_ns = sampler->ended_ns - sampler->start_ns;
	set_counters(sampler);
	*result = sampler->result;
	result->nr_samples = worker_nr_samples(sampler->worker);
	result->cpu_ns = worker_cpu_ns(sampler->worker);
	result->unwinder = sampler->options.unwinder;
	result->unwinder_check = *worker_unwinder_check(sampler->worker);
	if (failure && sampler->write_failed) {
		*failure = sampler->working->failure;
		result->end = SAMPLER_END_WRITE_FAILED;
	}
	free_sampler(sampler);
}
