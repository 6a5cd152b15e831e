// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "proc/read.h"
#include "proc/task.h"
#include "proc/uptime.h"
#include "tests/unit/unit.h"

TEST(proc_io, reads_what_calls_have_moved)
{
	static const char text[] = "rchar: 4292\nwchar: 17\nsyscr: 13\nsyscw: 1\n"
				   "read_bytes: 8192\nwrite_bytes: 0\n";
	uint64_t read_bytes, written_bytes;

	assert_true(proc_io_parse(text, strlen(text), &read_bytes, &written_bytes));
	assert_int_equal(read_bytes, 4292);
	assert_int_equal(written_bytes, 17);
	assert_false(proc_io_parse("rchar: 1\n", 9, &read_bytes, &written_bytes));
}

TEST(proc_schedstat, reads_three_numbers)
{
	static const char text[] = "1234567890123 4567 89\n";
	struct proc_schedstat got = {0};

	assert_true(proc_schedstat_parse(text, strlen(text), &got));
	assert_true(got.cpu_ns == 1234567890123 && got.runq_ns == 4567 && got.pcount == 89);
	assert_false(proc_schedstat_parse("12 34\n", 6, &got));
	assert_false(proc_schedstat_parse("", 0, &got));
	assert_true(got.pcount == 89);
}

TEST(proc_uptime, reads_hundredths)
{
	static const char text[] = "1695.07 3301.90\n";
	struct proc_uptime got = {0};

	assert_true(proc_uptime_parse(text, strlen(text), &got));
	assert_true(got.uptime_cs == 169507 && got.idle_cs == 330190);
	for (size_t nr = 0; nr < strlen(text); nr++)
		assert_false(proc_uptime_parse(text, nr, &got));
	assert_false(proc_uptime_parse("1.5 2.50\n", 9, &got));
	assert_false(proc_uptime_parse("184467440737095516.00 1.00\n", 27, &got));
	assert_true(got.uptime_cs == 169507);
}

TEST(proc_iowait, is_the_fifth_number)
{
	static const char text[] = "cpu  10 2 30 400 57 0 1 0 0 0\ncpu0 1 1 1 1 1\n";
	uint64_t got = 7;

	assert_true(proc_iowait_parse(text, strlen(text), &got));
	assert_true(got == 57);
	for (size_t nr = 0; nr <= strlen("cpu  10 2 30 400 57"); nr++)
		assert_false(proc_iowait_parse(text, nr, &got));
	assert_false(proc_iowait_parse("cpu0 1 2 3 4 5 6\n", 17, &got));
	assert_true(got == 57);
}

TEST(proc_stat, ends_the_name_at_the_last_parenthesis)
{
	static const char text[] =
		"4711 (a) R 1 (b)) S 17 4711 4700 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 3 0 8675309 "
		"12345 67 18446744073709551615 1 1 140737 0 0 0 0 0 0 0 0 0 17 3 0 0\n";
	struct proc_stat got = {0};

	assert_true(proc_stat_parse(text, strlen(text), &got));
	assert_string_equal(got.comm, "a) R 1 (b)");
	assert_int_equal(got.state, 'S');
	assert_int_equal(got.pid, 4711);
	assert_int_equal(got.ppid, 17);
	assert_true(got.user_ticks == 1 && got.system_ticks == 2);
	assert_true(got.nr_faults == 9);
	assert_true(got.flags == 4194304 && got.nr_threads == 3 && got.start_ticks == 8675309);
	assert_true(got.first_sp == 140737);
	assert_int_equal(got.cpu, 3);
}

TEST(proc_stat, says_where_the_heap_begins)
{
	static const char text[] =
		"4711 (a) R 1 (b)) S 17 4711 4700 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 3 0 8675309 "
		"12345 67 18446744073709551615 1 1 140737 0 0 0 0 0 0 0 0 0 17 3 0 0 1 2 3 40 41 "
		"42 "
		"43 44 45 46 47\n";
	static const char hidden[] =
		"4711 (a) S 17 4711 4700 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 3 0 8675309 12345 67 "
		"18446744073709551615 1 1 140737 0 0 0 0 0 0 0 0 0 17 3 0 0 1 2 3 0 0 0 0 0 0 0 "
		"0\n";
	uint64_t start = 0;

	assert_true(proc_stat_heap_start(text, strlen(text), &start));
	assert_int_equal(start, 42);
	assert_false(proc_stat_heap_start(hidden, strlen(hidden), &start));
	for (size_t i = 0; i < 200; i++)
		assert_false(proc_stat_heap_start(text, i, &start) && start != 4 && start != 42);
	assert_false(proc_stat_heap_start("", 0, &start));
}

TEST(proc_stat, has_the_last_registers_of_a_thread_that_writes_a_core)
{
	static const char text[] =
		"4711 (a) R 17 4711 4700 0 -1 4195072 9 0 0 0 1 2 0 0 20 0 3 0 8675309 12345 67 "
		"18446744073709551615 1 1 140737 140700 18446744073699065856 0 0 0 0 0 0 0 17 3 "
		"0\n";
	struct proc_stat got = {0};

	assert_true(proc_stat_parse(text, strlen(text), &got));
	assert_true(got.flags & PROC_FLAG_DUMPS_CORE);
	assert_true(got.last_sp == 140700);
	assert_true(got.last_pc == UINT64_C(18446744073699065856));
}

/* Another program has another text or, loaded at the same place, another stack. */
TEST(proc_stat, marks_the_program)
{
	static const char *const texts[] = {"4096 8192 140737", "4096 8192 140736",
					    "4096 8208 140737", "20480 8192 140737"};
	struct proc_stat got[4] = {0}, hidden = {0};
	char line[256];

	for (size_t i = 0; i < 4; i++) {
		snprintf(line, sizeof(line),
			 "4711 (cat) S 17 4711 4700 0 -1 4194304 9 0 0 0 1 2 0 0 20 0 3 0 867 "
			 "12345 67 18446744073709551615 %s 0 0\n",
			 texts[i]);
		assert_true(proc_stat_parse(line, strlen(line), &got[i]));
		assert_true(got[i].program_mark != 0);
		assert_true(!i || got[i].program_mark != got[0].program_mark);
	}
	strcpy(strstr(line, "20480"), "1 1 0 0 0\n"); /* hidden from us */
	assert_true(proc_stat_parse(line, strlen(line), &hidden));
	assert_true(hidden.program_mark == 0);
}

TEST(proc_schedstat, is_made_up_where_the_kernel_does_not_count)
{
	const struct proc_stat stat = {.user_ticks = 3, .system_ticks = 4};
	const struct proc_status status = {.nr_yielded = 1000, .nr_preempted = 1};
	struct proc_schedstat got = proc_schedstat_from(&stat, &status, 10000000);

	assert_true(got.cpu_ns == 70000000 && got.runq_ns == 0 && got.pcount == 1001);
}

TEST(proc_stat, refuses_a_cut_line)
{
	static const char text[] = "4711 (cat) R 17 4711 4700 0 -1 4194304";
	struct proc_stat got;

	for (size_t nr = 0; nr <= strlen(text); nr++)
		assert_false(proc_stat_parse(text, nr, &got));
}

TEST(proc_syscall, tells_its_three_forms_apart)
{
	static const char running[] = "running\n";
	static const char inside[] = "232 0x3 0x7ffe1000 0x40 0xffffffff 0x0 0x8 0x7ffe0ff8 "
				     "0x7f12345678ab\n";
	static const char outside[] = "-1 0x7ffe0ff8 0x401234\n";
	struct proc_syscall got;

	assert_true(proc_syscall_parse(running, strlen(running), &got));
	assert_int_equal(got.kind, PROC_SYSCALL_RUNNING);

	assert_true(proc_syscall_parse(inside, strlen(inside), &got));
	assert_int_equal(got.kind, PROC_SYSCALL_INSIDE);
	assert_true(got.nr == 232 && got.args[0] == 3 && got.args[3] == 0xffffffff);
	assert_true(got.sp == 0x7ffe0ff8 && got.pc == 0x7f12345678ab);

	assert_true(proc_syscall_parse(outside, strlen(outside), &got));
	assert_int_equal(got.kind, PROC_SYSCALL_OUTSIDE);
	assert_true(got.nr == -1 && got.sp == 0x7ffe0ff8 && got.pc == 0x401234);

	assert_false(proc_syscall_parse("232 0x3\n", 8, &got));
}

TEST(proc_status, reads_ids_and_signal_sets)
{
	static const char text[] = "Name:\tTgid: 9\n"
				   "Tgid:\t100\n"
				   "Pid:\t101\n"
				   "PPid:\t1\n"
				   "TracerPid:\t77\n"
				   "Uid:\t1000\t1001\t1000\t1000\n"
				   "NSpid:\t101\t7\n"
				   "SigPnd:\t0000000000000001\n"
				   "ShdPnd:\t0000000000000200\n"
				   "SigBlk:\t0000000000010000\n"
				   "SigIgn:\t0000000000001000\n"
				   "SigCgt:\t0000000180000000\n"
				   "Seccomp:\t2\n"
				   "Seccomp_filters:\t3\n"
				   "voluntary_ctxt_switches:\t9\n"
				   "nonvoluntary_ctxt_switches:\t12\n";
	struct proc_status got;

	assert_true(proc_status_parse(text, strlen(text), &got));
	assert_int_equal(got.tgid, 100);
	assert_int_equal(got.tracer_pid, 77);
	assert_true(got.real_uid == 1000 && got.effective_uid == 1001);
	assert_true(got.nr_ns_pids == 2 && got.ns_pids[0] == 101 && got.ns_pids[1] == 7);
	assert_int_equal(got.ns_pid, 7);
	assert_true(got.seccomp == 2 && got.nr_yielded == 9 && got.nr_preempted == 12);
	assert_true(got.pending_thread == 1 && got.pending_process == 0x200);
	assert_true(got.blocked == 0x10000 && got.ignored == 0x1000 && got.caught == 0x180000000);
	assert_true(got.seccomp == 2 && got.nr_filters == 3);
	assert_true(proc_status_parse("Tgid:\t1\nSeccomp:\t2\n", 20, &got) && got.nr_filters == 1);
	assert_false(proc_status_parse("Name:\tx\n", 8, &got));
}

/* /proc/self/mem is opened, but its first page cannot be read: as of a process that has ended. */
TEST(proc_read, no_more_than_was_asked_for)
{
	struct buf text = {0};

	errno = 0;
	assert_false(proc_read_process_file_within(getpid(), "maps", 100, &text));
	assert_int_equal(errno, EFBIG);
	assert_null(text.bytes);
	assert_true(proc_read_process_file_within(getpid(), "comm", 100, &text));
	buf_release(&text);
}

TEST(proc_read, leaves_the_buffer_as_it_was_where_it_fails)
{
	struct buf unused = {0}, used = {0};

	buf_append_str(&used, "before");
	assert_false(proc_read_file("/proc/self/mem", &unused));
	assert_null(unused.bytes);
	assert_false(proc_read_file("/proc/self/mem", &used));
	assert_string_equal(buf_str(&used), "before");
	assert_true(proc_read_file("/proc/self/comm", &used));
	assert_true(used.nr_bytes > strlen("before"));
	buf_release(&used);
}
