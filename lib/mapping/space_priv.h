/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces: functions shared by the files of this room. */
#ifndef PROFC_MAPPING_SPACE_PRIV_H
#define PROFC_MAPPING_SPACE_PRIV_H

#include "mapping/space.h"
#include "mapping/target_file.h"

struct target_memory;

/* A mapping with the members that identify it from one maps text to the next. */
struct entry {
	struct mapping mapping;
	uint64_t dev, inode;
	char *path; /* owned */
	bool deleted;
	/* The number of further checks, for text that was being written when it was read. */
	uint8_t doubts;
};

/*
 * The kernel's map, which a forked child mostly keeps as it is: all spaces that came from one by
 * fork share the array until they change.
 */
struct entries {
	struct entry *at;
	size_t nr, cap;
	uint32_t *nr_others; /* spaces that share `at`; owned with it; NULL: none ever did */
};

struct space {
	struct module_table *modules; /* borrowed */
	uint32_t nr_shares;	      /* space_share(): its users but one */
	pid_t pid;
	uint64_t program; /* proc_program_id(); 0: not known */
	pid_t reader;	  /* a live thread of it: /proc/PID loses files once the thread-group leader
			     exits */
	uint32_t generation;
	uint32_t stamp;
	uint32_t nr_replaced;
	struct target_memory *memory; /* owned: on first use */
	bool has_tried_memory;
	struct entries entries; /* by address */
	/* The executable ones alone, for space_locate(): starts and their index in entries. */
	uint64_t *code_starts;
	uint32_t *code_entries;
	size_t nr_code, cap_code;
	struct entries former; /* code of files that is gone, the latest last */
	size_t nr_doubtful;
};

/* Is the mapping the same in both maps texts? */
bool space_same_mapping(const struct entry *a, const struct entry *b);
/* Has the entry the kernel's range, file and offset? */
bool space_is_of_range(const struct entry *entry, const struct proc_range *range);
/* Is it the kernel's own code, which has no file? */
bool space_is_vdso(const struct entry *entry);
bool space_is_vsyscall(const struct entry *entry);

/* The mapped file, in the form of target_file.h; the path is borrowed. */
struct target_file space_file_of(const struct space *space, const struct entry *entry);

/*
 * space_module.c: find the module of a mapping of map->at[index] and its bias; opens the module.
 * `mapping` is the entry's or a copy. The entries before it are settled. False if it has no image.
 */
bool space_find_image(struct space *space, const struct entries *map, size_t index,
		      struct mapping *mapping);
/*
 * As above for an entry without an image: made at run time, or no ELF file, or a file that is gone.
 */
void space_find_without_image(struct space *space, const struct entries *map, size_t index);

/*
 * space_copied.c: is the code without a file at map->at[index] a copy of a file's code that was
 * there before? Then it gets the file's module. Else, if a file's code has been there, it is
 * doubtful.
 */
bool space_find_copied(struct space *space, const struct entries *map, size_t index);
/* Check a doubtful one again: true if it is a copy now. */
bool space_settle_doubt(struct space *space, const struct entries *map, size_t index);

/* Has the file been written to since it was mapped? */
bool space_is_rewritten(const struct space *space, const struct entry *entry);
/* Does the mapping have other code than the space has there so far? */
bool space_replaces_code(const struct space *space, const struct mapping *fresh);
/* Mark everything interned for its stacks as invalid. */
void space_note_change(struct space *space);
/* space_entries.c: free the array, unless another space shares it. */
void space_entries_release(struct entries *entries);
/* The same array for one more space. */
struct entries space_entries_share(struct entries *entries);
/* Call this before its entries are changed in place: others may share them. */
void space_own_entries(struct space *space);
/* Call this after each change of its entries. */
void space_index_code(struct space *space);

/* space_former.c: keep the facts about an entry that is about to be removed. */
void space_remember(struct space *space, const struct entry *entry);

#endif
