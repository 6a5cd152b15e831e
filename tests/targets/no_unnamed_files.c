// SPDX-License-Identifier: GPL-2.0-or-later
/* Loaded before a program (LD_PRELOAD): its file systems have no O_TMPFILE, as NFS has none. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

typedef int open_function(const char *path, int flags, ...);

static int open_by(const char *name, const char *path, int flags, va_list rest)
{
	open_function *next = (open_function *)dlsym(RTLD_NEXT, name);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;

	if ((flags & O_TMPFILE) != O_TMPFILE)
		return next(path, flags, mode);
	errno = EOPNOTSUPP;
	return -1;
}

int open(const char *path, int flags, ...)
{
	va_list rest;
	int fd;

	va_start(rest, flags);
	fd = open_by("open", path, flags, rest);
	va_end(rest);
	return fd;
}

int open64(const char *path, int flags, ...)
{
	va_list rest;
	int fd;

	va_start(rest, flags);
	fd = open_by("open64", path, flags, rest);
	va_end(rest);
	return fd;
}
