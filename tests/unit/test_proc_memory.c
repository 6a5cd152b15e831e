// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/memory.h"
#include "tests/unit/unit.h"

TEST(memory, is_read_of_status)
{
	const char *text = "Name:\tcat\nVmSwap:\t      4 kB\nRssAnon:\t     112 kB\n"
			   "RssFile:\t    1600 kB\nRssShmem:\t       8 kB\nThreads:\t1\n";
	struct proc_memory memory;

	assert_true(proc_memory_parse(text, strlen(text), &memory));
	assert_int_equal(memory.rss_anon_bytes, 112 << 10);
	assert_int_equal(memory.rss_file_bytes, 1600 << 10);
	assert_int_equal(memory.rss_shmem_bytes, 8 << 10);
	assert_int_equal(memory.swap_bytes, 4 << 10);
}

TEST(memory, a_process_without_any_has_none)
{
	const char *text = "Name:\tkthreadd\nThreads:\t1\n";
	struct proc_memory memory = {.swap_bytes = 7};

	assert_false(proc_memory_parse(text, strlen(text), &memory));
	assert_int_equal(memory.swap_bytes, 7);
}

TEST(memory, of_heaps_is_neither_stacks_nor_files)
{
	const char *text =
		"55d0-55d1 rw-p 00000000 00:00 0                          [heap]\n"
		"Size:                 64 kB\nRss:                  10 kB\n"
		"6000-7000 rw-p 00001000 fd:01 77                         /usr/lib/libx.so\n"
		"Rss:                 100 kB\n"
		"7000-8000 rw-p 00000000 00:00 0 \n"
		"Rss:                   3 kB\n"
		"9000-a000 ---p 00000000 00:00 0 \n"
		"Rss:                   0 kB\n"
		"a000-b000 rw-p 00000000 00:00 0 \n"
		"Rss:                1000 kB\n"
		"c000-d000 rw-s 00000000 00:01 9                          /memfd:x\n"
		"Rss:                5000 kB\n"
		"e000-f000 rw-p 00000000 00:00 0                          [stack]\n"
		"Rss:               70000 kB\n";

	assert_int_equal(proc_memory_of_heaps(text, strlen(text)), 13 << 10);
}

/* Those of glibc for threads, next to each other, are the allocator's; others are the program's. */
TEST(memory, of_heaps_is_no_reserve_but_arenas)
{
	const char text[] = "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
			    "Rss:                 100 kB\n"
			    "7f0000021000-7f0004000000 ---p 00000000 00:00 0 \n"
			    "Rss:                   0 kB\n"
			    "7f0004000000-7f0004021000 rw-p 00000000 00:00 0 \n"
			    "Rss:                  20 kB\n"
			    "7f0004021000-7f0008000000 ---p 00000000 00:00 0 \n"
			    "Rss:                   0 kB\n"
			    "7f1000001000-7f1000401000 rw-p 00000000 00:00 0 \n"
			    "Rss:                4096 kB\n"
			    "7f1000401000-7f1004001000 ---p 00000000 00:00 0 \n"
			    "Rss:                   0 kB\n"
			    "7f2000000000-7f2000100000 rw-p 00000000 00:00 0 \n"
			    "Rss:                   3 kB\n"
			    "7f2000100000-7f2000101000 ---p 00000000 00:00 0 \n"
			    "Rss:                   0 kB\n"
			    "7f2000101000-7f2000901000 rw-p 00000000 00:00 0 \n"
			    "Rss:                 500 kB\n";

	assert_int_equal(proc_memory_of_heaps(text, strlen(text)), 123 << 10);
}
