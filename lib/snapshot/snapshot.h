/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SNAPSHOT_SNAPSHOT_H
#define PROFC_SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * One thread at one instant: registers, stack bytes, clocks and state, as plain values. It is
 * filled during a ptrace-stop of the thread (or without one); its readers need no live thread. The
 * bytes of a snapshot may come from another machine, so the architecture is a value and not an
 * #ifdef.
 */

enum arch {
	ARCH_X86_64,
	ARCH_AARCH64,
};

enum arch arch_native(void);

/*
 * Registers by DWARF number (psABI x86-64 fig. 3.36; AADWARF64 table 4-1).
 * x86_64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15, 16 rip.
 * aarch64: 0-30 x0-x30, 31 sp, 32 pc (libunwind's number for it).
 * A register with a clear bit in `known` has no value: it is never guessed.
 */
#define REGS_MAX 33

struct regs {
	uint64_t value[REGS_MAX];
	uint64_t known; /* bit n: value[n] is valid */
};

/* The numbers every reader of a stack needs. */
struct arch_regs {
	const char *name; /* "x86_64", "aarch64" */
	unsigned int nr;  /* how many of REGS_MAX exist */
	unsigned int sp, pc, fp;
	unsigned int ra;     /* return-address column of the CFI: 16 (rip), 30 (x30) */
	unsigned int result; /* of a function: 0 (rax), 0 (x0) */
	bool ends_data;	     /* is a thread's pointer the end of its data in glibc, or the start? */
	uint32_t nr_mutex_bytes; /* of a pthread_mutex_t of glibc */
};

const struct arch_regs *arch_regs(enum arch arch);

bool regs_get(const struct regs *regs, unsigned int reg, uint64_t *value);
void regs_set(struct regs *regs, unsigned int reg, uint64_t value);

/* The scheduler's state of the thread, from the state letter of /proc (proc_pid_stat(5)). */
enum thread_state {
	THREAD_STATE_RUNNING,  /* on a CPU, or runnable: R */
	THREAD_STATE_SLEEPING, /* interruptible: S */
	THREAD_STATE_DISK,     /* uninterruptible: D */
	THREAD_STATE_STOPPED,  /* by job control: T */
	THREAD_STATE_UNKNOWN,
};

enum region_kind {
	REGION_STACK,
	REGION_WANTED, /* other memory, for walks of an interpreter's frames */
	REGION_DUE,    /* likewise, to be copied right after the stop: it has no bytes so far */
	REGION_LATE,   /* it was copied then */
};

/* A run of target memory; its bytes are at snapshot.bytes + offset. */
struct stack_region {
	uint64_t start;
	uint32_t nr_bytes;
	uint32_t offset;
	enum region_kind kind;
};

/* Stacks, other memory that is wanted at once, and what is then found missing. */
#define SNAPSHOT_WANTED_MAX  128
#define SNAPSHOT_REGIONS_MAX (4 + SNAPSHOT_WANTED_MAX + 256)
#define SNAPSHOT_NO_SYSCALL  (-1)
#define SNAPSHOT_PAGE_FAULT  (-2) /* in none; the kernel handles a fault of its own instruction */

enum no_registers {
	NO_REGISTERS_FOREIGN, /* a 32-bit program has others */
	NO_REGISTERS_WORKER,  /* a thread of the kernel's for the process */
	NO_REGISTERS_SPARED,  /* it runs, and was not stopped */
};

struct snapshot {
	enum arch arch;
	enum thread_state state;
	pid_t tgid, tid;
	int32_t syscall_nr;	  /* the system call it is in, or one of the above */
	uint64_t time_ns;	  /* CLOCK_MONOTONIC when the registers were taken */
	uint64_t cpu_ns, runq_ns; /* the kernel's totals at that moment (schedstat) */
	uint64_t pcount;	  /* times scheduled in (schedstat, third field) */
	struct regs regs;
	/* at the start of the program, for its main thread; 0: not known */
	uint64_t first_sp;
	uint64_t thread_pointer; /* of the C library; 0: not known */
	uint64_t data_pointer;	 /* code gets to thread-local variables from it; 0: not known */
	enum no_registers no_registers; /* if none are known: why */
	bool is_withheld; /* the stack is in a file that a process or host serves: not read */
	uint8_t *bytes;	  /* owned; of all regions, in their order */
	size_t nr_bytes, cap_bytes;
	/* Of a sleeping thread, as the kernel shows it: where it sleeps in the kernel. Owned. */
	char *kernel_stack;
	size_t nr_kernel_bytes, cap_kernel_bytes;
	/* Those to be copied after the stop: how many, and the first, if the others follow in
	 * order. */
	unsigned int nr_late, first_late;
	unsigned int nr_regions;
	struct stack_region regions[SNAPSHOT_REGIONS_MAX]; /* the stack in use comes first */
};

void snapshot_release(struct snapshot *snapshot);
/* Forget the content, keep the room for bytes and text. */
void snapshot_clear(struct snapshot *snapshot);
/* Forget all stack bytes, keep the rest. */
void snapshot_drop_regions(struct snapshot *snapshot);
/* Store the text of a kernel stack. */
void snapshot_set_kernel_stack(struct snapshot *snapshot, const char *text, size_t nr_bytes);
/* Copy `snapshot`, into the room that `copy` has if that is large enough. */
void snapshot_copy(struct snapshot *copy, const struct snapshot *snapshot);
/*
 * Make room for a region of nr_bytes starting at `start`; returns the place for its bytes, or NULL
 * when there are SNAPSHOT_REGIONS_MAX regions already. A region that continues the last one of its
 * kind extends it.
 */
uint8_t *snapshot_add_region(struct snapshot *snapshot, uint64_t start, size_t nr_bytes);
/* The same for memory that is wanted besides stacks: copied in the stop, or right after it. */
uint8_t *snapshot_add_wanted(struct snapshot *snapshot, uint64_t start, size_t nr_bytes);
uint8_t *snapshot_add_due(struct snapshot *snapshot, uint64_t start, size_t nr_bytes);
/* The same for what is copied now, later than the rest. */
uint8_t *snapshot_add_late(struct snapshot *snapshot, uint64_t start, size_t nr_bytes);
/* Append the regions of `from` from `first` on, if there is room. */
void snapshot_append(struct snapshot *snapshot, const struct snapshot *from, unsigned int first);
/* Have the regions of `from`, which has none then; the snapshot has none before. */
void snapshot_take_regions(struct snapshot *snapshot, struct snapshot *from);
/*
 * Have the first region begin and end elsewhere: further inside, or lower, where the bytes before
 * its own are to be read into. False: there are not so many before it, or it has not so many.
 */
bool snapshot_set_first(struct snapshot *snapshot, uint64_t start, size_t nr_bytes);
/* Give back the tail of the last region that could not be read. */
void snapshot_trim_region(struct snapshot *snapshot, size_t unread_bytes);
/*
 * The address where the chain of frame pointers, from the thread's own on, leaves the copied
 * memory: on another stack, if it is a chain (Go keeps it across its switches of stacks). 0:
 * nowhere.
 */
uint64_t snapshot_fp_beyond(const struct snapshot *snapshot);
/* Copy nr_bytes at address; false if not wholly inside one region of a stack. */
bool snapshot_read(const struct snapshot *snapshot, uint64_t address, void *out, size_t nr_bytes);
/* The same in a region of any kind that was copied in the stop. */
bool snapshot_read_any(const struct snapshot *snapshot, uint64_t address, void *out,
		       size_t nr_bytes);
/* Could snapshot_read_any() read it? */
bool snapshot_has_any(const struct snapshot *snapshot, uint64_t address, size_t nr_bytes);
/* The same in a region that was copied right after the stop. */
bool snapshot_read_late(const struct snapshot *snapshot, uint64_t address, void *out,
			size_t nr_bytes);
/* The region of those to be copied right after the stop that has the address; NULL: there is none,
 * or they are in no order. */
const struct stack_region *snapshot_late_region(const struct snapshot *snapshot, uint64_t address);
/* Is or was all of this to be copied right after the stop? */
bool snapshot_is_late(const struct snapshot *snapshot, uint64_t address, size_t nr_bytes);

#endif
