/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_PROBER_PRIV_H
#define PROFC_PROBE_PROBER_PRIV_H

#include <pthread.h>

#include "base/pid_table.h"
#include "heap/heap_ring.h"
#include "inject/installation.h"
#include "inject/remote.h"
#include "inject/willing.h"
#include "mapping/module.h"
#include "probe/prober.h"
#include "probe/prober_file_priv.h"
#include "probe/prober_sums_priv.h"
#include "probe/serials.h"
#include "proc/backing.h"
#include "profile/heap.h"

struct target_memory;

/* Code that a process has mapped. */
struct prober_mapping {
	uint64_t start, end;
	uint64_t bias; /* address = ELF virtual address + bias */
	struct prober_file *file;
};

/* A place that is counted, or was to be counted. */
struct counted_place {
	const struct wanted_place *wanted; /* in its file */
	struct prober_file *file;
	uint64_t callee; /* of a call: its address in the process; 0: not known */
	uint64_t word;	 /* of a call through a word: the word's address; 0: there is none */
	enum patch_outcome outcome;
	uint32_t counter;
	uint64_t base;	/* of the counter, when counting began or was resumed */
	uint64_t calls; /* counted before that */
	uint32_t row;	/* in the profile */
	bool is_again;	/* its library was loaded before: its refusals are known */
	bool is_in_sled, is_changed, is_change_told; /* by the process, or could be */
	uint64_t until_ns; /* CLOCK_MONOTONIC: when its probe was last there; 0: it still is */
	struct believed_count believed;
};

#define NO_ROW UINT32_MAX

/* Probes that were installed in a process together. */
struct probed {
	struct installation *installation;
	struct counted_place *places; /* owned */
	size_t nr_places;
	uint64_t from_ns;   /* CLOCK_MONOTONIC */
	bool is_from_start; /* of the program */
	bool is_told;	    /* its refusals are in the profile */
	/* Totals of allocations: when counting began or was resumed, and counted before that. */
	struct heap_totals heap_base, heap_counted;
};

/*
 * The memory of a process: when it is read again, by the thread that owns the profile, and its last
 * state.
 */
struct moments {
	uint64_t again_ns;
	struct profile_heap_moment latest;
	bool is_last_told;
	struct believed_totals believed;
};

/* Used by the prober's thread, or before that begins. */
struct looks {
	uint64_t again_ns; /* for libraries */
	uint64_t code_ns;  /* when its probes were last examined */
	bool is_over;	   /* no more probes are put in */
};

/* The links that were sent to the process, and the number of its installations at that time. */
struct interpreter {
	struct frame_links links; /* without a root: none is known */
	size_t nr_told;
};

/* A process between two execs. */
struct probed_process {
	pid_t pid;
	uint32_t serial; /* UINT32_MAX: the recording does not know it yet */
	/* The process that it was forked from, with probes; or NULL. Constant once it is set. */
	struct probed_process *giver;
	uint32_t nr_heirs; /* living descendants, which count in its memory */
	uint64_t program;  /* proc_program_id(); 0: not known */
	bool has_executed; /* another program since: it is not looked at any more */
	bool is_gone;
	uint32_t nr_users; /* threads that use it, or its heirs, without the lock */
	bool is_closed;	   /* nothing counts there any more, and all of it is in the profile */
	uint64_t born_ns, gone_ns;
	struct prober_mapping *mappings; /* owned */
	size_t nr_mappings, cap_mappings;
	bool has_other_code;   /* not of a file */
	struct probed *probed; /* owned */
	size_t nr_probed, cap_probed;
	bool is_looked_at; /* its memory map was read once */
	char *refusal;	   /* owned: the reason why nothing in it can be counted; or NULL */
	bool is_refusal_told;
	struct looks looks;
	struct probe_gate gate; /* under install_lock */
	struct moments moments;
	struct interpreter interpreter;
};

/* A command that was launched. */
struct prober_command {
	struct entry_stop *entry; /* owned: it is stopped before it begins; or NULL */
	pid_t pid;		  /* a child of ours; or 0 */
};

/* Are allocations wanted, and pointers to the blocks that are left? Constant. */
struct wanted_heap {
	bool is_wanted;
	struct reach *reach; /* owned; or NULL */
};

/* The thread that looks at processes, and puts probes in. */
struct prober_thread {
	pthread_t id;
	bool has_begun;
	bool is_to_be_replaced; /* by another one: it still traces something */
};

struct prober {
	struct prober_options options; /* `heap` in it changes, under `lock` */
	struct wanted_heap heap;
	pthread_mutex_t install_lock; /* one installation at a time; files; the hint */
	struct remote_hint hint;
	struct prober_files files;	   /* under install_lock */
	struct backings backings;	   /* of the memory of all processes */
	struct own_filters own_filters;	   /* constant */
	pthread_mutex_t lock;		   /* for all members below; taken after the other lock */
	struct probed_process **processes; /* owned: all so far */
	size_t nr_processes, cap_processes;
	struct serials by_serial;
	struct pid_table by_pid; /* the latest process with an id, if it is not gone */
	struct probed_process *
		*open; /* owned; borrows processes that are not closed, in any order */
	size_t nr_open, cap_open;
	uint64_t mean_look_ns; /* that a look at a process has taken lately */
	struct prober_command command;
	size_t nr_wanted;
	struct prober_counting counting;
	struct prober_sums sums;
	struct prober_thread looker;
	pthread_cond_t wake;
	bool is_over;
};

/* prober.c, under `lock`: release a process in which nothing counts any more. */
void prober_close(struct prober *prober, struct probed_process *process);

/*
 * prober_install.c: find mappings that are new since the last call, and put the wanted probes in.
 * Not under `lock`. 0 also if there are none.
 */
int prober_install(struct prober *prober, struct probed_process *process,
		   const struct probe_access *access, struct err *err);
/*
 * The same in a thread of its own: if something goes wrong, nothing of the process stays traced. A
 * thread that does not need this asks letting_go_is_over() instead, which is cheaper.
 */
int prober_install_apart(struct prober *prober, struct probed_process *process,
			 const struct probe_access *access, struct err *err);

/*
 * prober_changes.c: are the probes still there? At most once a second, unless `is_last`. Not under
 * `lock`.
 */
void prober_look_at_code(struct prober *prober, struct probed_process *process,
			 struct target_memory *memory, bool is_last);
bool prober_has_probes(const struct probed_process *process); /* its own or inherited ones */

/* The mapping at an address; the latest, as unloaded libraries are listed, too. Or NULL. */
const struct prober_mapping *prober_mapping_at(const struct probed_process *process,
					       uint64_t address);
/*
 * Read the targets of calls through words again: at first they may be entries of the file's own
 * PLT. Under `lock`.
 */
void prober_read_callee(struct prober *prober, const struct probed_process *process,
			struct counted_place *place);
void prober_read_callees(struct prober *prober, struct probed_process *process);

/* Calls up to now; under `lock`. */
uint64_t counted_calls(const struct prober *prober, const struct probed *probed,
		       const struct counted_place *place);
/* NULL: there is none. */
static inline struct heap_ring *prober_heap_of(const struct probed *probed)
{
	return probed->installation ? installation_heap(probed->installation) : NULL;
}
/* Allocations up to now; false: it has no probes for them. Under `lock`. */
bool counted_heap(const struct prober *prober, const struct probed *probed,
		  struct heap_totals *totals);

/*
 * Keep a process, and those that it was forked from, while the lock is released; and end that.
 * Under `lock`.
 */
void prober_use(struct probed_process *process);
void prober_release(struct probed_process *process);

#endif
