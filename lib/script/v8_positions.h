/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_V8_POSITIONS_H
#define PROFC_SCRIPT_V8_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space;
struct v8_layout;

/*
 * The position in the source of the bytecode at `offset`, in a table of source positions: that of
 * the last entry at or before it. False: the table has none, or is damaged up to there.
 */
bool v8_positions_find(const uint8_t *table, size_t nr_bytes, uint32_t offset, uint32_t *position);

/*
 * The same by the table of the BytecodeArray at `bytecodes`. False also where there is no such
 * array, it is shorter, or its table is long.
 */
bool v8_positions_read(const struct v8_layout *layout, struct space *space, uint64_t bytecodes,
		       uint32_t offset, uint32_t *position);

#endif
