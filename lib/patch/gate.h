/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A gate: a function that threads are inside of, or not. Probes at its entry and at all ways out of
 * it keep a table in the process, by which other probes know whether to count.
 *
 * A thread is known by the word at its fs:0, which differs between threads. Its slot of the table
 * is (word >> 12) * 0x101 >> 8, modulo GATE_SLOTS: stacks of threads, and with them these words,
 * lie pages apart, at distances that this spreads. A slot holds the word of the thread that is
 * inside, and the address of the return address that its outermost activation of the gate has; or
 * 0 and 0. Another thread that finds its slot taken is not inside, and counted as missed.
 */
#ifndef PROFC_PATCH_GATE_H
#define PROFC_PATCH_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GATE_SLOTS	4096
#define GATE_SLOT_BYTES 16
#define GATE_BYTES	((uint64_t)GATE_SLOTS * GATE_SLOT_BYTES)

/* Code [start, end) of the gate: the function, or a part of it that stands apart. */
struct gate_code {
	uint64_t start, end;
	const uint8_t *bytes; /* borrowed: from start on, also some of what follows */
	size_t nr_bytes;
	uint64_t next_start; /* of the function that follows; UINT64_MAX: not known */
	bool is_entered;     /* at its start, where there will be a probe, too */
};

/* A way out, as patch_exit() takes it. */
struct gate_exit {
	uint64_t address;
	uint8_t nr_bytes, exit_at;
};

struct gate_exits {
	struct gate_exit *at; /* owned; by address within each part */
	size_t nr, cap;
};

/* How many of nr_bytes at an address of the file were read. */
typedef size_t gate_reader(const void *context, uint64_t address, void *out, size_t nr_bytes);

struct gate_search {
	const struct gate_code *code; /* all parts */
	size_t nr;
	const uint64_t *starts; /* of all functions of the file that are known, in any order */
	size_t nr_starts;
	gate_reader *read; /* gets at tables of jumps, and stubs */
	const void *context;
};

/*
 * Find all ways out of the gate, with what may be overwritten there. NULL, or why one of them
 * cannot be watched, in words.
 */
const char *gate_exits_find(const struct gate_search *search, struct gate_exits *exits);
void gate_exits_release(struct gate_exits *exits);

#endif
