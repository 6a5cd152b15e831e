/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which user is behind a file, and so behind every path that the file names. */
#ifndef PROFC_BASE_OWNER_H
#define PROFC_BASE_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stat;

/* A user id and one, so that zeroed memory trusts no user. The same number is in recordings. */
struct owner {
	uint32_t v;
};

#define OWNER_NOT_RECORDED ((struct owner){0})
/* Several users, or any: a file that others may write to, or that another root has written. */
#define OWNER_NOBODY ((struct owner){UINT32_MAX})

struct owner owner_of_user(uid_t user);
/* The user that profc runs as. */
struct owner owner_caller(void);
/* The owner of a file; OWNER_NOBODY if users besides its owner may write to it as well. */
struct owner owner_of_file(const struct stat *file);
/* The same of an open file; OWNER_NOBODY if it cannot be asked. */
struct owner owner_of_fd(int fd);

/*
 * May profc use all of its rights for paths that the owner chose? True of root and of the caller:
 * neither gains from it. Where no owner is recorded it is true unless the caller is root, who alone
 * can read what others cannot.
 */
bool owner_is_trusted(struct owner owner);

/* Who chose a path that took two files to name: the one that is not trusted. */
struct owner owner_join(struct owner a, struct owner b);

/* Is it this user, and only this user? */
bool owner_is_user(struct owner owner, uid_t user);

#endif
