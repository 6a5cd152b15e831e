// SPDX-License-Identifier: GPL-2.0-or-later
/* Computes whether the filters of a thread allow a system call. */
#include "tracee/call_filters.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/read.h"
#include "proc/task.h"

#define GET_FILTER  0x420c /* PTRACE_SECCOMP_GET_FILTER, <linux/ptrace.h> */
#define FILTERS_MAX 64	   /* of one thread; systemd gives a service about ten */

struct filter {
	struct sock_filter *program;
	size_t nr;
};

struct call_filters {
	struct filter filters[FILTERS_MAX];
	size_t nr;
	bool has_more; /* than are read here: they may say anything */
};

/* --- running one --- */

struct state {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

/* False: it divides by zero, or is no calculation. */
static bool calculate(struct state *state, const struct sock_filter *it)
{
	uint32_t operand = BPF_SRC(it->code) == BPF_X ? state->x : it->k;
	uint32_t *a = &state->a;

	switch (BPF_OP(it->code)) {
	case BPF_ADD:
		*a += operand;
		return true;
	case BPF_SUB:
		*a -= operand;
		return true;
	case BPF_MUL:
		*a *= operand;
		return true;
	case BPF_DIV:
		if (!operand)
			return false;
		*a /= operand;
		return true;
	case BPF_AND:
		*a &= operand;
		return true;
	case BPF_OR:
		*a |= operand;
		return true;
	case BPF_XOR:
		*a ^= operand;
		return true;
	case BPF_LSH:
		*a = operand < 32 ? *a << operand : 0;
		return operand < 32;
	case BPF_RSH:
		*a = operand < 32 ? *a >> operand : 0;
		return operand < 32;
	case BPF_NEG:
		*a = -*a;
		return true;
	default:
		return false;
	}
}

/* Returns how many instructions to skip; -1: it is no jump. */
static int64_t jump(const struct state *state, const struct sock_filter *it)
{
	uint32_t operand = BPF_SRC(it->code) == BPF_X ? state->x : it->k;

	switch (BPF_OP(it->code)) {
	case BPF_JA:
		return it->k;
	case BPF_JEQ:
		return state->a == operand ? it->jt : it->jf;
	case BPF_JGT:
		return state->a > operand ? it->jt : it->jf;
	case BPF_JGE:
		return state->a >= operand ? it->jt : it->jf;
	case BPF_JSET:
		return state->a & operand ? it->jt : it->jf;
	default:
		return -1;
	}
}

static bool load(uint32_t *to, const struct state *state, const struct sock_filter *it,
		 const struct seccomp_data *call)
{
	if (BPF_SIZE(it->code) != BPF_W)
		return false;
	switch (BPF_MODE(it->code)) {
	case BPF_IMM:
		*to = it->k;
		return true;
	case BPF_ABS:
		if (it->k % sizeof(*to) || it->k > sizeof(*call) - sizeof(*to))
			return false;
		memcpy(to, (const char *)call + it->k, sizeof(*to));
		return true;
	case BPF_LEN:
		*to = sizeof(*call);
		return true;
	case BPF_MEM:
		if (it->k >= BPF_MEMWORDS)
			return false;
		*to = state->memory[it->k];
		return true;
	default:
		return false;
	}
}

static bool store(struct state *state, uint32_t at, uint32_t value)
{
	if (at >= BPF_MEMWORDS)
		return false;
	state->memory[at] = value;
	return true;
}

static void move(struct state *state, const struct sock_filter *it)
{
	if (BPF_MISCOP(it->code) == BPF_TAX)
		state->x = state->a;
	else
		state->a = state->x;
}

/* It ends: jumps lead forwards. */
unsigned int call_filter_run(const struct sock_filter *program, size_t nr,
			     const struct seccomp_data *call)
{
	struct state state = {.a = 0};

	for (uint64_t at = 0; at < nr; at++) {
		const struct sock_filter *it = &program[at];
		bool is_good = true;
		int64_t skipped;

		switch (BPF_CLASS(it->code)) {
		case BPF_LD:
			is_good = load(&state.a, &state, it, call);
			break;
		case BPF_LDX:
			is_good = load(&state.x, &state, it, call);
			break;
		case BPF_ST:
			is_good = store(&state, it->k, state.a);
			break;
		case BPF_STX:
			is_good = store(&state, it->k, state.x);
			break;
		case BPF_ALU:
			is_good = calculate(&state, it);
			break;
		case BPF_JMP:
			skipped = jump(&state, it);
			is_good = skipped >= 0;
			at += is_good ? (uint64_t)skipped : 0;
			break;
		case BPF_RET:
			return BPF_RVAL(it->code) == BPF_A ? state.a : it->k;
		default:
			move(&state, it);
		}
		if (!is_good)
			break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* --- those of a thread --- */

/* A kernel shows filters if it can save processes, and then it shows children, too. */
static bool shows_children(void)
{
	cleanup_close int fd = proc_open_task_file(getpid(), getpid(), "children");

	return fd >= 0;
}

bool call_filters_are_shown(void)
{
	struct proc_status status;

	return shows_children() && proc_read_status(getpid(), &status) && !status.seccomp &&
	       status.effective_capabilities >> CAP_SYS_ADMIN & 1;
}

/* Returns the number of instructions; 0 after the last filter; negative on failure. Filter 0 is the
 * newest. */
static long read_filter(pid_t tid, size_t number, struct sock_filter *program)
{
	long nr = ptrace(GET_FILTER, tid, (void *)number, program);

	return nr < 0 && errno == ENOENT ? 0 : nr;
}

/* Returns 1, or 0 after the last filter; negative on failure. */
static int add_filter(struct call_filters *filters, pid_t tid)
{
	struct filter *filter = &filters->filters[filters->nr];
	long nr = read_filter(tid, filters->nr, NULL);

	if (nr <= 0 || nr > BPF_MAXINSNS)
		return nr == 0 ? 0 : -1;
	filter->program = xcalloc((size_t)nr, sizeof(*filter->program));
	filter->nr = (size_t)nr;
	filters->nr++;
	return read_filter(tid, filters->nr - 1, filter->program) == nr ? 1 : -1;
}

struct call_filters *call_filters_read(pid_t tid)
{
	struct call_filters *filters = xcalloc(1, sizeof(*filters));
	int got = 1, error;

	while (got > 0 && filters->nr < FILTERS_MAX)
		got = add_filter(filters, tid);
	if (got > 0)
		filters->has_more = read_filter(tid, filters->nr, NULL) != 0;
	if (got >= 0)
		return filters;
	error = errno;
	call_filters_free(filters);
	errno = error;
	return NULL;
}

void call_filters_free(struct call_filters *filters)
{
	for (size_t i = 0; filters && i < filters->nr; i++)
		free(filters->filters[i].program);
	free(filters);
}

bool call_filters_allow(const struct call_filters *filters, const struct seccomp_data *call)
{
	for (size_t i = 0; i < filters->nr; i++) {
		const struct filter *filter = &filters->filters[i];

		if (call_filter_run(filter->program, filter->nr, call) != SECCOMP_RET_ALLOW)
			return false;
	}
	return !filters->has_more;
}
