// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/mounts.h"
#include "tests/unit/unit.h"

static const char text[] =
	"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
	"no line of it\n"
	"36 22 0:40 /a\\040b /mnt/-\\040x rw,nosuid,nodev - fuse.sshfs host: rw,user_id=0\n"
	"37 22 0:41 / /dev/shm rw shared:3 master:1 - tmpfs tmpfs rw\n"
	"39 22 0:43 / /home rw - nfs4 server:/home rw\n"
	"40 22 0:44 / /data rw - fuse server rw\n"
	"38 22 0:42 / /cut rw -";

TEST(mounts, reads_lines)
{
	struct mounts_iter iter = mounts_over(text, strlen(text));
	struct mount_line mount;

	assert_true(mounts_next(&iter, &mount));
	assert_true(mount.id == 22 && mount.dev_major == 254 && mount.dev_minor == 0);
	assert_true(mount_line_is_type(&mount, "ext4"));
	assert_false(mount_line_is_type(&mount, "ext"));
	assert_true(mounts_next(&iter, &mount));
	assert_true(mount.id == 36 && mount.dev_major == 0 && mount.dev_minor == 40);
	assert_true(mount_line_is_type(&mount, "fuse.sshfs"));
	assert_true(mounts_next(&iter, &mount));
	assert_true(mount.id == 37 && mount_line_is_type(&mount, "tmpfs"));
	assert_true(mounts_next(&iter, &mount) && mounts_next(&iter, &mount));
	assert_false(mounts_next(&iter, &mount));
	assert_int_equal(mount.id, 40);
}

TEST(mounts, finds_whole_options)
{
	struct mounts_iter iter = mounts_over(text, strlen(text));
	struct mount_line mount;

	assert_true(mounts_next(&iter, &mount) && mounts_next(&iter, &mount));
	assert_true(mount_line_has_option(&mount, "rw"));
	assert_true(mount_line_has_option(&mount, "nosuid"));
	assert_true(mount_line_has_option(&mount, "nodev"));
	assert_false(mount_line_has_option(&mount, "no"));
	assert_false(mount_line_has_option(&mount, "suid"));
	assert_false(mount_line_has_option(&mount, "user_id=0"));
}

static bool is_served(const char *mounts, uint64_t id)
{
	struct mounts_iter iter = mounts_over(mounts, strlen(mounts));
	struct mount_line mount;

	while (mounts_next(&iter, &mount)) {
		if (mount.id == id)
			return mount_line_is_served(&mount, mounts, strlen(mounts));
	}
	assert_true(false);
	return false;
}

TEST(mounts, are_served_by_programs_that_users_may_start)
{
	assert_false(is_served(text, 22));
	assert_true(is_served(text, 36));
	assert_false(is_served(text, 37));
	assert_false(is_served(text, 39));
	assert_true(is_served(text, 40));
}

TEST(mounts, overlays_are_served_as_their_layers)
{
	static const char mounts[] =
		"1 0 254:0 / / rw - ext4 /dev/vda rw\n"
		"2 1 0:40 / /far rw - fuse.sshfs host: rw\n"
		"3 2 0:41 / /far/near rw - tmpfs tmpfs rw\n"
		"4 1 0:42 / /a rw - overlay overlay rw,lowerdir=/x:/y,upperdir=/z\n"
		"5 1 0:43 / /b rw - overlay overlay rw,lowerdir=/x:/far/y\n"
		"6 1 0:44 / /c rw - overlay overlay rw,lowerdir=/x,upperdir=/far,workdir=/w\n"
		"7 1 0:45 / /d rw - overlay overlay rw,lowerdir=/far/near/y:/farther\n"
		"8 1 0:46 / /e rw - overlay overlay rw,lowerdir+=/x,lowerdir+=/far\n"
		"9 1 0:47 / /f rw - overlay overlay\n";

	assert_false(is_served(mounts, 4));
	assert_true(is_served(mounts, 5));
	assert_true(is_served(mounts, 6));
	assert_false(is_served(mounts, 7));
	assert_true(is_served(mounts, 8));
	assert_false(is_served(mounts, 9));
}
