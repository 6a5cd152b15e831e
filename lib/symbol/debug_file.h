/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DEBUG_FILE_H
#define PROFC_SYMBOL_DEBUG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/owner.h"
#include "mapping/module.h"

struct symbol_options;
struct Elf;

/*
 * Searches for separate debug information as gdb does ("Separate Debug Files" in its manual): by
 * build-id below every debug root, then by .gnu_debuglink beside the file, in .debug/ and below
 * every debug root. A debug file must have the same build-id, or else the checksum of the link.
 */
struct build_id {
	uint8_t bytes[BUILD_ID_MAX_BYTES];
	size_t nr; /* 0: none */
};

/* The build-id of an ELF file; nr is 0 if it has none. */
struct build_id build_id_of(struct Elf *elf);

/*
 * Open a regular, non-empty file for reading, by the rules of chosen_file_open(), for the user that
 * chose the path. Returns -1 with errno for any other file.
 */
int open_regular_file(const char *path, struct owner chooser);

/*
 * The debug roots, in order: the user's, the sysroot's, the standard one. The caller frees the
 * path; NULL: no more.
 */
char *debug_file_root(const struct symbol_options *options, size_t index);

/*
 * Find the debug file of `elf`, which `owner` controls; its process knows it as `path`. If `elf` is
 * NULL, the build-id alone decides. Returns a descriptor and *found, both the caller's, or -1.
 * *refused, NULL before, becomes the path of the first debug file of another build, if there is
 * one, for the caller to free.
 */
int debug_file_find(const struct symbol_options *options, struct Elf *elf, const char *path,
		    struct owner owner, const struct build_id *build_id, char **found,
		    char **refused);

/* A reference to the common file of dwz. The name is borrowed from the referring file. */
struct supplement_link {
	const char *name;
	struct build_id build_id;
};

/* Read .gnu_debugaltlink of `debug`; false if there is none, or if it is damaged. */
bool debug_file_supplement_link(struct Elf *debug, struct supplement_link *link);

/*
 * Find the common file for a file at `debug_path`, which `owner` controls: at the path of the link,
 * at that path in the other debug roots, or by build-id. Returns a descriptor, the caller's, or -1.
 */
int debug_file_find_supplement(const struct symbol_options *options,
			       const struct supplement_link *link, const char *debug_path,
			       struct owner owner);

#endif
