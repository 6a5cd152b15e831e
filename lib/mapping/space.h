/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_MAPPING_SPACE_H
#define PROFC_MAPPING_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mapping/module.h"

struct elf_image;
struct err;
struct memory_piece;
struct proc_range;

/*
 * An address space: the modules and their addresses in one process between two execs. Updated from
 * the text of /proc/PID/maps; each update that changes anything raises the generation. Earlier
 * locations stay right: a code_address names the module that was there at the time.
 */
struct space;

struct mapping {
	uint64_t start, end; /* [start, end) in the target */
	uint64_t file_offset;
	/*
	 * Target address = ELF virtual address + bias; 0 if absolute. For a file without readable
	 * headers, start - file_offset: addresses are offsets.
	 */
	uint64_t bias;
	struct module_id module; /* MODULE_UNKNOWN where it is not executable */
	bool executable, readable, writable;
	bool is_stack;	     /* the kernel calls it [stack] */
	uint32_t generation; /* of the space when this mapping was first seen */
};

/* `modules` is borrowed and must outlive the space. Files are reached through `pid`. */
struct space *space_new(struct module_table *modules, pid_t pid);
/* Frees it once all who share it have called this. */
void space_free(struct space *space);
/* The same space once more, for a child that has ended: space_free() is due once more. */
struct space *space_share(struct space *space);
bool space_is_shared(const struct space *space);
pid_t space_pid(const struct space *space);
/*
 * Set the program that the process was in at its start, proc_program_id(): space_refresh() refuses
 * the map of another. Initially 0, unknown: the map of another program is then recognised only by
 * its vdso, which without address space randomization stays at the same address.
 */
void space_is_of_program(struct space *space, uint64_t program);

/*
 * Take in the text of a maps file. New executable file mappings are opened
 * through the target (map_files, then root + path, with device and inode
 * compared) so that build-id and load bias are the mapped file's own. A file
 * that cannot be opened is still a module, with the reason kept for `profc
 * info`. Returns 0; ERR_CORRUPT when the text is no maps text at all; ERR_GONE when it is that
 * of another program, which the process has begun since (execve(2)).
 */
int space_update(struct space *space, const char *maps_text, size_t nr_bytes, struct err *err);
/*
 * Read /proc/PID/maps (any live thread's id serves) and update. ERR_GONE when the process, or its
 * program, is gone.
 */
int space_refresh(struct space *space, struct err *err);
/*
 * Does the kernel still have each mapping of code that the space has? Takes a microsecond per
 * mapping and does not detect new ones, which walks do when an address is outside all mappings.
 * Also false if it cannot be checked: before Linux 6.11, or if the process is gone.
 */
bool space_has_same_code(const struct space *space);
/*
 * Might the code there have been a file that was still being written when the space was last
 * refreshed? The next refresh then checks it again.
 */
bool space_is_doubtful(const struct space *space, uint64_t address);
/* fork: a child starts with its parent's mappings, which both share until one changes. Caller owns
 * the new space. */
struct space *space_fork(struct space *space, pid_t pid);

uint32_t space_generation(const struct space *space);
/* The number of mappings of code that have replaced other code at the same address. */
uint32_t space_nr_replaced(const struct space *space);
/*
 * A number for the current contents of the space, which changes with each generation and which no
 * other space of the module table has had: the key of caches.
 */
uint32_t space_stamp(const struct space *space);
/* The mapping that has the address now, or NULL. Borrowed until the next update. */
const struct mapping *space_find(const struct space *space, uint64_t address);
/* Does the space agree with the kernel about a range? */
bool space_agrees(const struct space *space, const struct proc_range *range);
/*
 * Restore the code that, according to the kernel, was in `range` when a sample was taken; the
 * latest former mappings are kept for this. False, and nothing changes, if none of them matches.
 */
bool space_recall(struct space *space, const struct proc_range *range);
size_t space_nr_mappings(const struct space *space);
const struct mapping *space_mapping_at(const struct space *space, size_t index);

/*
 * The module and ELF virtual address of an address of the target (absolute for kinds without an
 * image; MODULE_UNKNOWN outside).
 */
struct code_address space_locate(const struct space *space, uint64_t address);

/*
 * As above for a variable: false if the address is not in the data of a module with a readable
 * file. The module's code must be mapped below, where linkers put it.
 */
bool space_locate_data(struct space *space, uint64_t address, struct code_address *where);
/* The kernel's name for the mapping there, "[heap]" or a path; "" if it has none. Borrowed. */
const char *space_name_at(const struct space *space, uint64_t address);

/* The module of a mapping; [unknown] if it is not executable. Borrowed from the module table. */
const struct module *space_module(const struct space *space, const struct mapping *mapping);

/*
 * Read memory as the process has it now, such as JIT-compiled code; the process keeps running, and
 * may have changed it, or exited. False if not all can be read.
 */
bool space_read_memory(struct space *space, uint64_t address, void *out, size_t nr_bytes);
/* As above for several pieces, which say of each whether it was read (proc/target_memory.h). */
void space_read_pieces(struct space *space, struct memory_piece *pieces, size_t nr);

/* The module's ELF file or vdso image, opened once and shared by all spaces; NULL if unreadable. */
struct elf_image *space_image(struct space *space, const struct mapping *mapping);

#endif
