/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_ERR_H
#define PROFC_BASE_ERR_H

/*
 * Failures as values. A function that can fail returns int: 0, or a negative enum err_code. If a
 * text helps, its last parameter is a `struct err *` (NULL accepted) that receives the code, the
 * errno at the moment of failure and one line of context. Out-parameters are written only on
 * success. Expected outcomes of the hot path (a thread exited, a walk ended early) are not
 * failures: they are enums of their own rooms, counted and shown. Bugs are assert().
 */

enum err_code {
	ERR_OK = 0,
	ERR_SYS = -1,	  /* a system call failed; sys_errno says how */
	ERR_NOMEM = -2,	  /* a size read from outside could not be allocated */
	ERR_INVALID = -3, /* the caller's input makes no sense (a bad option value, a bad regex) */
	ERR_CORRUPT = -4, /* a file contradicts its own format */
	ERR_TRUNCATED = -5,    /* a file ends before its format says so */
	ERR_VERSION = -6,      /* a file of a version this program does not read */
	ERR_LIMIT = -7,	       /* one of our bounds was exceeded; the message names it */
	ERR_NOT_FOUND = -8,    /* the requested thing is not there */
	ERR_GONE = -9,	       /* the target process or thread no longer exists */
	ERR_PERMISSION = -10,  /* the kernel refuses, and the message says why */
	ERR_UNSUPPORTED = -11, /* understood, but not something profc can do */
	ERR_EMPTY = -12,       /* there is nothing to work on: no samples */
};

struct err {
	enum err_code code;
	int sys_errno;	/* 0 where no system call was involved */
	char what[480]; /* one line, no final newline, may hold raw target text: escape to print */
	char hint[320]; /* advice for the user, or "" */
};

#define ERR_INIT                                                                                   \
	{                                                                                          \
		.code = ERR_OK                                                                     \
	}

/*
 * Store a failure and return its code, so that `return err_set(err, …)` reads
 * as one statement. err_sys() appends strerror(errno) and keeps errno.
 */
int err_set(struct err *err, enum err_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int err_sys(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * As err_sys(), for a process or thread that could not be started, with a hint if there are too
 * many.
 */
int err_start(struct err *err, const char *what);

/* Add the line with advice for the user. No effect on NULL. */
void err_hint(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The error's own hint, or advice for a system that is short of something; or "". */
const char *err_advice(const struct err *err);

/* Put `to` in the place of the first `from` of the message, if it is there. No effect on NULL. */
void err_rename(struct err *err, const char *from, const char *to);

/* Put "context: " before the message already stored. No effect on NULL. */
void err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
