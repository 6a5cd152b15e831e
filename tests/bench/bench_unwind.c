// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes snapshots of a program and unwinds the same ones in every way there is:
 *
 *	bench_unwind [-v] [-n SNAPSHOTS] [-i INTERVAL_US] -p PID
 *	bench_unwind [-v] [-n SNAPSHOTS] [-i INTERVAL_US] CMD [ARG…]
 *
 * Prints for each way the nanoseconds per stack (the median over all snapshots
 * of the fastest of several rounds with warm caches, the mean, and the first round's mean, with
 * cold caches), how many stacks reach the root, and why the others end; with -v
 * where each of those does. Each way's allocations in the last round are counted. eu-stack,
 * which looks at a process and not at snapshots, is started for some of the stacks, with the
 * process stopped meanwhile; the snapshots of those are among the others'. Only
 * the process itself is sampled, not its children. Exit status 1 when profc's
 * own stacks are fewer complete than 99.5 %, or when it allocates with warm caches.
 */
#include <dirent.h>
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "tests/bench/eu_stack.h"
#include "tests/lib/count_allocations.h"
#include "unwind/unwind.h"
#include "unwind/unwind_priv.h"

#define TOTAL_BYTES_MAX (UINT64_C(600) << 20)
#define MORE_BYTES	(UINT64_C(64) << 10)
#define STACK_BYTES	(UINT64_C(64) << 10)
#define RED_ZONE	128
#define ROUNDS		7
#define FRAMES_SHOWN	16
#define EU_STACKS	10

struct bench {
	pid_t pid;
	struct module_table *modules;
	struct space *space;
	struct snapshot *snapshots;
	size_t nr, cap;
	uint64_t nr_bytes;
	struct unwinder *unwinder; /* for the walk while the thread is held */
	struct unwind_walk walk;
	bool is_verbose;
	Dwfl *dwfl;
	const struct snapshot *current; /* for the callbacks of libdwfl */
	/* Of eu-stack: how long each look took, and how many were equal to profc's. */
	double eu_ns[EU_STACKS];
	size_t nr_eu, nr_eu_equal, nr_eu_frames;
};

/* One way of unwinding; returns the number of frames and notes why the walk ended. */
struct way {
	const char *name;
	size_t (*walk)(void *state, struct bench *bench, const struct snapshot *snapshot,
		       enum stack_end *end);
	void *state;
};

static uint64_t stack_end_of(struct bench *bench, uint64_t sp)
{
	const struct mapping *stack = space_find(bench->space, sp);

	if (!stack && space_refresh(bench->space, NULL) == 0)
		stack = space_find(bench->space, sp);
	return stack ? stack->end : 0;
}

static bool fill_regs(pid_t tid, struct snapshot *snapshot)
{
#if defined(__x86_64__)
	struct user_regs_struct user;
	struct iovec into = {.iov_base = &user, .iov_len = sizeof(user)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &into))
		return false;
	const uint64_t values[] = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi,
				   user.rbp, user.rsp, user.r8,	 user.r9,  user.r10, user.r11,
				   user.r12, user.r13, user.r14, user.r15, user.rip};
#else
	struct user_regs_struct user;
	struct iovec into = {.iov_base = &user, .iov_len = sizeof(user)};
	uint64_t values[33];

	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &into))
		return false;
	memcpy(values, user.regs, 31 * sizeof(values[0]));
	values[31] = user.sp;
	values[32] = user.pc;
#endif
	for (unsigned int i = 0; i < ARRAY_SIZE(values); i++)
		regs_set(&snapshot->regs, i, values[i]);
	return true;
}

static bool fill_stack(struct bench *bench, pid_t tid, struct snapshot *snapshot)
{
	uint64_t sp = snapshot->regs.value[arch_regs(arch_native())->sp] - RED_ZONE;
	uint64_t end = stack_end_of(bench, sp + RED_ZONE);
	uint64_t nr_bytes = end - sp < STACK_BYTES ? end - sp : STACK_BYTES;
	struct iovec to = {.iov_len = nr_bytes};
	struct iovec from = {.iov_base = (void *)(uintptr_t)sp, .iov_len = nr_bytes};
	ssize_t nr_read;

	if (end <= sp)
		return false;
	to.iov_base = snapshot_add_region(snapshot, sp, nr_bytes);
	nr_read = process_vm_readv(tid, &to, 1, &from, 1, 0);
	snapshot_trim_region(snapshot, nr_bytes - (nr_read > 0 ? (size_t)nr_read : 0));
	return nr_read > 0;
}

/* More memory of the thread that is held: a page run around what a walk wants, kept in the copy. */
static bool read_more(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	struct bench *bench = context;
	struct snapshot *snapshot = &bench->snapshots[bench->nr];
	const struct mapping *mapping = space_find(bench->space, address);
	uint64_t start = address & ~UINT64_C(4095);
	uint64_t end = mapping ? mapping->end : 0;
	struct iovec to = {0};
	struct iovec from = {.iov_base = (void *)(uintptr_t)start};
	ssize_t nr_read;

	if (!mapping || mapping->executable || !mapping->writable)
		return false;
	to.iov_len = from.iov_len = end - start < MORE_BYTES ? end - start : MORE_BYTES;
	to.iov_base = snapshot_add_region(snapshot, start, to.iov_len);
	if (!to.iov_base)
		return false;
	nr_read = process_vm_readv(snapshot->tid, &to, 1, &from, 1, 0);
	snapshot_trim_region(snapshot, to.iov_len - (nr_read > 0 ? (size_t)nr_read : 0));
	return snapshot_read(snapshot, address, out, nr_bytes);
}

/* Walk while the thread is held, so that the copy becomes as deep as the stack. */
static void deepen(struct bench *bench)
{
	const struct unwind_memory memory = {.read = read_more, .context = bench};
	struct snapshot *snapshot = &bench->snapshots[bench->nr];

	unwinder_walk(bench->unwinder, bench->space, snapshot, &memory, &bench->walk);
	if (bench->walk.end != STACK_END_NO_MAPPING || space_refresh(bench->space, NULL))
		return;
	unwinder_walk(bench->unwinder, bench->space, snapshot, &memory, &bench->walk);
}

static void take_snapshot(struct bench *bench, pid_t tid)
{
	struct snapshot *snapshot;

	ARRAY_GROW(bench->snapshots, bench->nr, bench->cap);
	snapshot = &bench->snapshots[bench->nr];
	*snapshot = (struct snapshot){0};
	snapshot_clear(snapshot);
	snapshot->tgid = bench->pid;
	snapshot->tid = tid;
	if (fill_regs(tid, snapshot) && fill_stack(bench, tid, snapshot)) {
		deepen(bench);
		bench->nr++;
		bench->nr_bytes += snapshot->nr_bytes;
	} else {
		snapshot_release(snapshot);
	}
}

static bool is_running(pid_t pid, pid_t tid)
{
	char path[64];
	char text[512] = "";
	cleanup_close int fd = -1;
	const char *after_name;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	after_name = strrchr(text, ')');
	return after_name && after_name[2] == 'R';
}

/* Stop the thread, look, let it go on; signals on the way are delivered. */
static void sample_thread(struct bench *bench, pid_t tid)
{
	int status;
	bool done = false;

	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return;
	while (!done) {
		int signal;

		if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return;
		signal = status >> 16 ? 0 : WSTOPSIG(status);
		done = status >> 16 == PTRACE_EVENT_STOP;
		if (done)
			take_snapshot(bench, tid);
		ptrace(PTRACE_CONT, tid, 0, signal);
	}
}

static void reap_stops(pid_t tid)
{
	int status;

	while (waitpid(tid, &status, __WALL | WNOHANG) == tid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
}

/* Go once over all threads; new ones are seized. False once the process is gone. */
static bool sample_process(struct bench *bench)
{
	char path[32];
	DIR *tasks;
	const struct dirent *entry;
	size_t nr_threads = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", bench->pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		nr_threads++;
		ptrace(PTRACE_SEIZE, tid, 0, 0); /* fails on those we have: no matter */
		reap_stops(tid);
		if (is_running(bench->pid, tid))
			sample_thread(bench, tid);
	}
	if (tasks)
		closedir(tasks);
	return nr_threads && (kill(bench->pid, 0) == 0);
}

static void collect(struct bench *bench, size_t nr_wanted, unsigned int interval_us)
{
	bench->unwinder = unwinder_new(UNWINDER_AUTO, 0);
	while (bench->nr < nr_wanted && bench->nr_bytes < TOTAL_BYTES_MAX && sample_process(bench))
		usleep(interval_us);
	unwind_walk_release(&bench->walk);
	unwinder_free(bench->unwinder);
}

/* Let go of all threads. */
static void detach(struct bench *bench)
{
	char path[32];
	DIR *tasks;
	const struct dirent *entry;
	int status;

	snprintf(path, sizeof(path), "/proc/%d/task", bench->pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !ptrace(PTRACE_INTERRUPT, tid, 0, 0) &&
		    waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, tid, 0, status >> 16 ? 0 : WSTOPSIG(status));
	}
	if (tasks)
		closedir(tasks);
}

static void wait_until_stopped(pid_t pid)
{
	while (is_running(pid, pid))
		usleep(200);
	usleep(200); /* its other threads */
}

static bool is_same_stack(const struct unwind_walk *walk, const struct eu_stack *stack)
{
	size_t i = 0;

	while (i < walk->nr_frames && i < stack->nr && walk->frames[i].pc == stack->pcs[i])
		i++;
	return i == walk->nr_frames && i == stack->nr;
}

/* One stack of the stopped process: a snapshot by us, then eu-stack on the same. */
static bool look_with_eu_stack(struct bench *bench, struct eu_stack *stack)
{
	size_t nr_before = bench->nr;
	int status;

	if (ptrace(PTRACE_SEIZE, bench->pid, 0, 0) || ptrace(PTRACE_INTERRUPT, bench->pid, 0, 0) ||
	    waitpid(bench->pid, &status, __WALL) != bench->pid || !WIFSTOPPED(status))
		return false;
	take_snapshot(bench, bench->pid);
	ptrace(PTRACE_DETACH, bench->pid, 0, 0);
	return bench->nr > nr_before && eu_stack_ask(stack, bench->pid);
}

static void ask_eu_stack(struct bench *bench)
{
	struct eu_stack stack = {0};
	bool goes_on = true;

	bench->unwinder = unwinder_new(UNWINDER_AUTO, 0);
	detach(bench);
	while (goes_on && bench->nr_eu < EU_STACKS) {
		kill(bench->pid, SIGSTOP);
		wait_until_stopped(bench->pid);
		goes_on = look_with_eu_stack(bench, &stack);
		if (goes_on) {
			bench->nr_eu_equal += is_same_stack(&bench->walk, &stack);
			bench->nr_eu_frames += stack.nr;
			bench->eu_ns[bench->nr_eu++] = stack.took_ns;
		}
		kill(bench->pid, SIGCONT);
		usleep(5000);
	}
	eu_stack_release(&stack);
	unwind_walk_release(&bench->walk);
	unwinder_free(bench->unwinder);
}

/* Has the child become the command? */
static bool has_own_file(pid_t pid)
{
	char path[32];
	char ours[4096] = "";
	char theirs[4096] = "";

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return readlink("/proc/self/exe", ours, sizeof(ours) - 1) > 0 &&
	       readlink(path, theirs, sizeof(theirs) - 1) > 0 && strcmp(ours, theirs) != 0;
}

/* A wrapper that becomes another program leaves snapshots of an address space that is gone. */
static void drop_former_programs(struct bench *bench)
{
	size_t nr_kept = 0;

	for (size_t i = 0; i < bench->nr; i++) {
		struct snapshot *snapshot = &bench->snapshots[i];
		uint64_t pc = snapshot->regs.value[arch_regs(arch_native())->pc];

		if (space_find(bench->space, pc))
			bench->snapshots[nr_kept++] = *snapshot;
		else
			snapshot_release(snapshot);
	}
	bench->nr = nr_kept;
}

static pid_t spawn(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, NULL, WUNTRACED);
	ptrace(PTRACE_SEIZE, pid, 0, 0);
	kill(pid, SIGCONT);
	while (kill(pid, 0) == 0 && !has_own_file(pid)) {
		reap_stops(pid);
		usleep(1000);
	}
	return pid;
}

static size_t walk_profc(void *state, struct bench *bench, const struct snapshot *snapshot,
			 enum stack_end *end)
{
	static struct unwind_walk walk; /* kept from call to call, as the worker keeps its own */

	unwinder_walk(state, bench->space, snapshot, NULL, &walk);
	*end = walk.end;
	return walk.nr_frames;
}

static size_t walk_libunwind(void *state, struct bench *bench, const struct snapshot *snapshot,
			     enum stack_end *end)
{
	static struct unwind_walk out;
	struct walk_work work = {.limit = UINT64_MAX};
	struct walk walk = {
		.work = &work, .space = bench->space, .snapshot = snapshot, .out = &out};

	out.nr_frames = 0;
	libunwind_walk(state, &walk);
	*end = out.end;
	return out.nr_frames;
}

static pid_t dwfl_next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	struct bench *bench = arg;

	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = bench;
	return bench->current->tid;
}

static bool dwfl_get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

static bool dwfl_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *arg)
{
	const struct bench *bench = arg;

	(void)dwfl;
	return snapshot_read(bench->current, address, result, sizeof(*result));
}

static bool dwfl_registers(Dwfl_Thread *thread, void *arg)
{
	const struct bench *bench = arg;
	const struct arch_regs *arch = arch_regs(arch_native());
	unsigned int nr = arch->nr - (arch->ra != arch->pc);

	dwfl_thread_state_register_pc(thread, bench->current->regs.value[arch->pc]);
	return dwfl_thread_state_registers(thread, 0, nr, bench->current->regs.value);
}

static int dwfl_frame(Dwfl_Frame *frame, void *arg)
{
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	++*(size_t *)arg;
	return DWARF_CB_OK;
}

static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)found;
	return -1;
}

static void dwfl_attach(struct bench *bench)
{
	static const Dwfl_Callbacks files = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = no_debuginfo,
	};
	static const Dwfl_Thread_Callbacks threads = {
		.next_thread = dwfl_next_thread,
		.get_thread = dwfl_get_thread,
		.memory_read = dwfl_read,
		.set_initial_registers = dwfl_registers,
	};

	bench->dwfl = dwfl_begin(&files);
	if (dwfl_linux_proc_report(bench->dwfl, bench->pid) ||
	    dwfl_report_end(bench->dwfl, NULL, NULL) ||
	    !dwfl_attach_state(bench->dwfl, NULL, bench->pid, &threads, bench)) {
		dwfl_end(bench->dwfl);
		bench->dwfl = NULL;
	}
}

static size_t walk_dwfl(void *state, struct bench *bench, const struct snapshot *snapshot,
			enum stack_end *end)
{
	size_t nr_frames = 0;

	(void)state;
	bench->current = snapshot;
	*end = dwfl_getthread_frames(bench->dwfl, snapshot->tid, dwfl_frame, &nr_frames) == 0
		       ? STACK_END_ROOT
		       : STACK_END_NO_CFI;
	return nr_frames;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct result {
	double median_ns, mean_ns, first_ns;
	uint64_t nr_frames;
	uint64_t by_end[STACK_END_COUNT];
	uint64_t nr_allocations; /* in the last round */
};

static struct result run(struct bench *bench, const struct way *way)
{
	uint64_t *best = xcalloc(bench->nr, sizeof(*best));
	struct result result = {0};
	uint64_t nr_before = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		nr_before = count_allocations();
		for (size_t i = 0; i < bench->nr; i++) {
			enum stack_end end = STACK_END_ROOT;
			uint64_t start;

			/*
			 * A stack that was copied just now is in the cache; these
			 * are megabytes, and are not, unless they are walked twice.
			 */
			if (round)
				way->walk(way->state, bench, &bench->snapshots[i], &end);
			start = clock_monotonic_ns();
			size_t nr_frames = way->walk(way->state, bench, &bench->snapshots[i], &end);
			uint64_t took = clock_monotonic_ns() - start;

			if (!round || took < best[i])
				best[i] = took;
			if (round)
				continue;
			result.first_ns += (double)took / (double)bench->nr;
			result.nr_frames += nr_frames;
			result.by_end[end]++;
		}
	}
	result.nr_allocations = count_allocations() - nr_before;
	for (size_t i = 0; i < bench->nr; i++)
		result.mean_ns += (double)best[i] / (double)bench->nr;
	qsort(best, bench->nr, sizeof(*best), by_value);
	result.median_ns = (double)best[bench->nr / 2];
	free(best);
	return result;
}

static double show(const struct bench *bench, const struct way *way, const struct result *result)
{
	double complete = 100.0 * (double)result->by_end[STACK_END_ROOT] / (double)bench->nr;

	printf("%-20s %9.0f %9.0f %9.0f %7.1f %8.2f %% %7" PRIu64, way->name, result->median_ns,
	       result->mean_ns, result->first_ns, (double)result->nr_frames / (double)bench->nr,
	       complete, result->nr_allocations);
	for (unsigned int end = 1; end < STACK_END_COUNT; end++) {
		if (result->by_end[end])
			printf("  %s: %" PRIu64, stack_end_name((enum stack_end)end),
			       result->by_end[end]);
	}
	printf("\n");
	return complete;
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void show_eu_stack(struct bench *bench)
{
	double mean_ns = 0;

	if (!bench->nr_eu)
		return;
	for (size_t i = 0; i < bench->nr_eu; i++)
		mean_ns += bench->eu_ns[i] / (double)bench->nr_eu;
	qsort(bench->eu_ns, bench->nr_eu, sizeof(bench->eu_ns[0]), by_double);
	printf("%-20s %9.0f %9.0f %9s %7.1f  %zu of %zu stacks equal to profc's, a start each\n",
	       "eu-stack -q", bench->eu_ns[bench->nr_eu / 2], mean_ns, "",
	       (double)bench->nr_eu_frames / (double)bench->nr_eu, bench->nr_eu_equal,
	       bench->nr_eu);
}

static void show_difference(size_t nr, const struct unwind_walk *ours,
			    const struct unwind_walk *theirs)
{
	size_t i = 0;

	while (i < ours->nr_frames && i < theirs->nr_frames &&
	       ours->frames[i].pc == theirs->frames[i].pc)
		i++;
	printf("%zu: frame %zu of %zu is %" PRIx64 " by %s, by libunwind %" PRIx64 " of %zu\n", nr,
	       i, ours->nr_frames, i < ours->nr_frames ? ours->frames[i].lookup.address : 0,
	       unwind_rule_name(i < ours->nr_frames ? ours->frames[i].rule : ours->end_rule),
	       i < theirs->nr_frames ? theirs->frames[i].lookup.address : 0, theirs->nr_frames);
}

static size_t nr_equal(struct bench *bench)
{
	struct unwinder *unwinders[] = {unwinder_new(UNWINDER_AUTO, 0),
					unwinder_new(UNWINDER_LIBUNWIND, 0)};
	struct unwind_walk walks[2] = {{0}, {0}};
	size_t nr = 0;

	for (size_t i = 0; i < bench->nr; i++) {
		bool equal;

		for (int j = 0; j < 2; j++)
			unwinder_walk(unwinders[j], bench->space, &bench->snapshots[i], NULL,
				      &walks[j]);
		equal = walks[0].nr_frames == walks[1].nr_frames;
		for (size_t f = 0; equal && f < walks[0].nr_frames; f++)
			equal = walks[0].frames[f].pc == walks[1].frames[f].pc;
		nr += equal;
		if (!equal && bench->is_verbose)
			show_difference(i, &walks[0], &walks[1]);
	}
	for (int j = 0; j < 2; j++) {
		unwind_walk_release(&walks[j]);
		unwinder_free(unwinders[j]);
	}
	return nr;
}

/* Where profc's incomplete stacks end, for a look at why. */
static void show_incomplete(struct bench *bench)
{
	struct unwinder *unwinder = unwinder_new(UNWINDER_AUTO, 0);
	struct unwind_walk walk = {0};

	for (size_t i = 0; i < bench->nr; i++) {
		unwinder_walk(unwinder, bench->space, &bench->snapshots[i], NULL, &walk);
		if (walk.end == STACK_END_ROOT)
			continue;
		printf("%zu: %zu frames, %s at %" PRIx64 " (%s+%" PRIx64 "), wanted %" PRIx64 "\n",
		       i, walk.nr_frames, stack_end_name(walk.end), walk.end_pc,
		       module_short_name(module_table_get(bench->modules, walk.end_module)),
		       space_locate(bench->space, walk.end_pc).address, walk.wanted_address);
		for (size_t f = 0; f < walk.nr_frames && f < FRAMES_SHOWN; f++)
			printf(" %" PRIx64 " by %s%s", walk.frames[f].lookup.address,
			       unwind_rule_name(walk.frames[f].rule),
			       f + 1 < walk.nr_frames && f + 1 < FRAMES_SHOWN ? "," : "");
		printf("\n");
	}
	unwind_walk_release(&walk);
	unwinder_free(unwinder);
}

static int compare_ways(struct bench *bench)
{
	struct unwinder *unwinder = unwinder_new(UNWINDER_AUTO, 0);
	struct libunwind_spaces *cached = libunwind_spaces_new(true);
	struct libunwind_spaces *uncached = libunwind_spaces_new(false);
	const struct way ways[] = {
		{.name = "profc", .walk = walk_profc, .state = unwinder},
		{.name = "libunwind, cached", .walk = walk_libunwind, .state = cached},
		{.name = "libunwind", .walk = walk_libunwind, .state = uncached},
		{.name = "libdwfl", .walk = walk_dwfl},
	};
	double complete = 0;
	uint64_t nr_allocations = 0;

	printf("%zu snapshots, %.0f bytes of stack on average\n", bench->nr,
	       (double)bench->nr_bytes / (double)bench->nr);
	printf("%-20s %9s %9s %9s %7s %10s %7s\n", "ns per stack", "median", "mean", "first",
	       "frames", "complete", "allocs");
	for (size_t i = 0; i < ARRAY_SIZE(ways) - !bench->dwfl; i++) {
		struct result result = run(bench, &ways[i]);
		double share = show(bench, &ways[i], &result);

		if (i == 0) {
			complete = share;
			nr_allocations = result.nr_allocations;
		}
	}
	show_eu_stack(bench);
	printf("equal to libunwind's: %.2f %%\n",
	       100.0 * (double)nr_equal(bench) / (double)bench->nr);
	unwinder_free(unwinder);
	libunwind_spaces_free(cached);
	libunwind_spaces_free(uncached);
	return complete < 99.5 || nr_allocations;
}

int main(int argc, char **argv)
{
	struct bench bench = {0};
	size_t nr_wanted = 300;
	unsigned int interval_us = 1000;
	bool spawned;
	int option;
	int status = 2;

	while ((option = getopt(argc, argv, "+vn:i:p:")) != -1) {
		if (option == 'v')
			bench.is_verbose = true;
		else if (option == 'n')
			nr_wanted = strtoul(optarg, NULL, 10);
		else if (option == 'i')
			interval_us = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'p')
			bench.pid = (pid_t)strtol(optarg, NULL, 10);
		else
			return 2;
	}
	spawned = !bench.pid && argv[optind];
	if (spawned)
		bench.pid = spawn(argv + optind);
	bench.modules = module_table_new();
	bench.space = space_new(bench.modules, bench.pid);
	if (bench.pid && interval_us)
		usleep(spawned ? 20000 : 0);
	if (bench.pid) {
		collect(&bench, nr_wanted, interval_us);
		ask_eu_stack(&bench);
		drop_former_programs(&bench);
		dwfl_attach(&bench);
	}
	if (bench.is_verbose)
		show_incomplete(&bench);
	if (bench.nr)
		status = compare_ways(&bench);
	else
		fprintf(stderr, "bench_unwind: no snapshots\n");
	if (spawned)
		kill(bench.pid, SIGKILL);
	dwfl_end(bench.dwfl);
	for (size_t i = 0; i < bench.nr; i++)
		snapshot_release(&bench.snapshots[i]);
	free(bench.snapshots);
	space_free(bench.space);
	module_table_free(bench.modules);
	return status;
}
