/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A gate: a function that a thread is inside of, or not. Probes at its entry and at all ways out of
 * it keep a table in the process, by which other probes decide whether to count.
 *
 * A thread is known by the word at its fs:0, or its tpidr_el0, which differ between threads. Its
 * slot of the table is (word >> 12) * 0x101 >> 8, modulo GATE_SLOTS: stacks of threads, and with
 * them these words, are pages apart, at distances that this spreads. A slot holds the word of the
 * thread that is inside, and its stack pointer at the entry of the gate's outermost activation; or
 * 0 and 0. A thread that finds its slot taken by another one counts as outside, and as missed.
 */
#ifndef PROFC_PATCH_GATE_H
#define PROFC_PATCH_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GATE_SLOTS	4096
#define GATE_SLOT_BYTES 16
#define GATE_BYTES	((uint64_t)GATE_SLOTS * GATE_SLOT_BYTES)
/* aarch64, a gate with jumps through registers: there is room to compare with this many. */
#define GATE_PARTS_MAX 4

/* Code [start, end) of the gate: the function, or a separate part of it. */
struct gate_code {
	uint64_t start, end;
	const uint8_t *bytes; /* borrowed: from start on, also some that follow */
	size_t nr_bytes;
	uint64_t next_start; /* of the next function; UINT64_MAX: not known */
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

/* Returns how many of nr_bytes at an address of the file were read. */
typedef size_t gate_reader(const void *context, uint64_t address, void *out, size_t nr_bytes);

struct gate_search {
	const struct gate_code *code; /* all parts */
	size_t nr;
	const uint64_t *starts; /* of all functions of the file that are known, in any order */
	size_t nr_starts;
	gate_reader *read; /* reads tables of jumps, and stubs */
	const void *context;
};

/*
 * Find all ways out of the gate, with the bytes that may be overwritten there. NULL, or, as a text
 * for the user, why one of them cannot be watched.
 */
const char *gate_exits_find(const struct gate_search *search, struct gate_exits *exits);
void gate_exits_release(struct gate_exits *exits);

#endif
