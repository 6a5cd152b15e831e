/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user that controls a file, and so every path that the file names. */
#ifndef PROFC_BASE_OWNER_H
#define PROFC_BASE_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stat;

/* A user id plus one, so that zeroed memory trusts no user. Recordings have the same number. */
struct owner {
	uint32_t v;
};

#define OWNER_NOT_RECORDED ((struct owner){0})
/* Several users, or any: a file that others may write to, or that another root wrote. */
#define OWNER_NOBODY ((struct owner){UINT32_MAX})

struct owner owner_of_user(uid_t user);
/* The user that profc runs as. */
struct owner owner_caller(void);
/* The owner of a file; OWNER_NOBODY if other users may write to it as well. */
struct owner owner_of_file(const struct stat *file);
/* As above for an open file; OWNER_NOBODY if that fails. */
struct owner owner_of_fd(int fd);

/*
 * May profc use all of its rights for paths that the owner chose? True for root and the caller:
 * neither gains from it. Where no owner is recorded it is true unless the caller is root, since
 * only root can read files that others cannot.
 */
bool owner_is_trusted(struct owner owner);

/* The owner that chose a path named by two files: the one that is not trusted. */
struct owner owner_join(struct owner a, struct owner b);

/* Is it this user, and only this user? */
bool owner_is_user(struct owner owner, uid_t user);

#endif
