// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "target/filter_program.h"

#define LOAD(field)		   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUALS(k, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (then), (otherwise))
#define RETURN(action)		   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_##action)

static uint32_t run_on(const struct sock_filter *code, size_t nr, int syscall)
{
	const struct seccomp_data call = {.nr = syscall, .arch = AUDIT_ARCH_X86_64, .args = {7}};

	return filter_program_run(code, nr, &call);
}

#define RUN(code, syscall) run_on((code), ARRAY_SIZE(code), (syscall))

static void test_filter_program__of_an_allow_list(void **state)
{
	const struct sock_filter code[] = {
		LOAD(arch),
		EQUALS(AUDIT_ARCH_X86_64, 1, 0),
		RETURN(KILL_PROCESS),
		LOAD(nr),
		EQUALS(SYS_read, 1, 0),
		EQUALS(SYS_write, 0, 1),
		RETURN(ALLOW),
		RETURN(KILL_PROCESS),
	};

	(void)state;
	assert_true(filter_program_allows(RUN(code, SYS_read)));
	assert_true(filter_program_allows(RUN(code, SYS_write)));
	assert_false(filter_program_allows(RUN(code, SYS_restart_syscall)));
}

static void test_filter_program__of_ranges_and_bits(void **state)
{
	const struct sock_filter code[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 100, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 200, 1, 0),
		BPF_STMT(BPF_JMP | BPF_JA, 1),
		RETURN(LOG),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		RETURN(TRACE),
	};

	(void)state;
	assert_int_equal(RUN(code, 5), SECCOMP_RET_LOG);
	assert_int_equal(RUN(code, 201), SECCOMP_RET_LOG);
	assert_int_equal(RUN(code, 101), SECCOMP_RET_ERRNO | 1);
	assert_int_equal(RUN(code, 102), SECCOMP_RET_TRACE);
	assert_true(filter_program_allows(SECCOMP_RET_LOG));
	assert_false(filter_program_allows(SECCOMP_RET_ERRNO | 1));
	assert_false(filter_program_allows(SECCOMP_RET_USER_NOTIF));
}

static void test_filter_program__calculates(void **state)
{
	/* (7 * 6 + 2) >> 2 = 11, ^ 3 = 8, kept, X = 8; 100 / 8 = 12, - 8 = 4, | 8 = 12 */
	const struct sock_filter code[] = {
		LOAD(args[0]),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 6),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 2),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 3),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_MEM, 3),
		BPF_STMT(BPF_LD | BPF_IMM, 100),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_X, 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};

	(void)state;
	assert_int_equal(RUN(code, 0), 12);
}

static void test_filter_program__that_is_none_allows_nothing(void **state)
{
	const struct sock_filter endless[] = {BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX)};
	const struct sock_filter outside[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4096),
					      RETURN(ALLOW)};
	const struct sock_filter memory[] = {BPF_STMT(BPF_ST, BPF_MEMWORDS), RETURN(ALLOW)};
	const struct sock_filter nothing[] = {BPF_STMT(BPF_LD | BPF_IMM, 0),
					      BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
					      RETURN(ALLOW)};

	(void)state;
	assert_int_equal(RUN(endless, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(RUN(outside, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(RUN(memory, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(RUN(nothing, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run_on(NULL, 0, 0), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter_program__of_an_allow_list),
		cmocka_unit_test(test_filter_program__of_ranges_and_bits),
		cmocka_unit_test(test_filter_program__calculates),
		cmocka_unit_test(test_filter_program__that_is_none_allows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
