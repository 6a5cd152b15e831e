/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_WAIT_WAIT_H
#define PROFC_WAIT_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/waits.h"

struct proc_syscall;

/* The lock of an interpreter, which says which of its threads has it. */
struct wait_lock {
	uint64_t start, end; /* threads wait for words there; equal: there is no such lock */
	/*
	 * Here is the address of a record of the thread that has it, or had it last, and after that
	 * a word of 32 bits: 1 while it has it.
	 */
	uint64_t holder_at;
	uint32_t id_offset; /* in that record: the program's own id for the thread, 64 bits */
	/*
	 * Not 0: what is there is the address of the C library's record of the thread, in which the
	 * id, of 32 bits, has this offset.
	 */
	uint32_t library_id_offset;
};

/* Until when a call waits for a futex. */
struct time_out {
	enum time_out_kind {
		TIME_OUT_NONE, /* or not known */
		TIME_OUT_AFTER,
		TIME_OUT_AT,	  /* CLOCK_MONOTONIC, */
		TIME_OUT_AT_REAL, /* CLOCK_REALTIME */
	} kind;
	uint64_t ns;
};

/*
 * The wait of a thread that sleeps in a system call, from the arguments of the call and some words
 * of memory that they point to. Nothing is stopped.
 */
struct seen_wait {
	bool is_known;
	enum wait_kind kind;
	uint64_t number;   /* the address of the futex; the descriptor; the number of descriptors */
	pid_t owner;	   /* the program's own id for it; 0: none, or not known */
	uint64_t owner_at; /* the owner's address, if the owner may change; else 0 */
	struct wait_lock lock; /* it is this one; else without words */
	struct time_out time_out;
	/* owned: the descriptor's file, or the list of several descriptors; or NULL */
	char *object;
};

/* Reads the target's memory; false: it cannot be read. */
struct wait_memory {
	bool (*read)(void *context, uint64_t address, void *out, size_t nr_bytes);
	void *context;
};

void seen_wait_release(struct seen_wait *wait);

/*
 * Unknown for calls that wait for neither memory nor a descriptor. The descriptor's file (.object)
 * is left open. An owner is believed here if memory looks like it; the caller proves that it is a
 * thread of the process.
 */
struct seen_wait wait_of_call(const struct proc_syscall *syscall, const struct wait_memory *memory);

/* If it is for this lock: who has it? Memory that changes meanwhile names nobody. */
void wait_look_at_lock(struct seen_wait *wait, const struct wait_lock *lock,
		       const struct wait_memory *memory);

/*
 * Does the lock belong to another thread by now? Then that becomes its owner. False also if the
 * lock has no owner, or if unknown.
 */
bool wait_takes_new_owner(struct seen_wait *wait, const struct wait_memory *memory);

/*
 * Is the futex, which holds the id of a thread, the one that the C library clears when that thread
 * ends? It is part of a record of the thread that has a pointer into itself. One file for each
 * machine; false if that is unknown, and on aarch64 if the thread has robust mutexes.
 */
bool wait_is_for_thread(uint64_t address, const struct wait_memory *memory);

#endif
