/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_MAPPING_MODULE_H
#define PROFC_MAPPING_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/owner.h"

/*
 * Modules: the distinct pieces of code in any address space of a recording. A file is one module
 * even if many processes map it. Ids are dense and count up from 0; module 0 is always [unknown].
 */

struct module_id {
	uint32_t v;
};

#define MODULE_UNKNOWN ((struct module_id){0})

enum module_kind {
	MODULE_KIND_UNKNOWN,  /* outside every known mapping; addresses are absolute */
	MODULE_KIND_FILE,     /* an ELF file, memfd and deleted ones included */
	MODULE_KIND_VDSO,     /* the kernel's shared object; addresses relative to its ELF image */
	MODULE_KIND_VSYSCALL, /* the fixed legacy page; absolute */
	MODULE_KIND_JIT,      /* anonymous executable memory of one process; absolute */
	MODULE_KIND_ELIDED,   /* not code: its "address" is the number of elided frames */
	MODULE_KIND_BETWEEN,  /* not code: what ran between two samples */
	MODULE_KIND_KERNEL,   /* functions of the kernel: their "addresses" are hashes of names */
	/* A source file of an interpreted program: "addresses" are hashes of functions and lines.
	 */
	MODULE_KIND_SCRIPT,
};

#define BUILD_ID_MAX_BYTES 64

struct module {
	enum module_kind kind;
	pid_t owner_pid; /* JIT: the process that has the memory; else 0 */
	char *path;	 /* as the target sees it, without " (deleted)"; pseudo ones in brackets */
	bool deleted;	 /* the path no longer named this file when it was mapped */
	bool is_copy;	 /* fd is a copy of the mapped file, made at that time */
	uint64_t dev, inode, file_bytes;
	uint64_t modified_ns;  /* since the epoch, when it was mapped; 0: not recorded */
	uint64_t image_offset; /* offset of the ELF image in the file: 0 except in archives */
	/* JIT: 4 bytes, little endian, the number of module_table_numbered(). */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	size_t nr_build_id_bytes; /* 0: none */
	uint64_t fingerprint; /* elf_edition_of(), for files without a build-id; 0: not recorded */
	struct owner owner;   /* of a file when it was mapped; see target_file.h */
	int fd; /* open on the image as the target sees it, owned by the table; -1: none */
};

/* An address in a module, independent of where it was mapped: the key of all symbols. */
struct code_address {
	struct module_id module;
	uint64_t address; /* ELF virtual address; absolute in kinds without an image */
};

/* Code [start, end) of a module. */
struct code_range {
	uint64_t start, end;
};

struct module_table;

struct module_table *module_table_new(void);
void module_table_free(struct module_table *table); /* closes the descriptors */
uint32_t module_table_nr(const struct module_table *table);
const struct module *module_table_get(const struct module_table *table, struct module_id id);

/*
 * The id of the module equal to `wanted`: same kind, owner, path, device, inode,
 * size, place in the file and build-id; without one, same time and fingerprint. A new one is
 * copied in; `wanted->fd` then belongs to the table, and is closed if the module was known already.
 */
struct module_id module_table_intern(struct module_table *table, const struct module *wanted);

/*
 * JIT memory in which code replaced other code of the same module: the same module with a number
 * from 1 on. And the reverse: the module without a number, which is the module itself if it has
 * none.
 */
struct module_id module_table_numbered(struct module_table *table, struct module_id id,
				       uint32_t number);
struct module_id module_table_first(const struct module_table *table, struct module_id id);

/*
 * Is it a file jit-PID.dump, which a process maps only for profilers to find it? Of all modules of
 * JIT memory, only these have a descriptor.
 */
bool module_is_jitdump(const struct module *module);

/*
 * Had the file of a module been overwritten in place by that time of CLOCK_MONOTONIC, so that its
 * mappings showed other code? Known for files with a copy, which were recently modified when they
 * were mapped; false for all others.
 */
bool module_table_is_outdated(const struct module_table *table, struct module_id id,
			      uint64_t time_ns);

/* Is it profc's own code in the process, for counting calls or recording memory? */
bool module_is_of_probes(const struct module *module);

/*
 * The last component of the path, or the whole of a pseudo name; [profc-probes] for profc's own
 * code. Borrowed.
 */
const char *module_short_name(const struct module *module);

#endif
