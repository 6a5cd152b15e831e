// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proc/mounts.h"

static const char text[] =
	"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
	"no line of it\n"
	"36 22 0:40 /a\\040b /mnt/-\\040x rw,nosuid,nodev - fuse.sshfs host: rw,user_id=0\n"
	"37 22 0:41 / /dev/shm rw shared:3 master:1 - tmpfs tmpfs rw\n"
	"38 22 0:42 / /cut rw -";

static void test_proc_mounts__reads_lines(void **state)
{
	struct proc_mounts_iter iter = proc_mounts_over(text, strlen(text));
	struct proc_mount mount;

	(void)state;
	assert_true(proc_mounts_next(&iter, &mount));
	assert_true(mount.id == 22 && mount.dev_major == 254 && mount.dev_minor == 0);
	assert_true(proc_mount_is_type(&mount, "ext4"));
	assert_false(proc_mount_is_type(&mount, "ext"));
	assert_true(proc_mounts_next(&iter, &mount));
	assert_true(mount.id == 36 && mount.dev_major == 0 && mount.dev_minor == 40);
	assert_true(proc_mount_is_type(&mount, "fuse.sshfs"));
	assert_true(proc_mounts_next(&iter, &mount));
	assert_true(mount.id == 37 && proc_mount_is_type(&mount, "tmpfs"));
	assert_false(proc_mounts_next(&iter, &mount));
	assert_int_equal(mount.id, 37);
}

static void test_proc_mounts__finds_whole_options(void **state)
{
	struct proc_mounts_iter iter = proc_mounts_over(text, strlen(text));
	struct proc_mount mount;

	(void)state;
	assert_true(proc_mounts_next(&iter, &mount) && proc_mounts_next(&iter, &mount));
	assert_true(proc_mount_has_option(&mount, "rw"));
	assert_true(proc_mount_has_option(&mount, "nosuid"));
	assert_true(proc_mount_has_option(&mount, "nodev"));
	assert_false(proc_mount_has_option(&mount, "no"));
	assert_false(proc_mount_has_option(&mount, "suid"));
	assert_false(proc_mount_has_option(&mount, "user_id=0"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proc_mounts__reads_lines),
		cmocka_unit_test(test_proc_mounts__finds_whole_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
