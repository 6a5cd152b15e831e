// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "target/memory.h"
#include "target/target_priv.h"
#include "target/target_regs.h"

/*
 * A transfer that a stop has cut short is carried on: the thread makes the same call once more, for
 * what is left, and is met at its return, where it gets the arguments it had and both results in
 * one. Until then it has others than the program knows of; were profc killed in between, the call
 * would say less than it has done, and return with those. So this is for calls that do no harm
 * then: what fills memory with what is not to run out, copies to files and to where nothing is
 * kept, and io_uring_enter(2), whose submissions show in the ring. Not for streams, which would get
 * bytes twice. A wait with a timeout is ended when that would have been over
 * (target_end_overdue()).
 */

struct carried {
	/* As the call shall leave them; its result: what is done so far. */
	struct machine_regs regs;
	struct machine_regs rest; /* with which it asks for the rest */
	uint64_t left;
	uint64_t until_ns; /* it may last */
	bool is_inside;	   /* it has made the call for the rest */
};

#define NO_ADDRESS UINT32_MAX

struct call_in_parts {
	long nr;
	unsigned int address; /* which argument says where the next part goes, if one does */
	unsigned int size;    /* and which how much there is to do */
	bool (*can_go_on)(const struct tracee *tracee, const struct proc_syscall *syscall);
};

/* From where it may have to wait for more, parts are what it expects. */
static bool is_not_of_blocking_pool(const struct tracee *tracee, const struct proc_syscall *syscall)
{
	(void)tracee;
	return !(syscall->args[2] & GRND_RANDOM);
}

static bool reads_endless(const struct tracee *tracee, const struct proc_syscall *syscall)
{
	return target_is_endless(tracee->tid, syscall->args[0]);
}

/* A named pipe has the name of a file. Asked of what is known already: nobody is to answer. */
static bool is_file(const struct tracee *tracee, uint64_t fd)
{
	struct statx file;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)tracee->tid, (int)fd);
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &file) == 0 &&
	       S_ISREG(file.stx_mode);
}

static bool sends_to_no_stream(const struct tracee *tracee, const struct proc_syscall *syscall)
{
	return is_file(tracee, syscall->args[0]) ||
	       target_is_bottomless(tracee->tid, syscall->args[0]);
}

static bool copies_to_file(const struct tracee *tracee, const struct proc_syscall *syscall)
{
	return is_file(tracee, syscall->args[2]);
}

/* What the kernel takes on at once, whatever is asked for (MAX_RW_COUNT). */
#define MOST_BYTES UINT64_C(0x7ffff000)

static const struct call_in_parts transfers[] = {
	{SYS_getrandom, 0, 1, is_not_of_blocking_pool},
	{SYS_read, 1, 2, reads_endless},
	{SYS_pread64, 1, 2, reads_endless},
	{SYS_sendfile, NO_ADDRESS, 3, sends_to_no_stream},
	{SYS_copy_file_range, NO_ADDRESS, 4, copies_to_file},
};

/* Arguments of io_uring_enter(2). */
#define TO_SUBMIT    1
#define MIN_COMPLETE 2
#define FLAGS	     3

#define ENTER_GETEVENTS	      1
#define ENTER_REGISTERED_RING 16 /* the descriptor is none */

static bool find_number(const char *text, const char *name, uint32_t *number)
{
	const char *at = strstr(text, name);

	if (at)
		*number = (uint32_t)strtoul(at + strlen(name), NULL, 10);
	return at;
}

/*
 * The kernel lists all that is under way, and each file it was given: where that is more, it keeps
 * a held thread long, and is not asked for again.
 */
#define RING_TEXT_BYTES 4096

/* How many completions nobody has taken yet; false if that is not known. */
static bool count_completions(const struct tracee *tracee, uint64_t ring, uint32_t *nr)
{
	char path[64], text[RING_TEXT_BYTES];
	cleanup_close int fd = -1;
	uint32_t head, tail;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)tracee->tid, (int)ring);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	tracee->priv->has_dear_ring = got == sizeof(text) - 1;
	if (got <= 0 || tracee->priv->has_dear_ring)
		return false;
	text[got] = '\0';
	if (!find_number(text, "\nCqHead:", &head) || !find_number(text, "\nCqTail:", &tail))
		return false;
	*nr = tail - head;
	return true;
}

/* It has submitted all, and came back before enough of it was complete. */
static bool is_cut_wait(const struct tracee *tracee, const struct proc_syscall *syscall,
			int64_t result)
{
	uint32_t nr;

	return syscall->nr == SYS_io_uring_enter && !tracee->priv->has_dear_ring &&
	       (uint32_t)syscall->args[TO_SUBMIT] == (uint64_t)result &&
	       (uint32_t)syscall->args[MIN_COMPLETE] && syscall->args[FLAGS] & ENTER_GETEVENTS &&
	       !(syscall->args[FLAGS] & ENTER_REGISTERED_RING) &&
	       count_completions(tracee, syscall->args[0], &nr) &&
	       nr < (uint32_t)syscall->args[MIN_COMPLETE];
}

static const struct call_in_parts *find_cut_transfer(const struct tracee *tracee,
						     const struct proc_syscall *syscall,
						     int64_t result)
{
	for (size_t i = 0; i < ARRAY_SIZE(transfers); i++) {
		const struct call_in_parts *call = &transfers[i];

		if (call->nr == syscall->nr)
			return syscall->args[call->size] > MEMORY_PAGE_BYTES &&
					       (uint64_t)result < syscall->args[call->size] &&
					       (uint64_t)result < MOST_BYTES &&
					       call->can_go_on(tracee, syscall)
				       ? call
				       : NULL;
	}
	return NULL;
}

bool target_may_be_cut(const struct machine_regs *regs)
{
	int64_t result = machine_syscall_result(regs);
	struct proc_syscall syscall;

	if (result <= 0 || !machine_syscall(regs, &syscall))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(transfers); i++) {
		if (transfers[i].nr == syscall.nr)
			return syscall.args[transfers[i].size] > MEMORY_PAGE_BYTES &&
			       (uint64_t)result < syscall.args[transfers[i].size];
	}
	return syscall.nr == SYS_io_uring_enter;
}

static uint64_t rest_of(uint64_t wanted, int64_t done)
{
	return (wanted < MOST_BYTES ? wanted : MOST_BYTES) - (uint64_t)done;
}

/* Its time is up: to be known as over should it be met by a signal yet, before it is left. */
static void end_wait(const struct tracee *tracee, struct machine_regs *regs)
{
	machine_end_call(regs, (int)machine_syscall_result(regs));
	target_set_regs(tracee->tid, regs);
}

/*
 * A wait whose time is up looks like one that was cut. One that was cut has not been seen asleep
 * until then, unless a signal came just at that time: then it is made longer rather than shorter.
 */
static bool has_time_left(struct tracee *tracee, const struct proc_syscall *syscall, bool by_signal,
			  struct carried *carried)
{
	struct tracee_private *priv = tracee->priv;
	uint64_t timeout_ns;

	if (!target_ring_timeout(tracee, syscall, &timeout_ns))
		return false;
	if (!timeout_ns)
		return true;
	if (priv->follow == FOLLOW_BROKEN)
		carried->until_ns = priv->time_is_up_ns;
	else if (by_signal || !target_slept_until_timeout(tracee, syscall, timeout_ns))
		carried->until_ns =
			target_call_began_ns(tracee, syscall, timeout_ns, by_signal) + timeout_ns;
	else
		carried->until_ns = 0;
	if (clock_monotonic_ns() < carried->until_ns)
		return true;
	end_wait(tracee, &carried->regs);
	return false;
}

/* Fills in the registers of a call for the rest; false if nothing was cut, or it cannot be. */
static bool ask_for_rest(struct tracee *tracee, struct carried *carried, bool by_signal)
{
	int64_t done = machine_syscall_result(&carried->rest);
	const struct call_in_parts *call;
	struct proc_syscall syscall;

	if (done <= 0 || !machine_syscall(&carried->rest, &syscall))
		return false;
	call = find_cut_transfer(tracee, &syscall, done);
	if (call) {
		carried->left = rest_of(syscall.args[call->size], done);
		machine_set_argument(&carried->rest, call->size, carried->left);
		if (call->address != NO_ADDRESS)
			machine_set_argument(&carried->rest, call->address,
					     syscall.args[call->address] + (uint64_t)done);
	} else if (is_cut_wait(tracee, &syscall, done) &&
		   has_time_left(tracee, &syscall, by_signal, carried)) {
		machine_set_argument(&carried->rest, TO_SUBMIT, 0);
	} else {
		return false;
	}
	return machine_restart_call(&carried->rest);
}

bool target_carry_on(struct target *target, struct tracee *tracee, const struct machine_regs *regs,
		     bool by_signal)
{
	struct carried carried = {.regs = *regs, .rest = *regs, .until_ns = UINT64_MAX};

	if (target->carries_no_more || tracee->priv->carried ||
	    !ask_for_rest(tracee, &carried, by_signal) ||
	    !tracee_list_add(&target->carrying, tracee))
		return false;
	if (!target_set_regs(tracee->tid, &carried.rest)) {
		tracee_list_remove(&target->carrying, tracee);
		return false;
	}
	tracee->priv->carried = xcalloc(1, sizeof(*tracee->priv->carried));
	*tracee->priv->carried = carried;
	tracee->priv->time_is_up_ns = carried.until_ns;
	if (carried.until_ns != UINT64_MAX)
		tracee_list_add(&target->followed, tracee);
	target->stats.nr_repairs++;
	return true;
}

static void end(struct tracee *tracee)
{
	tracee_list_remove(&tracee->priv->target->carrying, tracee);
	free(tracee->priv->carried);
	tracee->priv->carried = NULL;
}

void target_forget_carried(struct tracee *tracee)
{
	if (tracee->priv->carried)
		end(tracee);
}

void target_carry_no_further(struct tracee *tracee)
{
	if (!tracee->priv->carried || tracee->priv->carried->is_inside)
		return;
	target_set_regs(tracee->tid, &tracee->priv->carried->regs);
	end(tracee);
}

/* It came back early, again: where signals are looked for there is always one more stop now. */
static void stop_before_it_returns(const struct tracee *tracee)
{
	target_ask_to_stop(tracee);
}

static enum follow returned(struct tracee *tracee)
{
	struct machine_regs *regs = &tracee->priv->carried->regs;
	struct machine_regs now;
	int64_t more;

	if (!target_get_regs(tracee->tid, &now))
		return FOLLOW_NONE;
	more = machine_syscall_result(&now);
	/* A failure is the next call's: this one has moved something. */
	if (more > 0)
		machine_set_result(regs, machine_syscall_result(regs) + more);
	target_set_regs(tracee->tid, regs);
	if ((more <= 0 || (uint64_t)more >= tracee->priv->carried->left) &&
	    machine_broken_call(&now) == MACHINE_CALL_NONE)
		return FOLLOW_NONE;
	stop_before_it_returns(tracee);
	return FOLLOW_BROKEN;
}

/* Else a handler got in between, and what it calls is none of ours. */
static bool enters_for_rest(const struct tracee *tracee)
{
	struct machine_regs now;

	return target_get_regs(tracee->tid, &now) &&
	       machine_enters(&now, &tracee->priv->carried->rest);
}

enum follow target_carried_stop(struct tracee *tracee)
{
	struct carried *carried = tracee->priv->carried;
	enum follow follow = FOLLOW_NONE;

	if (!carried->is_inside && enters_for_rest(tracee)) {
		carried->is_inside = true;
		return FOLLOW_NONE;
	}
	if (carried->is_inside)
		follow = returned(tracee);
	end(tracee);
	return follow;
}

bool target_is_to_carry_on(const struct tracee *tracee)
{
	return tracee->priv->carried && !tracee->priv->carried->is_inside;
}

bool target_carries_on_inside(const struct tracee *tracee)
{
	return tracee->priv->carried && tracee->priv->carried->is_inside;
}

/* Most come to their end in that time; who waits for something else is asked to return. */
#define LAST_CALLS_NS (10 * NS_PER_MS)

bool target_end_carrying(struct target *target)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!target->carries_no_more)
		target->carries_until_ns = now_ns + LAST_CALLS_NS;
	target->carries_no_more = true;
	for (size_t i = 0; now_ns >= target->carries_until_ns && i < target->carrying.nr; i++)
		stop_before_it_returns(target->carrying.at[i]);
	return target->carrying.nr;
}
