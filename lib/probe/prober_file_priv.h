/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of code in which probes are wanted, and their names (prober_files.c). */
#ifndef PROFC_PROBE_PROBER_FILE_PRIV_H
#define PROFC_PROBE_PROBER_FILE_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mapping/module.h"
#include "probe/wanted.h"

struct branches;
struct counted_place;
struct known_code;
struct elf_image;
struct proc_map;
struct prober;

/* A file of code, and its places to be counted: the same in all processes that map it. */
struct prober_file {
	uint64_t dev, inode;
	int fd;			 /* owned; -1: it could not be opened, or is no ELF file */
	struct elf_image *image; /* owned; NULL: it is no ELF file */
	char *path;		 /* owned */
	bool is_searched;	 /* the members below are set */
	bool is_told;		 /* its refusals are in the profile */
	struct wanted wanted;
	struct known_code **codes; /* owned: of wanted places of allocators; NULL: none */
	struct branches *branches; /* owned; by ELF virtual addresses; NULL: nothing is wanted */
	struct module_id module;   /* in the profile; MODULE_UNKNOWN: not there yet */
};

/* The files that any process has mapped so far. */
struct prober_files {
	struct prober_file **at; /* owned, as are the files */
	size_t nr, cap;
};

/* Under install_lock. NULL: it is no file of code. */
struct prober_file *prober_file_of(struct prober *prober, pid_t pid, const struct proc_map *map);
/* One that was asked for before; or NULL. It may have no image. */
struct prober_file *prober_file_known(const struct prober *prober, uint64_t dev, uint64_t inode);
void prober_file_search(struct prober *prober, struct prober_file *file);
/*
 * Name the functions of the file that will be told of because of what the file has: they have no
 * probe, or one that the program may overwrite. Takes `lock`.
 */
void prober_file_name_told(struct prober *prober, struct prober_file *file);
void prober_file_free(struct prober_file *file);
/*
 * Name places of a file that have no name yet. Takes `lock` to set the names, unless the caller has
 * it.
 */
void prober_file_name(const struct prober *prober, struct prober_file *file,
		      struct wanted_place *const *places, size_t nr, pthread_mutex_t *lock);
void prober_forget_names(const struct prober *prober);
/* The name of a place, under `lock`. If it is not known yet, all places of the file are named. */
const char *prober_name_of(const struct prober *prober, const struct counted_place *place);

#endif
