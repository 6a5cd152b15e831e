// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters by perf_event_open(2): with descriptors of the test's, and with the kernel's own. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address.h"
#include "base/err.h"
#include "proc/event_counter.h"
#include "proc/kernel_counters.h"
#include "tests/unit/unit.h"

#define PAGE  page_bytes()
#define PAGES 300

static const struct event instructions = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false};
static const struct event migrations = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true};

/* Opens the reading end of a pipe; the other has what is read. */
struct made_opener {
	int fds[8]; /* to write to */
	int opened[8];
	int nr, nr_allowed;
	int error; /* of what is not allowed */
	struct perf_event_attr attr;
};

static int open_pipe(void *context, const struct perf_event_attr *attr, pid_t tid)
{
	struct made_opener *made = context;
	int ends[2];

	(void)tid;
	made->attr = *attr;
	if (made->nr == made->nr_allowed) {
		errno = made->error;
		return -1;
	}
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	made->fds[made->nr] = ends[1];
	made->opened[made->nr++] = ends[0];
	return ends[0];
}

static void put(int fd, uint64_t value, uint64_t enabled_ns, uint64_t running_ns)
{
	const uint64_t reading[] = {value, enabled_ns, running_ns};

	assert_int_equal(write(fd, reading, sizeof(reading)), sizeof(reading));
}

static void check_refusal(int error, const struct event *event, enum err_code code,
			  const char *said)
{
	struct made_opener made = {.error = error};
	const struct event_opener opener = {open_pipe, &made};
	struct event_counter counter = {.fd = -1};
	struct err err = ERR_INIT;

	assert_int_equal(event_counter_open(&counter, &opener, event, 1, EVENT_FROM_NOW, &err),
			 code);
	assert_int_equal(counter.fd, -1);
	assert_int_equal(err.sys_errno, error);
	if (!strstr(err.what, said))
		fail_msg("'%s' does not say '%s'", err.what, said);
}

TEST(event_counter, says_why_it_is_refused)
{
	check_refusal(EACCES, &instructions, ERR_PERMISSION, "perf_event_open(2) is not permitted");
	check_refusal(EPERM, &migrations, ERR_PERMISSION, "perf_event_open(2) is not permitted");
	check_refusal(ENOENT, &instructions, ERR_UNSUPPORTED, "has no such counter");
	check_refusal(EOPNOTSUPP, &instructions, ERR_UNSUPPORTED, "has no such counter");
	check_refusal(ENOSYS, &instructions, ERR_UNSUPPORTED, "kernel has no perf_event_open(2)");
	check_refusal(ESRCH, &instructions, ERR_GONE, "the thread has ended");
	check_refusal(EMFILE, &instructions, ERR_SYS, "Too many open files");
}

TEST(event_counter, counts_user_mode_of_one_thread_and_never_samples)
{
	struct made_opener made = {.nr_allowed = 2};
	const struct event_opener opener = {open_pipe, &made};
	struct event_counter counter;

	assert_int_equal(
		event_counter_open(&counter, &opener, &instructions, 1, EVENT_FROM_NOW, NULL), 0);
	assert_true(made.attr.exclude_kernel && made.attr.exclude_hv);
	assert_false(made.attr.sample_period || made.attr.inherit || made.attr.disabled);
	event_counter_close(&counter);
	assert_int_equal(
		event_counter_open(&counter, &opener, &migrations, 1, EVENT_FROM_NOW, NULL), 0);
	assert_false(made.attr.exclude_kernel || made.attr.inherit);
	event_counter_close(&counter);
	assert_int_equal(counter.fd, -1);
	assert_int_equal(fcntl(made.opened[0], F_GETFD), -1);
	close(made.fds[0]);
	close(made.fds[1]);
}

TEST(event_counter, stands_for_the_time_in_which_others_were_counted)
{
	struct made_opener made = {.nr_allowed = 1};
	const struct event_opener opener = {open_pipe, &made};
	struct event_counter counter;

	assert_int_equal(
		event_counter_open(&counter, &opener, &instructions, 1, EVENT_FROM_NOW, NULL), 0);
	put(made.fds[0], 1000, 50, 50);
	assert_true(event_counter_read(&counter));
	assert_int_equal(counter.sum, 1000);
	/* Half of the time. */
	put(made.fds[0], 1500, 150, 100);
	assert_true(event_counter_read(&counter));
	assert_int_equal(counter.sum, 2000);
	/* Nothing of it, and then a fifth of both. */
	put(made.fds[0], 1500, 190, 100);
	assert_true(event_counter_read(&counter));
	assert_int_equal(counter.sum, 2000);
	put(made.fds[0], 1600, 250, 120);
	assert_true(event_counter_read(&counter));
	assert_int_equal(counter.sum, 2500);
	assert_int_equal(counter.enabled_ns, 250);
	assert_int_equal(counter.running_ns, 120);
	/* It did not run. */
	put(made.fds[0], 1600, 250, 120);
	assert_true(event_counter_read(&counter));
	assert_int_equal(counter.sum, 2500);
	close(made.fds[0]);
	assert_false(event_counter_read(&counter));
	assert_int_equal(counter.sum, 2500);
	event_counter_close(&counter);
}

#define THREE                                                                                      \
	(KERNEL_COUNTER_BIT(KERNEL_COUNTER_INSTRUCTIONS) |                                         \
	 KERNEL_COUNTER_BIT(KERNEL_COUNTER_CYCLES) |                                               \
	 KERNEL_COUNTER_BIT(KERNEL_COUNTER_MIGRATIONS))

TEST(kernel_events, are_counted_all_or_none)
{
	struct made_opener made = {.nr_allowed = 2, .error = ENOENT};
	const struct event_opener opener = {open_pipe, &made};
	struct kernel_events *events;
	struct err err = ERR_INIT;

	assert_int_equal(kernel_events_open(&events, &opener, 1, THREE, EVENT_FROM_NOW, &err),
			 ERR_UNSUPPORTED);
	assert_int_equal(made.nr, 2);
	for (int i = 0; i < made.nr; i++) {
		assert_int_equal(fcntl(made.opened[i], F_GETFD), -1);
		close(made.fds[i]);
	}
	/* Those of /proc are no events. */
	assert_int_equal(
		kernel_counters_of_events(THREE | KERNEL_COUNTER_BIT(KERNEL_COUNTER_FAULTS)),
		THREE);
}

TEST(kernel_events, have_the_members_that_were_read)
{
	struct made_opener made = {.nr_allowed = 3};
	const struct event_opener opener = {open_pipe, &made};
	struct kernel_counters counters = {{0}};
	struct kernel_events *events;

	counters.values[KERNEL_COUNTER_FAULTS] = 5;
	counters.values[KERNEL_COUNTER_CYCLES] = 7;
	assert_int_equal(kernel_events_open(&events, &opener, 1, THREE, EVENT_FROM_NOW, NULL), 0);
	assert_int_equal(kernel_events_nr(events), 3);
	put(made.fds[0], 300, 20, 20);
	close(made.fds[1]);
	put(made.fds[2], 1, 20, 10);
	assert_int_equal(kernel_events_read(events, &counters),
			 THREE & ~KERNEL_COUNTER_BIT(KERNEL_COUNTER_CYCLES));
	assert_int_equal(counters.values[KERNEL_COUNTER_INSTRUCTIONS], 300);
	assert_int_equal(counters.values[KERNEL_COUNTER_CYCLES], 7);
	assert_int_equal(counters.values[KERNEL_COUNTER_MIGRATIONS], 2);
	assert_int_equal(counters.values[KERNEL_COUNTER_FAULTS], 5);
	assert_int_equal(kernel_events_times(events).enabled_ns, 40);
	assert_int_equal(kernel_events_times(events).running_ns, 30);
	kernel_events_free(events);
	close(made.fds[0]);
	close(made.fds[2]);
}

/* As where the NMI watchdog has the only counter: it is opened, and never counts. */
static int open_idle(void *context, const struct perf_event_attr *attr, pid_t tid)
{
	struct made_opener *made = context;
	int fd = open_pipe(context, attr, tid);

	put(made->fds[made->nr - 1], 0, 1000, 0);
	return fd;
}

TEST(kernel_counters, are_refused_where_they_would_not_count)
{
	const unsigned int faults = KERNEL_COUNTER_BIT(KERNEL_COUNTER_FAULTS);
	struct made_opener made = {.error = ENOENT};
	const struct event_opener none = {open_pipe, &made}, idle = {open_idle, &made};
	struct err err = ERR_INIT;

	assert_int_equal(kernel_counters_check(&none, THREE, &err), ERR_UNSUPPORTED);
	assert_non_null(strstr(err.what, "no such counter"));
	assert_int_equal(kernel_counters_check(&none, faults, &err), 0);
	made.nr_allowed = 3;
	assert_int_equal(kernel_counters_check(&idle, faults | THREE, &err), ERR_UNSUPPORTED);
	assert_non_null(strstr(err.what, "another program has them all"));
	for (int i = 0; i < 3; i++)
		close(made.fds[i]);
}

/* The kernel's own events of software, whatever is asked for. */
static int open_page_faults(void *context, const struct perf_event_attr *asked, pid_t tid)
{
	struct perf_event_attr attr = *asked;

	(void)context;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	return event_opener_of_kernel.open(NULL, &attr, tid);
}

static const struct event_opener opener_of_faults = {open_page_faults, NULL};

static void touch_pages(void)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)pages)[i * PAGE] = 1;
	munmap(pages, PAGES * PAGE);
}

/* Skips the test where the kernel counts nothing for this user. */
static void open_or_skip(struct event_counter *counter, pid_t tid, enum event_start start)
{
	struct err err = ERR_INIT;

	if (event_counter_open(counter, &opener_of_faults, &instructions, tid, start, &err) == 0)
		return;
	assert_true(err.sys_errno == EACCES || err.sys_errno == EPERM || err.sys_errno == ENOSYS);
	skip();
}

TEST(event_counter, counts_as_the_kernel_does)
{
	struct event_counter counter;
	struct rusage before, after;

	open_or_skip(&counter, 0, EVENT_FROM_NOW);
	getrusage(RUSAGE_THREAD, &before);
	touch_pages();
	getrusage(RUSAGE_THREAD, &after);
	assert_true(event_counter_read(&counter));
	assert_in_range(counter.sum, PAGES, (uint64_t)(after.ru_minflt - before.ru_minflt) + 20);
	assert_int_equal(counter.enabled_ns, counter.running_ns);
	assert_true(counter.enabled_ns > 0);
	event_counter_close(&counter);
}

struct worker {
	int to_worker[2], to_us[2];
	pid_t tid;
};

static void *touch_when_asked(void *argument)
{
	struct worker *worker = argument;
	char byte = 0;

	worker->tid = gettid();
	if (write(worker->to_us[1], &byte, 1) == 1 && read(worker->to_worker[0], &byte, 1) == 1)
		touch_pages();
	return NULL;
}

TEST(event_counter, is_of_one_thread_and_is_read_after_its_end)
{
	struct event_counter counter;
	struct worker worker;
	pthread_t thread;
	uint64_t sum;
	char byte;

	assert_int_equal(pipe2(worker.to_worker, O_CLOEXEC), 0);
	assert_int_equal(pipe2(worker.to_us, O_CLOEXEC), 0);
	open_or_skip(&counter, 0, EVENT_FROM_NOW);
	event_counter_close(&counter);
	assert_int_equal(pthread_create(&thread, NULL, touch_when_asked, &worker), 0);
	assert_int_equal(read(worker.to_us[0], &byte, 1), 1);
	open_or_skip(&counter, worker.tid, EVENT_FROM_NOW);
	touch_pages();
	assert_true(event_counter_read(&counter));
	assert_true(counter.sum < PAGES / 2);
	assert_int_equal(write(worker.to_worker[1], &byte, 1), 1);
	pthread_join(thread, NULL);
	assert_true(event_counter_read(&counter));
	sum = counter.sum;
	assert_in_range(sum, PAGES, PAGES + PAGES / 2);
	touch_pages();
	assert_true(event_counter_read(&counter));
	assert_int_equal(counter.sum, sum);
	event_counter_close(&counter);
	for (int i = 0; i < 2; i++) {
		close(worker.to_worker[i]);
		close(worker.to_us[i]);
	}
}

/* Touches pages before and after it is read from, then executes a program that does nothing. */
static _Noreturn void touch_and_execute(int asked, int done)
{
	struct rusage usage;
	char byte;

	if (read(asked, &byte, 1) != 1)
		_exit(1);
	touch_pages();
	getrusage(RUSAGE_SELF, &usage);
	if (write(done, &usage.ru_minflt, sizeof(usage.ru_minflt)) == sizeof(usage.ru_minflt))
		execl("/bin/true", "true", NULL);
	_exit(1);
}

TEST(event_counter, starts_with_the_next_program)
{
	struct event_counter counter;
	struct rusage usage;
	int asked[2], done[2], status;
	long before;
	pid_t child;

	assert_int_equal(pipe2(asked, O_CLOEXEC), 0);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	child = fork();
	if (child == 0)
		touch_and_execute(asked[0], done[1]);
	open_or_skip(&counter, child, EVENT_FROM_EXEC);
	assert_int_equal(write(asked[1], "", 1), 1);
	assert_int_equal(read(done[0], &before, sizeof(before)), sizeof(before));
	assert_int_equal(wait4(child, &status, 0, &usage), child);
	assert_int_equal(status, 0);
	assert_true(before > PAGES);
	assert_true(event_counter_read(&counter));
	/* The kernel makes some of the faults of exec(2) itself, or before the program is new. */
	assert_in_range(counter.sum, 10, (uint64_t)(usage.ru_minflt - before));
	assert_true(counter.sum + 30 > (uint64_t)(usage.ru_minflt - before));
	event_counter_close(&counter);
	for (int i = 0; i < 2; i++) {
		close(asked[i]);
		close(done[i]);
	}
}
