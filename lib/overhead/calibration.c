// SPDX-License-Identifier: GPL-2.0-or-later
#include "overhead/calibration.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/affinity.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "proc/read.h"
#include "tracee/visit.h"

/*
 * Nearly as far apart as those of a recording: while they follow each other closely an idle CPU has
 * not yet gone to sleep, and code and data of the kernel are still in its caches.
 */
#define NR_STOPS 8
#define APART_NS (500 * NS_PER_US)
/*
 * On a busy machine the process waits for a CPU: then the stops measured by then decide, and a few
 * are waited for.
 */
#define NR_FEW		3
#define LONGEST_NS	(20 * NS_PER_MS)
#define LONGEST_FEW_NS	(60 * NS_PER_MS)
#define LONGEST_STOP_NS (2 * NS_PER_MS)
#define STACK_BYTES	(64 * 1024)
#define NR_FIRST	64

/* Shared with the process that is stopped. */
struct spinner {
	_Atomic uint64_t lost_ns; /* that it was away, until it last ran */
	_Atomic uint64_t ran_ns;  /* when that was */
	_Atomic bool is_over;
	char *stack; /* owned */
	pid_t pid;
	int schedstat; /* its file in /proc, or -1 */
};

/* A process that runs reads the clock more often than this, also while that is slow. */
#define JUST_NOW_NS (20 * NS_PER_US)
/* Two readings of the clock further apart than so many shortest gaps: it was away between them. */
#define AWAY_TIMES 16

static uint64_t shortest_gap_ns(void)
{
	uint64_t last_ns = clock_monotonic_ns(), least_ns = UINT64_MAX;

	for (int i = 0; i < NR_FIRST; i++) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns - last_ns < least_ns)
			least_ns = now_ns - last_ns;
		last_ns = now_ns;
	}
	return least_ns ? least_ns : 1;
}

static int spin(void *argument)
{
	struct spinner *spinner = argument;
	uint64_t begun_ns, last_ns, away_ns;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may die later than we do, where the CPUs are busy. */
	close_all_but(NULL, 0);
	away_ns = AWAY_TIMES * shortest_gap_ns();
	begun_ns = last_ns = clock_monotonic_ns();
	while (!atomic_load_explicit(&spinner->is_over, memory_order_relaxed) &&
	       last_ns - begun_ns < 3 * LONGEST_FEW_NS) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns - last_ns > away_ns)
			atomic_fetch_add_explicit(&spinner->lost_ns, now_ns - last_ns,
						  memory_order_relaxed);
		last_ns = now_ns;
		atomic_store_explicit(&spinner->ran_ns, now_ns, memory_order_release);
	}
	return 0;
}

/* Input and result of the calibrating thread. */
struct calibration {
	bool (*hurry)(void);
	struct stop_overhead overhead;
	_Atomic pid_t tid, spinner; /* 0: it is not bound to a CPU; else it may be, soon */
	_Atomic bool is_given_up;
};

/* No thread is to go to a CPU that others may have for good after both were sent elsewhere. */
static bool bind_to(const struct calibration *calibration, pid_t pid, int cpu)
{
	cpu_set_t cpus, former;

	if (atomic_load(&calibration->is_given_up) ||
	    sched_getaffinity(pid, sizeof(former), &former) < 0)
		return false;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	if (sched_setaffinity(pid, sizeof(cpus), &cpus) < 0)
		return false;
	if (!atomic_load(&calibration->is_given_up))
		return true;
	/* They were, just now. */
	sched_setaffinity(pid, sizeof(former), &former);
	return false;
}

/* It blocks all signals: it shares our memory and would run our handlers. */
static bool start_spinner(struct calibration *calibration, struct spinner *spinner, int cpu)
{
	struct sched_param ours = {0}, theirs = {0};
	sigset_t all, former;

	spinner->stack = xmalloc(STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &former);
	spinner->pid = clone(spin, spinner->stack + STACK_BYTES, CLONE_VM, spinner);
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	if (spinner->pid < 0)
		return false;
	atomic_store(&calibration->spinner, spinner->pid);
	if (!bind_to(calibration, spinner->pid, cpu))
		return false;
	spinner->schedstat = proc_open_task_file(spinner->pid, spinner->pid, "schedstat");
	/* Real-time too, so that it does not wait for a CPU, but below our priority. */
	theirs.sched_priority = 1;
	ours.sched_priority = 2;
	if (sched_getscheduler(0) == (SCHED_FIFO | SCHED_RESET_ON_FORK) &&
	    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &ours) == 0)
		sched_setscheduler(spinner->pid, SCHED_FIFO, &theirs);
	return true;
}

static void end_spinner(struct spinner *spinner)
{
	atomic_store(&spinner->is_over, true);
	if (spinner->pid > 0)
		waitpid(spinner->pid, NULL, __WALL);
	if (spinner->schedstat >= 0)
		close(spinner->schedstat);
	free(spinner->stack);
}

/* Returns how long it was held, until it was let go; 0 if it did not stop. */
static uint64_t stop_once(const struct spinner *spinner, bool spins)
{
	struct visit visit;
	uint64_t held_ns;
	enum visit_outcome outcome = visit_begin(&visit, spinner->pid, spinner->pid);

	/* A process that gets no CPU is waited for asleep: a real-time spin would keep this CPU. */
	while (outcome == VISIT_PENDING) {
		bool is_late = clock_monotonic_ns() - visit.interrupted_ns > LONGEST_STOP_NS;

		outcome = visit_wait(&visit, !spins || is_late);
	}
	if (outcome != VISIT_STOPPED)
		return 0;
	held_ns = clock_monotonic_ns() - visit.stopped_ns;
	visit_end(&visit);
	return held_ns;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/*
 * The time that it was away until now, less the time that others had its CPU meanwhile, and more by
 * a constant. It loses no CPU time to others: each has its share. On one CPU with us they had what
 * neither it nor we had; on another, where it does not wait for us, as long as it was ready to run.
 * False: it has not run since then, or not just now, so that this is not known yet.
 */
static bool read_loss(const struct spinner *spinner, bool spins, uint64_t since_ns,
		      uint64_t *loss_ns)
{
	uint64_t ran_ns = atomic_load_explicit(&spinner->ran_ns, memory_order_acquire);
	uint64_t lost_ns = atomic_load_explicit(&spinner->lost_ns, memory_order_relaxed);
	uint64_t now_ns = clock_monotonic_ns(), cpu_ns;
	struct proc_schedstat schedstat;

	if (ran_ns <= since_ns)
		return false;
	if (spins) {
		*loss_ns = lost_ns;
		if (now_ns > ran_ns + JUST_NOW_NS ||
		    !proc_read_schedstat(spinner->schedstat, &schedstat))
			return false;
		*loss_ns -= schedstat.runq_ns;
		return true;
	}
	if (!clock_process_cpu_ns(spinner->pid, &cpu_ns))
		return false;
	*loss_ns = lost_ns + (now_ns - ran_ns) - (now_ns - clock_thread_cpu_ns() - cpu_ns);
	return true;
}

/*
 * What it loses by a stop, less the time it is held. Of some stops it is the lower quartile:
 * nothing makes one shorter, but a busy machine makes many of them longer.
 */
static uint64_t measure(struct spinner *spinner, bool spins)
{
	const struct timespec apart = {.tv_nsec = (long)APART_NS};
	uint64_t begun_ns = clock_monotonic_ns(), stopped_ns = begun_ns, held_ns = 0, former_ns = 0;
	uint64_t overheads_ns[NR_STOPS];
	size_t nr = 0;

	while (nr < NR_STOPS &&
	       clock_monotonic_ns() - begun_ns < (nr < NR_FEW ? LONGEST_FEW_NS : LONGEST_NS)) {
		uint64_t loss_ns;

		clock_nanosleep(CLOCK_MONOTONIC, 0, &apart, NULL);
		if (!read_loss(spinner, spins, stopped_ns, &loss_ns))
			continue;
		if (held_ns && (int64_t)(loss_ns - former_ns) > (int64_t)held_ns)
			overheads_ns[nr++] = loss_ns - former_ns - held_ns;
		former_ns = loss_ns;
		held_ns = stop_once(spinner, spins);
		stopped_ns = clock_monotonic_ns();
	}
	if (!nr)
		return 0;
	qsort(overheads_ns, nr, sizeof(*overheads_ns), by_size);
	return overheads_ns[nr / 4];
}

/* Two CPUs that we may run on; both are the same if there is only one. */
static bool choose_cpus(int *own, int *other)
{
	cpu_set_t allowed;

	*own = *other = -1;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return false;
	for (int cpu = 0; cpu < CPU_SETSIZE && *other < 0; cpu++) {
		if (!CPU_ISSET((size_t)cpu, &allowed))
			continue;
		if (*own < 0)
			*own = cpu;
		else
			*other = cpu;
	}
	if (*other < 0)
		*other = *own;
	return *own >= 0;
}

static void *calibrate(void *context)
{
	struct calibration *calibration = context;
	struct stop_overhead *overhead = &calibration->overhead;
	struct spinner spinner = {.schedstat = -1};
	int own, other;

	calibration->hurry();
	if (!choose_cpus(&own, &other))
		return NULL;
	atomic_store(&calibration->tid, gettid());
	if (start_spinner(calibration, &spinner, own)) {
		if (bind_to(calibration, 0, own))
			overhead->beside_ns = measure(&spinner, false);
		if (other != own && bind_to(calibration, 0, other))
			overhead->away_ns = measure(&spinner, true);
		if (!overhead->away_ns)
			overhead->away_ns = overhead->beside_ns;
	}
	atomic_store(&calibration->spinner, 0);
	end_spinner(&spinner);
	return NULL;
}

/* They go elsewhere, and end: else profc would not. */
static void give_up(struct calibration *calibration)
{
	pid_t bound[2];
	cpu_set_t allowed;

	/* First: what is bound at this moment is known afterwards. */
	atomic_store(&calibration->is_given_up, true);
	bound[0] = atomic_load(&calibration->spinner);
	bound[1] = atomic_load(&calibration->tid);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(bound); i++)
		if (bound[i])
			affinity_unbind(bound[i], &allowed);
}

/* Longer than the measurement takes on a busy machine. */
#define PATIENCE_NS (200 * NS_PER_MS)

/* In a thread of its own, because that stays bound to its CPU and at its priority. */
void calibration_run(struct stop_overhead *overhead, bool (*hurry)(void))
{
	struct calibration *calibration = xcalloc(1, sizeof(*calibration));
	struct timespec until;
	pthread_t thread;

	calibration->hurry = hurry;
	*overhead = (struct stop_overhead){0};
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)PATIENCE_NS;
	until.tv_sec += until.tv_nsec / (long)NS_PER_SEC;
	until.tv_nsec %= (long)NS_PER_SEC;
	if (pthread_create(&thread, NULL, calibrate, calibration) != 0) {
		free(calibration);
	} else if (pthread_timedjoin_np(thread, NULL, &until) == 0) {
		*overhead = calibration->overhead;
		free(calibration);
	} else {
		/* A thread of higher priority keeps it from its CPU: do not wait for it. */
		give_up(calibration);
		pthread_detach(thread);
	}
}
