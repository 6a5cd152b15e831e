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
#include "probe/probed_process_priv.h"
#include "probe/prober.h"
#include "probe/prober_file_priv.h"
#include "probe/prober_sums_priv.h"
#include "probe/serials.h"
#include "proc/backing.h"

struct target_memory;

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

/* A process that cannot be stopped within this time is left alone. */
#define PROBER_PATIENCE_NS (2 * NS_PER_SEC)

/* prober.c, under `lock`: release a process in which nothing counts any more. */
void prober_close(struct prober *prober, struct probed_process *process);
/* NULL: it is gone, or may not be opened. To be closed. */
struct target_memory *prober_open_memory(struct prober *prober, pid_t pid, struct err *err);
/* Nothing is looked for any more, and no process is used by another thread. */
void prober_end_thread(struct prober *prober);

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
/* Note what a look at a process showed of probes that it has, or has inherited; not under `lock`.
 */
void prober_note_states(struct prober *prober, const struct probed_process *process,
			struct probed *probed, const uint8_t *states);

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

/* Read the counts of all places at once, for what follows, up to the second call; under `lock`. */
void probed_read_counts(struct probed *probed);
void probed_forget_counts(struct probed *probed);
/* Calls up to now, or up to that; under `lock`. */
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
