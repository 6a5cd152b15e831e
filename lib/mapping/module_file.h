/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules and their files: recorded facts, and whether a file still agrees with them. */
#ifndef PROFC_MAPPING_MODULE_FILE_H
#define PROFC_MAPPING_MODULE_FILE_H

#include "mapping/module.h"

struct elf_image;

/* The beginning of each message on why a file is not the one that was recorded. */
#define MODULE_REPLACED "the file was rebuilt or replaced after the recording: "

/*
 * The difference between the file open on `fd` and the one that was mapped as `module`, as a
 * sentence for users, which the caller frees. NULL: it is that file, as far as the recording knows.
 * `image_fd` is open on its ELF image: a copy if that is inside the file, else `fd`. Both are
 * borrowed.
 */
char *module_file_difference(const struct module *module, int fd, int image_fd);

/*
 * Fill in the edition of a module: the build-id of its image, or else other facts that identify it.
 */
void module_take_edition(struct module *module, const struct elf_image *image);

/*
 * The module of an ELF file that a process has mapped, though its memory map no longer shows it.
 * `mapped` has the map's path, device and inode; `fd` is open on the file, and borrowed.
 */
struct module_id module_table_intern_mapped(struct module_table *table, const struct module *mapped,
					    int fd, const struct elf_image *image);

#endif
