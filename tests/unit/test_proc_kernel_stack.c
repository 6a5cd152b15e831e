// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "proc/kernel_stack.h"
#include "tests/unit/unit.h"

/* Innermost first, separated by spaces. */
static void assert_functions(const char *text, const char *expected)
{
	struct kernel_function functions[KERNEL_STACK_MAX];
	size_t nr = kernel_stack_parse(text, strlen(text), functions);
	struct buf found = {0};

	for (size_t i = 0; i < nr; i++) {
		if (i)
			buf_append_byte(&found, ' ');
		buf_append(&found, functions[i].name, functions[i].nr_bytes);
	}
	assert_string_equal(buf_str(&found), expected);
	buf_release(&found);
}

TEST(kernel_stack, of_x86_64)
{
	assert_functions("[<0>] submit_bio_wait+0x74/0xc0\n"
			 "[<0>] blkdev_issue_flush+0x7c/0xb0\n"
			 "[<0>] ext4_sync_file+0x242/0x2f0 [ext4]\n"
			 "[<0>] do_fsync+0x3b/0xa0\n"
			 "[<0>] __x64_sys_fsync+0xf/0x20\n"
			 "[<0>] x64_sys_call+0x1cbe/0x1ef0\n"
			 "[<0>] do_syscall_64+0x71/0x290\n"
			 "[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n",
			 "submit_bio_wait blkdev_issue_flush ext4_sync_file do_fsync "
			 "__x64_sys_fsync");
}

TEST(kernel_stack, of_a_page_fault)
{
	assert_functions("[<0>] folio_wait_bit_common+0x13d/0x350\n"
			 "[<0>] filemap_fault+0x5e1/0xad0\n"
			 "[<0>] handle_mm_fault+0x1a2/0x2d0\n"
			 "[<0>] do_user_addr_fault+0x1f2/0x680\n"
			 "[<0>] exc_page_fault+0x7e/0x180\n"
			 "[<0>] asm_exc_page_fault+0x26/0x30\n",
			 "folio_wait_bit_common filemap_fault handle_mm_fault do_user_addr_fault");
}

/* A fault amid a call is no entry: only what is outermost is left out. */
TEST(kernel_stack, of_a_page_fault_amid_a_call)
{
	assert_functions("[<0>] handle_userfault+0x1a2/0x2d0\n"
			 "[<0>] exc_page_fault+0x7e/0x180\n"
			 "[<0>] copy_page_from_iter+0x7e/0x180\n"
			 "[<0>] do_syscall_64+0x71/0x290\n",
			 "handle_userfault exc_page_fault copy_page_from_iter");
}

TEST(kernel_stack, of_aarch64)
{
	assert_functions("[<0>] futex_wait_queue+0x7c/0xd0\n"
			 "[<0>] __futex_wait+0x94/0x11c\n"
			 "[<0>] futex_wait+0x74/0x110\n"
			 "[<0>] do_futex+0xd8/0x1a0\n"
			 "[<0>] __arm64_sys_futex+0x110/0x1a4\n"
			 "[<0>] invoke_syscall.constprop.0+0x54/0x124\n"
			 "[<0>] el0_svc_common.constprop.0+0x44/0xec\n"
			 "[<0>] do_el0_svc+0x28/0x90\n"
			 "[<0>] el0_svc+0x2c/0x84\n"
			 "[<0>] el0t_64_sync_handler+0xf4/0x120\n"
			 "[<0>] el0t_64_sync+0x18c/0x190\n",
			 "futex_wait_queue __futex_wait futex_wait do_futex __arm64_sys_futex");
}

/* As kernels up to 5.x end it, and as they hide what a symbol would be. */
TEST(kernel_stack, without_addresses)
{
	assert_functions("[<ffffffff810b5e2a>] hrtimer_nanosleep.part.0+0x9a/0x1c0\n"
			 "[<0>] 0xffffffffc0a1b2c3\n"
			 "[<ffffffffffffffff>] 0xffffffffffffffff\n",
			 "hrtimer_nanosleep.part.0");
}

TEST(kernel_stack, of_wchan)
{
	assert_functions("hrtimer_nanosleep", "hrtimer_nanosleep");
	assert_functions("0", "");
	assert_functions("", "");
}

TEST(kernel_stack, of_other_text_is_none)
{
	assert_functions("\n\n[<0>] \n[<0>]\n[\n]\n+0x1/0x2\n[<0>] a b+0x1/0x2\n"
			 "[<0>] \033[31m+0x1/0x2\n",
			 "");
}

TEST(kernel_stack, that_is_cut_lacks_the_last_line)
{
	assert_functions("[<0>] ep_poll+0x3a1/0x3d0\n[<0>] do_epoll_wa", "ep_poll");
}

TEST(kernel_stack, is_no_longer_than_the_kernel_makes_it)
{
	struct kernel_function functions[KERNEL_STACK_MAX];
	struct buf text = {0};

	for (int i = 0; i < 10000; i++)
		buf_printf(&text, "[<0>] function_%d+0x1/0x2\n", i);
	assert_int_equal(kernel_stack_parse(buf_str(&text), text.nr_bytes, functions),
			 KERNEL_STACK_MAX);
	assert_memory_equal(functions[KERNEL_STACK_MAX - 1].name, "function_63+", 12);
	buf_release(&text);
}
