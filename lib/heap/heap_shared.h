/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that profc shares with the blob, its code at the allocator of a process. This file is
 * compiled into both, and generated code knows the layout by offsets.
 *
 * A process and the children that it forks write to the same memory, and a child may have given up
 * rights that its parent has. So there are three kinds of memory:
 *	struct heap_rules	controls the blob, and is sealed: no process can write to it;
 *	struct heap_private	belongs to one process; a forked child gets its own;
 *	struct heap_shared	and struct heap_all may hold any value.
 * The blob reads each shared word once, and checks it before it uses it as an address or a bound.
 *
 * By default one allocation for each `mean` bytes is sampled, at random: the blob draws a countdown
 * of bytes from an exponential distribution, and samples the allocation that brings it below zero.
 * Such a process has no memory, so an interval may be thrown away and drawn again at any time.
 *
 * With --mem=all every allocation and every free is recorded. Copying a stack takes longer than an
 * allocation: so the blob walks it, by steps that profc has written for each return address, and
 * records a signature of all return addresses. Where a step is missing, as all are at first, the
 * signature covers each word that a walk may read: words that point to code or into the stack, with
 * their places. The stack itself is copied when its signature is new.
 */
#ifndef PROFC_HEAP_HEAP_SHARED_H
#define PROFC_HEAP_HEAP_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "heap/heap_machine.h"
#include "patch/owners.h"
#include "snapshot/frame_links.h"

/* A function of an allocator; struct heap_form has its arguments. */
enum heap_function {
	HEAP_MALLOC, /* returns NULL on failure, as all without another comment */
	HEAP_CALLOC,
	HEAP_REALLOC,
	HEAP_REALLOCARRAY,
	HEAP_MEMALIGN,
	HEAP_POSIX_MEMALIGN,
	HEAP_VALLOC, /* pvalloc() counts the requested size, too */
	HEAP_NEW,    /* throws an exception on failure */
	HEAP_NEW_ALIGNED,
	HEAP_NEW_NOTHROW_ALIGNED,
	HEAP_FREE, /* also operator delete */
	/* Functions that a user named: all that is known of them is in struct heap_form. */
	HEAP_POOL,
	HEAP_POOL_FREE,
	/* mmap() and its like: all calls by the program itself are recorded. */
	HEAP_MAP,
	HEAP_UNMAP,
	HEAP_REMAP,
	HEAP_EXIT, /* ends the process, as _exit(2) */
	HEAP_FUNCTION_COUNT,
};

/* Flag of an argument: it has 32 bits, and the register's upper half is undefined. */
#define HEAP_ARGUMENT_INT 0x80
#define HEAP_ARGUMENTS	  6 /* in registers */

/*
 * How a function uses its arguments. Members are numbers of arguments, from 1 on; 0: none. The
 * function allocates `count` (default 1) blocks of `size`, or of `bytes` if that is 0. If `pointer`
 * is not NULL, the new block replaces that one. With only a pointer it frees.
 */
struct heap_form {
	uint64_t bytes;
	uint32_t function; /* enum heap_function */
	uint8_t size, count, pointer;
	uint8_t out; /* where it stores the pointer, and returns 0; 0: it returns the pointer */
};

static inline int heap_frees(const struct heap_form *form)
{
	return form->function == HEAP_FREE || form->function == HEAP_POOL_FREE;
}

static inline int heap_is_pool(const struct heap_form *form)
{
	return form->function == HEAP_POOL || form->function == HEAP_POOL_FREE;
}

/*
 * A countdown holds the bytes left, minus 2^-24 for each allocation, in its lower 60 bits. Its
 * upper four bits count down for each thread inside a function that may call other hooked ones: the
 * word is negative then, so all allocations of the slot take the long way, which recognises those
 * that are part of another.
 */
#define HEAP_COUNT_LOG2	    24
#define HEAP_COUNT_MASK	    ((INT64_C(1) << HEAP_COUNT_LOG2) - 1)
#define HEAP_INSIDE	    (INT64_C(1) << 60)
#define HEAP_COUNTDOWN_BITS 60
/* Larger sizes and intervals do not fit into a countdown. */
#define HEAP_SIZE_LOG2	  34
#define HEAP_INTERVAL_MAX ((INT64_C(1) << HEAP_SIZE_LOG2) - 1)
/* So that a size which does not fit is nearly always sampled: but for one in 10^7. */
#define HEAP_MEAN_MAX (UINT64_C(1) << 30)

/* The bytes left, and the allocations since the countdown was drawn. */
static inline int64_t heap_countdown_bytes(int64_t countdown)
{
	int64_t own = (int64_t)((uint64_t)countdown << (64 - HEAP_COUNTDOWN_BITS)) >>
		      (64 - HEAP_COUNTDOWN_BITS);

	return (own + (-own & HEAP_COUNT_MASK)) >> HEAP_COUNT_LOG2;
}

static inline uint64_t heap_countdown_allocations(int64_t countdown)
{
	return (uint64_t)(-countdown & HEAP_COUNT_MASK);
}

/* How code finds out which thread it runs in: by the address of the thread's data. */
enum heap_threads {
	HEAP_THREADS_BY_DATA, /* the word at fs:0, which all threads have; or tpidr_el0 */
	HEAP_THREADS_BY_BASE, /* fs itself, if programs can read it and that may be 0 */
	HEAP_THREADS_AS_ONE,  /* by neither: all use the first slot */
};

/*
 * The threads of a slot have allocated given_bytes minus the bytes left in the countdown. A thread
 * has a slot of its own, or shares one by the address of its data.
 */
struct heap_slot {
	int64_t countdown;
	uint64_t given_bytes;
	uint64_t nr_allocations; /* without those in the countdown */
	uint64_t random;	 /* state; 0: unused */
	uint64_t mean;		 /* that the countdown was drawn with; 0: never */
	uint64_t padding[3];
};

/*
 * Only its owner's thread, and that thread's signal handlers, change the countdown: not by a lock.
 */
struct heap_own_slot {
	struct heap_slot slot;
	uint64_t padding[8]; /* processors fetch cache lines in pairs */
};

/* Pages are at most so large, and kinds of memory do not share one. */
#define HEAP_PAGE_MAX	   65536
#define HEAP_SLOT_LOG2	   6
#define HEAP_SLOTS	   1024
#define HEAP_SLOTS_OF_PAGE 64
#define HEAP_OWN_SLOT_LOG2 7
#define HEAP_OWN_SLOTS	   PATCH_OWN_COPIES_MAX
#define HEAP_INSIDE_PLACES 1024
#define HEAP_HOOKS	   128
#define HEAP_STACK_MAX	   (64 << 10)
#define HEAP_SCRIPT_MAX	   (64 << 10)
#define HEAP_RING_BYTES	   (UINT64_C(4) << 20)
#define HEAP_COMMIT_KEY	   UINT64_C(0x7e57a11c)
#define HEAP_MARKER_KEY	   UINT64_C(0x70f1c0de0f5a6e51)

static inline int heap_maps(const struct heap_form *form)
{
	return form->function == HEAP_MAP || form->function == HEAP_UNMAP ||
	       form->function == HEAP_REMAP;
}

/* A function of an allocator that jumps to the blob. */
struct heap_hook {
	uint64_t original; /* callable: its first instructions, then the rest */
	uint64_t plain;	   /* the same function, but returning NULL for an exception; or 0 */
	struct heap_form form;
};

/* A range of addresses. */
struct heap_stack {
	uint64_t start, end;
};

/*
 * A thread other than the main one has its stack below its data, in the same mapping. The blob may
 * read it as far down as profc has found all pages present. The thread asks by its stack pointer;
 * several threads may write to one question at once. profc writes the answer to the same index of
 * `stacks` in struct heap_known.
 */
struct heap_stack_question {
	uint64_t data;	  /* of the thread; 0: unused */
	int32_t pid, tid; /* in the PID namespace of the process */
	uint64_t wanted;  /* the lowest page wanted */
	/* The last answer, which only profc reads. */
	uint64_t answered_owner, answered_low;
	uint64_t padding[3];
};

/* `check` is heap_stack_check(): it proves that the answer is complete, and for which thread. */
struct heap_stack_answer {
	uint64_t check, low;
};

#define HEAP_THREAD_STACKS 4096

/* Writable memory, sorted; valid while `version` is even and does not change. */
#define HEAP_WRITABLE_MAX 1024

struct heap_writable {
	uint64_t version;
	uint64_t nr;
	struct heap_stack ranges[HEAP_WRITABLE_MAX];
};

/*
 * Memory that the process has just mapped itself, before profc could see it: the last such ranges.
 * Each counts until profc has surely told of it: its next answer may be of a moment before.
 */
#define HEAP_MAPPED_MAX 32

struct heap_mapped {
	uint64_t start, end;
	uint64_t version; /* of struct heap_writable then */
	uint64_t check;	  /* proves that all of this belongs together; 0: unused */
};

/*
 * Code of an allocator's file or of the C library. What it maps it hands out as blocks, so its own
 * calls of mmap() are not recorded.
 */
struct heap_code_range {
	uint64_t start, end;
};

#define HEAP_CODES 16

enum heap_record_kind {
	HEAP_RECORD_ALLOCATION,
	/* Written before the free: no other thread has the block yet. For a range with its size. */
	HEAP_RECORD_FREE,
	HEAP_RECORD_KEPT, /* realloc() failed: the record of its free was wrong */
	HEAP_RECORD_SKIP, /* filler up to the end of the ring; its pointer is its length */
};

#define HEAP_KIND_MASK 0x03

/*
 * A record is a header, the pointer, and what these flags stand for, in this order: one word each,
 * and at last the caller. Being short, it displaces less of the program's data from the caches.
 */
#define HEAP_HAS_SIZE	   0x04
#define HEAP_HAS_SIGNATURE 0x08 /* of the stack, with --mem=all; 0: none */
#define HEAP_HAS_OLD	   0x10 /* the block that realloc() replaces; 0: it was not recorded */
/* machine_clock() or visits.now_ns, see has_cycles; without one: as before */
#define HEAP_HAS_TIME	0x20
#define HEAP_HAS_NAME	0x40 /* struct heap_name, which the header does not name */
#define HEAP_HAS_CALLER 0x80 /* struct heap_caller, and what follows it */

/* The first word of a record, stored last, at once. `commit` is heap_commit_word(). */
struct heap_header {
	uint32_t commit;
	uint16_t thread; /* index in the `names` of struct heap_all */
	uint8_t kind;	 /* enum heap_record_kind with flags: HEAP_HAS_* */
	uint8_t function;
};

#define HEAP_RECORD_ALIGNMENT 16

static inline uint32_t heap_commit_word(uint64_t position)
{
	/* The upper half counts, too: seldom used parts of the ring hold very old records. */
	return (uint32_t)(position / HEAP_RECORD_ALIGNMENT ^
			  (position >> 32) * UINT64_C(0x9e3779b1) ^ HEAP_COMMIT_KEY);
}

/*
 * The caller of the allocator: registers as after the return. Pieces of an interpreter's memory
 * follow, each with a head, and then the stack.
 */
struct heap_caller {
	uint32_t nr_stack_bytes;  /* from sp on */
	uint32_t nr_script_bytes; /* of all pieces with their heads */
	uint64_t mean;		  /* that the block was sampled with; 0: it was not sampled */
	uint64_t pc, sp, fp, kept[HEAP_KEPT];
};

/* The first piece is the interpreter's state of the thread. */
struct heap_piece {
	uint64_t start, nr_bytes; /* a multiple of 8 */
};

/* The words of a record in front of the caller. */
static inline uint64_t heap_record_words(uint32_t kind)
{
	return 2 + (kind >> 2 & 1) + (kind >> 3 & 1) + (kind >> 4 & 1) + (kind >> 5 & 1) +
	       (kind >> 6 & 1);
}

/* nr_caller_bytes: of what follows struct heap_caller; 0 without a caller. */
static inline uint64_t heap_record_bytes(uint32_t kind, uint64_t nr_caller_bytes)
{
	uint64_t nr_bytes = heap_record_words(kind) * sizeof(uint64_t);

	if (kind & HEAP_HAS_CALLER)
		nr_bytes += sizeof(struct heap_caller) + nr_caller_bytes;
	return (nr_bytes + HEAP_RECORD_ALIGNMENT - 1) & -(uint64_t)HEAP_RECORD_ALIGNMENT;
}

/* A thread that makes records, in the PID namespace of its process. */
struct heap_name {
	int32_t pid, tid;
};

/*
 * The step from a frame to its caller's, found by the frame's return address or pc: the caller's
 * stack pointer is cfa_offset above the frame's stack pointer or frame pointer, and the caller's
 * return address is just below it. profc writes steps, `pc` last.
 */
enum heap_step_flags {
	HEAP_STEP_ROOT = 1, /* there is no caller */
	HEAP_STEP_BY_FP = 2,
	HEAP_STEP_FP_SAVED = 4, /* at that + fp_offset; else the caller's is the same, */
	HEAP_STEP_FP_LOST = 8,	/* or it is unknown */
};

struct heap_step {
	uint64_t pc; /* 0: unused */
	/* The rest is one word, which the blob reads at once. */
	_Alignas(8) int32_t cfa_offset;
	int16_t fp_offset;
	uint16_t flags;
};

#define HEAP_STEPS     (1 << 16)
#define HEAP_PUBLISHED (1 << 18)
#define HEAP_NAMES     (1 << 16)
#define HEAP_PROBES    8 /* adjacent places of a hash table that are tried */
#define HEAP_CODE      64
/*
 * Only parts of the ring that were written use memory. While the reader keeps up, records stay
 * within the first part.
 */
#define HEAP_ALL_RING_BYTES (UINT64_C(256) << 20)
#define HEAP_ALL_PART_BYTES (UINT64_C(16) << 20)

static inline uint64_t heap_hash(uint64_t word)
{
	word *= UINT64_C(0x9e3779b97f4a7c15);
	return word ^ word >> 29;
}

static inline uint64_t heap_stack_owner(uint64_t data, int32_t pid, int32_t tid)
{
	return (heap_hash(data) ^ heap_hash((uint64_t)(uint32_t)pid << 32 | (uint32_t)tid)) | 1;
}

static inline uint64_t heap_stack_check(uint64_t owner, uint64_t low)
{
	return heap_hash(owner ^ heap_hash(low)) | 1;
}

/* With --mem=all this lies in front of struct heap_shared. */
struct heap_all {
	/* Where code is: other words are no return addresses. 0: not known. */
	uint32_t nr_code;
	struct heap_stack code[HEAP_CODE];
	_Alignas(4096) struct heap_step steps[HEAP_STEPS];
	_Alignas(4096) uint64_t published[HEAP_PUBLISHED]; /* signatures of copied stacks */
	uint64_t nr_names;				   /* given out so far, each once */
	struct heap_name names[HEAP_NAMES];		   /* [0] is unused */
	_Alignas(4096) uint8_t ring[HEAP_ALL_RING_BYTES];
	uint8_t end_of_page[0xe000];
};

_Static_assert(sizeof(struct heap_all) % HEAP_PAGE_MAX == 0, "struct heap_shared follows it");

/*
 * A process that ends by itself waits in one of these places until profc has searched its memory,
 * but for some seconds at most: profc may be gone. It spins, as profc stops it soon. A place is 0
 * if it is free, else heap_exit_word(). Releasing the process makes it 0.
 */
#define HEAP_EXITS 16

/* Ids of the process and of its waiting thread, in the PID namespace of the process. */
static inline uint64_t heap_exit_word(int32_t pid, int32_t tid)
{
	return (uint64_t)(uint32_t)tid << 32 | (uint32_t)pid;
}

/* How often the blob has asked, and which process asked last, by its id in its PID namespace. */
struct heap_asked {
	uint64_t nr_stacks, nr_writable, nr_places;
	int32_t writable_pid, places_pid;
};

/* Visits of the reader. */
struct heap_visits {
	uint64_t nr;
	uint64_t now_ns; /* CLOCK_MONOTONIC at the last one, if that is what times are by */
};

struct heap_losses {
	uint64_t nr_dropped; /* allocations that found no room for their record */
	uint64_t nr_frees;   /* frees, likewise */
	uint64_t dropped_bytes, dropped_blocks; /* with --mem=all */
};

/* This lies before the code of the blob, and in most processes after struct heap_shared. */
struct heap_rules {
	_Alignas(64) uint64_t private_address; /* of struct heap_private */
	uint64_t shared_address;	       /* of struct heap_shared */
	uint32_t threads;		       /* enum heap_threads */
	uint32_t has_cycles;		       /* times are machine_clock(), else visits.now_ns */
	uint32_t frees_have_stacks;	       /* frees are recorded with stacks */
	uint32_t is_all;		       /* everything is recorded, in struct heap_all */
	int32_t owner_pid;	/* the process that this was made for, in its PID namespace */
	uint32_t has_own_slots; /* threads may claim slots */
	uint32_t reads_base;	/* programs can read the base of fs */
	uint32_t padding;
	struct heap_hook hooks[HEAP_HOOKS];
	struct heap_code_range codes[HEAP_CODES]; /* unused ones are zero */
};

struct heap_shared {
	_Alignas(64) uint64_t mean; /* may change at any time */
	uint32_t stack_bytes;	    /* most to be copied; may change, too */
	uint32_t is_over;	    /* the reader has ended: do not wait for room */
	uint32_t waits_at_exit;	    /* ending processes wait in `exits` */
	uint64_t exits[HEAP_EXITS];
	struct heap_asked asked;
	uint64_t nr_claimed;	    /* slots that threads have claimed: each is given away once */
	uint64_t used_pages;	    /* of `slots`, a bit each: has a thread used a slot in there? */
	_Alignas(64) uint64_t head; /* position up to which records are reserved */
	_Alignas(64) uint64_t tail; /* position up to which they were read */
	struct heap_visits visits;
	_Alignas(64) struct heap_losses lost;
	_Alignas(64) struct heap_stack_question stacks[HEAP_THREAD_STACKS];
	_Alignas(4096) struct heap_slot slots[HEAP_SLOTS];
	_Alignas(4096) struct heap_own_slot own_slots[HEAP_OWN_SLOTS];
	_Alignas(4096) uint8_t ring[HEAP_RING_BYTES];
	uint8_t end_of_page[0xf000];
};

_Static_assert(sizeof(struct heap_shared) % HEAP_PAGE_MAX == 0, "the code follows it");

#define HEAP_FILTER_BYTES 65536
#define HEAP_SETS	  16384
#define HEAP_SET_WAYS	  8
#define HEAP_THREADS	  8192
#define HEAP_WALKS	  4096
#define HEAP_FRAMES	  128

/* A frame of a walked stack. If these values are unchanged, the walk from it is, too. */
struct heap_walked {
	uint64_t sp, pc, fp;
	uint64_t fp_at;	    /* where the walk read fp; 0: it is that of the frame below */
	uint64_t uses_fp;   /* the walk from here on depends on fp */
	uint64_t signature; /* of this frame and all of its callers */
};

/*
 * A thread, by the address of its data. Only the thread and its signal handlers write here, and
 * profc to `ended`.
 */
struct heap_thread {
	uint64_t data; /* 0: free */
	int64_t tid;
	int64_t in_flight;
	uint64_t inside_sp;		 /* as in struct heap_private */
	uint64_t readable, readable_end; /* the part of its stack that is known to be readable */
	uint64_t is_walking;
	uint64_t stamped_at;	/* time of its last record that has one, */
	uint64_t stamped_visit; /* and visits.nr then */
	uint64_t stride, left;	/* records that share a time; how many of them are to come */
	uint64_t name;		/* index in the `names` of struct heap_all; 0: none */
	uint64_t walk;		/* index + 1 in `walks`, which it keeps; 0: none was left */
	uint64_t claim;		/* number of the owner: no two owners have the same */
	uint64_t ended;		/* the claim of an owner that profc saw ended: the place is free */
	uint64_t padding;
};

/*
 * Asking the processor for the time takes as long as the rest of a record. A thread with records
 * less than HEAP_DENSE_TIME apart, in units of the clock, asks for each 16th only, or once the
 * reader has visited again, which it does some hundred times a second.
 */
#define HEAP_STRIDE 16

#define HEAP_MEMO	  64
#define HEAP_RECENT_LOG2  6
#define HEAP_RECENT_WORDS 29

struct heap_word {
	uint64_t at, is;
};

/* A signed stack, with all words that a walk to its outermost frame would read. */
struct heap_recent {
	uint64_t sp, pc, fp;
	uint64_t end;	    /* the outermost frame's stack pointer */
	uint64_t signature; /* 0: unused */
	uint32_t nr_words;
	uint16_t uses_fp, is_published;
	struct heap_word words[HEAP_RECENT_WORDS];
};

/* The caches of a thread's stacks: see the table in heap_walk_blob.c. */
struct heap_walk {
	uint64_t memo[HEAP_MEMO];
	uint64_t nr_last;     /* the outermost frame is last_walk[0] */
	uint64_t last_recent; /* index of the entry of `recent` that was used last */
	struct heap_walked last_walk[HEAP_FRAMES];
	struct heap_walked next[HEAP_FRAMES]; /* the stack being walked */
	struct heap_recent recent[1 << HEAP_RECENT_LOG2];
};

/* Smaller ids are found by chance anywhere in the data of threads. */
#define HEAP_ID_MIN 1000

/*
 * Facts about a process, written by profc as answers, or learned by the blob. A forked child begins
 * with a copy.
 */
struct heap_known {
	uint64_t mark;	/* profc checks it before it writes here */
	int32_t tid_at; /* offset of a thread's id from its data; 0: not known yet */
	uint32_t padding;
	uint64_t main_data; /* the main thread's data; 0: not known */
	/*
	 * The main thread's stack: from the lowest address it may grow to, up to the stack pointer
	 * at the start of the program, above which nothing is copied. Zeros: not known.
	 */
	struct heap_stack main_stack;
	struct heap_writable writable; /* few: all so far lies in one page */
	struct heap_stack_answer stacks[HEAP_THREAD_STACKS];
	struct heap_mapped mapped[HEAP_MAPPED_MAX]; /* the blob's own notes */
	uint64_t nr_mapped;			    /* that it has made */
	struct frame_links links;		    /* its root is written last */
};

/*
 * Memory of one process. A forked child begins with zeros, which are right for it, and with a copy
 * of `known`.
 */
struct heap_private {
	uint64_t owners[PATCH_OWNERS_BYTES / sizeof(uint64_t)]; /* of own_slots: see owners.h */
	/* Number of sampled pointers by their bits 4 to 19; 255: as many or more. */
	uint8_t filter[HEAP_FILTER_BYTES];
	uint64_t sets[HEAP_SETS][HEAP_SET_WAYS];
	int64_t in_flight; /* threads in the blob */
	/*
	 * Id of the process in its PID namespace. A forked child stores the id of its first thread
	 * that comes here, which nearly always is the forked one. 0: none has come yet. Negative:
	 * the child was not made by the C library's fork(), so its threads do not know their ids.
	 */
	int64_t pid;
	uint64_t nr_walks;	/* given out so far */
	uint64_t nr_claims;	/* of places in `threads` */
	uint64_t given_up_at;	/* tail + 1 when a thread gave up waiting for room; 0: never */
	uint64_t nr_remembered; /* pointers in `sets` */
	/*
	 * Stack pointers of threads inside a hooked function, by a hash of the address; 0: none.
	 * Threads are told apart by their stacks alone, as some programs' have no other sign.
	 */
	uint64_t inside_sp[HEAP_INSIDE_PLACES];
	uint64_t padding[506];
	/* With --mem=all: */
	struct heap_thread threads[HEAP_THREADS];
	struct heap_walk walks[HEAP_WALKS];
	uint64_t end_of_page[2560];
	_Alignas(4096) struct heap_known known; /* which children inherit */
};

_Static_assert(offsetof(struct heap_private, known) % HEAP_PAGE_MAX == 0, "the rest is cleared");

/*
 * The registers that the stub saves, below the caller's stack. A search of the thread's stack
 * finds the marker, the word's own address ^ HEAP_MARKER_KEY, while the thread is inside. All
 * registers are here, as callers of a function that is not exported may keep values in any.
 */
struct heap_frame {
	uint64_t marker;
	uint64_t jump; /* where the stub jumps in the end; 0: it returns */
	uint64_t scratch[HEAP_SCRATCH];
	uint64_t arguments[HEAP_ARGUMENTS];
	uint64_t kept[HEAP_KEPT];
	uint64_t fp, pc; /* a frame record: the stack is walked by it, as the blob has no CFI */
};

/*
 * The generated code passes to the stub: a word with the hook's number and these flags; and if it
 * has counted, the address of the slot in scratch[HEAP_SCRATCH_SLOT], and as its result the
 * countdown before that; or, if the slot is the thread's own, what was added to it.
 */
#define HEAP_STUB_COUNTED   1 /* the allocation is in the countdown */
#define HEAP_STUB_FRAMED    2 /* always the long way: it may call hooked functions */
#define HEAP_STUB_HOOK_LOG2 2

/* Words of the caller's stack that may be arguments beyond those in registers. */
#define HEAP_STACK_ARGUMENTS 16

#endif
