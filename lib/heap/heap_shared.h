/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What profc and its code at the allocator of a process share. This file is compiled into both: the
 * layout is what the generated code and the blob know by offsets.
 *
 * A process and the children that it forks write to the same memory, and a child may have given up
 * rights that its parent has. So there are three kinds of memory:
 *	struct heap_rules	controls our code, and is sealed: no process can write to it;
 *	struct heap_private	belongs to one process; a forked child gets its own;
 *	struct heap_shared	and struct heap_all may hold any value.
 * Our code reads each shared word once, and checks it before it uses it as an address or a bound.
 *
 * Of allocations one is taken for each `mean` bytes, at random: a countdown of bytes is drawn from
 * an exponential distribution, and the allocation that brings it below zero is the one. As such a
 * process has no memory, an interval may be thrown away and drawn anew at any time.
 *
 * Or all are recorded, and all that is freed. To copy a stack takes longer than to allocate: so our
 * code walks it, by steps that profc has put down for each return address, and records a signature
 * of all return addresses. Where a step is missing, as all are at first, the signature is of all
 * that a walk can come by: the words that lead to code, or into the stack, and where they stand.
 * The stack itself is copied when a signature is met for the first time.
 */
#ifndef PROFC_HEAP_HEAP_SHARED_H
#define PROFC_HEAP_HEAP_SHARED_H

#include <stdint.h>

/* What an allocator's function is: its arguments are in struct heap_form. */
enum heap_function {
	HEAP_MALLOC, /* NULL if it fails, as of all that say nothing else */
	HEAP_CALLOC,
	HEAP_REALLOC,
	HEAP_REALLOCARRAY,
	HEAP_MEMALIGN,
	HEAP_POSIX_MEMALIGN,
	HEAP_VALLOC, /* of pvalloc() what was asked for counts */
	HEAP_NEW,    /* throws an exception if it fails */
	HEAP_NEW_ALIGNED,
	HEAP_NEW_NOTHROW_ALIGNED,
	HEAP_FREE, /* also operator delete */
	/* Named by a user: of these nothing is known but what the form says. */
	HEAP_POOL,
	HEAP_POOL_FREE,
	/* mmap() and its like. All are recorded, where a program calls them itself. */
	HEAP_MAP,
	HEAP_UNMAP,
	HEAP_REMAP,
	HEAP_EXIT, /* ends the process, as _exit(2) */
	HEAP_FUNCTION_COUNT,
};

/* A number of an argument with this has 32 bits: what is above them in the register means nothing.
 */
#define HEAP_ARGUMENT_INT 0x80
#define HEAP_ARGUMENTS	  6 /* that are in registers */

/*
 * What a function does with memory: by which of its arguments, from 1 on; 0: it has none such. It
 * allocates `count` (1) blocks of `size`, or of `bytes`, in place of that at `pointer`, if one
 * is there; or, with a pointer only, frees it.
 */
struct heap_form {
	uint64_t bytes;
	uint32_t function; /* enum heap_function */
	uint8_t size, count, pointer;
	uint8_t out; /* where the pointer is stored; the function returns 0. 0: it returns it */
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
 * A countdown has the bytes that are left, less one 2^-24 of a byte for each allocation. The upper
 * four bits, beyond the number's own sign, count down while a thread is in a function that may call
 * another one that is hooked: all allocations of the slot take the long way then, where those are
 * recognised that are part of another.
 */
#define HEAP_COUNT_LOG2	    24
#define HEAP_COUNT_MASK	    ((INT64_C(1) << HEAP_COUNT_LOG2) - 1)
#define HEAP_INSIDE	    (INT64_C(1) << 60)
#define HEAP_COUNTDOWN_BITS 60
/* Sizes from here on, and intervals, would not fit into it. */
#define HEAP_SIZE_LOG2	  34
#define HEAP_INTERVAL_MAX ((INT64_C(1) << HEAP_SIZE_LOG2) - 1)
/* So that an allocation which does not fit is taken nearly always: not but once in 10^7. */
#define HEAP_MEAN_MAX (UINT64_C(1) << 30)

/* The bytes that are left, and the allocations since it was drawn. */
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

/*
 * Threads are spread over slots by the address of their data (the word at fs:0). given_bytes less
 * what the countdown has left is what was allocated.
 */
enum heap_threads {
	HEAP_THREADS_BY_DATA, /* the word at fs:0, which is there for all threads */
	HEAP_THREADS_BY_BASE, /* fs itself: it may still be 0; the processor lets programs read it
			       */
	HEAP_THREADS_AS_ONE,  /* neither: all use the first slot */
};

struct heap_slot {
	int64_t countdown;
	uint64_t given_bytes;
	uint64_t nr_allocations; /* but for those in the countdown */
	uint64_t random;	 /* state; 0: unused */
	uint64_t mean;		 /* by which the countdown was drawn; 0: never */
	uint64_t inside_sp;	 /* stack pointer of a thread that is inside; 0: none */
	uint64_t inside_data;	 /* which thread that is, by its data */
	uint64_t padding;
};

#define HEAP_SLOT_LOG2	6
#define HEAP_SLOTS	1024
#define HEAP_HOOKS	128
#define HEAP_STACK_MAX	(64 << 10)
#define HEAP_RING_BYTES (UINT64_C(4) << 20)
#define HEAP_COMMIT_KEY UINT64_C(0x7e57a11c)
#define HEAP_MARKER_KEY UINT64_C(0x70f1c0de0f5a6e51)

static inline int heap_maps(const struct heap_form *form)
{
	return form->function == HEAP_MAP || form->function == HEAP_UNMAP ||
	       form->function == HEAP_REMAP;
}

/* A function of an allocator that leads to our code. */
struct heap_hook {
	uint64_t original; /* its first instructions, and on: callable */
	uint64_t plain;	   /* of the same allocator what does the same and returns NULL; or 0 */
	struct heap_form form;
};

/* Memory. */
struct heap_stack {
	uint64_t start, end;
};

/*
 * A thread that is not the main one has its stack below its data, in the same mapping: as far as
 * profc has found that all pages between are there, it may be read. The thread asks for that, by
 * its stack pointer; several may write here at once. profc writes the answer to the same index of
 * `stacks` in struct heap_known.
 */
struct heap_stack_question {
	uint64_t data;	  /* of the thread; 0: free */
	int32_t pid, tid; /* as the process sees itself */
	uint64_t wanted;  /* from here on, a whole page */
	/* The last answer: only profc reads this. */
	uint64_t answered_owner, answered_low;
	uint64_t padding[3];
};

/* `check` is heap_stack_check(): it proves for which thread the answer is, and that it is whole. */
struct heap_stack_answer {
	uint64_t check, low;
};

#define HEAP_THREAD_STACKS 4096

/* Memory that may be written to, sorted, while `version` is even and stays so. */
#define HEAP_WRITABLE_MAX 1024

struct heap_writable {
	uint64_t version;
	uint64_t nr;
	struct heap_stack ranges[HEAP_WRITABLE_MAX];
};

/* Code that maps memory for what it hands out, or that nobody has asked for: as the C library. */
struct heap_code_range {
	uint64_t start, end;
};

#define HEAP_CODES 16

enum heap_record_kind {
	HEAP_RECORD_ALLOCATION,
	HEAP_RECORD_FREE, /* is about to be freed: before another thread may be given it. Of a
			     range that is unmapped it has the size */
	HEAP_RECORD_KEPT, /* by a realloc() that failed: the record of its freeing was untrue */
	HEAP_RECORD_SKIP, /* up to the end of the ring */
	HEAP_RECORD_KIND_COUNT,
};

/*
 * What a record begins with, written as one word when all else is there: `commit` is the lower half
 * of heap_commit_word().
 */
struct heap_header {
	uint32_t commit;
	uint16_t thread; /* of a brief one: its place in the `names` of struct heap_all */
	uint8_t kind;	 /* enum heap_record_kind; of a brief one with enum heap_brief_flags */
	uint8_t function;
};

#define HEAP_RECORD_ALIGNMENT 16

static inline uint32_t heap_commit_word(uint64_t position)
{
	/* In parts of the ring that are seldom used records may be very old. */
	return (uint32_t)(position / HEAP_RECORD_ALIGNMENT ^
			  (position >> 32) * UINT64_C(0x9e3779b1) ^ HEAP_COMMIT_KEY);
}

/* In the ring. */
struct heap_ring_record {
	struct heap_header header;
	uint32_t nr_bytes;
	uint8_t was_sampled; /* an allocation by realloc(): what it was given was recorded */
	int32_t pid, tid;
	uint64_t time; /* by the clock of struct heap_shared; 0: as of the one before it */
	uint64_t pointer, size;
	uint64_t signature; /* of the stack, where all are recorded; 0: none */
	uint64_t old, mean;
	/* Of the caller, as it will be when the function returns. */
	uint64_t rbx, rbp, rsp, r12, r13, r14, r15, rip;
	uint64_t nr_stack_bytes; /* from rsp on, behind this */
};

/*
 * The same where all is recorded, without a stack, as most are: what a program loses is the memory
 * that goes through its caches. The header and the pointer, then, one word each, in this order,
 * what there is of:
 */
enum heap_brief_flags {
	HEAP_BRIEF_SIZE = 0x08,
	HEAP_BRIEF_SIGNATURE = 0x10,
	HEAP_BRIEF_OLD = 0x20, /* which was recorded */
	HEAP_BRIEF_TIME = 0x40,
	HEAP_BRIEF = 0x80, /* always */
};

#define HEAP_BRIEF_WORDS_MAX 6
#define HEAP_KIND_MASK	     0x07

static inline uint64_t heap_brief_bytes(uint32_t kind)
{
	uint64_t nr_words =
		2 + (kind >> 3 & 1) + (kind >> 4 & 1) + (kind >> 5 & 1) + (kind >> 6 & 1);

	return (nr_words * 8 + HEAP_RECORD_ALIGNMENT - 1) & -(uint64_t)HEAP_RECORD_ALIGNMENT;
}

/* Who makes records, as the process sees itself. */
struct heap_name {
	int32_t pid, tid;
};

/*
 * From a frame to its caller's, by the return address that leads into it: the caller's stack
 * pointer is that of the frame, or the frame pointer, and so much more; just below it is the next
 * return address. Filled in by profc, `pc` last.
 */
enum heap_step_flags {
	HEAP_STEP_ROOT = 1, /* there is no caller */
	HEAP_STEP_BY_FP = 2,
	HEAP_STEP_FP_SAVED = 4, /* at fp_offset from there; else it is the caller's, too, */
	HEAP_STEP_FP_LOST = 8,	/* or not known */
};

struct heap_step {
	uint64_t pc; /* 0: none */
	/* The rest is one word, which our code reads in one go. */
	_Alignas(8) int32_t cfa_offset;
	int16_t fp_offset;
	uint16_t flags;
};

#define HEAP_STEPS     (1 << 16)
#define HEAP_PUBLISHED (1 << 18)
#define HEAP_NAMES     (1 << 16)
#define HEAP_PROBES    8 /* places next to each other that one may be at */
#define HEAP_CODE      64
/*
 * Of the ring memory is used only where something was written: while the reader keeps up, it goes
 * around in the first part.
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

/* In front of struct heap_shared where all is recorded. */
struct heap_all {
	/* Where code is: what does not point there is no return address. 0: not known. */
	uint32_t nr_code;
	struct heap_stack code[HEAP_CODE];
	_Alignas(4096) struct heap_step steps[HEAP_STEPS];
	_Alignas(4096)
		uint64_t published[HEAP_PUBLISHED]; /* signatures of stacks that were copied */
	uint64_t nr_names; /* that were given away; never more than so many, once each */
	struct heap_name names[HEAP_NAMES]; /* [0]: nobody */
	_Alignas(4096) uint8_t ring[HEAP_ALL_RING_BYTES];
};

/*
 * A process that ends by itself waits in one of so many places until its memory was searched, and
 * no longer than some seconds: profc may be gone. It spins, for profc stops it soon. 0: free; else
 * heap_exit_word(), which whoever lets it go makes 0.
 */
#define HEAP_EXITS 16

/* As the process sees itself, and the thread of it that waits. */
static inline uint64_t heap_exit_word(int32_t pid, int32_t tid)
{
	return (uint64_t)(uint32_t)tid << 32 | (uint32_t)pid;
}

/* How often our code asked, and the process that asked last, by the id it has for itself. */
struct heap_asked {
	uint64_t nr_stacks, nr_writable, nr_places;
	int32_t writable_pid, places_pid; /* the last */
};

/* Of the reader. */
struct heap_visits {
	uint64_t nr;
	uint64_t now_ns; /* CLOCK_MONOTONIC, as of the last one; if that is what times are by */
};

struct heap_losses {
	uint64_t nr_dropped; /* allocations that were to be recorded: there was no room */
	uint64_t nr_frees;   /* and what was freed, likewise */
	uint64_t dropped_bytes, dropped_blocks; /* where all are recorded */
};

/* This lies between struct heap_shared and our code. */
struct heap_rules {
	_Alignas(64) uint64_t private_address; /* of struct heap_private */
	uint32_t threads;		       /* enum heap_threads */
	uint32_t has_cycles;	    /* times are the processor's (rdtsc), else visits.now_ns */
	uint32_t frees_have_stacks; /* who frees is recorded, too */
	uint32_t is_all;	    /* all is recorded, in struct heap_all */
	int32_t owner_pid;	    /* of the process that this was made for, as it sees itself */
	uint32_t padding;
	struct heap_hook hooks[HEAP_HOOKS];
	struct heap_code_range codes[HEAP_CODES]; /* the rest is zero */
};

struct heap_shared {
	_Alignas(64) uint64_t mean; /* may change at any time */
	uint32_t stack_bytes;	    /* to be copied at most, likewise */
	uint32_t is_over;	    /* nobody reads any more: a full ring is not waited for */
	uint32_t waits_at_exit;	    /* whoever ends is to wait in `exits` */
	uint64_t exits[HEAP_EXITS];
	struct heap_asked asked;
	_Alignas(64) uint64_t head; /* position up to which records are reserved */
	_Alignas(64) uint64_t tail; /* up to which they were read */
	struct heap_visits visits;
	_Alignas(64) struct heap_losses lost;
	_Alignas(64) struct heap_stack_question stacks[HEAP_THREAD_STACKS];
	_Alignas(4096) struct heap_slot slots[HEAP_SLOTS];
	_Alignas(4096) uint8_t ring[HEAP_RING_BYTES];
};

#define HEAP_FILTER_BYTES 65536
#define HEAP_SETS	  16384
#define HEAP_SET_WAYS	  8
#define HEAP_THREADS	  8192
#define HEAP_WALKS	  4096
#define HEAP_FRAMES	  128

/* A frame of a stack that was walked, and what must be as it was for it to be walked alike. */
struct heap_walked {
	uint64_t sp, pc, fp;
	uint64_t fp_at;	    /* where the walk has read fp; 0: it was as in the frame below */
	uint64_t uses_fp;   /* so does the walk from here on */
	uint64_t signature; /* of this frame and all of its callers */
};

/*
 * A thread, by the address of its data. Only that one writes here, and handlers of signals on top
 * of it.
 */
struct heap_thread {
	uint64_t data; /* 0: free */
	int64_t tid;
	int64_t in_flight;
	uint64_t inside_sp;		 /* as in struct heap_slot */
	uint64_t readable, readable_end; /* of its stack, as far as that is known */
	uint64_t is_walking;
	uint64_t stamped_at;	/* the time of its last record that has one, */
	uint64_t stamped_visit; /* and nr_visits then */
	uint64_t stride, left;	/* so many records share a time; of them, how many are to come */
	uint64_t name;		/* its place in the `names` of struct heap_all; 0: none */
	uint64_t walk;	/* one more than its place in `walks`, which it keeps; 0: none was left */
	uint64_t claim; /* number of the owner: no two owners have the same */
	uint64_t ended; /* set by profc to the claim of a dead owner: the place is free then */
	uint64_t padding;
};

/*
 * To ask the processor for the time takes as long as a record's other half. A thread that makes
 * records faster than one in so many units of the clock does so for each 16th, or if the reader has
 * come by meanwhile, which it does some hundred times a second.
 */
#define HEAP_DENSE_TIME 1024
#define HEAP_STRIDE	16

#define HEAP_MEMO	  64
#define HEAP_RECENT_LOG2  6
#define HEAP_RECENT_WORDS 29

struct heap_word {
	uint64_t at, is;
};

/* A stack that was signed, and all words that a walk would read on its way to the outermost frame.
 */
struct heap_recent {
	uint64_t sp, pc, fp;
	uint64_t end;	    /* the outermost frame's stack pointer */
	uint64_t signature; /* 0: nothing is here */
	uint32_t nr_words;
	uint16_t uses_fp, is_published;
	struct heap_word words[HEAP_RECENT_WORDS];
};

/* The caches of a thread's stacks: see the table in heap_walk_blob.c. */
struct heap_walk {
	uint64_t memo[HEAP_MEMO];
	uint64_t nr_last;     /* the outermost frame is last_walk[0] */
	uint64_t last_recent; /* the one of `recent` that was found or made last */
	struct heap_walked last_walk[HEAP_FRAMES];
	struct heap_walked next[HEAP_FRAMES]; /* the stack that is being walked */
	struct heap_recent recent[1 << HEAP_RECENT_LOG2];
};

/*
 * Facts about a process, written by profc as answers, or learned by our code. A forked child begins
 * with a copy.
 */
struct heap_known {
	uint64_t mark;	 /* profc checks it before it writes here */
	uint32_t tid_at; /* of a thread's data, its id. 0: not known yet; our code may find it */
	uint32_t padding;
	uint64_t main_data; /* of the main thread; 0: not known */
	/*
	 * The main thread's stack: the lowest address it may grow to, and where the program began,
	 * which is the end of what may be copied. All zero: not known.
	 */
	struct heap_stack main_stack;
	struct heap_stack_answer stacks[HEAP_THREAD_STACKS];
	struct heap_writable writable;
};

/*
 * The sampled pointers of one process: a child that is forked begins without any, and all zero is
 * right for it.
 */
struct heap_private {
	uint8_t filter[HEAP_FILTER_BYTES]; /* by bits 4 to 19: how many, 255 for more */
	uint64_t sets[HEAP_SETS][HEAP_SET_WAYS];
	int64_t in_flight; /* threads in the blob */
	/*
	 * Of the process, as it sees itself. Of a forked child the id of the first thread that came
	 * here, which nearly always is the one that was forked. 0: none did yet; negative: of a
	 * child that was not made by the C library's fork(), whose threads do not know their ids.
	 */
	int64_t pid;
	uint64_t nr_walks;	/* that were given away */
	uint64_t nr_claims;	/* of places in `threads` */
	uint64_t given_up_at;	/* one more than the tail when records were lost */
	uint64_t nr_remembered; /* pointers in `sets` */
	uint64_t padding[506];
	/* Where all is recorded: */
	struct heap_thread threads[HEAP_THREADS];
	struct heap_walk walks[HEAP_WALKS];
	_Alignas(4096) struct heap_known known; /* which children inherit */
};

/*
 * What the stub has pushed; the caller's stack is behind it. The first word tells that a thread is
 * inside, to whoever searches its stack: it is the word's own address ^ HEAP_MARKER_KEY. All
 * registers are in it: those who call a function that is not exported may keep values in any.
 */
struct heap_frame {
	uint64_t marker;
	uint64_t jump; /* where the stub goes to, when all is as it was */
	uint64_t r11, r10, rax;
	uint64_t arguments[HEAP_ARGUMENTS]; /* rdi, rsi, rdx, rcx, r8, r9 */
	uint64_t rbx, r12, r13, r14, r15;
	uint64_t rbp, rip; /* a frame record: by those the stack is walked, as there is no CFI */
};

/*
 * For the stub: a word with the hook's number and how the generated code came to it, so far below
 * the stack pointer, where signals leave it alone; and in rax the countdown as it was before, if it
 * has counted.
 */
#define HEAP_STUB_WORD_BELOW 24
#define HEAP_STUB_COUNTED    1 /* the countdown has counted it */
#define HEAP_STUB_FRAMED     2 /* always: it may call others that are hooked */
#define HEAP_STUB_HOOK_LOG2  2

/* Of the caller's stack, words that may be arguments beyond those in registers. */
#define HEAP_STACK_ARGUMENTS 16

#endif
