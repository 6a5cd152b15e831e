// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/owner.h"

#include <sys/stat.h>
#include <unistd.h>

struct owner owner_of_user(uid_t user)
{
	return user >= UINT32_MAX - 1 ? OWNER_NOBODY : (struct owner){user + 1};
}

struct owner owner_caller(void)
{
	return owner_of_user(geteuid());
}

/*
 * A user's group often has only the user as a member; but a file of root's that a group may write
 * is not root's alone.
 */
struct owner owner_of_file(const struct stat *file)
{
	mode_t others = file->st_uid == 0 ? S_IWGRP | S_IWOTH : S_IWOTH;

	/* The mode of a socket has no meaning. */
	return !S_ISSOCK(file->st_mode) && file->st_mode & others ? OWNER_NOBODY
								  : owner_of_user(file->st_uid);
}

struct owner owner_of_fd(int fd)
{
	struct stat file;

	return fstat(fd, &file) < 0 ? OWNER_NOBODY : owner_of_file(&file);
}

bool owner_is_user(struct owner owner, uid_t user)
{
	return owner.v != OWNER_NOBODY.v && owner.v == owner_of_user(user).v;
}

bool owner_is_trusted(struct owner owner)
{
	if (owner.v == OWNER_NOT_RECORDED.v)
		return geteuid() != 0;
	return owner_is_user(owner, 0) || owner_is_user(owner, geteuid());
}

struct owner owner_join(struct owner a, struct owner b)
{
	if (a.v == b.v || owner_is_trusted(b))
		return a;
	return owner_is_trusted(a) ? b : OWNER_NOBODY;
}
