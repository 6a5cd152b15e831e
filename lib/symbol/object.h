/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_OBJECT_H
#define PROFC_SYMBOL_OBJECT_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "dwarf/dwarf_file.h"
#include "dwarf/dwarf_sections.h"
#include "symbol/debug_file.h"
#include "symbol/split_dwarf.h"

struct err;
struct symbol_options;
struct symbol_request;

/*
 * An ELF file with all sources of names for its code: the file, its separate debug file, dwz'
 * common file, minidebuginfo. Threads must not share a Dwfl, so each object has its own.
 */
struct symbol_object {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Elf *elf; /* the file itself, or the debug file in its place; owned by the Dwfl */
	int fd;	  /* open on the same file, or -1 */
	char *path;
	struct build_id build_id;
	Elf *debug; /* the separate debug file, or NULL; owned */
	int debug_fd;
	char *debug_path;
	char *refused_debug_path; /* a debug file of another build; or NULL */
	Elf *supplement;
	int supplement_fd;
	char *missing_supplement; /* name of a common file that was not found, or NULL */
	struct inflated_sections inflated, supplement_inflated;
	/*
	 * To be added to addresses of the request. In an object file they are relative to the
	 * start of its code, which libdwfl places somewhere.
	 */
	uint64_t address_bias;
	bool has_dwarf;
	bool is_mismatched;	  /* the file is not the one requested */
	char *difference;	  /* how it differs, if not in the build-id; or NULL */
	bool is_debug_file_only;  /* only its debug file was found, not the file */
	bool has_asked_servers;	  /* it has asked debuginfod for one of these */
	const atomic_bool *ended; /* symbol_options.ended */
	struct dwarf_file dwarf, supplement_dwarf;
	struct split_dwarf split; /* split.owner is the owner of all files */
};

/*
 * Open the file of a request and all its debug files. Fails if neither the file nor, by its
 * build-id, a debug file can be read. With is_mismatched only the build-id is known. The options
 * must outlive the object.
 */
int symbol_object_open(struct symbol_object *object, const struct symbol_options *options,
		       const struct symbol_request *request, struct err *err);
/*
 * Use these options from now on, in place of those that it was opened with. Reads debug information
 * if the object was opened for its tables only.
 */
void symbol_object_adopt(struct symbol_object *object, const struct symbol_options *options);
/* Its files stay mapped, but need not stay resident: they are not read for some time. */
void symbol_object_release_pages(const struct symbol_object *object);
/* The owner of all files read so far: source files that they name are opened for that owner. */
struct owner symbol_object_owner(const struct symbol_object *object);
void symbol_object_close(struct symbol_object *object);

#endif
