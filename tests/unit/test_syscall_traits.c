// SPDX-License-Identifier: GPL-2.0-or-later
/* What is known of Linux calls, and of kernel stacks as several kernels print them. */
#include <sys/socket.h>
#include <sys/syscall.h>

#include "syscall/traits.h"
#include "tests/unit/unit.h"

#define CALL_END " do_syscall_64+0x84/0x800\n[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n"

static bool shows_transfer(const char *text)
{
	return kernel_stack_shows_transfer(text, strlen(text));
}

TEST(kernel_stack, shows_transfers)
{
	static const char *const texts[] = {
		"[<0>] read_zero+0x9f/0xf0\n[<0>] vfs_read+0xc1/0x3a0\n"
		"[<0>] ksys_read+0x6b/0xe0\n[<0>]" CALL_END,
		"[<0>] anon_pipe_write+0x3a7/0x6f0\n[<0>] vfs_write+0x2b1/0x450\n"
		"[<0>] ksys_write+0xc9/0xe0\n[<0>]" CALL_END,
		"[<0>] filemap_splice_read+0x2c0/0x370\n[<0>] splice_direct_to_actor+0xb5/0x2a0\n"
		"[<0>] do_splice_direct+0x77/0xd0\n[<0>] do_sendfile+0x373/0x420\n"
		"[<0>] __x64_sys_sendfile64+0x6a/0xd0\n[<0>]" CALL_END,
		/* Between its beginning and its sleep. */
		"[<0>] tcp_connect+0x8b2/0xf20\n[<0>] tcp_v4_connect+0x39f/0x4d0\n"
		"[<0>] __inet_stream_connect+0xd4/0x3b0\n[<0>] inet_stream_connect+0x36/0x50\n"
		"[<0>] __sys_connect+0x5e/0x90\n[<0>] __x64_sys_connect+0x18/0x20\n[<0>]" CALL_END,
		/* aarch64 */
		"[<0>] read_iter_zero+0x50/0x120\n[<0>] vfs_read+0x1a8/0x2e0\n"
		"[<0>] invoke_syscall+0x50/0x120\n[<0>] el0_svc_common.constprop.0+0xc8/0xf0\n"
		"[<0>] do_el0_svc+0x24/0x38\n[<0>] el0_svc+0x3c/0x130\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_true(shows_transfer(texts[i]));
}

TEST(kernel_stack, shows_none_elsewhere)
{
	static const char *const texts[] = {
		"", /* on a CPU */
		"[<0>] irqentry_exit_to_user_mode+0x1a5/0x1e0\n"
		"[<0>] asm_sysvec_apic_timer_interrupt+0x1a/0x20\n",
		/* The call is done. */
		"[<0>] exit_to_user_mode_loop+0xd5/0x140\n[<0>] pipe_write+0x1/0x2\n[<0>]" CALL_END,
		"[<0>] futex_wait_queue+0x60/0x90\n[<0>] __x64_sys_futex+0x60/0x90\n[<0>]" CALL_END,
		/* Cut off before its end: nothing says that it is in a call. */
		"[<0>] pipe_write+0x3a7/0x6f0\n[<0>] vfs_wri",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(shows_transfer(texts[i]));
}

TEST(traits, waits_and_transfers)
{
	const uint64_t long_one[6] = {[1] = 1 << 20, [2] = 1 << 20};
	const uint64_t short_one[6] = {[2] = 100};

	assert_true(syscall_waits(SYS_futex));
	assert_true(syscall_waits(SYS_read));
	assert_false(syscall_waits(SYS_getpid));
	assert_false(syscall_waits(-1));
	assert_true(syscall_transfers(SYS_sendto, long_one));
	assert_true(syscall_transfers(SYS_getrandom, long_one));
	assert_true(syscall_transfers(SYS_writev, short_one)); /* of how much is not known */
	assert_true(syscall_transfers(SYS_preadv2, short_one));
	assert_true(syscall_waits(SYS_pwritev2)); /* where the file has no places */
	assert_false(syscall_transfers(SYS_write, short_one));
	assert_false(syscall_transfers(SYS_futex, long_one));
	assert_int_equal(syscall_written_bytes(SYS_write, short_one), 100);
	assert_int_equal(syscall_written_bytes(SYS_sendto, short_one), 100);
	assert_int_equal(syscall_written_bytes(SYS_read, short_one), 0);
}

TEST(traits, restarts_unseen_only_what_keeps_its_time)
{
	const uint64_t none[6] = {0};
	const uint64_t epoll_for_ever[6] = {[3] = (uint64_t)-1};
	const uint64_t epoll_for_a_second[6] = {[3] = 1000};
	const uint64_t timeout[6] = {[2] = 0x7ffe0000, [3] = 0x7ffe0000};
	const uint64_t all_bytes[6] = {[3] = MSG_WAITALL};

	assert_true(syscall_restarts_unseen(SYS_futex, none));
	assert_true(syscall_is_continued(SYS_futex));
	assert_false(syscall_is_continued(SYS_epoll_pwait));
	assert_true(syscall_restarts_unseen(SYS_clock_nanosleep, none));
	assert_true(syscall_restarts_unseen(SYS_epoll_pwait, epoll_for_ever));
	assert_false(syscall_restarts_unseen(SYS_epoll_pwait, epoll_for_a_second));
	assert_true(syscall_restarts_unseen(SYS_semtimedop, none));
	assert_false(syscall_restarts_unseen(SYS_semtimedop, timeout));
	assert_false(syscall_restarts_unseen(SYS_rt_sigtimedwait, timeout));
	assert_true(syscall_restarts_unseen(SYS_recvfrom, none));
	assert_false(syscall_restarts_unseen(SYS_recvfrom, all_bytes));
	assert_false(syscall_restarts_unseen(SYS_write, none));
	assert_false(syscall_restarts_unseen(SYS_getpid, none));
	assert_true(syscall_goes_on(SYS_connect));
	assert_false(syscall_goes_on(SYS_accept));
}
