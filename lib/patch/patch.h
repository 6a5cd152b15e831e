/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a probe: what to write over the first instructions of a function, or over a call,
 * so that each pass adds one to a counter and nothing else than the flags changes. Nothing here
 * touches a process.
 */
#ifndef PROFC_PATCH_PATCH_H
#define PROFC_PATCH_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct branches;

/* Code of ours that will stand at `address` in the process, a multiple of 16; it grows. */
struct code_area {
	uint64_t address;
	uint8_t *bytes; /* borrowed */
	size_t nr_bytes, cap_bytes;
};

enum patch_outcome {
	PATCH_OK,
	PATCH_TOO_SHORT,
	PATCH_JUMPED_INTO,
	PATCH_LOOPS_TO_ENTRY,
	PATCH_UNKNOWN_CODE,
	PATCH_INDIRECT_JUMP,
	PATCH_INDIRECT_CALL,
	PATCH_NO_FIXED_FORM, /* an instruction that would do something else in another place */
	PATCH_OUT_OF_REACH,
	PATCH_NO_ROOM,	    /* the area is full */
	PATCH_BEHIND_ENTRY, /* a call among the instructions that an entry's probe has moved */
	PATCH_DIFFERS_FROM_FILE,
	PATCH_UNLOADED,	     /* its memory was there a moment ago */
	PATCH_SAMPLED_BELOW, /* of an allocator: what it calls has a probe, or must have one */
	PATCH_THROWS,	     /* likewise, and an exception would come by us */
	PATCH_NOT_FREED,     /* likewise, and its blocks would pass for leaks */
	PATCH_LOADED_LATER,  /* of a pool: calls of the allocator below are known apart from it */
	PATCH_UNSUPPORTED,
	PATCH_OUTCOME_COUNT,
};

/* Why there is no probe, in words for a user, to stand behind "NAME: ". */
const char *patch_outcome_text(enum patch_outcome outcome);

enum patch_kind {
	PATCH_ENTRY,
	PATCH_CALL,	     /* a direct call */
	PATCH_CALL_GOT,	     /* a call through a word at a fixed place, as the GOT has them */
	PATCH_CALL_INDIRECT, /* any other: patch_call() refuses it */
	PATCH_CALL_JUMP,     /* a jump to another function, or to a part of this one: likewise */
	PATCH_EXIT,	     /* a way out of a function: a return, or a jump to another */
};

/* At most: four bytes of short instructions and one of 15, the longest there is. */
#define PATCH_MAX_BYTES 19
#define PATCH_MAX_STEPS 12
/* What is skipped at a function's beginning, as the program may patch it. */
#define PATCH_SLED_MAX_BYTES 32
/* rax, rcx and rdx, in this order: what thunks save on the stack. */
#define PATCH_MAX_PUSHED 3

/* An instruction of a thunk, and where the program would stand when it is the next. */
struct patch_step {
	uint8_t offset;	       /* in the thunk */
	uint8_t window_offset; /* from patch.address on, if is_callee is false */
	bool is_callee;	       /* at the first instruction of what is called */
};

/* What to write where; the thunk is in the area. A plain value. */
struct patch {
	enum patch_kind kind;
	uint64_t address; /* of the first byte that changes */
	uint8_t nr_bytes;
	uint8_t old[PATCH_MAX_BYTES];
	uint8_t new[PATCH_MAX_BYTES];
	uint64_t thunk; /* address */
	uint16_t nr_thunk_bytes;
	/* Of the call that is patched, or that is the last instruction of the window. */
	enum patch_callee {
		PATCH_CALLEE_NONE,
		PATCH_CALLEE_DIRECT,  /* `callee` */
		PATCH_CALLEE_IN_WORD, /* its address is in the word at `callee` */
		PATCH_CALLEE_UNKNOWN, /* in a register, or where one points */
	} callee_kind;
	uint64_t callee;
	/* In the thunk: a word lies on the stack from there to there. */
	uint8_t pushed_from[PATCH_MAX_PUSHED], pushed_to[PATCH_MAX_PUSHED];
	bool ends_with_syscall; /* which the kernel may start again */
	bool is_in_sled;	/* where the program may put a patch of its own */
	uint8_t nr_steps;
	struct patch_step steps[PATCH_MAX_STEPS]; /* by offset */
};

/*
 * A gate is a function: what is counted within it counts only while its thread is inside. Which
 * threads are is in a table of the process, see gate.h.
 */
enum patch_pass {
	PATCH_COUNT,	    /* each pass counts */
	PATCH_COUNT_WITHIN, /* those of threads that are inside of the gate */
	PATCH_ENTER,	    /* the thread enters the gate, unless it is inside; each counts */
	PATCH_LEAVE,	    /* not counted: who entered it from here, or from below, is outside */
};

/*
 * Where a pass is counted. With more than one shard, threads are spread over copies of the counters
 * by the address of their own data (the word at fs:0), so that they do not wait for each other.
 */
struct patch_counter {
	uint64_t address; /* one shard: of its eight bytes */
	uint64_t
		base_word; /* more: of a word with the address of the first copy of all counters, */
	uint32_t offset;   /* in which it is there */
	uint32_t nr_shards;  /* a power of two, at most 2^16 */
	uint32_t shard_log2; /* of the bytes of a copy */
	enum patch_pass pass;
	uint64_t gate_word; /* but for PATCH_COUNT: of a word with the address of the table, */
	uint64_t missed;    /* and of a counter of those who found no room in it */
};

struct patch_function {
	uint64_t address;
	uint64_t nr_bytes; /* 0: not known */
	uint64_t bias;	   /* of `address` against the addresses of branches */
	/* From `address` on, the function and what follows: at least 64 where they are mapped. */
	const uint8_t *bytes;
	size_t nr_readable;
};

/*
 * A probe at a function's entry, behind an endbr64, and behind bytes that do nothing and are there
 * for the program itself to patch, if there is room behind them: a jump over the first whole
 * instructions of five bytes or more, into a thunk that counts, does what they did, and jumps back.
 * Padding behind the function may be used. Branches are those of the whole module, sorted. The
 * counter, eight bytes, is within 2 GiB of the area. Unless the outcome is PATCH_OK nothing is
 * written.
 *
 * `bytes` are those that will stand there when it is put in. So a call among the first ones may
 * have a probe as well if that is in them already, and is taken away after this one; what stands
 * for a pc in this thunk is then perhaps in that one.
 *
 * With a callee_kind other than NONE the thunk pushes a return address without a call, which a
 * thread with a shadow stack must not do.
 */
enum patch_outcome patch_entry(struct patch *patch, const struct patch_function *function,
			       const struct branches *branches, struct code_area *area,
			       const struct patch_counter *counter);

/*
 * A probe at the call that stands at `address`: what a call to a fixed place leads to becomes a
 * thunk that counts and jumps on. `bytes` are the instruction and what follows, as far as it
 * can be read. Unless the outcome is PATCH_OK nothing is written.
 */
enum patch_outcome patch_call(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_readable, struct code_area *area,
			      const struct patch_counter *counter);

/*
 * Does whoever passes the probe at an entry make the call at that address? So where it is among the
 * instructions that were moved and no branch comes before it: its count is that of the entry.
 */
bool patch_always_calls(const struct patch *patch, uint64_t call);

/*
 * A probe at a way out of a function, with the instructions before it that there is no other way
 * to: the window is theirs, and of padding behind the way out perhaps, five bytes or more, as
 * gate_exits_find() chooses it. `exit_at` is the offset of the return, or jump. The pass is
 * PATCH_LEAVE, unless it is a branch that is not taken.
 */
enum patch_outcome patch_exit(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_bytes, size_t exit_at, struct code_area *area,
			      const struct patch_counter *counter);

/*
 * The calls in some code, in order; jumps to other functions are none. To begin, fill in the first
 * four and leave the others zero.
 */
struct patch_calls {
	uint64_t address;
	const uint8_t *bytes; /* borrowed */
	size_t nr_bytes;
	bool with_jumps; /* that lead out of the code, too: the last call of a function may be one
			  */
	size_t at;	 /* what was looked at */
	/*
	 * Something was met that is no instruction: code and data are mixed, and what looks like a
	 * call from there on is one only if its callee is known for a function, or a PLT's entry.
	 */
	bool has_unknown;
};

struct patch_call_site {
	uint64_t address;
	uint8_t nr_bytes; /* the return address is behind them */
	enum patch_kind kind;
	/* CALL: its address. CALL_GOT: that of the word. JUMP: its target, if known. Otherwise 0 */
	uint64_t callee;
	const uint8_t *bytes;
};

/* False: there are no more. */
bool patch_calls_next(struct patch_calls *calls, struct patch_call_site *site);

enum patch_place {
	PATCH_ELSEWHERE = 0, /* not in this thunk */
	/* *original is the instruction, and all registers and the stack are as there. */
	PATCH_AT,
	/* The same, but the instruction's address is in the word at *original. */
	PATCH_AT_WORD,
	/*
	 * Not so: the call at *original has pushed its return address already, and where it leads
	 * is in a register or where one points. It is for samples; who takes the thunk away must
	 * let the thread go on by one instruction before.
	 */
	PATCH_AT_CALL,
};

/*
 * Where the program stands when a thread's pc is in the thunk, for samples and for going on there
 * once the old bytes are back. At the thunk's beginning that is the function's, or the callee's.
 */
enum patch_place patch_original_pc(const struct patch *patch, uint64_t pc, uint64_t *original);

/* How many words has the thunk pushed, where pc is? By so much the stack pointer is too low. */
unsigned int patch_nr_pushed(const struct patch *patch, uint64_t pc);

/*
 * Where a thread, or what a signal interrupted, must go on whose pc is within bytes that change;
 * false: where it is. At the first of these bytes it needs not move, as what stands there then does
 * what is right. It must behind the last one if the kernel may go back by a system call from there.
 */
bool patch_moved_pc(const struct patch *patch, uint64_t pc, uint64_t *moved);

#endif
