/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_BLOCKING_CALLS_H
#define PROFC_TESTS_BLOCKING_CALLS_H

#include <stdatomic.h>
#include <stdint.h>

#define TIMEOUT_MS 120

/* What a case must return, again and again, in a program that nobody disturbs. */
enum blocking_expectation {
	EXPECT_NEVER,	 /* it blocks until the program ends */
	EXPECT_TIMEOUT,	 /* `result` (and `result_errno`) after TIMEOUT_MS */
	EXPECT_TRANSFER, /* `result` bytes at once, however long that takes */
};

/*
 * One blocking system call, made in a loop by a thread of its own. prepare()
 * returns what call() gets, a descriptor mostly, or -1 with errno: then the case
 * is reported as absent.
 */
struct blocking_case {
	const char *name;
	int (*prepare)(void);
	long (*call)(int fd);
	enum blocking_expectation expects;
	long result;
	int result_errno;

	int fd, absent_errno;
	atomic_uint calls, eintr, shorts, wrong;
	_Atomic uint64_t longest_ns;
};

/* Rows of the tables of cases. */
#define NEVER(case_name, how_to_prepare, to_call)                                                  \
	{                                                                                          \
		.name = #case_name, .prepare = how_to_prepare, .call = to_call,                    \
		.expects = EXPECT_NEVER                                                            \
	}
#define TIMED(case_name, how_to_prepare, to_call, returns, sets_errno)                             \
	{                                                                                          \
		.name = #case_name, .prepare = how_to_prepare, .call = to_call,                    \
		.expects = EXPECT_TIMEOUT, .result = returns, .result_errno = sets_errno           \
	}
#define WHOLE(case_name, how_to_prepare, to_call, bytes)                                           \
	{                                                                                          \
		.name = #case_name, .prepare = how_to_prepare, .call = to_call,                    \
		.expects = EXPECT_TRANSFER, .result = bytes                                        \
	}

extern struct blocking_case blocking_waits[], blocking_transfers[], blocking_locks[];
extern const unsigned nr_blocking_waits, nr_blocking_transfers, nr_blocking_locks;

#endif
