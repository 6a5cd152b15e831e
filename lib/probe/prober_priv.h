/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_PROBER_PRIV_H
#define PROFC_PROBE_PROBER_PRIV_H

#include <pthread.h>

#include "base/pid_table.h"
#include "heap/heap_ring.h"
#include "inject/installation.h"
#include "mapping/module.h"
#include "probe/prober.h"
#include "probe/prober_sums_priv.h"
#include "probe/serials.h"
#include "proc/backing.h"
#include "profile/heap.h"

struct target_memory;
struct branches;
struct elf_image;
struct proc_map;

/* A file of code, and what of it is to be counted: the same for all processes that map it. */
struct prober_file {
	uint64_t dev, inode;
	int fd;			 /* owned; -1: it cannot be opened */
	struct elf_image *image; /* owned; NULL: it is none */
	char *path;		 /* owned */
	bool is_searched;	 /* the rest is known */
	bool is_told;		 /* what cannot be counted in any process is in the profile */
	struct wanted wanted;
	struct branches *branches; /* owned; by ELF virtual addresses; NULL: nothing is wanted */
	struct module_id module;   /* in the profile; MODULE_UNKNOWN: it was not met there yet */
};

/* Code that a process has mapped. */
struct prober_mapping {
	uint64_t start, end;
	uint64_t bias; /* address = ELF virtual address + bias */
	struct prober_file *file;
};

/* One place that is counted, or was asked for. */
struct counted_place {
	const struct wanted_place *wanted; /* of its file */
	struct prober_file *file;
	uint64_t callee; /* of a call: address in the process; 0: not known */
	uint64_t word;	 /* of a call through a word: its address; 0: there is none */
	enum patch_outcome outcome;
	uint32_t counter;
	uint64_t base;	/* of the counter when counting began, or went on */
	uint64_t calls; /* before that */
	uint32_t row;	/* in the profile */
	bool is_again;	/* in a library that was loaded before: what was refused is known */
	bool is_in_sled, is_changed, is_change_told; /* by the process, or could be */
	uint64_t until_ns; /* CLOCK_MONOTONIC: when it was last seen as ours; 0: it is */
	struct believed_count believed;
};

#define NO_ROW UINT32_MAX

/* What was installed in a process in one go. */
struct probed {
	struct installation *installation;
	struct counted_place *places; /* owned */
	size_t nr_places;
	uint64_t from_ns;   /* CLOCK_MONOTONIC */
	bool is_from_start; /* of the program */
	bool is_told;	    /* what was refused is in the profile */
	/* Allocations: up to when counting began, or went on, and what was counted before that. */
	struct heap_totals heap_base, heap_counted;
};

/* When its memory is looked at, by the thread that owns the profile, and as it was then. */
struct moments {
	uint64_t again_ns;
	struct profile_heap_moment latest;
	bool is_last_told;
	struct believed_totals believed;
};

/* By the prober's thread, or before it begins. */
struct looks {
	uint64_t again_ns; /* for libraries */
	uint64_t code_ns;  /* when its probes were last looked at */
	bool is_over;	   /* nothing more is put in */
};

/* A process between two execs. */
struct probed_process {
	pid_t pid;
	uint32_t serial; /* UINT32_MAX: a recording does not know it yet */
	/* Whose probes it has inherited, when it was forked; or NULL. Constant once it is told. */
	struct probed_process *giver;
	uint32_t nr_heirs; /* that are not gone, and count in its memory */
	uint64_t program;  /* proc_program_id(); 0: not known */
	bool has_executed; /* another since: it is not looked at any more */
	bool is_gone;
	uint32_t nr_users; /* threads that look at it, or its heirs, and have given back the lock */
	bool is_closed;	   /* nobody counts there any more; all of it is in the profile */
	uint64_t born_ns, gone_ns;
	struct prober_mapping *mappings; /* owned */
	size_t nr_mappings, cap_mappings;
	bool has_other_code;   /* of no file */
	struct probed *probed; /* owned */
	size_t nr_probed, cap_probed;
	bool is_looked_at; /* its memory map was read once */
	char *refusal;	   /* owned: why nothing in it can be counted; or NULL */
	bool is_refusal_told;
	struct looks looks;
	struct probe_gate gate; /* under install_lock */
	struct moments moments;
};

/* A command that was launched. */
struct prober_command {
	struct entry_stop *entry; /* owned: it stands before it begins; or NULL */
	pid_t pid;		  /* a child of ours; or 0 */
};

/* Are allocations wanted, and pointers to what is left of them? Constant. */
struct wanted_heap {
	bool is_wanted;
	struct reach *reach; /* owned; or NULL */
};

struct prober {
	struct prober_options options; /* `heap` in it changes, under `lock` */
	struct wanted_heap heap;
	pthread_mutex_t install_lock; /* one installation at a time; files */
	struct prober_file **files;   /* owned; under install_lock */
	size_t nr_files, cap_files;
	struct backings backings;	   /* of the memory of all processes */
	pthread_mutex_t lock;		   /* of all below; taken after the other */
	struct probed_process **processes; /* owned: all there were */
	size_t nr_processes, cap_processes;
	struct serials by_serial;
	struct pid_table by_pid;      /* the latest with an id, if it is not gone */
	struct probed_process **open; /* owned; borrows those that are not closed, in any order */
	size_t nr_open, cap_open;
	struct prober_command command;
	size_t nr_wanted;
	struct prober_counting counting;
	struct prober_sums sums;
	pthread_t thread;
	pthread_cond_t wake;
	bool has_thread, is_over;
};

/* prober.c: of one that nobody counts in any more, under `lock`: give its memory back. */
void prober_close(struct prober *prober, struct probed_process *process);

/* prober_files.c: under install_lock. NULL: no file of code. */
struct prober_file *prober_file_of(struct prober *prober, pid_t pid, const struct proc_map *map);
void prober_file_search(struct prober *prober, struct prober_file *file);
void prober_file_free(struct prober_file *file);

/*
 * prober_install.c: look at what a process has mapped since it was last looked at, and put in what
 * is wanted there. Not under `lock`. Nothing new is no failure.
 */
int prober_install(struct prober *prober, struct probed_process *process,
		   const struct probe_access *access, bool is_from_start, struct err *err);

/* prober_changes.c: are its probes there? Once a second, or if it `is_last`; not under `lock`. */
void prober_look_at_code(struct prober *prober, struct probed_process *process,
			 struct target_memory *memory, bool is_last);
bool prober_has_probes(const struct probed_process *process); /* its own or inherited ones */

/* Where an address is; the latest, as libraries that were unloaded are among them. Or NULL. */
const struct prober_mapping *prober_mapping_at(const struct probed_process *process,
					       uint64_t address);
/* Read again where calls through words lead: at first that may be an entry of the file's own PLT.
 * Under `lock`. */
void prober_read_callee(struct prober *prober, const struct probed_process *process,
			struct counted_place *place);
void prober_read_callees(struct prober *prober, struct probed_process *process);

/* Calls up to now; under `lock`. */
uint64_t counted_calls(const struct prober *prober, const struct probed *probed,
		       const struct counted_place *place);
struct heap_ring *prober_heap_of(const struct probed *probed); /* NULL: there is none */
/* Allocations up to now; false: it has no probes for them. Under `lock`. */
bool counted_heap(const struct prober *prober, const struct probed *probed,
		  struct heap_totals *totals);

/*
 * Keep a process, and those whose probes it has inherited, while the lock is given back; and let go
 * of them. Under `lock`.
 */
void prober_use(struct probed_process *process);
void prober_release(struct probed_process *process);

#endif
