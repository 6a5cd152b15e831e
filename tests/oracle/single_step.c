// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The truth about stacks: runs a program one instruction at a time, keeps its
 * call stack by watching every call and every return, and holds what the
 * unwinder makes of the same moment against it.
 *
 *	single_step [-bis] [-u UNWINDER] [-e EVERY] [-n STEPS] [-l SHARE] CMD [ARG…]
 *
 * Looks at every EVERY-th instruction (7), at STEPS at most (all); with -s from
 * the program's entry on, without what the loader does before, and with -i at that
 * alone, where of the many calls of one function some are enough; with -b the frame
 * pointer is withheld, as of a thread that was not stopped. Prints how
 * many stacks were exact, frame by frame, where the others were taken, and how many callers
 * and ends of stacks each rule of the unwinder has found; the status is 0 if at least SHARE
 * per cent (99.97) were exact. x86-64 only, one thread.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "unwind/unwind.h"

#if !defined(__x86_64__)
#error "single_step reads x86-64 instructions"
#endif

#define COPY_BYTES   (UINT64_C(32) << 10)
#define PLACES_SHOWN 12
#define CODE_CACHED  65536
#define CALLS_OFTEN  32

/* A call that has not returned. */
struct call {
	uint64_t return_address;
	uint64_t slot;	/* where on the stack it is kept */
	bool is_signal; /* no call: return_address is where a signal struck */
};

enum instruction {
	INSTRUCTION_OTHER,
	INSTRUCTION_CALL,
	INSTRUCTION_SYSCALL,
	INSTRUCTION_RETURN, /* or a jump through a register or memory, by which some return */
};

struct known_code {
	uint64_t pc;
	enum instruction instruction;
};

/* Where stacks were wrong, by the leaf. */
struct place {
	struct code_address leaf;
	uint64_t nr;
	size_t at;    /* the first frame that differs */
	uint64_t got; /* what was there: pc, or 0 */
	uint64_t wanted;
	enum stack_end end;
};

struct oracle {
	pid_t pid;
	struct call *calls; /* outermost first */
	size_t nr_calls, cap_calls;
	struct known_code code[CODE_CACHED]; /* by pc */
	struct module_table *modules;
	struct space *space;
	struct unwinder *unwinder;
	struct unwind_walk walk;
	struct snapshot snapshot;
	bool hides_fp;
	uint64_t ends_before;		     /* with -i: the program's entry, else 0 */
	unsigned int nr_called[CODE_CACHED]; /* by pc */
	uint64_t nr_steps, nr_checked, nr_exact;
	struct place *places;
	size_t nr_places, cap_places;
	uint64_t nr_by_rule[UNWIND_RULE_COUNT]; /* frames found, and stacks ended */
};

static bool read_target(const struct oracle *oracle, uint64_t address, void *out, size_t nr_bytes)
{
	struct iovec to = {.iov_base = out, .iov_len = nr_bytes};
	struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = nr_bytes};

	return process_vm_readv(oracle->pid, &to, 1, &from, 1, 0) == (ssize_t)nr_bytes;
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
	       byte == 0x3e || byte == 0x64 || byte == 0x65 || (byte & 0xf0) == 0x40;
}

/* Only what changes the call stack is told apart. */
static enum instruction decode(const uint8_t *bytes, size_t nr_bytes)
{
	size_t at = 0;

	while (at < nr_bytes && is_prefix(bytes[at]))
		at++;
	if (at + 1 >= nr_bytes)
		return at < nr_bytes && bytes[at] == 0xc3 ? INSTRUCTION_RETURN : INSTRUCTION_OTHER;
	if (bytes[at] == 0xe8 || (bytes[at] == 0xff && (bytes[at + 1] >> 3 & 7) == 2))
		return INSTRUCTION_CALL;
	if (bytes[at] == 0x0f && bytes[at + 1] == 0x05)
		return INSTRUCTION_SYSCALL;
	if (bytes[at] == 0xc3 || bytes[at] == 0xc2 ||
	    (bytes[at] == 0xff && (bytes[at + 1] >> 3 & 7) == 4))
		return INSTRUCTION_RETURN;
	return INSTRUCTION_OTHER;
}

static enum instruction instruction_at(struct oracle *oracle, uint64_t pc)
{
	struct known_code *known = &oracle->code[hash_u64(pc) % CODE_CACHED];
	uint8_t bytes[15];
	size_t nr_bytes = sizeof(bytes);

	if (known->pc == pc)
		return known->instruction;
	while (nr_bytes && !read_target(oracle, pc, bytes, nr_bytes))
		nr_bytes--; /* the end of the mapping */
	*known = (struct known_code){.pc = pc, .instruction = decode(bytes, nr_bytes)};
	return known->instruction;
}

static void push_call(struct oracle *oracle, struct call call)
{
	ARRAY_GROW(oracle->calls, oracle->nr_calls, oracle->cap_calls);
	oracle->calls[oracle->nr_calls++] = call;
}

/*
 * Calls whose return address is below the stack pointer are over, however that came about. If
 * it was not by a return, control is still in the callee of the outermost of them, and gets
 * back by the next jump (__builtin_eh_return, longjmp).
 */
static void pop_calls(struct oracle *oracle, uint64_t sp, enum instruction done)
{
	const struct call *last = NULL;
	struct call over = {0};

	for (; oracle->nr_calls; oracle->nr_calls--) {
		last = &oracle->calls[oracle->nr_calls - 1];
		if (last->is_signal || last->slot >= sp)
			break;
		over = *last;
	}
	/* Is a return address on top of the stack, it is this call that will be returned from. */
	if (over.slot && done != INSTRUCTION_RETURN && (!oracle->nr_calls || last->slot != sp))
		push_call(oracle, over);
}

static void pop_signal(struct oracle *oracle)
{
	while (oracle->nr_calls && !oracle->calls[--oracle->nr_calls].is_signal)
		;
}

/* The handler's first instruction is next: the kernel pushed its trampoline's address. */
static void push_signal(struct oracle *oracle, const struct user_regs_struct *regs)
{
	uint64_t trampoline = 0;
	uint64_t struck = 0;

	read_target(oracle, regs->rsp, &trampoline, sizeof(trampoline));
	/* above it the ucontext, with the interrupted rip at 168 */
	read_target(oracle, regs->rsp + 8 + 168, &struck, sizeof(struck));
	push_call(oracle, (struct call){.return_address = struck, .is_signal = true});
	push_call(oracle, (struct call){.return_address = trampoline, .slot = regs->rsp});
}

static void follow(struct oracle *oracle, enum instruction done,
		   const struct user_regs_struct *before, const struct user_regs_struct *after)
{
	if (done == INSTRUCTION_CALL && after->rsp == before->rsp - 8) {
		uint64_t return_address = 0;

		read_target(oracle, after->rsp, &return_address, sizeof(return_address));
		push_call(oracle,
			  (struct call){.return_address = return_address, .slot = after->rsp});
	} else if (done == INSTRUCTION_SYSCALL && before->rax == 15 /* rt_sigreturn */) {
		pop_signal(oracle);
	} else {
		pop_calls(oracle, after->rsp, done);
	}
}

static void take_snapshot(struct oracle *oracle, const struct user_regs_struct *regs)
{
	const uint64_t values[] = {regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
				   regs->rbp, regs->rsp, regs->r8,  regs->r9,  regs->r10, regs->r11,
				   regs->r12, regs->r13, regs->r14, regs->r15, regs->rip};
	const struct mapping *stack = space_find(oracle->space, regs->rsp);
	uint64_t nr_bytes = COPY_BYTES;

	snapshot_clear(&oracle->snapshot);
	for (unsigned int i = 0; i < ARRAY_SIZE(values); i++)
		regs_set(&oracle->snapshot.regs, i, values[i]);
	if (oracle->hides_fp)
		oracle->snapshot.regs.known &= ~(UINT64_C(1) << 6);
	if (!stack)
		return;
	if (stack->end - regs->rsp < nr_bytes)
		nr_bytes = stack->end - regs->rsp;
	if (!read_target(oracle, regs->rsp,
			 snapshot_add_region(&oracle->snapshot, regs->rsp, nr_bytes), nr_bytes))
		snapshot_trim_region(&oracle->snapshot, nr_bytes);
}

static bool read_beyond(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	return read_target(context, address, out, nr_bytes);
}

static void unwind(struct oracle *oracle, const struct user_regs_struct *regs)
{
	const struct unwind_memory memory = {.read = read_beyond, .context = oracle};

	take_snapshot(oracle, regs);
	unwinder_walk(oracle->unwinder, oracle->space, &oracle->snapshot, &memory, &oracle->walk);
	if (oracle->walk.end != STACK_END_NO_MAPPING || space_refresh(oracle->space, NULL))
		return;
	take_snapshot(oracle, regs);
	unwinder_walk(oracle->unwinder, oracle->space, &oracle->snapshot, &memory, &oracle->walk);
}

/* The pc of frame i as it truly is; 0 beyond the outermost. */
static uint64_t true_pc(const struct oracle *oracle, uint64_t pc, size_t i)
{
	if (!i)
		return pc;
	return i <= oracle->nr_calls ? oracle->calls[oracle->nr_calls - i].return_address : 0;
}

static void note_wrong(struct oracle *oracle, size_t at, uint64_t wanted)
{
	const struct unwind_walk *walk = &oracle->walk;
	struct code_address leaf = walk->frames[0].lookup;
	size_t i = 0;

	while (i < oracle->nr_places && (oracle->places[i].leaf.address != leaf.address ||
					 oracle->places[i].leaf.module.v != leaf.module.v))
		i++;
	if (i == oracle->nr_places) {
		ARRAY_GROW(oracle->places, oracle->nr_places, oracle->cap_places);
		oracle->places[oracle->nr_places++] =
			(struct place){.leaf = leaf,
				       .at = at,
				       .wanted = wanted,
				       .got = at < walk->nr_frames ? walk->frames[at].pc : 0,
				       .end = walk->end};
	}
	oracle->places[i].nr++;
}

static void check(struct oracle *oracle, const struct user_regs_struct *regs)
{
	size_t nr_true = oracle->nr_calls + 1;
	size_t i = 0;

	unwind(oracle, regs);
	while (i < nr_true && i < oracle->walk.nr_frames &&
	       oracle->walk.frames[i].pc == true_pc(oracle, regs->rip, i))
		i++;
	oracle->nr_checked++;
	for (size_t f = 1; f < oracle->walk.nr_frames; f++)
		oracle->nr_by_rule[oracle->walk.frames[f].rule]++;
	oracle->nr_by_rule[oracle->walk.end_rule]++;
	if (i == nr_true && i == oracle->walk.nr_frames)
		oracle->nr_exact++;
	else
		note_wrong(oracle, i, true_pc(oracle, regs->rip, i));
}

/* One instruction on, with the signal to deliver; false once the program is no more. */
static bool step(struct oracle *oracle, int *signal)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, oracle->pid, 0, *signal) ||
	    waitpid(oracle->pid, &status, 0) != oracle->pid || !WIFSTOPPED(status))
		return false;
	*signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	return true;
}

/* The first calls of a function, and later ever fewer. */
static bool is_worth_stepping(struct oracle *oracle, uint64_t function)
{
	unsigned int nr = oracle->nr_called[hash_u64(function) % CODE_CACHED]++;

	return nr < CALLS_OFTEN || (nr & (nr - 1)) == 0;
}

/* Runs on until an instruction is about to be executed; where it stops, that was. */
static bool run_to(const struct oracle *oracle, uint64_t address, struct user_regs_struct *regs)
{
	void *at = (void *)(uintptr_t)address;
	long code = ptrace(PTRACE_PEEKTEXT, oracle->pid, at, 0);
	int status;

	if (ptrace(PTRACE_POKETEXT, oracle->pid, at, (code & ~0xffL) | 0xcc) ||
	    ptrace(PTRACE_CONT, oracle->pid, 0, 0) ||
	    waitpid(oracle->pid, &status, 0) != oracle->pid || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGTRAP || ptrace(PTRACE_GETREGS, oracle->pid, 0, regs))
		return false;
	regs->rip = address;
	return !ptrace(PTRACE_POKETEXT, oracle->pid, at, code) &&
	       !ptrace(PTRACE_SETREGS, oracle->pid, 0, regs);
}

/* Lets the function that has just been entered run to its end, whatever it calls. */
static bool run_to_return(struct oracle *oracle, struct user_regs_struct *regs)
{
	const struct call call = oracle->calls[oracle->nr_calls - 1];
	int signal = 0;

	/* Below its slot it is one that it has called in the same place. */
	while (run_to(oracle, call.return_address, regs)) {
		if (regs->rsp > call.slot) {
			pop_calls(oracle, regs->rsp, INSTRUCTION_RETURN);
			return true;
		}
		if (!step(oracle, &signal) || signal)
			return false;
	}
	return false;
}

/* False if the program ended before it came to where to end. */
static bool run(struct oracle *oracle, uint64_t every, uint64_t nr_steps_max)
{
	struct user_regs_struct regs;
	struct user_regs_struct before;
	int signal = 0;

	if (ptrace(PTRACE_GETREGS, oracle->pid, 0, &regs))
		return false;
	while (oracle->nr_steps < nr_steps_max && regs.rip != oracle->ends_before) {
		enum instruction next = instruction_at(oracle, regs.rip);
		int delivered = signal;

		if (!signal && oracle->nr_steps % every == 0)
			check(oracle, &regs);
		before = regs;
		if (!step(oracle, &signal) || ptrace(PTRACE_GETREGS, oracle->pid, 0, &regs))
			return false;
		oracle->nr_steps++;
		if (delivered && !signal)
			push_signal(oracle, &regs);
		else if (!signal)
			follow(oracle, next, &before, &regs);
		if (oracle->ends_before && next == INSTRUCTION_CALL && !signal &&
		    !is_worth_stepping(oracle, regs.rip) && !run_to_return(oracle, &regs))
			return false;
	}
	return true;
}

/* On one CPU a step is a switch to the program and back; on two it waits for the other to wake. */
static void stay_on_this_cpu(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

static pid_t spawn(char **argv)
{
	pid_t pid;
	int status;

	stay_on_this_cpu();
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) ? pid : -1;
}

/* Where the loader hands over to the program: AT_ENTRY of getauxval(3). */
static uint64_t entry_of(const struct oracle *oracle)
{
	char path[32];
	uint64_t pair[2];
	uint64_t entry = 0;
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/auxv", oracle->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && !entry && read(fd, pair, sizeof(pair)) == sizeof(pair)) {
		if (pair[0] == AT_ENTRY)
			entry = pair[1];
	}
	return entry;
}

/* Let the loader run; nothing is on the stack when the entry is reached. */
static bool run_to_entry(const struct oracle *oracle)
{
	uint64_t entry = entry_of(oracle);
	struct user_regs_struct regs;

	return entry && run_to(oracle, entry, &regs);
}

static int more_often(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

	return x->nr > y->nr ? -1 : x->nr < y->nr;
}

static void print_address(const struct oracle *oracle, struct code_address at)
{
	printf("%s+%" PRIx64, module_short_name(module_table_get(oracle->modules, at.module)),
	       at.address);
}

static double report(struct oracle *oracle)
{
	double share = oracle->nr_checked
			       ? 100.0 * (double)oracle->nr_exact / (double)oracle->nr_checked
			       : 0.0;

	printf("%" PRIu64 " instructions, %" PRIu64 " stacks, %" PRIu64 " exact: %.3f %%\n",
	       oracle->nr_steps, oracle->nr_checked, oracle->nr_exact, share);
	if (oracle->nr_places)
		qsort(oracle->places, oracle->nr_places, sizeof(*oracle->places), more_often);
	for (size_t i = 0; i < oracle->nr_places && i < PLACES_SHOWN; i++) {
		const struct place *place = &oracle->places[i];

		printf("%6" PRIu64 " wrong at ", place->nr);
		print_address(oracle, place->leaf);
		printf(": frame %zu is ", place->at);
		print_address(oracle, space_locate(oracle->space, place->got));
		printf(", truly ");
		print_address(oracle, space_locate(oracle->space, place->wanted));
		printf(" (ended: %s)\n", stack_end_name(place->end));
	}
	for (enum unwind_rule rule = 0; rule < UNWIND_RULE_COUNT; rule++) {
		if (oracle->nr_by_rule[rule])
			printf("%9" PRIu64 " by %s\n", oracle->nr_by_rule[rule],
			       unwind_rule_name(rule));
	}
	return share;
}

static void oracle_free(struct oracle *oracle)
{
	unwind_walk_release(&oracle->walk);
	unwinder_free(oracle->unwinder);
	snapshot_release(&oracle->snapshot);
	space_free(oracle->space);
	module_table_free(oracle->modules);
	free(oracle->calls);
	free(oracle->places);
	free(oracle);
}

int main(int argc, char **argv)
{
	struct oracle *oracle = xcalloc(1, sizeof(*oracle));
	enum unwinder_kind kind = UNWINDER_AUTO;
	uint64_t every = 7;
	uint64_t nr_steps = UINT64_MAX;
	double least = 99.97;
	double share;
	bool skip_loader = false;
	bool loader_alone = false;
	bool came_to_end;
	int option;

	while ((option = getopt(argc, argv, "+bisu:e:n:l:")) != -1) {
		if (option == 'b')
			oracle->hides_fp = true;
		else if (option == 'i')
			loader_alone = true;
		else if (option == 's')
			skip_loader = true;
		else if (option == 'e')
			every = strtoull(optarg, NULL, 10);
		else if (option == 'n')
			nr_steps = strtoull(optarg, NULL, 10);
		else if (option == 'l')
			least = strtod(optarg, NULL);
		else if (option != 'u' || !unwinder_kind_parse(optarg, &kind))
			return 2;
	}
	if (!argv[optind] || !every || (oracle->pid = spawn(argv + optind)) < 0)
		return 2;
	oracle->modules = module_table_new();
	oracle->space = space_new(oracle->modules, oracle->pid);
	oracle->unwinder = unwinder_new(kind, 0);
	if (skip_loader && !run_to_entry(oracle))
		return 2;
	if (loader_alone && !(oracle->ends_before = entry_of(oracle)))
		return 2;
	space_refresh(oracle->space, NULL);
	came_to_end = run(oracle, every, nr_steps);
	share = report(oracle);
	kill(oracle->pid, SIGKILL);
	oracle_free(oracle);
	return share < least || (loader_alone && !came_to_end);
}
