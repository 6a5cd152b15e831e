// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/err.h"
#include "proc/maps.h"
#include "tests/unit/unit.h"

TEST(proc_maps, reads_a_file_mapping)
{
	static const char text[] =
		"55e3c4a00000-55e3c4a21000 r-xp 00002000 fd:01 131094                     "
		"/usr/bin/cat\n";
	struct proc_maps_iter iter = proc_maps_over(text, strlen(text));
	struct proc_map map;

	assert_int_equal(proc_maps_next(&iter, &map), 1);
	assert_true(map.start == 0x55e3c4a00000 && map.end == 0x55e3c4a21000);
	assert_true(map.offset == 0x2000 && map.inode == 131094);
	assert_true(map.dev_major == 0xfd && map.dev_minor == 1);
	assert_true(map.readable && !map.writable && map.executable && !map.shared);
	assert_int_equal(map.nr_path_bytes, strlen("/usr/bin/cat"));
	assert_memory_equal(map.path, "/usr/bin/cat", map.nr_path_bytes);
	assert_int_equal(proc_maps_next(&iter, &map), 0);
}

TEST(proc_maps, reads_lines_without_a_path)
{
	static const char text[] = "7f00-7f01 rw-s 00000000 00:00 0 \n"
				   "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0"
				   "                  [vsyscall]";
	struct proc_maps_iter iter = proc_maps_over(text, strlen(text));
	struct proc_map map;

	assert_int_equal(proc_maps_next(&iter, &map), 1);
	assert_int_equal(map.nr_path_bytes, 0);
	assert_true(map.shared && map.writable && !map.executable);
	assert_int_equal(proc_maps_next(&iter, &map), 1);
	assert_true(map.end == 0xffffffffff601000 && map.executable && !map.readable);
	assert_memory_equal(map.path, "[vsyscall]", map.nr_path_bytes);
	assert_int_equal(proc_maps_next(&iter, &map), 0);
}

TEST(proc_maps, refuses_what_is_no_maps_line)
{
	static const char *const bad[] = {
		"hello\n",
		"1000-2000\n",
		"2000-1000 r-xp 00000000 00:00 0 \n",
		"1000-2000 r?xp 00000000 00:00 0 \n",
		"1000-10000000000000000 r-xp 00000000 00:00 0 \n",
		"1000-2000 r-xp 00000000 00:00 \n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct proc_maps_iter iter = proc_maps_over(bad[i], strlen(bad[i]));
		struct proc_map map;

		assert_int_equal(proc_maps_next(&iter, &map), ERR_CORRUPT);
	}
}

static void check_path(const char *line, const char *path, bool deleted)
{
	struct proc_maps_iter iter = proc_maps_over(line, strlen(line));
	struct proc_map map;
	struct buf out = {0};

	assert_int_equal(proc_maps_next(&iter, &map), 1);
	assert_int_equal(proc_map_path(&map, &out), deleted);
	assert_string_equal(buf_str(&out), path);
	buf_release(&out);
}

TEST(proc_maps, decodes_paths)
{
	check_path("1000-2000 r-xp 00000000 08:01 7 /tmp/a b\n", "/tmp/a b", false);
	check_path("1000-2000 r-xp 00000000 08:01 7 /tmp/a\\012b\n", "/tmp/a\nb", false);
	check_path("1000-2000 r-xp 00000000 08:01 7 /memfd:x (deleted)\n", "/memfd:x", true);
	check_path("1000-2000 r-xp 00000000 08:01 7 /tmp/\\01\n", "/tmp/\\01", false);
}
