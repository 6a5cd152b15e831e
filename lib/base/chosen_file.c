// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/chosen_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/served_file.h"

/* The kernel's own limit. */
#define LINKS_MAX 40

/* A walk along a path: each directory is held open, so that no rename leads elsewhere. */
struct walk {
	struct owner chooser;
	int fd;		 /* the current position; owned */
	struct buf left; /* of the path, from `at` on */
	size_t at;
	unsigned int nr_links;
};

static int fail_with_errno(int number)
{
	errno = number;
	return -1;
}

/* Is the walk limited to files that its chooser may read? */
static bool is_restricted(const struct walk *walk)
{
	return !owner_is_trusted(walk->chooser);
}

/* May the chooser search this directory, or read this file? */
static bool is_open_to_chooser(const struct walk *walk, const struct stat *found)
{
	mode_t wanted = S_ISDIR(found->st_mode) ? S_IXOTH : S_IROTH;

	return !is_restricted(walk) || owner_is_user(walk->chooser, found->st_uid) ||
	       found->st_mode & wanted;
}

static bool may_follow(const struct walk *walk, const struct stat *link)
{
	return link->st_uid == 0 || link->st_uid == geteuid() ||
	       (geteuid() != 0 && !is_restricted(walk));
}

static void walk_move(struct walk *walk, int fd)
{
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = fd;
}

/* Go to "/" or ".", and check that it may be searched. */
static int walk_start(struct walk *walk, const char *where)
{
	struct stat found;

	walk_move(walk, open(where, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (walk->fd < 0 || served_file_stat(walk->fd, &found) < 0)
		return -1;
	return is_open_to_chooser(walk, &found) ? 0 : fail_with_errno(EACCES);
}

/* The next name of the path; false at its end. */
static bool next_name(struct walk *walk, char name[NAME_MAX + 1], int *error)
{
	const char *rest = buf_str(&walk->left) + walk->at;
	size_t nr_slashes = strspn(rest, "/"), nr = strcspn(rest + nr_slashes, "/");

	*error = 0;
	if (nr > NAME_MAX)
		*error = ENAMETOOLONG;
	if (nr == 0 || nr > NAME_MAX)
		return false;
	memcpy(name, rest + nr_slashes, nr);
	name[nr] = '\0';
	walk->at += nr_slashes + nr;
	return true;
}

/* Put the target of a link before the rest of the path. */
static int follow(struct walk *walk, int link_fd)
{
	char target[PATH_MAX];
	ssize_t nr = readlinkat(link_fd, "", target, sizeof(target) - 1);
	struct buf left = {0};

	if (nr <= 0 || (size_t)nr >= sizeof(target) - 1 || ++walk->nr_links > LINKS_MAX)
		return fail_with_errno(ELOOP);
	target[nr] = '\0';
	buf_append_str(&left, target);
	buf_append_byte(&left, '/');
	buf_append_str(&left, buf_str(&walk->left) + walk->at);
	buf_release(&walk->left);
	walk->left = left;
	walk->at = 0;
	return target[0] == '/' ? walk_start(walk, "/") : 0;
}

static bool has_more(struct walk *walk)
{
	const char *rest = buf_str(&walk->left) + walk->at;

	return rest[strspn(rest, "/")] != '\0';
}

/* O_DIRECTORY makes an automounter mount its file system. */
static int open_name(struct walk *walk, const char *name)
{
	int fd =
		has_more(walk) ? served_path_open(walk->fd, name, O_NOFOLLOW | O_DIRECTORY, 0) : -1;

	return fd < 0 ? served_path_open(walk->fd, name, O_NOFOLLOW, 0) : fd;
}

/* Takes `fd` over. */
static int go_to(struct walk *walk, int fd)
{
	struct stat found;
	int status = served_file_stat(fd, &found), error;

	if (status == 0 && S_ISLNK(found.st_mode)) {
		status = may_follow(walk, &found) ? follow(walk, fd) : fail_with_errno(EACCES);
	} else if (status == 0 && is_open_to_chooser(walk, &found)) {
		walk_move(walk, fd);
		return 0;
	} else if (status == 0) {
		status = fail_with_errno(EACCES);
	}
	error = errno;
	close(fd);
	errno = error;
	return status;
}

static int step(struct walk *walk, const char *name)
{
	int fd = open_name(walk, name);

	return fd < 0 ? -1 : go_to(walk, fd);
}

static int walk_to_end(struct walk *walk)
{
	char name[NAME_MAX + 1];
	int error;

	while (next_name(walk, name, &error)) {
		if (step(walk, name) < 0)
			return -1;
	}
	return error ? fail_with_errno(error) : 0;
}

/*
 * If rules limit the walk, they also apply to the directories above the current one, which a
 * relative path does not name.
 */
static int walk_begin(struct walk *walk, const char *path)
{
	const char *start = *path == '/' ? "/" : ".";

	if (*path != '/' && is_restricted(walk)) {
		cleanup_free char *here = getcwd(NULL, 0);

		if (!here || *here != '/')
			return fail_with_errno(ENOENT);
		buf_append_str(&walk->left, here);
		buf_append_byte(&walk->left, '/');
		start = "/";
	}
	buf_append_str(&walk->left, path);
	return walk_start(walk, start);
}

/* Open the file itself as O_PATH; or -1. */
static int walk_path(const char *path, struct owner chooser)
{
	struct walk walk = {.chooser = chooser, .fd = -1};
	int status = *path ? walk_begin(&walk, path) : fail_with_errno(ENOENT), error;

	if (status == 0)
		status = walk_to_end(&walk);
	error = errno;
	buf_release(&walk.left);
	if (status < 0)
		walk_move(&walk, -1);
	errno = error;
	return walk.fd;
}

/* Check that an O_PATH descriptor is a regular file; close it otherwise. */
static int regular(int path_fd, struct stat *found)
{
	if (path_fd < 0)
		return -1;
	if (served_file_stat(path_fd, found) == 0 && S_ISREG(found->st_mode))
		return path_fd;
	close(path_fd);
	return fail_with_errno(S_ISLNK(found->st_mode) ? ELOOP : ENOEXEC);
}

/* Open the file of an O_PATH descriptor for reading; takes the descriptor over. */
static int reopen(int path_fd, struct stat *found)
{
	struct stat own;
	int fd, error;

	path_fd = regular(path_fd, found ? found : &own);
	if (path_fd < 0)
		return -1;
	fd = served_file_open(path_fd, found ? found : &own);
	error = errno;
	close(path_fd);
	errno = error;
	return fd;
}

int chosen_file_open(const char *path, struct owner chooser, struct stat *found)
{
	return reopen(walk_path(path, chooser), found);
}

bool chosen_file_find(const char *path, struct owner chooser, struct stat *found)
{
	cleanup_close int fd = regular(walk_path(path, chooser), found);

	return fd >= 0;
}

/* Name by name, without links and "..": for kernels without openat2(2), and filters that deny it.
 */
static int walk_without_links(int root_fd, const char *path, int flags)
{
	struct walk walk = {.fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0)};
	char name[NAME_MAX + 1];
	struct stat found = {.st_mode = S_IFDIR};
	int error = 0;

	buf_append_str(&walk.left, path);
	while (walk.fd >= 0 && next_name(&walk, name, &error)) {
		walk_move(&walk, strcmp(name, "..") == 0
					 ? fail_with_errno(EXDEV)
					 : served_path_open(walk.fd, name, O_NOFOLLOW, 0));
		if (walk.fd < 0)
			error = errno;
		else if (served_file_stat(walk.fd, &found) < 0 || S_ISLNK(found.st_mode))
			error = ELOOP;
		if (error)
			break;
	}
	buf_release(&walk.left);
	if (!error && walk.fd >= 0 && flags & O_DIRECTORY && !S_ISDIR(found.st_mode))
		error = ENOTDIR;
	if (error)
		walk_move(&walk, -1);
	errno = error;
	return walk.fd;
}

static int open_rooted(int root_fd, const char *path, int flags, uint64_t resolve)
{
	int fd = served_path_open(root_fd, path, flags,
				  RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve);

	return fd < 0 && (errno == ENOSYS || errno == EPERM)
		       ? walk_without_links(root_fd, path, flags)
		       : fd;
}

int rooted_file_open(int root_fd, const char *path, struct stat *found)
{
	return reopen(open_rooted(root_fd, path, O_NOFOLLOW, RESOLVE_NO_SYMLINKS), found);
}

int rooted_file_find(int root_fd, const char *path, struct stat *found)
{
	return regular(open_rooted(root_fd, path, O_NOFOLLOW, RESOLVE_NO_SYMLINKS), found);
}

int rooted_directory_open(int root_fd, const char *path)
{
	return open_rooted(root_fd, path, O_DIRECTORY, 0);
}

int linked_file_open(const char *link, struct stat *found)
{
	return reopen(open(link, O_PATH | O_CLOEXEC), found);
}

int entry_file_open(int directory_fd, const char *name, struct stat *found)
{
	return strchr(name, '/')
		       ? fail_with_errno(EINVAL)
		       : reopen(served_path_open(directory_fd, name, O_NOFOLLOW, 0), found);
}
