// SPDX-License-Identifier: GPL-2.0-or-later
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/range.h"
#include "proc/read.h"
#include "snapshot/snapshot.h"
#include "target/memory.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

bool target_get_regs(pid_t tid, struct machine_regs *regs)
{
	struct iovec iov = {.iov_base = &regs->raw, .iov_len = sizeof(regs->raw)};

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &iov) == 0 &&
	       iov.iov_len == sizeof(regs->raw);
}

bool target_set_regs(pid_t tid, const struct machine_regs *regs)
{
	struct machine_regs copy = *regs;
	struct iovec iov = {.iov_base = &copy.raw, .iov_len = sizeof(copy.raw)};

	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &iov) == 0;
}

/*
 * Copy memory into one more region of the snapshot; returns how many bytes there were. Where the
 * target fills pages as they are touched, only those are read that are there: else we would wait
 * for a thread that may wait for us.
 */
static size_t copy_region(const struct tracee *tracee, uint64_t start, size_t nr_bytes,
			  struct snapshot *snapshot)
{
	uint8_t *room;
	size_t got;

	if (tracee->priv->fills_pages)
		nr_bytes = target_present_bytes(tracee->tid, start, nr_bytes);
	room = nr_bytes ? snapshot_add_region(snapshot, start, nr_bytes) : NULL;
	if (!room)
		return 0;
	got = target_read_memory(tracee->tid, start, room, nr_bytes);
	snapshot_trim_region(snapshot, nr_bytes - got);
	return got;
}

#define FIRST_CHUNK_BYTES ((size_t)64 * 1024)

/*
 * The stack from `sp` up to the end of its mapping, where the read comes out short, or to the
 * limit. The first chunk is all that most stacks need. Returns where the stack ends, or 0 if
 * that was not reached.
 */
static uint64_t copy_mapping(const struct tracee *tracee, uint64_t sp, size_t max_bytes,
			     struct snapshot *snapshot)
{
	size_t red_zone = machine_red_zone_bytes();
	uint64_t at = sp > red_zone ? sp - red_zone : sp;
	size_t chunk = FIRST_CHUNK_BYTES;
	size_t copied = 0;

	while (copied < max_bytes) {
		size_t wanted = chunk < max_bytes - copied ? chunk : max_bytes - copied;
		size_t got = copy_region(tracee, at, wanted, snapshot);

		copied += got;
		at += got;
		if (got < wanted)
			break;
		chunk *= 4;
	}
	/* The red zone may reach below the mapping that the stack pointer is in. */
	if (!copied && at < sp && max_bytes > red_zone) {
		size_t above = max_bytes - red_zone;

		at = sp + copy_region(tracee, sp, chunk < above ? chunk : above, snapshot);
	}
	return copied < max_bytes ? at : 0;
}

static bool ask_for_mapping(const struct tracee *tracee, uint64_t sp, struct proc_range *range)
{
	struct tracee_private *priv = tracee->priv;
	int kept = target_kept_file(tracee, KEPT_MAPS);
	cleanup_close int fd = -1;

	if (kept >= 0 && proc_range_at(kept, sp, range))
		return true;
	fd = proc_open_task_file(tracee->tgid, tracee->tid, "maps");
	if (fd < 0)
		return false;
	if (proc_range_at(fd, sp, range))
		return true;
	priv->maps_are_slow = errno == ENOTTY;
	return priv->maps_are_slow && !priv->hold && proc_range_in_text(fd, sp, range);
}

/* The mapping that a stack is in. */
static bool find_mapping(const struct tracee *tracee, uint64_t sp, struct proc_range *range)
{
	struct tracee_private *priv = tracee->priv;
	bool is_known = priv->mapping.start <= sp && sp < priv->mapping.end;

	if (!is_known && !ask_for_mapping(tracee, sp, &priv->mapping))
		return false;
	*range = priv->mapping;
	return true;
}

/* It may change while nobody looks: only in a hurry, or where asking takes long, is it kept. */
static void forget_mapping(struct tracee_private *priv)
{
	if (!priv->maps_are_slow)
		priv->mapping = (struct proc_range){0};
}

/*
 * So much of a stack is copied whole at the first look, if its end is known: all of it is in
 * use, and who looks only once must not come short. 8 MiB is what most stacks are bounded by.
 */
#define WHOLE_STACK_BYTES ((size_t)8 << 20)

/* On x86-64 the C libraries keep the thread pointer where it points to; Go does not. */
static bool is_of_c_library(pid_t tid, uint64_t thread_pointer)
{
	uint64_t word;

	return target_read_memory(tid, thread_pointer, &word, sizeof(word)) == sizeof(word) &&
	       word == thread_pointer;
}

/* Is all from the stack pointer up to `limit` surely stack? */
static bool is_whole_stack(const struct tracee *tracee, uint64_t sp, uint64_t limit,
			   const struct proc_range *range)
{
	const struct tracee_private *priv = tracee->priv;

	if (sp < priv->first_sp && priv->first_sp < range->end)
		return true;
	return limit == priv->thread_pointer && is_of_c_library(tracee->tid, limit);
}

/*
 * The C libraries put a thread's own data, which the thread pointer points to, at the end of
 * its stack. What follows is no stack, but often mapped, hundreds of kilobytes of it; or it is
 * memory that the target itself fills when it is read (userfaultfd(2), files of FUSE): whoever
 * reads it waits for a thread that may wait for us. So the copy never leaves the mapping.
 */
static uint64_t copy_stack(const struct tracee *tracee, uint64_t sp, size_t max_bytes,
			   struct snapshot *snapshot, struct proc_range *range)
{
	uint64_t thread_pointer = tracee->priv->thread_pointer;
	uint64_t start = sp - machine_red_zone_bytes();
	uint64_t limit = 0;
	uint64_t end;

	*range = (struct proc_range){0};
	if (find_mapping(tracee, sp, range))
		limit = range->end;
	/* A stack that is empty ends where another mapping begins: a child's, at its birth. */
	if (limit && range->start == sp) {
		*range = (struct proc_range){0};
		copy_mapping(tracee, sp, machine_red_zone_bytes(), snapshot);
		return 0;
	}
	/* But on another stack than its own, as after vfork(2), that is in another mapping. */
	if (thread_pointer > sp && thread_pointer - start <= WHOLE_STACK_BYTES &&
	    (!limit || thread_pointer < limit))
		limit = thread_pointer;
	if (limit && limit - start > max_bytes && limit - start <= WHOLE_STACK_BYTES &&
	    is_whole_stack(tracee, sp, limit, range))
		max_bytes = WHOLE_STACK_BYTES;
	if (!limit || limit - start > max_bytes)
		return copy_mapping(tracee, sp, max_bytes, snapshot);
	end = copy_mapping(tracee, sp, limit - start, snapshot);
	return end ? end : limit;
}

/* More of it is hardly ever needed, and it is copied on a mere chance. */
#define OTHER_STACK_BYTES ((uint64_t)192 * 1024)

/* The other stack may be in use from a little below the last stack pointer seen on it. */
static void copy_other_stack(const struct tracee *tracee, const struct seen_stack *other,
			     struct snapshot *snapshot)
{
	static const uint64_t margins[] = {64 * 1024, 16 * 1024, 4 * 1024, 0};

	for (size_t i = 0; i < ARRAY_SIZE(margins); i++) {
		uint64_t start = other->low > margins[i] ? other->low - margins[i] : other->low;
		uint64_t nr;

		if (start < other->start)
			start = other->start;
		nr = other->end - start;

		/* Where the margin is not mapped, nothing is read at all. */
		if (copy_region(tracee, start, nr < OTHER_STACK_BYTES ? nr : OTHER_STACK_BYTES,
				snapshot))
			return;
	}
}

/* Its end may be known better by now, with the thread pointer. */
static bool is_same_stack(const struct seen_stack *stack, uint64_t sp, uint64_t end)
{
	return stack->low < end && sp < stack->end;
}

/* Note the stack in use; returns another one that this thread was seen on, or NULL. */
static const struct seen_stack *remember_stack(struct tracee_private *priv, uint64_t sp,
					       uint64_t end, uint64_t start)
{
	struct seen_stack *stacks = priv->stacks;

	if (end && !is_same_stack(&stacks[0], sp, end)) {
		struct seen_stack former = stacks[0];

		stacks[0] = stacks[1];
		stacks[1] = former;
		if (!is_same_stack(&stacks[0], sp, end))
			stacks[0] = (struct seen_stack){0};
	}
	if (end) {
		stacks[0].end = end;
		stacks[0].low = sp;
		stacks[0].start = start ? start : stacks[0].start;
	}
	if (stacks[1].end)
		return &stacks[1];
	return !end && stacks[0].end && !is_same_stack(&stacks[0], sp, sp + 1) ? &stacks[0] : NULL;
}

/* What begins a program has few frames. */
#define FIRST_STACK_BYTES ((uint64_t)16 * 1024)

/*
 * A program may leave the stack that it began on before anybody looks (Lisp does): its outermost
 * frames are there.
 */
static void know_first_stack(struct tracee *tracee, uint64_t first_sp)
{
	struct tracee_private *priv = tracee->priv;

	if (tracee->tid != tracee->tgid || first_sp == priv->first_sp ||
	    first_sp <= FIRST_STACK_BYTES)
		return;
	priv->first_sp = first_sp;
	/* With the word that it points to, or who is met there would stand on another stack. */
	priv->stacks[0] = (struct seen_stack){.start = first_sp - FIRST_STACK_BYTES,
					      .end = first_sp + sizeof(uint64_t),
					      .low = first_sp};
	priv->stacks[1] = (struct seen_stack){0};
}

/* What a signal struck, if it is known: a thread on an alternate stack came from another one. */
static bool copy_struck_stack(const struct tracee *tracee, size_t max_bytes,
			      struct snapshot *snapshot)
{
	const struct stack_region *region = &snapshot->regions[0];
	struct proc_range range;
	uint64_t sp;

	if (!snapshot->nr_regions || !machine_struck_sp(snapshot->bytes + region->offset,
							region->nr_bytes, region->start, &sp))
		return false;
	return copy_stack(tracee, sp, max_bytes, snapshot, &range) || snapshot->nr_regions > 1;
}

/*
 * All that a walk may need, from the stack pointer of the snapshot on. Threads with one stack,
 * which ends where its mapping does, are most.
 */
static void copy_stacks(struct tracee *tracee, size_t max_bytes, struct snapshot *snapshot)
{
	const struct seen_stack *other;
	struct proc_range range;
	uint64_t end;
	uint64_t sp;

	if (!regs_get(&snapshot->regs, arch_regs(snapshot->arch)->sp, &sp))
		return;
	end = copy_stack(tracee, sp, max_bytes, snapshot, &range);
	other = remember_stack(tracee->priv, sp, end, range.start);
	if (end && !other)
		return;
	if (!copy_struck_stack(tracee, max_bytes, snapshot) && other)
		copy_other_stack(tracee, other, snapshot);
}

/* Deeper stacks take longer to copy than the thread takes to get off its CPU. */
#define AHEAD_BYTES ((uint64_t)16 * 1024)
#define PAGE_BYTES  4096 /* or a part of one */

/*
 * A thread that has just stopped on another CPU is still on its way off it, and its registers are
 * not to be had for some microseconds. Its memory is: meanwhile the stack is copied from where it
 * was the last time. Where that is, target_rehearse() has found out.
 */
static bool copy_ahead(const struct tracee *tracee, size_t max_bytes, struct snapshot *snapshot)
{
	const struct tracee_private *priv = tracee->priv;
	const struct seen_stack *stack = &priv->stacks[0];
	uint64_t used = stack->low - machine_red_zone_bytes();
	/* From the page on that was in use then: who reads what was never touched makes it be. */
	uint64_t start = used - used % PAGE_BYTES;

	if (!priv->rehearsed || priv->stacks[1].end || stack->low < priv->mapping.start ||
	    stack->low >= priv->mapping.end || stack->end > priv->mapping.end)
		return false;
	if (start < priv->mapping.start)
		start = priv->mapping.start;
	if (start >= stack->end || stack->end - start > AHEAD_BYTES ||
	    stack->end - start > max_bytes)
		return false;
	return copy_region(tracee, start, stack->end - start, snapshot) == stack->end - start;
}

/* Was what was copied ahead the stack that it turns out to stand on? Then as if copied now. */
static bool use_ahead(struct tracee *tracee, struct snapshot *snapshot)
{
	struct seen_stack *stack = &tracee->priv->stacks[0];
	struct stack_region *region = &snapshot->regions[0];
	uint64_t below;
	uint64_t sp;

	if (!regs_get(&snapshot->regs, arch_regs(snapshot->arch)->sp, &sp) || sp >= stack->end ||
	    sp < region->start + machine_red_zone_bytes())
		return false;
	below = sp - machine_red_zone_bytes() - region->start;
	region->start += below;
	region->offset += (uint32_t)below;
	region->nr_bytes -= (uint32_t)below;
	stack->low = sp;
	return true;
}

/* So many times in a row a thread is believed to run where it ran at the last look. */
#define SHORT_LOOKS 7
/* At low rates that is long. */
#define SHORT_LOOKS_NS (25 * NS_PER_MS)
/* A stop takes that long where the thread is not where it was expected to be. */
#define LATE_STOP_NS (100 * NS_PER_US)

static void set_clocks(struct snapshot *snapshot, const struct proc_schedstat *clocks)
{
	snapshot->cpu_ns = clocks->cpu_ns;
	snapshot->runq_ns = clocks->runq_ns;
	snapshot->pcount = clocks->pcount;
}

static void begin_snapshot(const struct tracee *tracee, struct snapshot *snapshot)
{
	snapshot_clear(snapshot);
	snapshot->arch = arch_native();
	snapshot->tgid = tracee->tgid;
	snapshot->tid = tracee->tid;
	snapshot->syscall_nr = SNAPSHOT_NO_SYSCALL;
	snapshot->time_ns = clock_monotonic_ns();
}

bool target_capture(struct tracee *tracee, size_t max_stack_bytes, struct snapshot *snapshot)
{
	struct proc_schedstat clocks;
	struct proc_syscall syscall;
	struct machine_regs regs;
	bool has_regs;
	bool is_ahead;

	begin_snapshot(tracee, snapshot);
	if (snapshot->time_ns - tracee->interrupted_ns > LATE_STOP_NS)
		tracee->priv->nr_short_looks = SHORT_LOOKS; /* it may have moved */
	is_ahead = copy_ahead(tracee, max_stack_bytes, snapshot);
	tracee->priv->rehearsed = false;
	/*
	 * First of all that tells of the moment, because it waits until the thread is off its CPU
	 * (ptrace_check_attach() in kernel/ptrace.c): before, its clocks still show the last time
	 * they were updated, up to milliseconds ago.
	 */
	has_regs = target_get_regs(tracee->tid, &regs);
	if (!target_clocks(tracee, &clocks))
		return false;
	set_clocks(snapshot, &clocks);
	snapshot->state = THREAD_STATE_RUNNING;
	if (!has_regs) {
		snapshot_drop_regions(snapshot);
		return true; /* a 32-bit program: time is known, the stack is not */
	}
	machine_fill_snapshot(&regs, snapshot);
	tracee->priv->thread_pointer = machine_thread_pointer(&regs);
	if (machine_broken_call(&regs) != MACHINE_CALL_NONE)
		snapshot->state = THREAD_STATE_SLEEPING;
	else if (tracee->priv->hold == HOLD_REPAIR && !tracee->priv->broken_off)
		tracee->priv->hold = HOLD_CONT; /* nothing to repair: no second look at it */
	if (machine_syscall(&regs, &syscall)) {
		target_take_care(tracee, &syscall);
		target_learn_result(tracee, &syscall, machine_syscall_result(&regs));
	}
	if (is_ahead && use_ahead(tracee, snapshot))
		return true;
	snapshot_drop_regions(snapshot);
	copy_stacks(tracee, max_stack_bytes, snapshot);
	return true;
}

void target_rehearse(struct tracee *tracee, size_t max_stack_bytes, struct snapshot *snapshot)
{
	uint64_t sp = tracee->priv->stacks[0].low;
	struct proc_schedstat clocks;
	struct machine_regs regs;
	struct proc_range range;

	target_has_stopped(tracee);
	target_get_regs(tracee->tid, &regs); /* refused while it runs */
	target_clocks(tracee, &clocks);
	begin_snapshot(tracee, snapshot);
	if (sp)
		copy_stack(tracee, sp, max_stack_bytes, snapshot, &range);
	tracee->priv->rehearsed = true;
}

static enum thread_state state_of_letter(char letter)
{
	switch (letter) {
	case 'R':
		return THREAD_STATE_RUNNING;
	case 'S':
	case 'I':
		return THREAD_STATE_SLEEPING;
	case 'D':
		return THREAD_STATE_DISK;
	case 'T':
	case 't':
		return THREAD_STATE_STOPPED;
	default:
		return THREAD_STATE_UNKNOWN;
	}
}

static void set_where(struct snapshot *snapshot, const struct proc_syscall *syscall)
{
	const struct arch_regs *arch = arch_regs(arch_native());

	regs_set(&snapshot->regs, arch->sp, syscall->sp);
	regs_set(&snapshot->regs, arch->pc, syscall->pc);
	if (syscall->kind == PROC_SYSCALL_INSIDE)
		snapshot->syscall_nr = (int32_t)syscall->nr;
}

/* It touched a page that another thread, or process, has to fill (userfaultfd(2)). */
static bool waits_for_page(const struct tracee *tracee)
{
	static const char place[] = "handle_userfault";
	cleanup_close int fd = proc_open_task_file(tracee->tgid, tracee->tid, "wchan");
	char text[sizeof(place)] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strcmp(text, place) == 0;
}

/*
 * Does a thread that ran at the last look run now? That the kernel shows no place where it sleeps
 * tells so in a fifth of the time that it takes to write its stat: 0.8 us against 3.8, cold 1.5
 * against 6, for which all threads of the target stand still whose CPU we use.
 */
static bool still_runs(const struct tracee *tracee, uint64_t now_ns)
{
	const struct tracee_private *priv = tracee->priv;
	struct proc_syscall syscall;

	return priv->looked_awake && priv->nr_short_looks < SHORT_LOOKS &&
	       now_ns - priv->stat_read_ns < SHORT_LOOKS_NS &&
	       target_kept_file(tracee, KEPT_SYSCALL) >= 0 &&
	       target_read_syscall(tracee, &syscall) && syscall.kind == PROC_SYSCALL_RUNNING;
}

static bool read_state(struct tracee *tracee, const struct proc_schedstat *clocks,
		       struct snapshot *snapshot)
{
	struct tracee_private *priv = tracee->priv;
	struct proc_stat stat;

	if (!target_read_stat(tracee, &stat))
		return false;
	tracee->cpu = stat.cpu;
	tracee->nr_faults = stat.nr_faults;
	tracee->faults_cpu_ns = clocks->cpu_ns;
	know_first_stack(tracee, stat.first_sp);
	priv->ticks.user = stat.user_ticks;
	priv->ticks.system = stat.system_ticks;
	priv->nr_short_looks = 0;
	priv->stat_read_ns = snapshot->time_ns;
	snapshot->state = state_of_letter(stat.state);
	priv->looked_awake = snapshot->state == THREAD_STATE_RUNNING;
	return true;
}

enum target_look target_look(struct tracee *tracee, const struct proc_schedstat *before,
			     size_t max_stack_bytes, struct snapshot *snapshot)
{
	struct proc_schedstat after;
	struct proc_syscall syscall;

	begin_snapshot(tracee, snapshot);
	if (still_runs(tracee, snapshot->time_ns)) {
		tracee->priv->nr_short_looks++;
		return TARGET_LOOK_RUNNING;
	}
	if (!read_state(tracee, before, snapshot))
		return TARGET_LOOK_GONE;
	if (snapshot->state == THREAD_STATE_RUNNING)
		return TARGET_LOOK_RUNNING;
	if (snapshot->state == THREAD_STATE_UNKNOWN || !target_read_syscall(tracee, &syscall))
		return TARGET_LOOK_GONE;
	if (syscall.kind == PROC_SYSCALL_RUNNING)
		return TARGET_LOOK_CHANGED;
	if (syscall.kind == PROC_SYSCALL_OUTSIDE && waits_for_page(tracee))
		tracee->priv->fills_pages = true;
	set_where(snapshot, &syscall);
	forget_mapping(tracee->priv);
	copy_stacks(tracee, max_stack_bytes, snapshot);
	/* Not one of the reads above proves anything alone; the count of wake-ups does. */
	if (!target_clocks(tracee, &after))
		return TARGET_LOOK_GONE;
	if (after.pcount != before->pcount)
		return TARGET_LOOK_CHANGED;
	set_clocks(snapshot, &after);
	target_take_care(tracee, &syscall);
	if (snapshot->state == THREAD_STATE_SLEEPING)
		target_saw_asleep(tracee, &syscall, &after);
	return TARGET_LOOK_TAKEN;
}

bool target_sleeps_again(struct tracee *tracee, int32_t syscall_nr, uint64_t sp)
{
	struct proc_syscall syscall;

	if (!target_read_syscall(tracee, &syscall) || syscall.kind != PROC_SYSCALL_INSIDE)
		return false;
	/* What the kernel goes on with by restart_syscall(2) is the same call under its number. */
	return syscall.sp == sp && (syscall.nr == syscall_nr || syscall.nr == SYS_restart_syscall);
}
