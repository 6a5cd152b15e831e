// SPDX-License-Identifier: GPL-2.0-or-later
/* The cases that wait for an event or for time: epoll, poll, signals, futexes, sleeps, AIO. */
#include "blocking_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_NS (TIMEOUT_MS * 1000000L)
#define HOUR_MS	   (60 * 60 * 1000)

static const struct timespec constant_timeout = {.tv_nsec = TIMEOUT_NS};

static struct timespec writable_timeout(void)
{
	return constant_timeout;
}

static struct timespec deadline(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	at.tv_nsec += TIMEOUT_NS;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

/* epoll, poll, select */

static int prepare_epoll(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

static long call_epoll_wait(int fd)
{
	struct epoll_event event;

	return epoll_wait(fd, &event, 1, -1);
}

static long call_epoll_wait_timeout(int fd)
{
	struct epoll_event event;

	return epoll_wait(fd, &event, 1, TIMEOUT_MS);
}

static long call_epoll_wait_hour(int fd)
{
	struct epoll_event event;

	return epoll_wait(fd, &event, 1, HOUR_MS);
}

static long call_epoll_pwait(int fd)
{
	struct epoll_event event;
	sigset_t none;

	sigemptyset(&none);
	return epoll_pwait(fd, &event, 1, -1, &none);
}

static long call_epoll_pwait_timeout(int fd)
{
	struct epoll_event event;
	sigset_t none;

	sigemptyset(&none);
	return epoll_pwait(fd, &event, 1, TIMEOUT_MS, &none);
}

/* Linux 5.10 has none. It fails at once, whatever stops its thread. */
static int prepare_epoll_pwait2(void)
{
	if (syscall(SYS_epoll_pwait2, -1, NULL, 0, NULL, NULL, 8) == -1 && errno == ENOSYS)
		return -1;
	errno = 0;
	return prepare_epoll();
}

static long call_epoll_pwait2(int fd)
{
	struct epoll_event event;

	return syscall(SYS_epoll_pwait2, fd, &event, 1, NULL, NULL, 8);
}

static long call_epoll_pwait2_timeout(int fd)
{
	struct epoll_event event;

	return syscall(SYS_epoll_pwait2, fd, &event, 1, &constant_timeout, NULL, 8);
}

static int prepare_eventfd(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

static long call_poll(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	return poll(&polled, 1, -1);
}

static long call_poll_timeout(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	return poll(&polled, 1, TIMEOUT_MS);
}

static long call_ppoll(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	return ppoll(&polled, 1, NULL, NULL);
}

static long call_ppoll_timeout(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	struct timespec timeout = writable_timeout();

	return syscall(SYS_ppoll, &polled, 1, &timeout, NULL, 8);
}

/* The kernel cannot write the time left into read-only memory, and then cannot restart. */
static long call_ppoll_constant(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	return syscall(SYS_ppoll, &polled, 1, &constant_timeout, NULL, 8);
}

static long call_select(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, NULL);
}

static long call_select_timeout(int fd)
{
	struct timeval timeout = {.tv_usec = TIMEOUT_MS * 1000};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &timeout);
}

static long call_pselect_timeout(int fd)
{
	struct timespec timeout = writable_timeout();
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return syscall(SYS_pselect6, fd + 1, &set, NULL, NULL, &timeout, NULL);
}

static long call_pselect_constant(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return syscall(SYS_pselect6, fd + 1, &set, NULL, NULL, &constant_timeout, NULL);
}

/* Signals that never come. */

static void only_usr1(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR1);
}

static int prepare_blocked_signal(void)
{
	sigset_t set;

	only_usr1(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return -1;
}

static long call_sigwaitinfo(int unused)
{
	sigset_t set;

	(void)unused;
	only_usr1(&set);
	return sigwaitinfo(&set, NULL);
}

static long call_sigtimedwait(int unused)
{
	sigset_t set;

	(void)unused;
	only_usr1(&set);
	return sigtimedwait(&set, NULL, &constant_timeout);
}

static long call_sigwait(int unused)
{
	sigset_t set;
	int number;

	(void)unused;
	only_usr1(&set);
	return sigwait(&set, &number);
}

static long call_pause(int unused)
{
	(void)unused;
	return pause();
}

static long call_sigsuspend(int unused)
{
	sigset_t none;

	(void)unused;
	sigemptyset(&none);
	return sigsuspend(&none);
}

/* Futexes and what is built on them. */

static long call_futex_wait(int unused)
{
	uint32_t word = 0;

	(void)unused;
	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static long call_futex_wait_timeout(int unused)
{
	uint32_t word = 0;

	(void)unused;
	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &constant_timeout, NULL, 0);
}

static long call_futex_bitset_timeout(int unused)
{
	uint32_t word = 0;
	struct timespec at = deadline(CLOCK_MONOTONIC);

	(void)unused;
	return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &at, NULL,
		       FUTEX_BITSET_MATCH_ANY);
}

/* Likewise, but it needs no descriptor. */
static int prepare_futex_waitv(void)
{
	if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) == -1 && errno != ENOSYS)
		errno = 0;
	return -1;
}

static long call_futex_waitv_timeout(int unused)
{
	uint32_t word = 0;
	struct timespec at = deadline(CLOCK_MONOTONIC);
	struct futex_waitv wait = {.uaddr = (uintptr_t)&word, .flags = FUTEX_32};

	(void)unused;
	return syscall(SYS_futex_waitv, &wait, 1, 0, &at, CLOCK_MONOTONIC);
}

static uint32_t pi_word;

/* Owned by the main thread, which never gives it back. */
static int prepare_pi_futex(void)
{
	pi_word = (uint32_t)getpid();
	return 0;
}

static long call_futex_lock_pi(int unused)
{
	(void)unused;
	return syscall(SYS_futex, &pi_word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;

static int prepare_held_mutex(void)
{
	pthread_mutex_trylock(&held_mutex);
	return 0;
}

static long call_mutex_lock(int unused)
{
	(void)unused;
	return pthread_mutex_lock(&held_mutex);
}

static long call_mutex_timedlock(int unused)
{
	struct timespec at = deadline(CLOCK_REALTIME);

	(void)unused;
	return pthread_mutex_timedlock(&held_mutex, &at);
}

static long call_cond_timedwait(int unused)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec at = deadline(CLOCK_REALTIME);
	int result;

	(void)unused;
	pthread_mutex_lock(&mutex);
	result = pthread_cond_timedwait(&condition, &mutex, &at);
	pthread_mutex_unlock(&mutex);
	return result;
}

static long call_sem_wait(int unused)
{
	sem_t semaphore;

	(void)unused;
	sem_init(&semaphore, 0, 0);
	return sem_wait(&semaphore);
}

static long call_sem_timedwait(int unused)
{
	struct timespec at = deadline(CLOCK_REALTIME);
	sem_t semaphore;

	(void)unused;
	sem_init(&semaphore, 0, 0);
	return sem_timedwait(&semaphore, &at);
}

/* Sleeps. */

static long call_nanosleep(int unused)
{
	struct timespec rest;

	(void)unused;
	return nanosleep(&constant_timeout, &rest);
}

static long call_clock_nanosleep(int unused)
{
	(void)unused;
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &constant_timeout, NULL);
}

static long call_clock_nanosleep_absolute(int unused)
{
	struct timespec at = deadline(CLOCK_MONOTONIC);

	(void)unused;
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

static long call_usleep(int unused)
{
	(void)unused;
	return usleep(TIMEOUT_MS * 1000);
}

static long call_sleep(int unused)
{
	(void)unused;
	return (long)sleep(1);
}

/* Descriptors that tell time or events. */

static int prepare_timerfd(void)
{
	struct itimerspec every = {.it_value = constant_timeout, .it_interval = constant_timeout};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (fd >= 0)
		timerfd_settime(fd, 0, &every, NULL);
	return fd;
}

static long call_timerfd_read(int fd)
{
	uint64_t expirations;
	ssize_t got = read(fd, &expirations, sizeof(expirations));

	return got == sizeof(expirations) ? 0 : (long)got;
}

static mqd_t open_queue(const char *suffix)
{
	struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
	char name[64];
	mqd_t queue;

	snprintf(name, sizeof(name), "/profc-%d-%s", (int)getpid(), suffix);
	queue = mq_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600, &attributes);
	mq_unlink(name);
	return queue;
}

static int prepare_queue(void)
{
	return open_queue("receive");
}

static int prepare_timed_queue(void)
{
	return open_queue("timedreceive");
}

static long call_mq_receive(int fd)
{
	char message[8];

	return mq_receive(fd, message, sizeof(message), NULL);
}

static long call_mq_timedreceive(int fd)
{
	struct timespec at = deadline(CLOCK_REALTIME);
	char message[8];

	return mq_timedreceive(fd, message, sizeof(message), NULL, &at);
}

/* Linux AIO and io_uring. */

static aio_context_t aio_contexts[3];

static int prepare_aio(unsigned i)
{
	return syscall(SYS_io_setup, 4, &aio_contexts[i]) ? -1 : (int)i;
}

static int prepare_aio_0(void)
{
	return prepare_aio(0);
}

static int prepare_aio_1(void)
{
	return prepare_aio(1);
}

static int prepare_aio_2(void)
{
	return prepare_aio(2);
}

static long call_io_getevents(int i)
{
	struct io_event event;

	return syscall(SYS_io_getevents, aio_contexts[i], 1, 1, &event, NULL);
}

static long call_io_getevents_timeout(int i)
{
	struct io_event event;

	return syscall(SYS_io_getevents, aio_contexts[i], 1, 1, &event, &constant_timeout);
}

static long call_io_pgetevents_timeout(int i)
{
	struct io_event event;

	return syscall(SYS_io_pgetevents, aio_contexts[i], 1, 1, &event, &constant_timeout, NULL);
}

static int prepare_uring(void)
{
	struct io_uring_params params = {0};

	return (int)syscall(SYS_io_uring_setup, 4, &params);
}

static long call_uring_wait(int fd)
{
	return syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static long call_uring_wait_timeout(int fd)
{
	struct io_uring_getevents_arg argument = {.ts = (uintptr_t)&constant_timeout};

	return syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
		       &argument, sizeof(argument));
}

/*
 * Submits a read of an empty pipe and waits for it in one call. Interrupted, the
 * kernel returns 1 for the submission, with no completion: nobody can repair that.
 */
static long call_uring_submit_and_wait(int pipe_reader)
{
	static char byte;
	struct io_uring_params params = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 4, &params);
	unsigned char *ring = mmap(NULL, params.sq_off.array + params.sq_entries * 4,
				   PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	struct io_uring_sqe *sqes = mmap(NULL, params.sq_entries * sizeof(*sqes),
					 PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);

	if (ring == MAP_FAILED || (void *)sqes == MAP_FAILED)
		return -1;
	sqes[0] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ, .fd = pipe_reader, .addr = (uintptr_t)&byte, .len = 1};
	((uint32_t *)(ring + params.sq_off.array))[0] = 0;
	atomic_store((_Atomic uint32_t *)(ring + params.sq_off.tail), 1);
	return syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

/* The ring of one thread: what it submits, and how often something has completed. */
static struct {
	struct io_uring_sqe *sqes;
	_Atomic uint32_t *submitted, *taken, *completed;
	uint32_t *first;
} timer_ring;

static int prepare_timer_ring(void)
{
	struct io_uring_params params = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params);
	size_t sq_bytes = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
	size_t cq_bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	unsigned char *sq, *cq;

	if (fd < 0)
		return -1;
	sq = mmap(NULL, sq_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, cq_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_CQ_RING);
	timer_ring.sqes = mmap(NULL, sizeof(*timer_ring.sqes), PROT_READ | PROT_WRITE, MAP_SHARED,
			       fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || (void *)timer_ring.sqes == MAP_FAILED)
		return -1;
	timer_ring.submitted = (_Atomic uint32_t *)(sq + params.sq_off.tail);
	timer_ring.first = (uint32_t *)(sq + params.sq_off.array);
	timer_ring.taken = (_Atomic uint32_t *)(cq + params.cq_off.head);
	timer_ring.completed = (_Atomic uint32_t *)(cq + params.cq_off.tail);
	return fd;
}

/* Submits a timer and waits for it in one call. Broken off, that returns before it is over. */
static long call_uring_timer(int fd)
{
	static const struct __kernel_timespec length = {.tv_nsec = 3000000};
	long submitted, completed;

	timer_ring.sqes[0] = (struct io_uring_sqe){
		.opcode = IORING_OP_TIMEOUT, .fd = -1, .addr = (uintptr_t)&length, .len = 1};
	timer_ring.first[0] = 0;
	atomic_fetch_add(timer_ring.submitted, 1);
	submitted = syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	completed = *timer_ring.completed - *timer_ring.taken;
	while (*timer_ring.completed == *timer_ring.taken)
		syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	atomic_store(timer_ring.taken, *timer_ring.completed);
	return submitted == 1 ? completed : submitted;
}

/* Both ends stay open and nothing is ever written. */
static int prepare_silent_pipe(void)
{
	int ends[2];

	return pipe(ends) ? -1 : ends[0];
}

struct blocking_case blocking_waits[] = {
	NEVER(epoll_wait, prepare_epoll, call_epoll_wait),
	TIMED(epoll_wait_timeout, prepare_epoll, call_epoll_wait_timeout, 0, 0),
	NEVER(epoll_wait_hour, prepare_epoll, call_epoll_wait_hour),
	NEVER(epoll_pwait, prepare_epoll, call_epoll_pwait),
	TIMED(epoll_pwait_timeout, prepare_epoll, call_epoll_pwait_timeout, 0, 0),
	NEVER(epoll_pwait2, prepare_epoll_pwait2, call_epoll_pwait2),
	TIMED(epoll_pwait2_timeout, prepare_epoll_pwait2, call_epoll_pwait2_timeout, 0, 0),
	NEVER(poll, prepare_eventfd, call_poll),
	TIMED(poll_timeout, prepare_eventfd, call_poll_timeout, 0, 0),
	NEVER(ppoll, prepare_eventfd, call_ppoll),
	TIMED(ppoll_timeout, prepare_eventfd, call_ppoll_timeout, 0, 0),
	TIMED(ppoll_constant, prepare_eventfd, call_ppoll_constant, 0, 0),
	NEVER(select, prepare_eventfd, call_select),
	TIMED(select_timeout, prepare_eventfd, call_select_timeout, 0, 0),
	TIMED(pselect_timeout, prepare_eventfd, call_pselect_timeout, 0, 0),
	TIMED(pselect_constant, prepare_eventfd, call_pselect_constant, 0, 0),
	NEVER(sigwaitinfo, prepare_blocked_signal, call_sigwaitinfo),
	TIMED(sigtimedwait, prepare_blocked_signal, call_sigtimedwait, -1, EAGAIN),
	NEVER(sigwait, prepare_blocked_signal, call_sigwait),
	NEVER(pause, NULL, call_pause),
	NEVER(sigsuspend, NULL, call_sigsuspend),
	NEVER(futex_wait, NULL, call_futex_wait),
	TIMED(futex_wait_timeout, NULL, call_futex_wait_timeout, -1, ETIMEDOUT),
	TIMED(futex_bitset_timeout, NULL, call_futex_bitset_timeout, -1, ETIMEDOUT),
	TIMED(futex_waitv_timeout, prepare_futex_waitv, call_futex_waitv_timeout, -1, ETIMEDOUT),
	NEVER(futex_lock_pi, prepare_pi_futex, call_futex_lock_pi),
	NEVER(mutex_lock, prepare_held_mutex, call_mutex_lock),
	TIMED(mutex_timedlock, prepare_held_mutex, call_mutex_timedlock, ETIMEDOUT, 0),
	TIMED(cond_timedwait, NULL, call_cond_timedwait, ETIMEDOUT, 0),
	NEVER(sem_wait, NULL, call_sem_wait),
	TIMED(sem_timedwait, NULL, call_sem_timedwait, -1, ETIMEDOUT),
	TIMED(nanosleep, NULL, call_nanosleep, 0, 0),
	TIMED(clock_nanosleep, NULL, call_clock_nanosleep, 0, 0),
	TIMED(clock_nanosleep_absolute, NULL, call_clock_nanosleep_absolute, 0, 0),
	TIMED(usleep, NULL, call_usleep, 0, 0),
	TIMED(sleep, NULL, call_sleep, 0, 0),
	NEVER(eventfd_read, prepare_eventfd, call_timerfd_read),
	TIMED(timerfd_read, prepare_timerfd, call_timerfd_read, 0, 0),
	NEVER(mq_receive, prepare_queue, call_mq_receive),
	TIMED(mq_timedreceive, prepare_timed_queue, call_mq_timedreceive, -1, ETIMEDOUT),
	NEVER(io_getevents, prepare_aio_0, call_io_getevents),
	TIMED(io_getevents_timeout, prepare_aio_1, call_io_getevents_timeout, 0, 0),
	TIMED(io_pgetevents_timeout, prepare_aio_2, call_io_pgetevents_timeout, 0, 0),
	NEVER(io_uring_wait, prepare_uring, call_uring_wait),
	TIMED(io_uring_wait_timeout, prepare_uring, call_uring_wait_timeout, -1, ETIME),
	NEVER(io_uring_submit_and_wait, prepare_silent_pipe, call_uring_submit_and_wait),
	WHOLE(io_uring_timer, prepare_timer_ring, call_uring_timer, 1),
};
const unsigned nr_blocking_waits = sizeof(blocking_waits) / sizeof(blocking_waits[0]);
