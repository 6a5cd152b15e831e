/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PHP_REGISTERS_H
#define PROFC_SCRIPT_PHP_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;
struct php_native;
struct script_native;
struct snapshot;

/*
 * The two registers in which PHP's loop keeps its frame and its instruction while it runs:
 * functions that it calls save them as any others, so call frame information finds them again. The
 * loop itself saves those of its caller in a place of its own, which is read from its code.
 */
struct php_registers;

/*
 * `loop` is where execute_ex() begins in the file `image`, which is borrowed. NULL: it is not
 * compiled so.
 */
struct php_registers *php_registers_new(struct elf_image *image, uint64_t loop);
void php_registers_free(struct php_registers *registers);

/* The instruction of the leaf, from the thread's registers. False: it is not known. */
bool php_registers_opline(const struct snapshot *snapshot, uint64_t *opline);

/* The registers of a snapshot's native frames, as far as known; borrowed until the next call. */
const struct php_native *php_registers_find(struct php_registers *registers,
					    const struct snapshot *snapshot,
					    const struct script_native *natives, size_t nr_natives);

#endif
