// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/target_priv.h"

#define MIB ((uint64_t)1 << 20)

static bool was_cut(long nr, uint64_t first, uint64_t second, uint64_t third, uint64_t fourth,
		    int64_t result)
{
	struct proc_syscall syscall = {
		.kind = PROC_SYSCALL_INSIDE, .nr = nr, .args = {first, second, third, fourth, MIB}};

	return target_call_was_cut(getpid(), &syscall, result);
}

static void test_call_was_cut__that_moved_a_part(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_true(was_cut(SYS_write, (uint64_t)ends[1], 0, MIB, 0, 65536));
	assert_false(was_cut(SYS_write, (uint64_t)ends[1], 0, MIB, 0, (int64_t)MIB));
	assert_false(was_cut(SYS_write, (uint64_t)ends[1], 0, MIB, 0, -32));
	assert_false(was_cut(SYS_write, (uint64_t)ends[1], 0, MIB, 0, 0));
	assert_true(was_cut(SYS_getrandom, 0, MIB, 0, 0, 8192));
	assert_false(was_cut(SYS_getrandom, 0, 256, 0, 0, 100));
	close(ends[0]);
	close(ends[1]);
}

static void test_call_was_cut__knows_vectors_by_their_sum(void **state)
{
	static const char bytes[100000];
	const struct iovec parts[] = {{(void *)(uintptr_t)bytes, 50000},
				      {(void *)(uintptr_t)bytes, 30000}};
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_true(was_cut(SYS_writev, (uint64_t)ends[1], (uintptr_t)parts, 2, 0, 65536));
	assert_false(was_cut(SYS_writev, (uint64_t)ends[1], (uintptr_t)parts, 2, 0, 80000));
	close(ends[0]);
	close(ends[1]);
}

static uint64_t size_of(int file)
{
	return (uint64_t)lseek(file, 0, SEEK_END);
}

static void test_call_was_cut__of_a_file_only_before_its_end(void **state)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t end = size_of(file), sent = end, middle = end / 2;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	/* The call has left the position, or the offset that it was given, behind what it sent. */
	assert_false(was_cut(SYS_sendfile, (uint64_t)ends[0], (uint64_t)file, 0, MIB, 65536));
	lseek(file, (off_t)middle, SEEK_SET);
	assert_true(was_cut(SYS_sendfile, (uint64_t)ends[0], (uint64_t)file, 0, MIB, 65537));
	assert_false(was_cut(SYS_sendfile, (uint64_t)ends[0], (uint64_t)file, (uintptr_t)&sent, MIB,
			     65536));
	assert_true(was_cut(SYS_sendfile, (uint64_t)ends[0], (uint64_t)file, (uintptr_t)&middle,
			    MIB, 65536));
	close(file);
	close(ends[0]);
	close(ends[1]);
}

static void test_call_was_cut__not_where_parts_are_usual(void **state)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_true(was_cut(SYS_sendto, (uint64_t)ends[0], 0, MIB, 0, 4096));
	assert_false(was_cut(SYS_sendto, (uint64_t)ends[0], 0, MIB, MSG_DONTWAIT, 4096));
	assert_true(was_cut(SYS_recvfrom, (uint64_t)ends[0], 0, MIB, MSG_WAITALL, 4096));
	assert_false(was_cut(SYS_recvfrom, (uint64_t)ends[0], 0, MIB, 0, 4096));
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	assert_false(was_cut(SYS_sendto, (uint64_t)ends[0], 0, MIB, 0, 4096));
	assert_false(was_cut(SYS_read, (uint64_t)file, 0, MIB, 0, 4096));
	assert_true(was_cut(SYS_read, (uint64_t)zero, 0, MIB, 0, 4096));
	/* The rest of a file. */
	close(ends[0]);
	close(ends[1]);
	close(file);
	close(zero);
}

static struct target_care care_of(long nr, uint64_t first, uint64_t third, uint64_t fourth)
{
	struct proc_syscall syscall = {
		.kind = PROC_SYSCALL_INSIDE, .nr = nr, .args = {first, 0, third, fourth}};

	return target_care_of(getpid(), &syscall);
}

static void test_care__several_messages_come_out_fewer(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_true(care_of(SYS_recvmmsg, (uint64_t)ends[0], 4, 0).spoilt_cpu_ns);
	assert_false(care_of(SYS_recvmmsg, (uint64_t)ends[0], 1, 0).spoilt_cpu_ns);
	assert_false(care_of(SYS_recvmmsg, (uint64_t)ends[0], 4, MSG_WAITFORONE).spoilt_cpu_ns);
	assert_true(care_of(SYS_sendmmsg, (uint64_t)ends[0], 4, 0).spoilt_cpu_ns);
	assert_false(care_of(SYS_sendmmsg, (uint64_t)ends[0], 4, MSG_DONTWAIT).spoilt_cpu_ns);
	close(ends[0]);
	close(ends[1]);
}

static void test_care__knows_what_fails_when_woken_for_a_signal(void **state)
{
	(void)state;
	assert_true(care_of(SYS_epoll_pwait, 0, 1, 100).is_unrestarted);
	assert_true(care_of(SYS_recvfrom, 0, 1, 0).is_unrestarted);
	assert_false(care_of(SYS_recvfrom, 0, 1, MSG_WAITALL).is_unrestarted);
	assert_false(care_of(SYS_futex, 0, 0, 0).is_unrestarted);
	assert_false(care_of(SYS_nanosleep, 0, 0, 0).is_unrestarted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_was_cut__that_moved_a_part),
		cmocka_unit_test(test_call_was_cut__knows_vectors_by_their_sum),
		cmocka_unit_test(test_call_was_cut__of_a_file_only_before_its_end),
		cmocka_unit_test(test_call_was_cut__not_where_parts_are_usual),
		cmocka_unit_test(test_care__several_messages_come_out_fewer),
		cmocka_unit_test(test_care__knows_what_fails_when_woken_for_a_signal),
	};

	return cmocka_run_group_tests_name("target/care", tests, NULL, NULL);
}
