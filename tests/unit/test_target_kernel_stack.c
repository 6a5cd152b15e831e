// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "target/kernel_stack.h"

#define CALL_END " do_syscall_64+0x84/0x800\n[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n"

static enum kernel_place place_of(const char *text)
{
	return kernel_stack_place(text, strlen(text));
}

static void test_kernel_stack__of_a_thread_on_a_cpu_is_empty(void **state)
{
	(void)state;
	assert_int_equal(place_of(""), KERNEL_PLACE_UNKNOWN);
}

static void test_kernel_stack__knows_a_thread_driven_off_in_its_own_code(void **state)
{
	(void)state;
	assert_int_equal(place_of("[<0>] irqentry_exit_to_user_mode+0x1a5/0x1e0\n"
				  "[<0>] asm_sysvec_apic_timer_interrupt+0x1a/0x20\n"),
			 KERNEL_PLACE_USER);
	assert_int_equal(place_of("[<0>] irqentry_exit_to_user_mode+0x1a5/0x1e0\n"
				  "[<0>] asm_exc_page_fault+0x26/0x30\n"),
			 KERNEL_PLACE_USER);
	/* Cut off before its end: nothing says that it is in a call. */
	assert_int_equal(place_of("[<0>] pipe_wait_wri"), KERNEL_PLACE_USER);
}

static void test_kernel_stack__a_call_that_is_done_cannot_be_spoilt(void **state)
{
	(void)state;
	assert_int_equal(place_of("[<0>] exit_to_user_mode_loop+0xd5/0x140\n[<0>]" CALL_END),
			 KERNEL_PLACE_USER);
}

static void test_kernel_stack__knows_what_is_cut_short(void **state)
{
	static const char *const texts[] = {
		"[<0>] read_zero+0x9f/0xf0\n[<0>] vfs_read+0xc1/0x3a0\n"
		"[<0>] ksys_read+0x6b/0xe0\n[<0>]" CALL_END,
		"[<0>] get_random_bytes_user+0x125/0x200\n[<0>] __x64_sys_getrandom+0x5e/0xb0\n"
		"[<0>]" CALL_END,
		"[<0>] filemap_splice_read+0x2c0/0x370\n[<0>] splice_direct_to_actor+0xb5/0x2a0\n"
		"[<0>] do_splice_direct+0x77/0xd0\n[<0>] do_sendfile+0x373/0x420\n"
		"[<0>] __x64_sys_sendfile64+0x6a/0xd0\n[<0>]" CALL_END,
		/* aarch64 */
		"[<0>] read_iter_zero+0x50/0x120\n[<0>] vfs_read+0x1a8/0x2e0\n"
		"[<0>] invoke_syscall+0x50/0x120\n[<0>] el0_svc_common.constprop.0+0xc8/0xf0\n"
		"[<0>] do_el0_svc+0x24/0x38\n[<0>] el0_svc+0x3c/0x130\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(place_of(texts[i]), KERNEL_PLACE_TRANSFER);
}

static void test_kernel_stack__tells_waiting_from_working_in_a_pipe_or_socket(void **state)
{
	(void)state;
	assert_int_equal(place_of("[<0>] anon_pipe_write+0x3a7/0x6f0\n[<0>] vfs_write+0x2b1/0x450\n"
				  "[<0>] ksys_write+0xc9/0xe0\n[<0>]" CALL_END),
			 KERNEL_PLACE_WAITING);
	assert_int_equal(place_of("[<0>] wait_woken+0x50/0x60\n"
				  "[<0>] sk_stream_wait_memory+0x20f/0x3a0\n"
				  "[<0>] tcp_sendmsg_locked+0x5a4/0x11a0\n"
				  "[<0>] tcp_sendmsg+0x27/0x40\n[<0>] __sys_sendto+0x1d3/0x1e0\n"
				  "[<0>] __x64_sys_sendto+0x20/0x30\n[<0>]" CALL_END),
			 KERNEL_PLACE_WAITING);
	assert_int_equal(
		place_of("[<0>] wait_woken+0x89/0x90\n[<0>] n_tty_read+0x4bd/0x660\n"
			 "[<0>] tty_read+0xf4/0x210\n[<0>] vfs_read+0x23a/0x360\n[<0>]" CALL_END),
		KERNEL_PLACE_WAITING);
	assert_int_equal(place_of("[<0>] io_cqring_wait+0x51c/0x6a0\n"
				  "[<0>] __do_sys_io_uring_enter+0x543/0x9b0\n[<0>]" CALL_END),
			 KERNEL_PLACE_WAITING);
	/* Driven off its CPU, as a preemptible kernel does. */
	assert_int_equal(place_of("[<0>] irqentry_exit+0x2d/0x50\n"
				  "[<0>] asm_sysvec_apic_timer_interrupt+0x1a/0x20\n"
				  "[<0>] tcp_sendmsg_locked+0x5a4/0x11a0\n"
				  "[<0>] __sys_sendto+0x1d3/0x1e0\n[<0>]" CALL_END),
			 KERNEL_PLACE_SOCKET);
	assert_int_equal(place_of("[<0>] asm_sysvec_apic_timer_interrupt+0x1a/0x20\n"
				  "[<0>] file_tty_write.isra.0+0x17a/0x2d0\n[<0>]" CALL_END),
			 KERNEL_PLACE_SHORT_WAIT);
}

static void test_kernel_stack__knows_waits_whose_timeout_would_begin_anew(void **state)
{
	static const char worked[] = "[<0>] irqentry_exit+0x2d/0x50\n"
				     "[<0>] asm_sysvec_apic_timer_interrupt+0x1a/0x20\n"
				     "[<0>] do_epoll_wait+0x5a4/0x11a0\n[<0>]" CALL_END;

	(void)state;
	assert_int_equal(place_of("[<0>] ep_poll+0x31a/0x370\n[<0>] do_epoll_wait+0xc6/0x100\n"
				  "[<0>] __x64_sys_epoll_wait+0x6f/0x110\n[<0>]" CALL_END),
			 KERNEL_PLACE_TIMED_WAIT);
	assert_int_equal(place_of("[<0>] poll_schedule_timeout.constprop.0+0x31/0x80\n"
				  "[<0>] do_sys_poll+0x483/0x5f0\n"
				  "[<0>] __x64_sys_poll+0xc1/0x150\n[<0>]" CALL_END),
			 KERNEL_PLACE_TIMED_WAIT);
	assert_int_equal(place_of("[<0>] inet_csk_accept+0x27b/0x360\n[<0>] inet_accept+0x47/0x70\n"
				  "[<0>] do_accept+0xf7/0x190\n[<0>]" CALL_END),
			 KERNEL_PLACE_WAITING);
	assert_int_equal(place_of(worked), KERNEL_PLACE_CALL);
}

static void test_kernel_stack__other_calls_may_be_stopped(void **state)
{
	(void)state;
	assert_int_equal(place_of("[<0>] filemap_read+0x1ff/0x390\n[<0>] vfs_read+0xc1/0x3a0\n"
				  "[<0>] __x64_sys_pread64+0x9b/0xd0\n[<0>]" CALL_END),
			 KERNEL_PLACE_CALL);
	assert_int_equal(place_of("[<0>] hrtimer_nanosleep+0xc0/0x1a0\n"
				  "[<0>] common_nsleep+0x44/0x60\n[<0>]" CALL_END),
			 KERNEL_PLACE_CALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_stack__of_a_thread_on_a_cpu_is_empty),
		cmocka_unit_test(test_kernel_stack__knows_a_thread_driven_off_in_its_own_code),
		cmocka_unit_test(test_kernel_stack__a_call_that_is_done_cannot_be_spoilt),
		cmocka_unit_test(test_kernel_stack__knows_what_is_cut_short),
		cmocka_unit_test(test_kernel_stack__tells_waiting_from_working_in_a_pipe_or_socket),
		cmocka_unit_test(test_kernel_stack__knows_waits_whose_timeout_would_begin_anew),
		cmocka_unit_test(test_kernel_stack__other_calls_may_be_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
