/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of code in which probes are wanted. */
#ifndef PROFC_PROBE_PROBER_FILE_PRIV_H
#define PROFC_PROBE_PROBER_FILE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "mapping/module.h"
#include "probe/wanted.h"

struct branches;
struct known_code;
struct elf_image;

/* A file of code, and its places to be counted: the same in all processes that map it. */
struct prober_file {
	uint64_t dev, inode;
	int fd;			 /* owned; -1: it could not be opened, or is no ELF file */
	struct elf_image *image; /* owned; NULL: it is no ELF file */
	char *path;		 /* owned */
	bool is_searched;	 /* the members below are set */
	bool is_told;		 /* its refusals are in the profile */
	struct wanted wanted;
	struct known_code **codes; /* owned: of wanted places of allocators; else NULL */
	struct branches *branches; /* owned; by ELF virtual addresses; NULL: nothing is wanted */
	struct module_id module;   /* in the profile; MODULE_UNKNOWN: not there yet */
};

#endif
