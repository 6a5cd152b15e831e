/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DATA_SYMBOLS_H
#define PROFC_SYMBOL_DATA_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_object;

/* The names of variables in an object's symbol tables, sorted by address. */
struct data_symbol {
	uint64_t start, end; /* [start, end) */
	const char *name;    /* borrowed from the object */
	bool is_global;
};

struct data_symbols {
	struct data_symbol *rows; /* owned */
	size_t nr, cap;
	bool is_read;
};

/* Is the address in writable data of the file? */
bool data_symbols_hold(const struct symbol_object *object, uint64_t address);
/*
 * The variable that holds an address, or NULL. *symbols begins as all 0; the first call reads the
 * tables.
 */
const struct data_symbol *data_symbols_find(struct data_symbols *symbols,
					    const struct symbol_object *object, uint64_t address);
void data_symbols_release(struct data_symbols *symbols);

#endif
