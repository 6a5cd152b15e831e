// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors as values: a code, a message and a hint. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/*
 * The GNU strerror_r() returns a text, which may be a static one while the buffer is left alone;
 * that of POSIX, which musl has, returns a status and fills the buffer.
 */
static const char *reason_of(int number, char *buffer, size_t nr_bytes)
{
	__typeof__(strerror_r(number, buffer, nr_bytes)) returned =
		strerror_r(number, buffer, nr_bytes);

	return _Generic(returned, char * : returned, default : ((void)returned, buffer));
}

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	err->sys_errno = 0;
	err->hint[0] = '\0';
	va_start(args, format);
	vsnprintf(err->what, sizeof(err->what), format, args);
	va_end(args);
	return code;
}

int err_sys(struct err *err, const char *format, ...)
{
	int saved = errno;
	char reason[128] = "";
	size_t used;
	va_list args;

	if (!err)
		return ERR_SYS;
	err->code = ERR_SYS;
	err->sys_errno = saved;
	err->hint[0] = '\0';
	va_start(args, format);
	vsnprintf(err->what, sizeof(err->what), format, args);
	va_end(args);
	used = strlen(err->what);
	snprintf(err->what + used, sizeof(err->what) - used, ": %s",
		 reason_of(saved, reason, sizeof(reason)));
	errno = saved;
	return ERR_SYS;
}

int err_start(struct err *err, const char *what)
{
	int saved = errno;
	struct rlimit space;

	err_sys(err, "%s", what);
	/* No room for the stack of a thread has either error, as has a limit on processes the
	 * first. */
	if ((saved == EAGAIN || saved == ENOMEM) && getrlimit(RLIMIT_AS, &space) == 0 &&
	    space.rlim_cur != RLIM_INFINITY)
		err_hint(err, "memory is limited to %llu kB (ulimit -v), or see ulimit -u",
			 (unsigned long long)space.rlim_cur / 1024);
	else if (saved == EAGAIN)
		err_hint(err, "this user has reached the limit on processes: see ulimit -u");
	errno = saved;
	return ERR_SYS;
}

void err_hint(struct err *err, const char *format, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, format);
	vsnprintf(err->hint, sizeof(err->hint), format, args);
	va_end(args);
}

const char *err_advice(const struct err *err)
{
	if (!err->hint[0] && err->sys_errno == EMFILE)
		return "the limit on open files is too low: raise it with ulimit -n 4096";
	return err->hint;
}

void err_rename(struct err *err, const char *from, const char *to)
{
	char rest[sizeof(err->what)];
	char *found = err ? strstr(err->what, from) : NULL;

	if (!found)
		return;
	snprintf(rest, sizeof(rest), "%s", found + strlen(from));
	snprintf(found, sizeof(err->what) - (size_t)(found - err->what), "%s%s", to, rest);
}

void err_prefix(struct err *err, const char *format, ...)
{
	char before[sizeof(err->what)];
	char after[sizeof(err->what)];
	va_list args;

	if (!err)
		return;
	va_start(args, format);
	vsnprintf(before, sizeof(before), format, args);
	va_end(args);
	memcpy(after, err->what, sizeof(after));
	snprintf(err->what, sizeof(err->what), "%.200s: %.270s", before, after);
}
