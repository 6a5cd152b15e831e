// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether what we compute of filters of system calls is what the kernel does by them. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "tracee/call_filters.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

enum { NR_INSTRUCTIONS = 24, NR_PROGRAMS = 400, NR_CALLS = 8, NOT_INSTALLED = 100, DIFFERS = 101 };

static uint32_t drawn(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*state >> 33) % below;
}

static uint32_t small_or_any(uint64_t *random)
{
	return drawn(random, 2) ? drawn(random, 8) : drawn(random, UINT32_MAX);
}

/* Words of the call, but for the place in the code, which the call alone knows. */
static uint32_t a_word(uint64_t *random)
{
	static const uint32_t first[] = {offsetof(struct seccomp_data, nr),
					 offsetof(struct seccomp_data, arch)};
	uint32_t number = drawn(random, 14);

	return number < 2 ? first[number]
			  : (uint32_t)offsetof(struct seccomp_data, args) + (number - 2) * 4;
}

static struct sock_filter any_instruction(uint64_t *random, uint32_t nr_left)
{
	static const uint16_t operations[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
					      BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG};
	static const uint16_t jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	uint16_t source = drawn(random, 2) ? BPF_X : BPF_K;
	uint32_t value = small_or_any(random);
	uint16_t operation;

	switch (drawn(random, 9)) {
	case 0:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, a_word(random));
	case 1:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, value);
	case 2:
		return (struct sock_filter)BPF_STMT(drawn(random, 2) ? BPF_ST : BPF_STX,
						    drawn(random, 3));
	case 3:
		return (struct sock_filter)BPF_STMT((drawn(random, 2) ? BPF_LD : BPF_LDX) | BPF_MEM,
						    drawn(random, 3));
	case 4:
		return (struct sock_filter)BPF_STMT(
			BPF_MISC | (drawn(random, 2) ? BPF_TAX : BPF_TXA), 0);
	case 5:
	case 6:
		return (struct sock_filter)BPF_JUMP(BPF_JMP | jumps[drawn(random, 4)] | source,
						    value, (uint8_t)drawn(random, nr_left),
						    (uint8_t)drawn(random, nr_left));
	default:
		operation = operations[drawn(random, 10)];
		if (operation == BPF_LSH || operation == BPF_RSH) {
			source = BPF_K;
			value %= 32;
		}
		if (operation == BPF_DIV) {
			source = BPF_K;
			value |= 1;
		}
		return (struct sock_filter)BPF_STMT(BPF_ALU | operation | source, value);
	}
}

/*
 * Of getppid(2) alone. It ends with an error whose number is a part of what was computed, or lets
 * the call through.
 */
static void any_program(uint64_t *random, struct sock_filter *program)
{
	const struct sock_filter begin[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_filter end[] = {
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 3),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const size_t nr_begin = sizeof(begin) / sizeof(begin[0]);
	const size_t nr_end = sizeof(end) / sizeof(end[0]);

	memcpy(program, begin, sizeof(begin));
	for (uint32_t i = (uint32_t)nr_begin; i < NR_INSTRUCTIONS - nr_end; i++)
		program[i] = any_instruction(random, NR_INSTRUCTIONS - (uint32_t)nr_end - i);
	memcpy(&program[NR_INSTRUCTIONS - nr_end], end, sizeof(end));
}

/* In a child: are the calls allowed or refused as was computed? */
static int compare(uint64_t *random, struct sock_filter *program)
{
	struct sock_fprog filter = {.len = NR_INSTRUCTIONS, .filter = program};
	long parent = getppid();

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return NOT_INSTALLED;
	for (int i = 0; i < NR_CALLS; i++) {
		struct seccomp_data call = {.nr = SYS_getppid, .arch = ARCHITECTURE};
		unsigned int said;
		long got, wanted;

		for (int k = 0; k < 6; k++)
			call.args[k] = (uint64_t)small_or_any(random) << 32 | small_or_any(random);
		said = call_filter_run(program, NR_INSTRUCTIONS, &call);
		got = syscall(SYS_getppid, call.args[0], call.args[1], call.args[2], call.args[3],
			      call.args[4], call.args[5]);
		wanted = said == SECCOMP_RET_ALLOW	  ? parent
			 : (said & SECCOMP_RET_DATA) == 0 ? 0
							  : -(long)(said & SECCOMP_RET_DATA);
		if ((got == -1 ? -(long)errno : got) != wanted)
			return DIFFERS;
	}
	return 0;
}

TEST(call_filters, does_as_the_kernel_does)
{
	uint64_t random = 1;
	unsigned int nr_installed = 0;

	for (int i = 0; i < NR_PROGRAMS; i++) {
		struct sock_filter program[NR_INSTRUCTIONS];
		int status;
		pid_t child;

		any_program(&random, program);
		child = fork();
		if (child == 0)
			_exit(compare(&random, program));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_not_equal(WEXITSTATUS(status), DIFFERS);
		nr_installed += WEXITSTATUS(status) != NOT_INSTALLED;
	}
	assert_true(nr_installed > NR_PROGRAMS / 8);
}

TEST(call_filters, refuses_what_cannot_be_computed)
{
	const struct seccomp_data call = {.nr = SYS_getppid, .args = {5}};
	const struct sock_filter divides_by_zero[] = {BPF_STMT(BPF_LD | BPF_IMM, 1),
						      BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
						      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_filter no_end[] = {BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW)};
	const struct sock_filter leaves[] = {BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX),
					     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_filter reads_beyond[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(call)),
						   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_filter reads_bytes[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
						  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_filter keeps_beyond[] = {BPF_STMT(BPF_ST, BPF_MEMWORDS),
						   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_filter allows[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

#define SAYS(program) call_filter_run(program, sizeof(program) / sizeof((program)[0]), &call)
	assert_int_equal(SAYS(divides_by_zero), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(SAYS(no_end), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(SAYS(leaves), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(SAYS(reads_beyond), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(SAYS(reads_bytes), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(SAYS(keeps_beyond), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(SAYS(allows), SECCOMP_RET_ALLOW);
#undef SAYS
}

/* In a child, which the caller traces: stops with so many filters that allow all. */
static void stop_with_filters(unsigned int nr)
{
	struct sock_filter allows[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {.len = 1, .filter = allows};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (unsigned int i = 0; i < nr; i++) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(NOT_INSTALLED);
	}
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	_exit(0);
}

/* Of so many filters that all allow it. */
static bool are_allowed(unsigned int nr)
{
	const struct seccomp_data call = {.nr = SYS_getppid, .arch = ARCHITECTURE};
	struct call_filters *filters;
	bool are_allowed;
	pid_t child = fork();
	int status;

	if (child == 0)
		stop_with_filters(nr);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	filters = call_filters_read(child);
	assert_non_null(filters);
	are_allowed = call_filters_allow(filters, &call);
	call_filters_free(filters);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return are_allowed;
}

TEST(call_filters, more_than_are_read_allow_nothing)
{
	if (!call_filters_are_shown())
		skip();
	assert_true(are_allowed(1));
	assert_true(are_allowed(64));
	assert_false(are_allowed(65));
}

TEST(call_filters, of_who_is_not_traced_there_are_none)
{
	errno = 0;
	assert_null(call_filters_read(getppid()));
	assert_int_equal(errno, ESRCH);
}
