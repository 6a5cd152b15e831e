/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_MAPPING_MODULE_PRIV_H
#define PROFC_MAPPING_MODULE_PRIV_H

#include "mapping/module.h"

struct elf_image;

/*
 * So many files stay open, for the symbols at the end of a recording; of those
 * beyond, what the unwinder needs is read at once and the file is closed.
 */
#define MODULE_TABLE_FDS_MAX 256

/*
 * module_table_intern() for a module whose image is open already: the image
 * belongs to the table from then on, as `wanted->fd` does. NULL: unreadable.
 */
struct module_id module_table_intern_image(struct module_table *table, const struct module *wanted,
					   struct elf_image *image);
/*
 * The module of a file that was opened before, by what /proc/PID/maps says of
 * it; MODULE_UNKNOWN if there is none. With `must_be_unchanged` only one whose
 * descriptor proves that nobody wrote to the file since; without, any will do.
 */
struct module_id module_table_find_file(const struct module_table *table,
					const struct module *wanted, bool must_be_unchanged);

/* Counts up: what no space of this table had for its stamp. */
uint32_t module_table_next_stamp(struct module_table *table);

/* The image given with the module, or NULL. */
struct elf_image *module_table_image(const struct module_table *table, struct module_id id);

#endif
