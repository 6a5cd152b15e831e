// SPDX-License-Identifier: GPL-2.0-or-later
/* Begin and end of a recording, and requests of other threads. */
#include "sampler/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "collector/wanted_hints.h"
#include "probe/prober.h"
#include "proc/event_counter.h"
#include "profile/profile.h"
#include "sampler/heap_reader_priv.h"
#include "sampler/others_priv.h"
#include "sampler/sampler_priv.h"
#include "sampler/visitor_pool_priv.h"
#include "sampler/visitor_priv.h"
#include "store/store.h"
#include "tracee/call_filters.h"
#include "tracee/launch.h"
#include "tracee/permission.h"

static void wake(const struct sampler *sampler)
{
	sem_post(&sampler->session->requests);
}

static void wake_by_collector(void *context)
{
	wake(context);
}

static struct session *new_session(void)
{
	struct session *session = xcalloc(1, sizeof(*session));

	session->rights.sees_kernel_stacks = tracee_may_see_kernel_stacks();
	session->rights.traces_all = may_trace_all() && !is_confined();
	session->rights.reads_filters = call_filters_are_shown();
	session->events.done_fd = eventfd(0, EFD_CLOEXEC);
	session->events.core_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sem_init(&session->requests, 0, 0);
	sem_init(&session->calls, 0, 0);
	return session;
}

static void init_placement(struct sampler *sampler)
{
	struct tick *tick = &sampler->tick;

	placement_init(&sampler->placement, false, clock_monotonic_ns());
	sampler->session->nr_cpus = (size_t)CPU_COUNT(&sampler->placement.allowed);
	sampler->session->nr_cpus += !sampler->session->nr_cpus; /* sched_getaffinity(2) failed */
	tick->nr_cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	tick->by_cpu = xcalloc(tick->nr_cpus, sizeof(*tick->by_cpu));
	tick->former_by_cpu = xcalloc(tick->nr_cpus, sizeof(*tick->by_cpu));
	idle_meter_open(&sampler->idle);
}

static struct sampler *new_sampler(const struct sampler_options *options, struct profile *profile)
{
	struct sampler *sampler = xcalloc(1, sizeof(*sampler));
	uint64_t period_ns = NS_PER_SEC / options->frequency_hz;
	pthread_mutexattr_t inherits;
	struct roster_listener listener = book_listener(sampler);

	sampler->options = *options;
	sampler->profile = profile;
	sampler->session = new_session();
	atomic_init(&sampler->session->paused, options->paused);
	sampler->session->counting = !options->delay_ns && !options->paused;
	sampler->session->was_cut = !sampler->session->counting;
	sampler->session->heap.is_off = options->memory_off;
	if (!options->no_cpu && !options->no_others)
		sampler->session->others = others_new();
	if (options->prober && prober_has_heap(options->prober))
		sampler->session->heap.reader = heap_reader_new(sampler);
	/* So that an idle visitor with the lock runs at the priority of a leader that waits for it.
	 */
	pthread_mutexattr_init(&inherits);
	pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&sampler->lock, &inherits);
	pthread_mutexattr_destroy(&inherits);
	init_placement(sampler);
	clock_alarms_open(&sampler->clocks.alarms);
	governor_init(&sampler->governor, period_ns, options->max_overhead_ppm,
		      clock_monotonic_ns());
	governor_set_budget(&sampler->governor, options->max_cost_ppm);
	sampler->roster = roster_new(&listener, options->follow_children, options->helper);
	sampler->advances = (struct advance_reader){.wanted = options->counters,
						    .opener = &event_opener_of_kernel};
	return sampler;
}

static void free_sampler(struct sampler *sampler)
{
	struct session *session = sampler->session;

	roster_free(sampler->roster);
	collector_free(sampler->collector);
	advances_end(&sampler->advances);
	due_queue_release(&sampler->active);
	due_queue_release(&sampler->threads);
	due_queue_release(&sampler->clocks.due);
	clock_alarms_close(&sampler->clocks.alarms);
	idle_meter_close(&sampler->idle);
	free(sampler->tick.running);
	free(sampler->tick.by_cpu);
	free(sampler->tick.former_by_cpu);
	free(sampler->tick.places);
	for (size_t i = 0; i < sampler->nr_visitors; i++)
		free(sampler->visitors[i]);
	pthread_mutex_destroy(&sampler->lock);
	heap_reader_free(session->heap.reader);
	others_free(session->others);
	close(session->events.done_fd);
	close(session->events.core_fd);
	sem_destroy(&session->requests);
	sem_destroy(&session->calls);
	free(session);
	free(sampler);
}

/*
 * Threads share the kernel's table of descriptors. Each time a new descriptor needs a larger table,
 * its opening takes 8-15 ms, until all CPUs have passed through the scheduler: seven times while
 * profc finds 4000 threads.
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

/*
 * With few descriptors, files of /proc and of modules are opened one at a time, by several threads
 * and for several modules. With fewer than these, some find none at times, and nothing is sampled.
 */
#define LEAST_DESCRIPTORS 32

static int need_descriptors(struct err *err)
{
	int fds[LEAST_DESCRIPTORS];
	int nr = 0;
	int status = 0;

	while (nr < LEAST_DESCRIPTORS && status == 0) {
		fds[nr] = open("/", O_PATH | O_CLOEXEC);
		if (fds[nr] < 0)
			status = err_sys(err, "cannot open files");
		else
			nr++;
	}
	while (nr)
		close(fds[--nr]);
	return status;
}

static void add_rows(void *context, struct profile *profile)
{
	const struct sampler *sampler = context;

	if (sampler->options.prober)
		probing_add_rows(context, profile);
	if (sampler->session->others)
		others_read(sampler->session->others, profile,
			    atomic_load(&sampler->session->is_over));
}

static int start_collector(struct sampler *sampler, struct store_writer *writer, struct err *err)
{
	const struct sampler_options *options = &sampler->options;
	const struct collector_options collector_options = {
		.profile = sampler->profile,
		.writer = writer,
		.start_ns = sampler->session->start_ns,
		.period_ns = sampler->governor.base_period_ns,
		.unwinder = options->unwinder,
		.max_depth = options->max_depth,
		.within = options->within,
		.has_all_blocks = options->prober && prober_has_all_blocks(options->prober),
		.has_searches = options->prober && prober_reach(options->prober),
		.check_unwinder = options->check_unwinder,
		.ended = options->ended,
		.max_samples = options->max_samples,
		.max_bytes = options->max_bytes,
		.wake = wake_by_collector,
		.context = sampler,
		.add_rows = add_rows,
		.rows_context = sampler,
		.look = options->look.look,
		.look_context = options->look.context,
		.heap_keep = options->look.heap,
		.steps = {.add_step = options->prober ? probing_add_step : NULL,
			  .context = sampler},
		.interpreters = {.set_links = options->prober && prober_has_heap(options->prober)
						      ? probing_set_frame_links
						      : NULL,
				 .context = sampler},
		.blocks = {.read = sampler->session->heap.reader ? heap_read : NULL,
			   .end = options->prober ? probing_end : NULL,
			   .context = sampler},
	};

	sampler->collector = collector_start(&collector_options, err);
	sampler->advances.collector = sampler->collector;
	return sampler->collector ? 0 : ERR_SYS;
}

static void set_time_0(struct sampler *sampler)
{
	sampler->session->start_ns = clock_monotonic_ns();
	sampler->profile->meta.start_realtime_ns = clock_realtime_ns();
}

/* Let the command execute its program. Time begins with that, or, held for probes, once it is
 * ready. */
static int run_command(struct sampler *sampler, struct err *err)
{
	const struct sampler_options *options = &sampler->options;
	int status;

	/* While the command is held: without permission, nothing runs. */
	status = permission_to_trace_child(options->targets.command, "the command", err);
	if (status < 0)
		return status;
	probing_set_counting(sampler);
	advances_await_exec(&sampler->advances, options->targets.command);
	set_time_0(sampler);
	sampler->result.exec_errno = options->run(options->run_context);
	if (sampler->result.exec_errno)
		return err_set(err, ERR_GONE, "the command could not be executed");
	if (options->prober)
		set_time_0(sampler);
	return 0;
}

static int add_root(struct sampler *sampler, pid_t pid, struct err *err)
{
	if (!sampler->options.targets.were_recorded)
		return roster_add_root(sampler->roster, pid, err);
	roster_add_known(sampler->roster, pid);
	return 0;
}

static int add_roots(struct sampler *sampler, struct err *err)
{
	const struct sampler_options *options = &sampler->options;
	int status = 0;

	if (options->targets.joiners)
		roster_admit(sampler->roster, options->targets.joiners);
	if (options->run)
		roster_add_command(sampler->roster, options->targets.command);
	for (size_t i = 0; i < options->targets.nr_pids && !options->run && status == 0; i++)
		status = add_root(sampler, options->targets.pids[i], err);
	if (status == 0)
		roster_join_all(sampler->roster);
	if (status == 0 && !options->run && options->follow_children)
		sampler->session->nr_descendants = roster_add_descendants(sampler->roster);
	return status;
}

static void begin(struct sampler *sampler)
{
	struct session *session = sampler->session;

	session->begun_ns = clock_monotonic_ns();
	spending_begin(&sampler->spending, session->begun_ns);
	sampler->counts.counting_since_ns = session->begun_ns;
	schedule_init(&sampler->schedule, session->begun_ns, sampler->governor.period_ns,
		      session->begun_ns ^ ((uint64_t)getpid() << 32));
}

static int start(struct sampler *sampler, struct store_writer *writer, struct err *err)
{
	int status = need_descriptors(err);

	/* Before the roster begins, which would find the calibration's own process. */
	if (status == 0)
		visitors_calibrate(sampler);
	/* The time of children of ours from before the recording. */
	sampler->session->ended_split = reaped_cpu();
	sampler->session->ended_cpu_ns = proc_cpu_split_sum(&sampler->session->ended_split);
	roster_poll(sampler->roster, 0); /* births from now on are found */
	if (status == 0 && sampler->options.run)
		status = run_command(sampler, err);
	else
		set_time_0(sampler);
	if (status == 0)
		status = start_collector(sampler, writer, err);
	if (status == 0)
		status = add_roots(sampler, err);
	if (status == 0)
		begin(sampler); /* messages from here on are later */
	if (sampler->options.prober)
		prober_let_go(sampler->options.prober);
	if (status < 0)
		return status;
	probing_set_counting(sampler);
	return visitors_start(sampler, err);
}

struct sampler *sampler_start(const struct sampler_options *options, struct profile *profile,
			      struct store_writer *writer, struct err *err)
{
	struct sampler *sampler = new_sampler(options, profile);
	struct collector_result collected;

	if (start(sampler, writer, err) == 0)
		return sampler;
	if (sampler->collector)
		collector_finish(sampler->collector, &collected, NULL);
	free_sampler(sampler);
	return NULL;
}

struct sampler_joined sampler_joined(struct sampler *sampler)
{
	struct roster_joined joined;
	size_t nr;

	pthread_mutex_lock(&sampler->lock);
	joined = roster_joined(sampler->roster);
	nr = roster_nr_processes(sampler->roster);
	pthread_mutex_unlock(&sampler->lock);
	return (struct sampler_joined){nr, joined.nr_gone, joined.nr_refused, joined.refusal};
}

size_t sampler_nr_descendants(const struct sampler *sampler)
{
	return sampler->session->nr_descendants;
}

int sampler_done_fd(const struct sampler *sampler)
{
	return sampler->session->events.done_fd;
}

int sampler_core_fd(const struct sampler *sampler)
{
	return sampler->session->events.core_fd;
}

struct sampler_core sampler_core(const struct sampler *sampler)
{
	struct session *session = sampler->session;
	struct sampler_core core = {0};
	eventfd_t nr;

	if (eventfd_read(session->events.core_fd, &nr) == 0) {
		core.is_over = atomic_load(&session->events.core_is_over);
		core.pid = atomic_load(&session->events.core_pid);
	}
	return core;
}

void sampler_stop(struct sampler *sampler)
{
	atomic_store_explicit(&sampler->session->stop_asked, true, memory_order_relaxed);
	atomic_store(&sampler->session->ends_search, true);
	wake(sampler);
}

bool sampler_is_asked_to_stop(const struct sampler *sampler)
{
	return atomic_load_explicit(&sampler->session->stop_asked, memory_order_relaxed);
}

void sampler_pause(struct sampler *sampler)
{
	atomic_store_explicit(&sampler->session->paused, true, memory_order_relaxed);
	wake(sampler);
}

void sampler_resume(struct sampler *sampler)
{
	atomic_store_explicit(&sampler->session->paused, false, memory_order_relaxed);
	wake(sampler);
}

bool sampler_is_paused(const struct sampler *sampler)
{
	return atomic_load_explicit(&sampler->session->paused, memory_order_relaxed);
}

#define SETTLE_TRIES	100
#define SETTLE_PAUSE_NS (2 * NS_PER_MS)

static bool is_settled(struct sampler *sampler)
{
	bool is_settled;

	pthread_mutex_lock(&sampler->lock);
	is_settled = !sampler->session->counting || sampler->session->is_over;
	for (size_t i = 0; i < sampler->nr_visitors; i++)
		is_settled &= !atomic_load(&sampler->visitors[i]->busy_since_ns);
	pthread_mutex_unlock(&sampler->lock);
	return is_settled;
}

void sampler_settle(struct sampler *sampler)
{
	const struct timespec pause = {.tv_nsec = (long)SETTLE_PAUSE_NS};

	for (int i = 0; i < SETTLE_TRIES && !is_settled(sampler); i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

void sampler_mark(struct sampler *sampler, const char *text)
{
	collector_mark(sampler->collector, text, 0);
}

void sampler_publish_sleeps(struct sampler *sampler)
{
	pthread_mutex_lock(&sampler->lock);
	sampler->tick.sleeps_asked_ns = clock_monotonic_ns();
	sampler->tick.are_sleeps_asked = true;
	schedule_hasten(&sampler->schedule, sampler->tick.sleeps_asked_ns);
	pthread_mutex_unlock(&sampler->lock);
	sem_post(&sampler->session->requests);
}

struct sampler_progress sampler_progress(const struct sampler *sampler)
{
	struct collector_progress progress = collector_progress(sampler->collector);

	return (struct sampler_progress){
		.nr_samples = progress.nr_samples +
			      atomic_load_explicit(&sampler->session->progress.nr_resting,
						   memory_order_relaxed),
		.nr_threads = progress.nr_threads,
		.nr_blocked = progress.nr_blocked,
		.elapsed_ns = clock_monotonic_ns() - sampler->session->start_ns,
		.lacks_budget = atomic_load_explicit(&sampler->session->progress.lacks_budget,
						     memory_order_relaxed),
	};
}

/*
 * The CPU time of the command and its descendants, which the kernel reports as the command ends.
 * False: it still runs, or the recording was not of all of them.
 */
static bool command_cpu(const struct sampler *sampler, struct proc_cpu_split *all)
{
	return sampler->options.run && !sampler->session->was_cut && book_counts_all(sampler) &&
	       sampler->options.follow_children && child_cpu(sampler->options.targets.command, all);
}

/*
 * Note the user and system time of processes without a split of their own, because they were found
 * too late, or used less than a tick of the kernel, its unit.
 */
static void note_rest_split(struct sampler *sampler, const struct proc_cpu_split *all)
{
	struct proc_cpu_split rest = proc_cpu_split_rest(all, &sampler->session->ended_split);

	/* With --within, the recorded time is only a part of the kernel's totals. */
	if (sampler->options.within)
		return;
	profile_set_counter(sampler->profile, "rest_user_ns", rest.user_ns);
	profile_set_counter(sampler->profile, "rest_system_ns", rest.system_ns);
}

/* Publish the CPU time of descendants that were not found: they lived less than a tick. */
static void publish_short_lived(struct sampler *sampler, uint64_t all_ns)
{
	const struct session *session = sampler->session;
	uint64_t now_ns = clock_monotonic_ns();
	struct message *message;

	if (all_ns < session->ended_cpu_ns + NS_PER_MS)
		return;
	sampler->result.short_lived_cpu_ns = all_ns - session->ended_cpu_ns;
	message = message_new(MESSAGE_PROCESS, session->start_ns);
	message->body.process.serial = sampler->next_process++;
	message->body.process.parent = SERIAL_NONE;
	message->body.process.comm = xstrdup(SHORT_LIVED_NAME);
	message->body.process.exe = xstrdup(SHORT_LIVED_NAME);
	message->body.process.nr_unseen = roster_nr_unseen(sampler->roster);
	collector_publish(sampler->collector, message);
	message = message_new(MESSAGE_THREAD, session->start_ns);
	message->body.thread.serial = sampler->next_thread++;
	message->body.thread.process = sampler->next_process - 1;
	message->body.thread.hints = thread_hints_new(NULL);
	message->body.thread.name = xstrdup(SHORT_LIVED_NAME);
	message->body.thread.clocks.time_ns = session->start_ns;
	collector_publish(sampler->collector, message);
	message = message_new(MESSAGE_PROCESS_REST, now_ns);
	message->body.process.serial = sampler->next_process - 1;
	message->body.process.cpu_ns = sampler->result.short_lived_cpu_ns;
	collector_publish(sampler->collector, message);
	message = message_new(MESSAGE_THREAD_END, now_ns);
	message->body.thread.serial = sampler->next_thread - 1;
	message->body.thread.process = sampler->next_process - 1;
	collector_publish(sampler->collector, message);
	message = message_new(MESSAGE_PROCESS_END, now_ns);
	message->body.process.serial = sampler->next_process - 1;
	collector_publish(sampler->collector, message);
}

/* With --within, the stops outside of it cost something as well. */
static uint64_t with_left_out_ns(const struct profile *profile, uint64_t cpu_ns)
{
	return cpu_ns + profile_counter(profile, "within_dropped_cpu_ns") +
	       profile_counter(profile, "within_unknown_cpu_ns");
}

static void set_counters(struct sampler *sampler, uint64_t cpu_ns)
{
	struct message_counter rows[COUNTERS_MAX];
	size_t nr = counters_read(sampler, rows);

	for (size_t i = 0; i < nr; i++)
		profile_set_counter(sampler->profile, rows[i].name, rows[i].value);
	profile_set_counter(
		sampler->profile, "cost_ppm",
		cpu_ns ? (uint64_t)(1e6 * (double)sampler->counts.cost_ns / (double)cpu_ns) : 0);
	if (sampler->result.short_lived_cpu_ns)
		profile_set_counter(sampler->profile, "short_lived_cpu_ns",
				    sampler->result.short_lived_cpu_ns);
}

void sampler_finish(struct sampler *sampler, struct sampler_result *result, struct err *failure)
{
	struct collector_result collected;
	struct profile *profile = sampler->profile;
	struct proc_cpu_split all;
	bool has_all;

	sampler_stop(sampler);
	pool_join(sampler);
	has_all = command_cpu(sampler, &all);
	if (has_all)
		publish_short_lived(sampler, proc_cpu_split_sum(&all));
	collector_finish(sampler->collector, &collected, failure);
	if (has_all)
		note_rest_split(sampler, &all);
	if (collected.state == COLLECTOR_WRITE_FAILED)
		sampler->result.end = SAMPLER_END_WRITE_FAILED;
	sampler->result.nr_samples = collected.nr_samples;
	sampler->result.cpu_ns = collected.cpu_ns;
	sampler->result.unwinder = sampler->options.unwinder;
	sampler->result.unwinder_check = collected.unwinder_check;
	profile->meta.duration_ns = sampler->session->ended_ns - sampler->session->start_ns;
	set_counters(sampler, with_left_out_ns(profile, collected.cpu_ns));
	*result = sampler->result;
	free_sampler(sampler);
}
