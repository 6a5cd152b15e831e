// SPDX-License-Identifier: GPL-2.0-or-later
/* The collector's thread: when it takes from the queue, when it writes, and when it wakes. */
#include "collector/collector.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "collector/consumer.h"
#include "collector/message.h"
#include "collector/queue.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"
#include "store/store.h"

/*
 * To wake the collector costs a producer time, so it hardly ever does: the collector looks by
 * itself. Processes that have just begun may be over soon, and their files must be read before;
 * large copies wait in memory. If nothing has begun for long there is no hurry: each wake-up costs
 * an idle CPU some 50 us.
 */
struct pace {
	size_t queue_bytes; /* if so much was in the queue, */
	uint64_t after_ns;  /* or for so long after something began: */
	uint64_t pause_ns;
};
static const struct pace paces[] = {
	{(size_t)4 * 1024 * 1024, 100 * NS_PER_MS, 5 * NS_PER_MS},
	{(size_t)512 * 1024, NS_PER_SEC, 20 * NS_PER_MS},
	{(size_t)256 * 1024, 4 * NS_PER_SEC, 100 * NS_PER_MS},
	{0, UINT64_MAX, 250 * NS_PER_MS},
};
/*
 * Where samples are rare, and nothing has begun for a minute, half as often: at 5 Hz a fifth of all
 * that a recorder costs was to wake the collector.
 */
#define RARE_SAMPLES_NS	 (10 * NS_PER_MS)
#define CALM_AFTER_NS	 (60 * NS_PER_SEC)
#define CALM_QUEUE_BYTES ((size_t)128 * 1024)
#define CALM_PAUSE_NS	 (500 * NS_PER_MS)
/* Where libraries change places, a stack is worthless once its map has changed. */
#define RESTLESS_PAUSE_NS NS_PER_MS
/* Walk new stacks of blocks soon: until then, programs copy those stacks whole. */
#define BLOCKS_PAUSE_NS	    NS_PER_MS
#define NO_BLOCKS_PAUSE_NS  (5 * NS_PER_MS)
#define BLOCK_WAIT_PAUSE_NS (100 * NS_PER_US)
/* The first writes come soon: a recording that is killed early has lost little then. */
#define FIRST_FLUSH_NS (10 * NS_PER_MS)
#define FLUSH_NS       NS_PER_SEC

/* A moment that the user names, on its way to the collector's thread. */
struct moment {
	struct moment *next;
	uint64_t time_ns;	   /* CLOCK_MONOTONIC */
	char *mark;		   /* owned; or NULL */
	bool is_told;		   /* the consumer knows the mark */
	struct collector_cut *cut; /* borrowed; or NULL */
};

struct moments {
	struct moment *first;	     /* owned; in the order of their times */
	struct moment **end;	     /* where the next one is linked */
	_Atomic uint64_t cut_due_ns; /* the time of the first cut among them, or UINT64_MAX */
	atomic_bool has_news;	     /* the consumer does not know some mark yet */
};

struct collector {
	struct collector_options options;
	pthread_t thread;
	int wake_fd;		/* eventfd: something cannot wait */
	bool calls_with_next;	/* the producer's: the next sample wakes the collector */
	uint64_t call_again_ns; /* likewise: not before this for new code */
	struct err failure;	/* the collector's thread's own, as are these: */
	uint64_t began_ns;	/* when the last message came of a process or thread that began */
	uint64_t restless_until_ns;	/* from consumer_watch_maps() */
	size_t queue_bytes;		/* found in the queue */
	struct collector_result result; /* at its end */
	struct consumer *consumer;
	pthread_mutex_t lock; /* for the next two; never taken by a producer of messages */
	struct moments moments;
	struct collector_progress progress;
	struct queue queue;	   /* producer to collector */
	struct snapshot_ring used; /* collector to producer */
	_Atomic bool is_finishing; /* no message follows */
	_Atomic enum collector_state state;
	_Atomic uint64_t due_ns;
	uint64_t cuts_cpu_ns; /* the thread's own */
	_Atomic uint64_t cpu_ns;
};

static void wake(struct collector *collector)
{
	uint64_t one = 1;

	/* If this ever fails, the collector wakes by itself. */
	if (write(collector->wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* --- the producer's side --- */

bool collector_has_room(const struct collector *collector, size_t nr_bytes)
{
	return queue_bytes(&collector->queue) + nr_bytes <= COLLECTOR_QUEUE_MAX_BYTES;
}

bool collector_is_behind(const struct collector *collector)
{
	return queue_bytes(&collector->queue) > COLLECTOR_QUEUE_MAX_BYTES / 2;
}

uint64_t collector_due_ns(const struct collector *collector)
{
	return collector->due_ns;
}

uint64_t collector_cpu_ns(const struct collector *collector)
{
	return atomic_load_explicit(&collector->cpu_ns, memory_order_relaxed);
}

struct snapshot *collector_take_snapshot(struct collector *collector)
{
	struct snapshot *used = snapshot_ring_take(&collector->used);

	return used ? used : xcalloc(1, sizeof(*used));
}

/* A burst that fills the queue while the collector rests for long wakes it. */
#define BURST_BYTES  ((size_t)1024 * 1024)
#define LONG_REST_NS (20 * NS_PER_MS)
/* A program that loads libraries all the time does not wake it more often than this. */
#define CODE_CALL_PAUSE_NS (100 * NS_PER_MS)

enum collector_call collector_call_for_code(struct collector *collector, uint64_t now_ns)
{
	uint64_t due_ns = collector_due_ns(collector);

	/* An overdue collector is at work, and may rest before it takes this sample. */
	if (due_ns > now_ns && due_ns <= now_ns + LONG_REST_NS)
		return COLLECTOR_COMES_SOON;
	if (now_ns < collector->call_again_ns)
		return COLLECTOR_LEFT_ALONE;
	collector->call_again_ns = now_ns + CODE_CALL_PAUSE_NS;
	collector->calls_with_next = true;
	return COLLECTOR_CALLED;
}

static bool is_burst(const struct collector *collector)
{
	return queue_bytes(&collector->queue) >= BURST_BYTES &&
	       collector_due_ns(collector) > clock_monotonic_ns() + LONG_REST_NS;
}

void collector_publish(struct collector *collector, struct message *message)
{
	bool is_called = message->kind == MESSAGE_SAMPLE && collector->calls_with_next;
	bool is_urgent = message->kind == MESSAGE_CALL;

	queue_put(&collector->queue, message);
	if (!is_called && !is_urgent && !is_burst(collector))
		return;
	collector->calls_with_next &= !is_called;
	/* If it does not come, for lack of a CPU, it is late from now on, and not woken again. */
	collector->due_ns = clock_monotonic_ns();
	wake(collector);
}

/* --- any thread's side --- */

enum collector_state collector_state(const struct collector *collector)
{
	return collector->state;
}

/* The time is taken under the lock: moments are in its order. `at_ns` 0: now. */
static void add_moment(struct collector *collector, char *mark, struct collector_cut *cut,
		       uint64_t at_ns)
{
	struct moments *moments = &collector->moments;
	struct moment *moment = xcalloc(1, sizeof(*moment));

	moment->mark = mark;
	moment->cut = cut;
	pthread_mutex_lock(&collector->lock);
	moment->time_ns = at_ns ? at_ns : clock_monotonic_ns();
	*moments->end = moment;
	moments->end = &moment->next;
	if (cut && moments->cut_due_ns == UINT64_MAX)
		moments->cut_due_ns = moment->time_ns;
	if (mark)
		moments->has_news = true;
	pthread_mutex_unlock(&collector->lock);
}

void collector_mark(struct collector *collector, const char *text, uint64_t at_ns)
{
	add_moment(collector, xstrdup(text), NULL, at_ns);
}

void collector_cut(struct collector *collector, struct collector_cut *cut)
{
	sem_init(&cut->made, 0, 0);
	add_moment(collector, NULL, cut, 0);
	wake(collector);
}

static void wait_for(sem_t *event)
{
	while (sem_wait(event) < 0 && errno == EINTR)
		continue;
	sem_destroy(event);
}

uint64_t collector_cut_wait(struct collector_cut *cut)
{
	wait_for(&cut->made);
	return cut->nr_bytes;
}

static void call(struct collector *collector, const struct message_call *what)
{
	struct message *message = message_new(MESSAGE_CALL, clock_monotonic_ns());

	message->body.call = *what;
	collector_publish(collector, message);
}

void collector_post(struct collector *collector,
		    void (*run)(void *context, struct consumer *consumer), void *context)
{
	call(collector, &(struct message_call){.run = run, .context = context});
}

void collector_run(struct collector *collector,
		   void (*run)(void *context, struct consumer *consumer), void *context,
		   _Atomic bool *is_waiting)
{
	sem_t done;

	sem_init(&done, 0, 0);
	call(collector,
	     &(struct message_call){
		     .run = run, .context = context, .done = &done, .is_waiting = is_waiting});
	atomic_store(is_waiting, true);
	wait_for(&done);
}

struct collector_progress collector_progress(struct collector *collector)
{
	struct collector_progress progress;

	pthread_mutex_lock(&collector->lock);
	progress = collector->progress;
	pthread_mutex_unlock(&collector->lock);
	return progress;
}

/* --- the collector's thread --- */

/* The first reason stays, but a failure to write is always reported. */
static void end_running(struct collector *collector, enum collector_state state)
{
	bool was_running = collector->state == COLLECTOR_RUNNING;

	if (was_running || state == COLLECTOR_WRITE_FAILED)
		collector->state = state;
	if (was_running && collector->options.wake && !collector->is_finishing)
		collector->options.wake(collector->options.context);
}

static void write_out(struct collector *collector)
{
	uint64_t max_bytes = collector->options.max_bytes;

	if (collector->state == COLLECTOR_WRITE_FAILED)
		profile_drop_samples(collector->options.profile);
	else if (consumer_flush(collector->consumer, &collector->failure) < 0)
		end_running(collector, COLLECTOR_WRITE_FAILED);
	else if (max_bytes && collector->options.writer &&
		 store_writer_nr_bytes(collector->options.writer) >= max_bytes)
		end_running(collector, COLLECTOR_SIZE_REACHED);
}

static bool has_cut_before(const struct collector *collector, uint64_t time_ns)
{
	return collector->moments.cut_due_ns < time_ns;
}

/*
 * Takes the moments up to then, in order, as far as the first cut: marks go into the profile.
 * Returns the cut, which must be made before the next moments are taken; or NULL.
 */
static struct collector_cut *take_moments(struct collector *collector, uint64_t until_ns)
{
	struct moments *moments = &collector->moments;
	struct collector_cut *cut = NULL;
	uint64_t due_ns = UINT64_MAX;
	struct moment *first;

	pthread_mutex_lock(&collector->lock);
	while (!cut && (first = moments->first) && first->time_ns <= until_ns) {
		cut = first->cut;
		if (first->mark)
			profile_add_mark(collector->options.profile,
					 first->time_ns - collector->options.start_ns, first->mark);
		moments->first = first->next;
		if (!first->next)
			moments->end = &moments->first;
		free(first->mark);
		free(first);
	}
	for (first = moments->first; first && due_ns == UINT64_MAX; first = first->next) {
		if (first->cut)
			due_ns = first->time_ns;
	}
	moments->cut_due_ns = due_ns;
	pthread_mutex_unlock(&collector->lock);
	return cut;
}

/* As collector_cut_wait() returns it. */
static uint64_t nr_bytes_written(const struct collector *collector)
{
	if (collector->state == COLLECTOR_WRITE_FAILED)
		return 0;
	return collector->options.writer ? store_writer_nr_bytes(collector->options.writer) : 1;
}

static void look_at_cut(struct collector *collector, struct collector_cut *cut)
{
	uint64_t began_ns = clock_thread_cpu_ns();

	cut->look(cut->context, collector->options.profile);
	collector->cuts_cpu_ns += clock_thread_cpu_ns() - began_ns;
}

/* Writes all that was handled, with the user's moments up to until_ns. */
static void flush(struct collector *collector, uint64_t until_ns)
{
	struct collector_cut *cut;

	for (;;) {
		cut = take_moments(collector, until_ns);
		write_out(collector);
		if (!cut)
			break;
		if (cut->look)
			look_at_cut(collector, cut);
		cut->nr_bytes = nr_bytes_written(collector);
		sem_post(&cut->made);
	}
}

static void note_progress(struct collector *collector)
{
	struct collector_progress progress = consumer_progress(collector->consumer);
	uint64_t max_samples = collector->options.max_samples;

	pthread_mutex_lock(&collector->lock);
	collector->progress = progress;
	pthread_mutex_unlock(&collector->lock);
	if (max_samples && progress.nr_observed >= max_samples)
		end_running(collector, COLLECTOR_SAMPLES_REACHED);
}

/* Passes marks to the consumer, before the messages after them. */
static void tell_marks(struct collector *collector)
{
	pthread_mutex_lock(&collector->lock);
	collector->moments.has_news = false;
	for (struct moment *moment = collector->moments.first; moment; moment = moment->next) {
		if (moment->mark && !moment->is_told)
			consumer_mark(collector->consumer, moment->time_ns);
		moment->is_told = true;
	}
	pthread_mutex_unlock(&collector->lock);
}

/* A due cut is made before anything else is read. */
static enum blocks_read read_blocks(struct collector *collector)
{
	if (has_cut_before(collector, UINT64_MAX))
		return BLOCKS_MORE;
	if (collector->moments.has_news)
		tell_marks(collector);
	return consumer_read_blocks(collector->consumer);
}

static enum blocks_read drain(struct collector *collector)
{
	enum blocks_read outcome;
	struct message *message;

	collector->queue_bytes = queue_bytes(&collector->queue);
	while ((message = queue_take(&collector->queue))) {
		if (message->kind == MESSAGE_PROCESS || message->kind == MESSAGE_THREAD)
			collector->began_ns = clock_monotonic_ns();
		if (collector->moments.has_news)
			tell_marks(collector);
		if (has_cut_before(collector, message->time_ns))
			flush(collector, message->time_ns);
		consumer_handle(collector->consumer, message);
	}
	outcome = read_blocks(collector);
	collector->restless_until_ns = consumer_watch_maps(collector->consumer);
	note_progress(collector);
	return outcome;
}

static uint64_t most_pause_ns(const struct collector *collector, enum blocks_read outcome)
{
	if (!collector->options.blocks.read)
		return UINT64_MAX;
	switch (outcome) {
	case BLOCKS_NONE:
		return NO_BLOCKS_PAUSE_NS;
	case BLOCKS_SOME:
		return BLOCKS_PAUSE_NS;
	case BLOCKS_WAIT:
		return BLOCK_WAIT_PAUSE_NS;
	case BLOCKS_MORE:
		break;
	}
	return 0;
}

static bool is_calm(const struct collector *collector, uint64_t now_ns)
{
	return collector->options.period_ns >= RARE_SAMPLES_NS &&
	       collector->queue_bytes < CALM_QUEUE_BYTES &&
	       now_ns - collector->began_ns > CALM_AFTER_NS;
}

static uint64_t pause_after(const struct collector *collector, uint64_t now_ns,
			    enum blocks_read outcome)
{
	const struct pace *pace = paces;
	uint64_t most_ns = most_pause_ns(collector, outcome);

	if (now_ns < collector->restless_until_ns)
		return min_u64(RESTLESS_PAUSE_NS, most_ns);
	if (is_calm(collector, now_ns))
		return min_u64(CALM_PAUSE_NS, most_ns);
	while (collector->queue_bytes < pace->queue_bytes &&
	       now_ns - collector->began_ns > pace->after_ns)
		pace++;
	return min_u64(pace->pause_ns, most_ns);
}

/* The clock takes a system call, too many where allocations are read a thousand times a second. */
static void note_cpu(struct collector *collector)
{
	if (!collector->options.blocks.read)
		atomic_store_explicit(&collector->cpu_ns,
				      clock_thread_cpu_ns() - collector->cuts_cpu_ns,
				      memory_order_relaxed);
}

static void rest(struct collector *collector, uint64_t now_ns, enum blocks_read outcome)
{
	struct pollfd woken = {.fd = collector->wake_fd, .events = POLLIN};
	struct timespec pause = {.tv_nsec = (long)pause_after(collector, now_ns, outcome)};
	uint64_t count;

	if (!pause.tv_nsec)
		return;

	collector->due_ns = now_ns + (uint64_t)pause.tv_nsec;
	if (ppoll(&woken, 1, &pause, NULL) == 1 && read(woken.fd, &count, sizeof(count)) < 0)
		return;
}

/*
 * Threads that find no room in the ring wait for this one, on the CPUs: 1,500 of them left it so
 * little that they took minutes for what takes seconds. Users without CAP_SYS_NICE keep the
 * priority that they have.
 */
#define NICE_FOR_RINGS (-20)

static void *collector_main(void *argument)
{
	struct collector *collector = argument;
	uint64_t flushed_ns = clock_monotonic_ns();
	uint64_t pause_ns = FIRST_FLUSH_NS;
	bool is_last = false;

	if (collector->options.has_all_blocks)
		setpriority(PRIO_PROCESS, 0, NICE_FOR_RINGS); /* of this thread */
	for (;;) {
		/* Read before draining: so all messages from before the end are taken. */
		bool was_last = is_last;
		uint64_t drained_ns = clock_monotonic_ns();
		enum blocks_read outcome;
		uint64_t now_ns;

		is_last = collector->is_finishing;
		if (is_last && !was_last)
			consumer_hurry(collector->consumer);
		outcome = drain(collector);
		if (is_last && outcome <= BLOCKS_SOME && !consumer_has_waiting(collector->consumer))
			break;
		now_ns = clock_monotonic_ns();
		if (now_ns - flushed_ns >= pause_ns || has_cut_before(collector, drained_ns)) {
			flush(collector, drained_ns);
			flushed_ns = now_ns;
			pause_ns = min_u64(2 * pause_ns, FLUSH_NS);
		}
		note_cpu(collector);
		rest(collector, now_ns, outcome);
	}
	consumer_end(collector->consumer, &collector->result);
	flush(collector, UINT64_MAX);
	collector->result.thread_cpu_ns = clock_thread_cpu_ns();
	return NULL;
}

/* --- its beginning and end --- */

struct collector *collector_start(const struct collector_options *options, struct err *err)
{
	struct collector *collector = xcalloc(1, sizeof(*collector));

	collector->options = *options;
	collector->began_ns = clock_monotonic_ns();
	collector->due_ns = collector->began_ns;
	queue_init(&collector->queue);
	pthread_mutex_init(&collector->lock, NULL);
	collector->moments.end = &collector->moments.first;
	collector->moments.cut_due_ns = UINT64_MAX;
	collector->consumer = consumer_new(options, &collector->used);
	collector->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (collector->wake_fd < 0) {
		err_sys(err, "cannot make an eventfd");
	} else {
		errno = pthread_create(&collector->thread, NULL, collector_main, collector);
		if (!errno)
			return collector;
		err_start(err, "cannot start a thread");
	}
	collector_free(collector);
	return NULL;
}

void collector_finish(struct collector *collector, struct collector_result *result,
		      struct err *failure)
{
	struct profile *profile = collector->options.profile;

	collector->is_finishing = true;
	wake(collector);
	pthread_join(collector->thread, NULL);
	profile_set_counter(profile, "queue_bytes_max", queue_max_bytes(&collector->queue));
	profile_set_counter(profile, "working_cpu_ns", collector->result.thread_cpu_ns);
	*result = collector->result;
	result->state = collector->state;
	if (failure && result->state == COLLECTOR_WRITE_FAILED)
		*failure = collector->failure;
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	consumer_free(collector->consumer);
	queue_release(&collector->queue);
	snapshot_ring_release(&collector->used);
	for (struct moment *moment; (moment = collector->moments.first);) {
		collector->moments.first = moment->next;
		free(moment->mark);
		free(moment);
	}
	pthread_mutex_destroy(&collector->lock);
	if (collector->wake_fd >= 0)
		close(collector->wake_fd);
	free(collector);
}
