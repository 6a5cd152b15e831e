// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/chosen_file.h"
#include "base/owner.h"
#include "tests/unit/unit.h"

/* Two users who need not exist. */
#define USER  60001
#define OTHER 60002

struct made {
	char directory[64];
	int fd;
};

static int set_up(void **state)
{
	struct made *made = xcalloc(1, sizeof(*made));

	snprintf(made->directory, sizeof(made->directory), "/tmp/test_chosen.XXXXXX");
	if (!mkdtemp(made->directory) || chmod(made->directory, 0755) < 0)
		return -1;
	made->fd = open(made->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = made;
	return made->fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct made *made = *state;
	cleanup_free char *command = xasprintf("rm -rf %s", made->directory);
	int status = system(command);

	close(made->fd);
	free(made);
	return status;
}

/* Only root can give files away. */
static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void give(struct made *made, const char *name, mode_t mode, uid_t user)
{
	if (geteuid() == 0)
		assert_int_equal(fchownat(made->fd, name, user, user, AT_SYMLINK_NOFOLLOW), 0);
	if (mode)
		assert_int_equal(fchmodat(made->fd, name, mode, 0), 0);
}

static void put(struct made *made, const char *name, mode_t mode, uid_t user)
{
	int fd = openat(made->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
	give(made, name, mode, user);
}

static void put_directory(struct made *made, const char *name, mode_t mode, uid_t user)
{
	assert_int_equal(mkdirat(made->fd, name, 0700), 0);
	give(made, name, mode, user);
}

static void put_link(struct made *made, const char *target, const char *name, uid_t user)
{
	assert_int_equal(symlinkat(target, made->fd, name), 0);
	give(made, name, 0, user);
}

/* 0, or why not. */
static int opens(const struct made *made, const char *name, struct owner chooser)
{
	cleanup_free char *path = xasprintf("%s/%s", made->directory, name);
	struct stat found;
	int fd = chosen_file_open(path, chooser, &found), error = errno;
	bool is_found = chosen_file_find(path, chooser, &found);

	assert_int_equal(is_found, fd >= 0);
	if (fd < 0)
		return error;
	assert_int_equal(found.st_size, 4);
	close(fd);
	return 0;
}

TEST(owner, joined_is_the_one_who_is_not_trusted)
{
	const struct owner root = owner_of_user(0), user = owner_of_user(USER);

	assert_true(owner_is_trusted(root));
	assert_true(owner_is_trusted(owner_caller()));
	assert_false(owner_is_trusted(user));
	assert_false(owner_is_trusted(OWNER_NOBODY));
	assert_int_equal(owner_is_trusted(OWNER_NOT_RECORDED), geteuid() != 0);
	assert_int_equal(owner_join(root, user).v, user.v);
	assert_int_equal(owner_join(user, owner_caller()).v, user.v);
	assert_int_equal(owner_join(user, user).v, user.v);
	assert_int_equal(owner_join(user, owner_of_user(OTHER)).v, OWNER_NOBODY.v);
	assert_int_equal(owner_join(OWNER_NOBODY, root).v, OWNER_NOBODY.v);
	/* Numbers that the kernel does not give to users. */
	assert_int_equal(owner_of_user(UINT32_MAX).v, OWNER_NOBODY.v);
	assert_int_equal(owner_of_user(UINT32_MAX - 1).v, OWNER_NOBODY.v);
	assert_false(owner_is_user(OWNER_NOBODY, UINT32_MAX - 1));
}

TEST(owner, of_a_file_that_others_may_write_is_nobody)
{
	struct stat file = {.st_uid = USER, .st_mode = S_IFREG | 0664};

	assert_true(owner_is_user(owner_of_file(&file), USER));
	file.st_mode = S_IFREG | 0646;
	assert_int_equal(owner_of_file(&file).v, OWNER_NOBODY.v);
	file = (struct stat){.st_uid = 0, .st_mode = S_IFREG | 0755};
	assert_true(owner_is_user(owner_of_file(&file), 0));
	file.st_mode = S_IFREG | 0775;
	assert_int_equal(owner_of_file(&file).v, OWNER_NOBODY.v);
	assert_int_equal(owner_of_fd(-1).v, OWNER_NOBODY.v);
}

TEST_WITH(struct made *made, chosen_file, what_all_or_the_chooser_may_read)
{
	const struct owner user = owner_of_user(USER);

	need_root();
	put(made, "public", 0644, 0);
	put(made, "private", 0640, 0);
	put(made, "own", 0600, USER);
	put(made, "of-another", 0660, OTHER);
	assert_int_equal(opens(made, "public", user), 0);
	assert_int_equal(opens(made, "own", user), 0);
	assert_int_equal(opens(made, "private", user), EACCES);
	assert_int_equal(opens(made, "of-another", user), EACCES);
	assert_int_equal(opens(made, "own", OWNER_NOBODY), EACCES);
	assert_int_equal(opens(made, "own", OWNER_NOT_RECORDED), EACCES);
	assert_int_equal(opens(made, "public", OWNER_NOBODY), 0);
	assert_int_equal(opens(made, "private", owner_caller()), 0);
	assert_int_equal(opens(made, "of-another", owner_of_user(0)), 0);
}

TEST_WITH(struct made *made, chosen_file, directories_must_be_open_as_well)
{
	const struct owner user = owner_of_user(USER);

	need_root();
	put_directory(made, "closed", 0750, 0);
	put_directory(made, "closed/open", 0755, 0);
	put(made, "closed/open/file", 0644, 0);
	put_directory(made, "home", 0700, USER);
	put(made, "home/file", 0644, 0);
	assert_int_equal(opens(made, "closed/open/file", user), EACCES);
	assert_int_equal(opens(made, "closed/open/file", owner_caller()), 0);
	assert_int_equal(opens(made, "home/file", user), 0);
	assert_int_equal(opens(made, "home/../closed/open/file", user), EACCES);
	/* Nothing is told of what is in there. */
	assert_int_equal(opens(made, "closed/missing", user), EACCES);
	assert_int_equal(opens(made, "home/missing", user), ENOENT);
}

TEST_WITH(struct made *made, chosen_file, links_of_others_are_not_followed_for_root)
{
	const struct owner user = owner_of_user(USER);

	need_root();
	put(made, "public", 0644, 0);
	put_directory(made, "directory", 0755, 0);
	put(made, "directory/file", 0644, 0);
	put_link(made, "public", "link", USER);
	put_link(made, "directory", "way", USER);
	put_link(made, "directory", "roots", 0);
	put_link(made, "turn", "turn", 0);
	assert_int_equal(opens(made, "link", user), EACCES);
	assert_int_equal(opens(made, "link", owner_caller()), EACCES);
	assert_int_equal(opens(made, "way/file", user), EACCES);
	assert_int_equal(opens(made, "way/file", owner_caller()), EACCES);
	assert_int_equal(opens(made, "roots/file", user), 0);
	assert_int_equal(opens(made, "turn", user), ELOOP);
}

TEST_WITH(struct made *made, chosen_file, only_regular_files)
{
	assert_int_equal(mkfifoat(made->fd, "fifo", 0666), 0);
	put_directory(made, "directory", 0755, geteuid());
	assert_int_equal(opens(made, "fifo", owner_caller()), ENOEXEC);
	assert_int_equal(opens(made, "directory", owner_caller()), ENOEXEC);
	assert_int_equal(opens(made, "missing", owner_caller()), ENOENT);
	assert_int_equal(chosen_file_open("", owner_caller(), NULL), -1);
	assert_int_equal(chosen_file_open("/dev/null", owner_caller(), NULL), -1);
	assert_int_equal(entry_file_open(made->fd, "fifo", NULL), -1);
}

TEST_WITH(struct made *made, chosen_file, relative_paths)
{
	struct stat found;
	int fd;

	put_directory(made, "closed", 0700, geteuid());
	put_directory(made, "closed/here", 0755, geteuid());
	put(made, "closed/here/file", 0644, geteuid());
	assert_int_equal(fchdir(made->fd), 0);
	assert_int_equal(chdir("closed/here"), 0);
	assert_true(chosen_file_find("file", owner_caller(), &found));
	assert_false(chosen_file_find("file", owner_of_user(USER), &found));
	assert_int_equal(errno, EACCES);
	fd = chosen_file_open("./../here//file", owner_caller(), &found);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chdir("/"), 0);
}

TEST_WITH(struct made *made, rooted_file, never_leaves_the_root)
{
	cleanup_close int root_fd = -1;
	struct stat found;
	int fd;

	put(made, "outside", 0644, geteuid());
	put_directory(made, "root", 0755, geteuid());
	put(made, "root/inside", 0644, geteuid());
	put_link(made, "inside", "root/link", geteuid());
	put_directory(made, "root/tmp-there", 0755, geteuid());
	put_link(made, "/tmp-there", "root/tmp", geteuid());
	put_link(made, "/../../..", "root/out", geteuid());
	put_link(made, "/proc/self/root", "root/magic", geteuid());
	root_fd = openat(made->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = rooted_file_open(root_fd, "/inside", &found);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rooted_file_open(root_fd, "/link", &found), -1);
	assert_int_equal(rooted_file_open(root_fd, "/../outside", &found), -1);
	assert_int_equal(rooted_file_open(root_fd, "/tmp-there", &found), -1);
	assert_int_equal(rooted_directory_open(root_fd, "magic"), -1);
	assert_int_equal(rooted_directory_open(root_fd, "inside"), -1);
	fd = rooted_directory_open(root_fd, "out");
	if (fd >= 0) { /* there is openat2(2) */
		assert_int_equal(faccessat(fd, "inside", F_OK, 0), 0);
		close(fd);
		fd = rooted_directory_open(root_fd, "tmp");
		assert_true(fd >= 0);
		close(fd);
	}
}

/* From here on, and for all that follows in this process. */
static void deny_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = ARRAY_SIZE(code), .filter = code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

/* As before Linux 5.6: without links, and so without a way out. */
TEST_WITH(struct made *made, rooted_file, without_openat2_follows_no_link)
{
	cleanup_close int root_fd = -1;
	struct stat found;
	int fd;

	put(made, "outside", 0644, geteuid());
	put_directory(made, "root", 0755, geteuid());
	put_directory(made, "root/directory", 0755, geteuid());
	put(made, "root/directory/inside", 0644, geteuid());
	put_link(made, "directory", "root/link", geteuid());
	put_link(made, "../outside", "root/out", geteuid());
	root_fd = openat(made->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	deny_openat2();
	fd = rooted_file_open(root_fd, "/directory//inside", &found);
	assert_true(fd >= 0);
	assert_int_equal(found.st_size, 4);
	close(fd);
	fd = rooted_directory_open(root_fd, "directory");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rooted_file_open(root_fd, "/link/inside", &found), -1);
	assert_int_equal(rooted_file_open(root_fd, "/out", &found), -1);
	assert_int_equal(rooted_file_open(root_fd, "/../outside", &found), -1);
	assert_int_equal(rooted_file_open(root_fd, "/directory/missing", &found), -1);
	assert_int_equal(rooted_directory_open(root_fd, "link"), -1);
	assert_int_equal(rooted_directory_open(root_fd, "directory/inside"), -1);
}
