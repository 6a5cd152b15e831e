// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread of another process makes system calls for us, through a signal frame. */
#include "inject/remote.h"

#include <elf.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "inject/access.h"
#include "inject/letting_go.h"
#include "inject/machine.h"
#include "inject/remote_machine.h"
#include "inject/sparing.h"
#include "inject/willing.h"
#include "proc/maps.h"
#include "proc/range.h"
#include "proc/read.h"
#include "proc/target_memory.h"
#include "tracee/call_filters.h"
#include "tracee/machine.h"
#include "tracee/permission.h"
#include "tracee/visit.h"

#define KERNEL_SIGSET_BYTES 8
#define ROOM_BYTES	    (64 * 1024) /* of stack, at least, below the used part */
#define MAIN_ROOM_PART	    4		/* of the main stack, which grows, a part is enough */
#define TRIES_MAX	    16		/* threads that are stopped until one will do */
#define ASK_AGAIN_NS	    (20 * NS_PER_MS)
/* Between two looks whether a thread has stopped. */
#define STOPPING_NS	(20 * NS_PER_US)
#define STOPPING_NS_MAX (500 * NS_PER_US)
#define SPIN_NS		(5 * NS_PER_US)
#define PAUSE_MAX_NS	(50 * NS_PER_MS) /* between two searches */
#define SEARCH_BYTES	(64 * 1024)	 /* of stack, in which a signal frame is searched */

/*
 * Ends a row of calls. A program without a handler for it does not notice it: so the thread just
 * goes on if profc is gone by then.
 */
#define END_SIGNAL SIGURG
#define END_BIT	   (UINT64_C(1) << (END_SIGNAL - 1))

/* PTRACE_GET_RSEQ_CONFIGURATION, since Linux 5.13 */
#define GET_RSEQ_CONFIGURATION 0x420f

struct rseq_configuration {
	uint64_t at;
	uint32_t nr_bytes, signature, flags, padding;
};

/* Random. */
struct mark {
	uint64_t words[2];
};

struct remote {
	pid_t pid, tid;
	struct target_memory *memory;
	struct remote_code code;
	struct own_filters own_filters;
	struct call_filters *filters; /* checked for each call; NULL: it has none but ours */
	struct proc_status status;    /* of the thread, once it has stopped */
	pid_t command;
	struct proc_syscall syscall;   /* in which it slept before it was stopped */
	struct user_regs_struct regs;  /* before the calls, */
	uint64_t mask;		       /* with this */
	struct user_regs_struct begun; /* is_to_begin_again: of the call that the stop has ended */
	struct remote_frame frame;
	uint64_t stopped_ns;
	bool is_adopted, is_group_stop;
	bool makes_rows;   /* of calls */
	bool is_at_signal; /* its last stop was for one: the kernel restarts interrupted calls */
	bool is_to_begin_again;
	bool is_entered;   /* registers and mask are ours */
	bool is_gone;	   /* or it is gone */
	bool has_executed; /* another program, since its memory was opened */
	bool is_stuck;	   /* it does not stop, and stays traced until our thread ends */
	bool has_sigstop;  /* a SIGSTOP came meanwhile, and is to be sent again */
};

/*
 * Searches code in overlapping pieces, so that nothing at a border is missed. They are small: the C
 * library has both near its beginning, and a page that is not present yet takes long to read.
 */
static void search(struct target_memory *memory, const struct proc_map *map,
		   struct remote_code *code, bool *is_read)
{
	enum { PIECE = 1 << 15, OVERLAP = REMOTE_CODE_MAX_BYTES };
	uint8_t *bytes = xmalloc(PIECE);

	for (uint64_t at = map->start; at < map->end && !(code->call && code->restore);
	     at += PIECE - OVERLAP) {
		size_t wanted = map->end - at < PIECE ? (size_t)(map->end - at) : PIECE;
		size_t got = target_memory_read(memory, at, bytes, wanted);
		size_t offset;

		if (!got)
			break;
		*is_read = true;
		if (!code->call && remote_find_call(bytes, got, &offset))
			code->call = at + offset;
		if (!code->restore && remote_find_restore(bytes, got, &offset))
			code->restore = at + offset;
	}
	free(bytes);
}

static bool has_code(struct target_memory *memory, uint64_t at,
		     bool (*find)(const uint8_t *bytes, size_t nr_bytes, size_t *offset))
{
	uint8_t bytes[REMOTE_CODE_MAX_BYTES];
	size_t got = target_memory_read(memory, at, bytes, sizeof(bytes)), offset;

	return find(bytes, got, &offset) && offset == 0;
}

static uint64_t address_of(const struct proc_range *range, uint64_t offset)
{
	uint64_t nr_bytes = range->end - range->start;

	return offset - range->offset < nr_bytes ? range->start + (offset - range->offset) : 0;
}

/* `restore` as for search_maps(). */
static bool is_code_at(struct target_memory *memory, const struct proc_range *range,
		       uint64_t restore, const struct remote_hint *hint, struct remote_code *code)
{
	const struct remote_code there = {
		.call = address_of(range, hint->call_offset),
		.restore = restore ? restore : address_of(range, hint->restore_offset)};

	if (!there.call || !there.restore || !has_code(memory, there.call, remote_find_call) ||
	    !has_code(memory, there.restore, remote_find_restore))
		return false;
	*code = there;
	return true;
}

/* Processes with one C library have the code in the same places of it. */
static bool find_by_hint(struct target_memory *memory, uint64_t restore,
			 const struct remote_hint *hint, struct remote_code *code)
{
	struct proc_range_walk walk;
	struct proc_range range;
	bool is_found = false;

	if (!hint->inode)
		return false;
	proc_range_walk_begin(&walk, target_memory_maps(memory),
			      PROC_RANGE_READ | PROC_RANGE_EXECUTE);
	while (!is_found && proc_range_walk_next(&walk, &range))
		is_found = range.inode == hint->inode &&
			   makedev(range.dev_major, range.dev_minor) == hint->dev &&
			   is_code_at(memory, &range, restore, hint, code);
	proc_range_walk_end(&walk);
	return is_found;
}

static uint64_t restore_in_vdso(pid_t pid, struct target_memory *memory)
{
	static const char name[] = "[vdso]";
	struct remote_code code = {.call = UINT64_MAX}; /* not wanted */
	struct buf text = {0};
	struct proc_maps_iter iter;
	struct proc_map map;
	bool is_read = false;

	if (!proc_read_process_file(pid, "maps", &text))
		return 0;
	iter = proc_maps_over(buf_str(&text), text.nr_bytes);
	while (!code.restore && proc_maps_next(&iter, &map) == 1) {
		if (map.nr_path_bytes == strlen(name) && !memcmp(map.path, name, strlen(name)))
			search(memory, &map, &code, &is_read);
	}
	buf_release(&text);
	return code.restore;
}

/* libc.so.6, libc-2.31.so, libc.musl-x86_64.so.1; not libclang.so, of which all would be read. */
static bool is_of_libc(const struct proc_map *map)
{
	return memmem(map->path, map->nr_path_bytes, "/libc.", 6) ||
	       memmem(map->path, map->nr_path_bytes, "/libc-", 6) ||
	       memmem(map->path, map->nr_path_bytes, "ld-musl", 7);
}

/*
 * Both must be in one file, as another one may be unloaded earlier, unless `restore`, the second
 * one, is given. The C library's is preferred.
 * Sets whether there was any code that could be read, and any that could not.
 */
static bool search_maps(pid_t pid, struct target_memory *memory, bool of_libc, uint64_t restore,
			struct remote_hint *hint, struct remote_code *code, bool *is_read,
			bool *is_unread)
{
	struct buf text = {0};
	struct proc_maps_iter iter;
	struct proc_map map;

	if (!proc_read_process_file(pid, "maps", &text))
		return false;
	iter = proc_maps_over(buf_str(&text), text.nr_bytes);
	while (!(code->call && code->restore) && proc_maps_next(&iter, &map) == 1) {
		bool is_libc = is_of_libc(&map);
		bool is_found = false;

		*code = (struct remote_code){.restore = restore};
		if (!map.executable || !map.readable || !map.nr_path_bytes || map.path[0] != '/' ||
		    is_libc != of_libc)
			continue;
		search(memory, &map, code, &is_found);
		*is_read |= is_found;
		*is_unread |= !is_found;
		if (code->call && code->restore)
			*hint = (struct remote_hint){
				.dev = makedev(map.dev_major, map.dev_minor),
				.inode = map.inode,
				.call_offset = code->call - map.start + map.offset,
				.restore_offset =
					restore ? 0 : code->restore - map.start + map.offset};
	}
	buf_release(&text);
	return code->call && code->restore;
}

int remote_find_code(pid_t pid, struct target_memory *memory, struct remote_hint *hint,
		     struct remote_code *code, struct err *err)
{
	bool is_read = false, is_unread = false;
	struct remote_hint none = {.call_offset = 0};
	uint64_t restore;

	*code = (struct remote_code){0};
	if (!hint)
		hint = &none;
	restore = remote_restores_in_vdso ? restore_in_vdso(pid, memory) : 0;
	if (find_by_hint(memory, restore, hint, code) ||
	    search_maps(pid, memory, true, restore, hint, code, &is_read, &is_unread) ||
	    search_maps(pid, memory, false, restore, hint, code, &is_read, &is_unread))
		return 0;
	if (proc_task_has_ended(pid, pid)) /* its memory goes before it does */
		return err_set(err, ERR_GONE, "process %d has ended", (int)pid);
	/* The memory is that of the former program, the map that of the next one. */
	if (is_unread && !is_read)
		return err_set(err, ERR_GONE, "process %d has executed another program", (int)pid);
	return err_set(err, ERR_UNSUPPORTED,
		       "process %d has no code by which it could make system calls for profc",
		       (int)pid);
}

/* To continue with: at the next instruction, or again at a call that our stop interrupted. */
static struct user_regs_struct regs_to_go_on(const struct remote *remote)
{
	struct user_regs_struct regs = remote->is_to_begin_again ? remote->begun : remote->regs;
	enum machine_call call = machine_call(&regs);

	if (call == MACHINE_CALL_RESTARTS || call == MACHINE_CALL_RESTART_BLOCK ||
	    call == MACHINE_CALL_REFUSED || (call == MACHINE_CALL_EINTR && !remote->is_group_stop))
		machine_restart_call(&regs, MACHINE_CALL_RESTART_BLOCK);
	return regs;
}

static bool write_memory(const struct remote *remote, uint64_t at, const void *bytes, size_t nr)
{
	return target_memory_put(remote->memory, at, bytes, nr);
}

/*
 * Is the frame in the memory that the thread runs in? The thread may have executed a program since
 * the memory was opened, perhaps with other rights, while another process keeps the old memory. A
 * stopped thread executes none.
 */
static bool has_frame(struct remote *remote, const struct mark *mark)
{
	struct mark found;

	remote->has_executed =
		!target_memory_get_once(remote->tid, remote->frame.at + remote->frame.mark_at,
					&found, sizeof(found)) ||
		memcmp(&found, mark, sizeof(found)) != 0;
	return !remote->has_executed;
}

/*
 * Writes the frame below all that a leaf function may use. The thread's registers are unchanged
 * yet.
 */
static bool push_frame(struct remote *remote)
{
	const struct user_regs_struct regs = regs_to_go_on(remote);
	struct remote_frame *frame = &remote->frame;
	struct mark mark;

	free(frame->bytes);
	frame->bytes = NULL;
	if (ptrace(PTRACE_GETSIGMASK, remote->tid, (void *)KERNEL_SIGSET_BYTES, &remote->mask) <
		    0 ||
	    getrandom(&mark, sizeof(mark), 0) != sizeof(mark) ||
	    !remote_frame_make(frame, remote->tid, &regs, remote->mask, remote->code.restore))
		return false;
	memcpy(frame->bytes + frame->mark_at, &mark, sizeof(mark));
	return write_memory(remote, frame->at, frame->bytes, frame->nr_bytes) &&
	       has_frame(remote, &mark);
}

static bool set_regs(struct remote *remote, struct user_regs_struct *regs)
{
	struct iovec iov = {.iov_base = regs, .iov_len = sizeof(*regs)};

	return ptrace(PTRACE_SETREGSET, remote->tid, (void *)NT_PRSTATUS, &iov) == 0;
}

static bool get_regs(struct remote *remote, struct user_regs_struct *regs)
{
	struct iovec iov = {.iov_base = regs, .iov_len = sizeof(*regs)};

	return ptrace(PTRACE_GETREGSET, remote->tid, (void *)NT_PRSTATUS, &iov) == 0 &&
	       iov.iov_len == sizeof(*regs);
}

/* Each look takes CPU time, which most have where none is idle: there pauses grow. */
static long pause_ns(uint64_t waited_ns)
{
	return (long)min_u64(max_u64(waited_ns / 4, STOPPING_NS), STOPPING_NS_MAX);
}

/*
 * False: the thread has died, and is not reaped; or is_stuck is set, as it does not stop within a
 * second. It is interrupted again each `ask_ns`; 0: never, and it is awaited for ever.
 * Then it is about to stop, mostly on our CPU, which it needs for that: we sleep.
 */
static bool await_stop(struct remote *remote, uint64_t ask_ns, int *status)
{
	uint64_t begun_ns = clock_monotonic_ns(), asked_ns = begun_ns;
	enum rest rest;

	rest = ask_ns ? letting_go_look(remote->tid) : letting_go_await(remote->tid);
	for (; rest == REST_NONE; rest = letting_go_look(remote->tid)) {
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns - begun_ns > SPIN_NS)
			clock_nanosleep(CLOCK_MONOTONIC, 0,
					&(struct timespec){.tv_nsec = pause_ns(now_ns - begun_ns)},
					NULL);
		if (ask_ns && letting_go_is_stuck(begun_ns)) {
			remote->is_stuck = true;
			return false;
		}
		/* An interrupt may be lost; a thread in vfork(2) stops only after that. */
		if (ask_ns && now_ns - asked_ns > ask_ns) {
			asked_ns = now_ns;
			ptrace(PTRACE_INTERRUPT, remote->tid, NULL, NULL);
		}
	}
	return rest == REST_STOPPED && letting_go_take_stop(remote->tid, status);
}

/*
 * Runs to the next stop of a system call. All signals are blocked. A SIGSTOP, which cannot be
 * blocked, is sent again later; any other signal comes from the call itself.
 */
static bool step(struct remote *remote)
{
	for (;;) {
		int status;

		if (ptrace(PTRACE_SYSCALL, remote->tid, NULL, NULL) < 0 ||
		    !await_stop(remote, 0, &status))
			return false;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return true;
		if (!(status >> 16) && WSTOPSIG(status) != SIGSTOP)
			return false;
		remote->has_sigstop |= !(status >> 16);
	}
}

/*
 * From here on the thread returns by itself: without us it goes through the frame. Signals are
 * blocked, as handlers would find a strange stack.
 */
static bool enter(struct remote *remote)
{
	struct user_regs_struct regs = remote->regs;
	const uint64_t all = UINT64_MAX;

	remote_go_to_restore(&regs, &remote->frame);
	remote->is_entered = true;
	return set_regs(remote, &regs) &&
	       ptrace(PTRACE_SETSIGMASK, remote->tid, (void *)KERNEL_SIGSET_BYTES, &all) == 0 &&
	       ptrace(PTRACE_SETOPTIONS, remote->tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) == 0;
}

static bool filters_allow(const struct remote *remote, long nr, const uint64_t *args,
			  uint64_t returns_to)
{
	struct seccomp_data call = {
		.nr = (int)nr, .arch = MACHINE_AUDIT_ARCH, .instruction_pointer = returns_to};

	for (unsigned int i = 0; i < 6; i++)
		call.args[i] = args[i];
	return !remote->filters || call_filters_allow(remote->filters, &call);
}

int64_t remote_call(struct remote *remote, long nr, const uint64_t *args, unsigned int nr_args)
{
	struct user_regs_struct regs = remote->regs;
	uint64_t values[6] = {0};

	for (unsigned int i = 0; i < nr_args; i++)
		values[i] = args[i];
	if (!filters_allow(remote, nr, values, remote->code.call + remote_call_bytes))
		return -EPERM;
	remote_go_to_call(&regs, remote->code.call, &remote->frame);
	remote_set_call(&regs, nr, values);
	remote->is_at_signal = false;
	if (remote->is_gone || !set_regs(remote, &regs) || !step(remote) || !step(remote) ||
	    !get_regs(remote, &regs)) {
		remote->is_gone = true;
		return -ESRCH;
	}
	return remote_result(&regs);
}

bool remote_knows_rows(void)
{
	return remote_passed_bytes;
}

/*
 * A program that waits for the signal would notice it. And a return through a frame makes the
 * kernel forget how to continue a call with the rest of its time-out.
 */
static bool may_make_row(const struct remote *remote)
{
	const struct proc_status *status = &remote->status;

	return remote_knows_rows() && machine_call(&remote->regs) != MACHINE_CALL_RESTART_BLOCK &&
	       !((status->caught | status->pending_thread | status->pending_process) & END_BIT);
}

bool remote_may_make_row(const struct remote *remote)
{
	return remote->makes_rows && !remote->is_gone && !remote_is_filtered(remote);
}

/* Where a frame is that leads to the step with this number, or to the end. */
static struct remote_frame frame_of_step(const struct remote *remote, size_t step, size_t nr)
{
	struct remote_frame frame = remote->frame;

	frame.at -= (nr + 1 - step) * remote_passed_bytes;
	return frame;
}

static void go_to_step(const struct remote *remote, const struct remote_step *steps, size_t step,
		       size_t nr, struct user_regs_struct *regs)
{
	const struct remote_frame next = frame_of_step(remote, step + 1, nr);

	*regs = remote->regs;
	remote_go_to_call(regs, remote->code.call, &next);
	remote_set_call(regs, steps[step].nr, steps[step].args);
}

/*
 * A frame for each call, the first one unused, and one that lets the signal in. That leads to the
 * last frame, and so to where the thread was.
 */
static bool push_steps(const struct remote *remote, const struct remote_step *steps, size_t nr)
{
	const size_t nr_bytes = (nr + 1) * remote_passed_bytes;
	cleanup_free uint8_t *bytes = xcalloc(nr_bytes, 1);
	struct user_regs_struct regs;

	for (size_t i = 0; i < nr; i++) {
		go_to_step(remote, steps, i, nr, &regs);
		remote_passed_put(bytes + i * remote_passed_bytes, &remote->frame, &regs,
				  UINT64_MAX);
	}
	regs = remote->regs;
	remote_go_to_restore(&regs, &remote->frame);
	remote_passed_put(bytes + nr * remote_passed_bytes, &remote->frame, &regs, ~END_BIT);
	return write_memory(remote, frame_of_step(remote, 0, nr).at, bytes, nr_bytes);
}

static bool are_allowed(const struct remote *remote, const struct remote_step *steps, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!filters_allow(remote, steps[i].nr, steps[i].args,
				   remote->code.call + remote_call_bytes))
			return false;
	}
	return true;
}

/* As step(), to the signal. */
static bool run_to_end(struct remote *remote)
{
	for (;;) {
		int status;

		if (ptrace(PTRACE_CONT, remote->tid, NULL, NULL) < 0 ||
		    !await_stop(remote, 0, &status))
			return false;
		if (!(status >> 16) && WSTOPSIG(status) == END_SIGNAL)
			return true;
		if (!(status >> 16) && WSTOPSIG(status) != SIGSTOP)
			return false;
		remote->has_sigstop |= !(status >> 16);
	}
}

/* The thread does not run before it is told to: until then it would return at once. */
bool remote_calls(struct remote *remote, const struct remote_step *steps, size_t nr)
{
	const uint64_t all = UINT64_MAX;
	struct user_regs_struct regs;

	if (!nr || nr > REMOTE_STEPS_MAX || !remote_may_make_row(remote) ||
	    inject_stack_pointer(&remote->regs) - frame_of_step(remote, 0, nr).at >
		    ROOM_BYTES / MAIN_ROOM_PART ||
	    !are_allowed(remote, steps, nr) || !push_steps(remote, steps, nr) ||
	    syscall(SYS_tgkill, remote->pid, remote->tid, END_SIGNAL) < 0)
		return false;
	go_to_step(remote, steps, 0, nr, &regs);
	remote->is_at_signal =
		set_regs(remote, &regs) && run_to_end(remote) &&
		ptrace(PTRACE_SETSIGMASK, remote->tid, (void *)KERNEL_SIGSET_BYTES, &all) == 0;
	remote->is_gone = !remote->is_at_signal;
	return true;
}

pid_t remote_own_pid(const struct remote *remote)
{
	return remote->tid == remote->pid ? remote->status.ns_pid : proc_own_pid(remote->pid);
}

/* Filters that we can read are checked for each call. Others allow the calls that a child of ours
 * has tried. */
bool remote_is_filtered(const struct remote *remote)
{
	return remote->own_filters.seccomp && !remote->filters;
}

uint64_t remote_text(struct remote *remote, const char *text)
{
	char copy[REMOTE_TEXT_BYTES] = {0};
	uint64_t at = remote->frame.at + remote->frame.text_at;

	strncpy(copy, text, sizeof(copy) - 1);
	write_memory(remote, at, copy, sizeof(copy));
	return at;
}

/* Is it in a sequence that the kernel would restart after a signal (rseq(2))? */
static bool is_in_restartable_sequence(const struct remote *remote)
{
	struct rseq_configuration where;
	struct {
		uint32_t version, flags;
		uint64_t start, nr_bytes, abort;
	} sequence;
	uint64_t at = 0;

	if (ptrace(GET_RSEQ_CONFIGURATION, remote->tid, (void *)sizeof(where), &where) < 0 ||
	    !where.at || !target_memory_word(remote->memory, where.at + 8, &at) || !at ||
	    !target_memory_get(remote->memory, at, &sequence, sizeof(sequence)))
		return false;
	return inject_pc(&remote->regs) - sequence.start < sequence.nr_bytes;
}

/*
 * Does a signal handler run on a stack that was made for handlers, which may be small? Its frame
 * has the bounds of that stack (ucontext.uc_stack). They must be within the mapping of the stack
 * pointer: other words may look alike.
 */
static bool is_on_signal_stack(const struct remote *remote, const struct proc_range *range)
{
	enum { LINK = 1, STACK = 2, SIZE = 4 };
	uint64_t sp = inject_stack_pointer(&remote->regs);
	uint64_t *words = xmalloc(SEARCH_BYTES);
	size_t got =
		target_memory_read_at_once(remote->memory, sp & ~UINT64_C(7), words, SEARCH_BYTES);
	bool is = false;

	for (size_t i = 0; i + SIZE < got / sizeof(*words) && !is; i++)
		is = remote_is_frame_begin(words[i]) && !words[i + LINK] &&
		     words[i + STACK] >= range->start && words[i + STACK] <= sp &&
		     sp - words[i + STACK] < words[i + SIZE] &&
		     words[i + SIZE] <= range->end - words[i + STACK];
	free(words);
	return is;
}

/* The one that the kernel has made for the program. */
static bool is_main_stack(const struct remote *remote, const struct proc_range *range)
{
	uint64_t first_sp = target_memory_first_sp(remote->memory);

	return first_sp >= range->start && first_sp <= range->end;
}

/*
 * Is there room on the stack? Only on the main thread's, or on one that the C library has made: it
 * has a guard below, and the thread's data at its upper end. Stacks of goroutines and coroutines
 * lie somewhere in the heap.
 */
static bool has_room(const struct remote *remote)
{
	const int maps = target_memory_maps(remote->memory);
	const uint64_t sp = inject_stack_pointer(&remote->regs);
	const uint64_t data = inject_thread_pointer(remote->tid, &remote->regs);
	struct proc_range range, below;
	bool is_main, is_made;

	if (!proc_range_find(maps, sp, &range))
		return false;
	is_made = proc_range_find(maps, range.start - 1, &below) && !below.readable &&
		  !below.writable && data > sp && data < range.end;
	is_main = !is_made && is_main_stack(remote, &range);
	return range.writable && sp - range.start >= ROOM_BYTES / (is_main ? MAIN_ROOM_PART : 1) &&
	       (is_main || is_made) && !is_on_signal_stack(remote, &range);
}

/* Releases a thread that has died, or has executed a program and so has its leader's id. */
static void forget(struct remote *remote)
{
	remote->is_stuck |= !letting_go_of(remote->tid, remote->command);
	if (remote->pid != remote->tid && !remote->is_stuck)
		remote->is_stuck = !letting_go_of(remote->pid, remote->command);
}

/* Restores the thread, perhaps in the middle of a system call, which continues or restarts. */
static void put_back(struct remote *remote)
{
	struct user_regs_struct regs = remote->regs;
	bool is_changed = remote->is_entered;

	if (!remote->is_adopted)
		is_changed |= visit_fix_up(remote->tid, &regs, remote->is_group_stop);
	/* The kernel has forgotten meanwhile how this one was to go on. */
	if (remote->is_entered && !remote->is_to_begin_again)
		remote_continue_call(&regs, &remote->syscall);
	/* In this order: if profc is killed in between, signals must not stay blocked. */
	if (remote->is_entered)
		ptrace(PTRACE_SETSIGMASK, remote->tid, (void *)KERNEL_SIGSET_BYTES, &remote->mask);
	if (is_changed)
		set_regs(remote, &regs);
}

static void let_go(struct remote *remote, int signal)
{
	put_back(remote);
	if (remote->has_sigstop)
		syscall(SYS_tgkill, remote->pid, remote->tid, SIGSTOP);
	if (remote->is_to_begin_again)
		remote->is_stuck |= !letting_go_into_call(remote->tid, remote->command,
							  &remote->begun, &remote->regs);
	else if (ptrace(PTRACE_DETACH, remote->tid, NULL, (void *)(long)signal) < 0)
		forget(remote);
}

/*
 * Do its filters allow all calls that probes need, and the thread's return if profc is killed? Each
 * call is checked again with its own arguments.
 */
static bool allows_all(const struct remote *remote)
{
	static const uint64_t nowhere = UINT64_MAX, page = 4096;
	static const struct {
		long nr;
		uint64_t args[6];
	} calls[] = {
		{SYS_memfd_create, {0, MFD_CLOEXEC | MFD_ALLOW_SEALING}},
		{SYS_mmap, {0, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED}},
		{SYS_mmap, {0, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED}},
		{SYS_mmap, {0, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, nowhere}},
		{SYS_madvise, {0, page, MADV_WIPEONFORK}},
		{SYS_munmap, {0, page}},
		{SYS_close, {0}},
		{SYS_rt_sigreturn, {0}},
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!filters_allow(remote, calls[i].nr, calls[i].args,
				   remote->code.call + remote_call_bytes))
			return false;
	}
	return true;
}

/* A signal that our stops let through would kill the process: see guard_addressee(). */
static bool filters_endanger(const struct remote *remote)
{
	static const uint64_t none[6];

	return remote->filters && !filters_allow(remote, SYS_restart_syscall, none,
						 remote->code.call + remote_call_bytes);
}

/* The thread is stopped, so that it installs no filter any more. */
static bool may_call(struct remote *remote)
{
	enum willing willing =
		willing_to_call(remote->pid, remote->tid, &remote->own_filters, &remote->status);

	call_filters_free(remote->filters);
	remote->filters = NULL;
	if (willing == WILLING_IF_ALLOWED)
		remote->filters = call_filters_read(remote->tid);
	return willing == WILLING_YES ||
	       (remote->filters && allows_all(remote) && !filters_endanger(remote));
}

/*
 * The kernel knows the arguments of the call that the stop has ended only until the thread makes
 * another one.
 */
static bool read_stopped(struct remote *remote, int *signal)
{
	bool is_read = get_regs(remote, &remote->regs);

	remote->begun = remote->regs;
	remote->is_to_begin_again = is_read && !remote->is_adopted && !remote->is_group_stop &&
				    machine_rewind_call(remote->tid, &remote->begun, signal);
	return is_read;
}

/* Makes a stopped thread ready; false: another thread may do. */
static bool prepare(struct remote *remote)
{
	return remote_runs_our_kind(&remote->regs) && has_room(remote) &&
	       !is_in_restartable_sequence(remote) && push_frame(remote) && enter(remote);
}

struct attempts {
	struct remote *remote;
	struct sparing *sparing;
	bool found;
	bool is_refused;
	/* Also threads that would wait again with all of their time-out, and those with filters
	 * to which signals of the process go. */
	bool takes_waits;
	bool is_endangered; /* by filters: no thread will do */
	bool may_call_else; /* what probes need they would allow */
	unsigned int nr, nr_stopped, nr_filtered, nr_spared, nr_waits;
};

/* It stops only after it has left this state, which mostly is a vfork(2). */
static bool is_uninterruptible(pid_t pid, pid_t tid)
{
	struct proc_stat stat;

	return proc_read_task_stat(pid, tid, &stat) && stat.state == 'D';
}

static bool seize(struct attempts *attempts, pid_t tid)
{
	struct proc_syscall *syscall = &attempts->remote->syscall;
	bool is_seized = false;

	if (sparing_look_last(attempts->sparing, tid, syscall) != SPARING_NOT) {
		attempts->nr_spared++;
	} else if (!attempts->takes_waits && sparing_may_begin_again(syscall)) {
		attempts->nr_waits++;
	} else if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		attempts->is_refused |= errno != ESRCH;
		attempts->nr++;
	} else {
		is_seized = true;
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	}
	sparing_leave(attempts->sparing);
	return is_seized;
}

static bool try_thread(void *context, pid_t tid)
{
	struct attempts *attempts = context;
	struct remote *remote = attempts->remote;
	enum willing willing = willing_to_call(remote->pid, tid, &remote->own_filters, NULL);
	bool is_read, is_filtered;
	int status, signal;

	if (willing == WILLING_NO) {
		attempts->nr_filtered++;
		return true;
	}
	if (willing == WILLING_IF_ALLOWED && !attempts->takes_waits &&
	    (tid == remote->pid || proc_has_children(remote->pid, tid))) {
		attempts->nr_waits++;
		return true;
	}
	if (is_uninterruptible(remote->pid, tid))
		return ++attempts->nr < TRIES_MAX;
	if (!seize(attempts, tid))
		return attempts->nr < TRIES_MAX;
	remote->tid = tid;
	remote->is_entered = remote->has_executed = false;
	if (!await_stop(remote, ASK_AGAIN_NS, &status)) {
		if (!remote->is_stuck)
			forget(remote);
		return !remote->is_stuck && ++attempts->nr < TRIES_MAX;
	}
	signal = status >> 16 ? 0 : WSTOPSIG(status);
	remote->is_group_stop = status >> 16 && WSTOPSIG(status) != SIGTRAP;
	remote->stopped_ns = clock_monotonic_ns();
	/* First of all: let_go() looks at them, also where the thread will not do. */
	is_read = read_stopped(remote, &signal);
	is_filtered = !may_call(remote);
	/* A signal has more to it than its number: the thread continues with it. */
	attempts->found = is_read && !is_filtered && prepare(remote) && !signal;
	if (attempts->found)
		return false;
	let_go(remote, signal);
	attempts->nr_filtered += is_filtered;
	attempts->nr += !is_filtered;
	attempts->is_endangered = filters_endanger(remote);
	attempts->may_call_else = attempts->is_endangered && allows_all(remote);
	if (attempts->is_endangered)
		return false;
	return !remote->has_executed && ++attempts->nr_stopped < TRIES_MAX;
}

static struct remote *new_remote(const struct probe_access *access, const struct remote_code *code)
{
	struct remote *remote = xcalloc(1, sizeof(*remote));

	remote->pid = access->pid;
	remote->command = access->command;
	remote->memory = access->memory;
	remote->code = *code;
	remote->own_filters = *access->own_filters;
	return remote;
}

static void release(struct remote *remote)
{
	call_filters_free(remote->filters);
	free(remote->frame.bytes);
	free(remote);
}

static bool all_are_filtered(const struct attempts *attempts)
{
	return attempts->is_endangered || (attempts->nr_filtered && !attempts->nr &&
					   !attempts->nr_spared && !attempts->nr_waits);
}

int remote_adopt(struct remote **remote, const struct probe_access *access,
		 const struct remote_code *code, pid_t tid, struct err *err)
{
	struct remote *made = new_remote(access, code);
	int signal = 0;

	made->tid = tid;
	made->is_adopted = true;
	made->stopped_ns = clock_monotonic_ns();
	if (read_stopped(made, &signal) && may_call(made) && prepare(made)) {
		made->makes_rows = may_make_row(made);
		*remote = made;
		return 0;
	}
	put_back(made);
	release(made);
	return err_set(err, ERR_UNSUPPORTED, "process %d cannot make system calls for profc",
		       (int)access->pid);
}

/* Looks for a thread that will do. */
static int find_thread(struct remote **remote, const struct probe_access *access,
		       const struct remote_code *code, struct err *err)
{
	struct remote *made = new_remote(access, code);
	const pid_t pid = access->pid;
	uint64_t end_ns = clock_monotonic_ns() + access->patience_ns;
	struct timespec pause = {.tv_nsec = NS_PER_MS};
	pid_t tgid;
	struct sparing sparing;
	struct attempts attempts = {.remote = made, .sparing = &sparing};
	int nr_threads, status = 0;
	unsigned int nr_rounds = 0;
	bool has_executed, is_stuck;

	sparing_init(&sparing, pid, false);
	do {
		/* In rounds 1, 2, 4, ...: so such waits can end in between. */
		attempts.takes_waits = nr_rounds && !(nr_rounds & (nr_rounds - 1));
		nr_rounds++;
		attempts.nr = attempts.nr_stopped = attempts.nr_filtered = attempts.nr_spared =
			attempts.nr_waits = 0;
		attempts.is_refused = false;
		nr_threads = proc_for_each_task(pid, try_thread, &attempts);
		if (attempts.found) {
			sparing_end(&sparing);
			*remote = made;
			return 0;
		}
		if (all_are_filtered(&attempts) || made->has_executed || made->is_stuck)
			break;
		if (attempts.nr_waits && nr_rounds == 1)
			continue;
		/* Our own visitors, which trace a thread for a moment, do not count here. */
		if (attempts.is_refused)
			status = permission_to_trace(pid, &tgid, err);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		/* The time between two transfers is short. */
		if (!attempts.nr_spared && 2 * pause.tv_nsec <= (long)PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
	} while (nr_threads > 0 && status == 0 && clock_monotonic_ns() < end_ns);
	sparing_end(&sparing);
	has_executed = made->has_executed;
	is_stuck = made->is_stuck;
	release(made);
	if (status < 0)
		return status;
	if (has_executed)
		return err_set(err, ERR_GONE, "process %d has ended, or executed another program",
			       (int)pid);
	if (nr_threads <= 0)
		return err_set(err, ERR_GONE, "process %d has ended", (int)pid);
	if (is_stuck)
		return err_set(
			err, ERR_UNSUPPORTED,
			"a thread of process %d does not stop: it waits in the kernel, or for a "
			"CPU that others have",
			(int)pid);
	if (attempts.may_call_else)
		return err_set(err, ERR_UNSUPPORTED,
			       "a filter of system calls (seccomp) kills process %d for "
			       "restart_syscall, which stops may cause",
			       (int)pid);
	if (all_are_filtered(&attempts))
		return err_set(err, ERR_UNSUPPORTED,
			       "all threads of process %d have a filter of system calls (seccomp), "
			       "which may kill them for those that change its memory map",
			       (int)pid);
	if (attempts.nr_spared && !attempts.nr && !attempts.nr_waits)
		return err_set(err, ERR_UNSUPPORTED,
			       "process %d is not stopped: that would cut a transfer of its thread "
			       "%d short",
			       (int)pid, (int)sparing.spared);
	return err_set(err, ERR_UNSUPPORTED,
		       "no thread of process %d with room on its stack can be stopped", (int)pid);
}

int remote_begin(struct remote **remote, const struct probe_access *access,
		 const struct remote_code *code, struct err *err)
{
	return access->is_stopped ? remote_adopt(remote, access, code, access->command, err)
				  : find_thread(remote, access, code, err);
}

/*
 * Runs to a stop on its way out of the kernel, after interrupted system calls and signals are
 * handled. False: the thread has died.
 */
static bool step_out(struct remote *remote)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, remote->tid, NULL, NULL) < 0)
		return false;
	for (;;) {
		if (ptrace(PTRACE_CONT, remote->tid, NULL, NULL) < 0 ||
		    !await_stop(remote, 0, &status))
			return false;
		if (status >> 16)
			return true;
		remote->has_sigstop |= WSTOPSIG(status) == SIGSTOP;
	}
}

/* Has the caller's stop interrupted a call, which the kernel restarts as the thread leaves a
 * signal?
 */
static bool is_to_restart(const struct remote *remote)
{
	enum machine_call call = machine_call(&remote->regs);

	return call != MACHINE_CALL_NONE && call != MACHINE_CALL_COMPLETE && !remote->is_at_signal;
}

static void give_back(struct remote *remote)
{
	if (!is_to_restart(remote) || step_out(remote))
		put_back(remote);
	if (remote->has_sigstop)
		syscall(SYS_tgkill, remote->pid, remote->tid, SIGSTOP);
}

uint64_t remote_end(struct remote *remote)
{
	uint64_t held_ns;

	if (remote->is_adopted)
		give_back(remote);
	else if (step_out(remote))
		let_go(remote, 0);
	else
		forget(remote);
	held_ns = clock_monotonic_ns() - remote->stopped_ns;
	release(remote);
	return held_ns;
}
