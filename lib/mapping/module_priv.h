/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules: functions shared by the files of this room. */
#ifndef PROFC_MAPPING_MODULE_PRIV_H
#define PROFC_MAPPING_MODULE_PRIV_H

#include "mapping/module.h"

struct backings;
struct elf_image;
struct stat;

/*
 * Number of files that stay open, for the symbols at the end of a recording; for further files, the
 * unwinder's data is read at once and the file is closed.
 */
#define MODULE_TABLE_FDS_MAX 256

/* The open files of a module. */
struct module_files {
	struct elf_image *image; /* NULL: unreadable */
	int source_fd;		 /* on the file itself if `fd` is on a copy; else -1 */
};

/*
 * module_table_intern() for a module with its files open already: they then belong to the table, as
 * `wanted->fd` does.
 */
struct module_id module_table_intern_files(struct module_table *table, const struct module *wanted,
					   const struct module_files *files);

/* A mapping of code, from /proc/PID/maps. */
struct module_mapping {
	const char *path;
	uint64_t dev, inode;
	uint64_t start, file_offset;
};

/*
 * The module of a file that was opened before and is in that mapping; MODULE_UNKNOWN if there is
 * none. With `must_be_unchanged` only a module with a descriptor that proves that the file was not
 * written to since; without, any but those known to have been written to.
 */
struct module_id module_table_find_file(const struct module_table *table,
					const struct module_mapping *wanted,
					bool must_be_unchanged);

/*
 * Has the file been written to since it became this module? A file written in place keeps its
 * inode, and its mappings show the new content. *when_ns, on CLOCK_REALTIME, is the time of that.
 * False where there is no descriptor to check it with.
 */
bool module_table_is_rewritten(const struct module_table *table, struct module_id id,
			       uint64_t *when_ns);

/* The time of modification, as a module has it. */
uint64_t module_modified_ns(const struct stat *stat);

/* The bytes that copies for modules may still take. */
uint64_t module_table_copies_left(const struct module_table *table);

/* A new stamp, which no space of this table has had. */
uint32_t module_table_next_stamp(struct module_table *table);
/* Which file systems have not answered. */
struct backings *module_table_backings(struct module_table *table);

/* The image given with the module, or NULL. */
struct elf_image *module_table_image(const struct module_table *table, struct module_id id);

#endif
