/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a probe: they replace the first instructions of a function, or a call, so that each
 * pass adds one to a counter, and changes nothing else but the flags. Nothing here touches a
 * process.
 */
#ifndef PROFC_PATCH_PATCH_H
#define PROFC_PATCH_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "patch/owners.h"
#include "patch/patch_machine.h"

struct branches;

/* Our code, which will be at `address` in the process, a multiple of 16. It grows. */
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
	PATCH_NO_FIXED_FORM, /* an instruction that has another meaning in another place */
	PATCH_OUT_OF_REACH,
	PATCH_NO_ROOM,	    /* the area is full */
	PATCH_BEHIND_ENTRY, /* a call among the instructions that an entry's probe has moved */
	PATCH_TAKEN,	    /* likewise anything else, and of any probe */
	PATCH_NO_NOP,
	PATCH_SKIPPED,	     /* of a static probe: its nop, on the way to the jump after it */
	PATCH_OTHER_WORD,    /* likewise: its semaphore */
	PATCH_CHANGED_LATER, /* likewise: by the kernel, for uprobes of other tools */
	PATCH_PAD_TAKEN,     /* of a static probe: the memory to which its jump would lead */
	PATCH_DIFFERS_FROM_FILE,
	PATCH_UNLOADED,	     /* its memory was there a moment before */
	PATCH_SAMPLED_BELOW, /* of an allocator: its callee has a probe, or must have one */
	PATCH_THROWS,	     /* likewise: an exception would pass our frame */
	PATCH_NOT_FREED,     /* likewise: its blocks would look leaked */
	PATCH_LOADED_LATER,  /* of a pool: the allocator that it uses is recorded already */
	PATCH_INCOMPLETE,    /* of an interpreter's pool: another of its functions has no probe */
	PATCH_OTHER_POINTER, /* a word that the program has made to lead elsewhere */
	PATCH_UNSUPPORTED,
	PATCH_OUTCOME_COUNT,
};

/* Why there is no probe, as a text for the user that follows "NAME: ". */
const char *patch_outcome_text(enum patch_outcome outcome);

enum patch_kind {
	PATCH_ENTRY,
	PATCH_CALL,	     /* a direct call */
	PATCH_CALL_GOT,	     /* a call through a word at a fixed place, as the GOT has them */
	PATCH_CALL_INDIRECT, /* any other call: patch_call() refuses it */
	PATCH_CALL_JUMP,     /* a jump to another function, or to a part of this one: likewise */
	PATCH_EXIT,	     /* a way out of a function: a return, or a jump to another */
	PATCH_SYSCALL,	     /* the instructions before a system call, which stays where it is */
	PATCH_SITE,	     /* a static probe amid a function: its nop, or the jump after that */
	/*
	 * A pointer in data, which the program may copy and change at any time. Both values lead to
	 * the same function, with and without probes, and no thunk belongs to it.
	 */
	PATCH_WORD,
};

/* At most: four bytes of short instructions and one of 15, the longest there is. */
#define PATCH_MAX_BYTES 19
#define PATCH_MAX_STEPS 12
/* The longest instruction. */
#define PATCH_MAX_BEFORE 15
/* Bytes that are skipped at a function's beginning, as the program may patch them. */
#define PATCH_SLED_MAX_BYTES 32

/* Bytes from a function's first one on, in front of and among which is all that a probe changes. */
#define PATCH_REACH_MAX_BYTES (PATCH_SLED_MAX_BYTES + PATCH_MAX_BYTES + 4)

/* An instruction of a thunk, and the pc of the program when it is the next. */
struct patch_step {
	uint8_t offset;	      /* in the thunk */
	int8_t window_offset; /* from patch.address on, if is_callee is false */
	bool is_callee;	      /* the pc is at the first instruction of the callee */
};

/* The callee of the patched call, or of the call at the end of the window. */
enum patch_callee {
	PATCH_CALLEE_NONE,
	PATCH_CALLEE_DIRECT,  /* `callee` */
	PATCH_CALLEE_IN_WORD, /* its address is in the word at `callee` */
	PATCH_CALLEE_UNKNOWN, /* in a register, or in memory to which one points */
};

/*
 * The bytes to write, and where; the thunk is in the area. A plain value. There may be 100,000: it
 * is small.
 */
struct patch {
	uint64_t address; /* of the first byte that changes */
	uint64_t thunk;	  /* address */
	/*
	 * PATCH_SITE: the address of a word of two bytes, how many tools want the place to be
	 * passed: one more while the patch is there. 0: there is none.
	 */
	uint64_t callee;
	uint8_t old[PATCH_MAX_BYTES];
	uint8_t new[PATCH_MAX_BYTES];
	/* The instruction in front of these, which stays; none: the patch is at the entry. */
	uint8_t before[PATCH_MAX_BEFORE];
	/* From here on many patches have the same (patch_table.h). */
	uint64_t stub; /* address of the code that counts if this cannot; 0: there is none */
	uint16_t nr_thunk_bytes;
	enum patch_kind kind : 8;
	enum patch_callee callee_kind : 8;
	uint8_t nr_bytes, nr_before;
	/* Offsets in the thunk between which the saved register is on the stack. */
	uint8_t pushed_from[PATCH_MAX_PUSHED], pushed_to[PATCH_MAX_PUSHED];
	uint8_t nr_stub_bytes;
	uint8_t stub_from;  /* offset in the thunk from which on it is on the way to the stub, */
	uint8_t counted_at; /* and to which the stub returns */
	bool ends_with_syscall; /* which the kernel may restart */
	bool is_in_sled;	/* where the program may put a patch of its own */
	uint8_t pads; /* PATCH_SITE: 1 if it has pads, and 1 << i if an instruction begins i bytes
			 on */
	uint8_t spared_to; /* likewise: offset in the thunk up to which the red zone is skipped */
	uint8_t nr_steps;
	struct patch_step steps[PATCH_MAX_STEPS]; /* by offset */
};

/*
 * A gate is a function: probes within it count only while their thread is inside. A table in the
 * process says which threads are, see gate.h.
 */
enum patch_pass {
	PATCH_COUNT,	    /* each pass counts */
	PATCH_COUNT_WITHIN, /* passes count of threads that are inside of the gate */
	PATCH_ENTER,	    /* the thread enters the gate, unless it is inside; each pass counts */
	PATCH_LEAVE,	    /* not counted: a thread that entered here, or deeper, is outside */
	/* Each pass counts; calls of the gate are timed, which needs owners (span.h): */
	PATCH_SPAN_BEGIN,
	PATCH_SPAN_END, /* not counted */
	/* likewise: of all gates, the ends of calls that entered here, or deeper, are missed */
	PATCH_SPAN_LEAVE,
	/* likewise without a gate: the time from one place to another, in one thread */
	PATCH_SPAN_FROM, /* each pass counts */
	PATCH_SPAN_TO,	 /* not counted */
	PATCH_NOTE,	 /* likewise: of patch_syscall(), a call of futex(2) is noted (note.h) */
};

/* The copies of all counters with owners, of a process and of the children that it forks. */
struct patch_owners {
	/* addresses within 2 GiB of the area */
	uint64_t table_word; /* of a word with the address of the table, */
	uint64_t end_word;   /* of one with that of the end of the copies, */
	uint64_t claimed;    /* and of the number of copies that threads have claimed so far */
	uint32_t nr_copies;
	bool reads_base; /* programs can read the base of fs */
	/* set by patch_stub() */
	uint64_t stub;
	uint8_t nr_stub_bytes;
	/* set by patch_slow_stub() */
	uint8_t nr_slow_stub_bytes;
	uint64_t slow_stub;
};

/* All code of the gate. Borrowed. */
struct patch_gate {
	const struct patch_gate_part {
		uint64_t start, end;
	} * parts;
	size_t nr;
};

/*
 * Offsets of a thread's id in its data that are believed: the word with the offset is shared with
 * children, one of which may write another one there, and all of these are part of the data.
 */
#define PATCH_ID_MASK 0x3fc

/*
 * The counter of a pass. With more than one shard, threads are spread over copies of all counters
 * by the address of their own data (the word at fs:0), so that they do not wait for each other.
 */
struct patch_counter {
	uint64_t address;    /* one shard: of the counter's eight bytes */
	uint64_t base_word;  /* more: of a word with the address of the first copy, */
	uint32_t offset;     /* in which the counter is here */
	uint32_t nr_shards;  /* a power of two, at most 2^16 */
	uint32_t shard_log2; /* log2 of the bytes of a copy */
	enum patch_pass pass;
	uint64_t gate_word; /* except PATCH_COUNT: of a word with the address of the table, */
	uint64_t missed;    /* and of a counter of passes without room in it, or without a copy */
	/*
	 * PATCH_LEAVE: where a jump through a register leads is known only when it is made. Not
	 * needed on x86-64.
	 */
	const struct patch_gate *gate;
	const struct patch_owners *owners; /* NULL: shards are all copies; there are several */
	/* PATCH_SPAN_*: */
	uint32_t span; /* offset of the gate's struct patch_span in a copy; LEAVE: of the first, */
	uint32_t nr_spans; /* of so many */
	uint64_t id_at; /* of a word with the offset of a thread's id in its data; 0: not known */
	uint64_t slow;	/* END, TO: of the gate's struct patch_slow */
	/* PATCH_NOTE, with id_at: */
	uint64_t notes;	    /* of struct patch_notes */
	uint16_t return_at; /* by PATCH_RETURN_AT() */
};

/*
 * Put the stub of an area's thunks there: code that counts in a shard for a thread without a copy,
 * and claims a copy for it if one is left and its entry in the table is free. `counter` is as for
 * thunks but for its own place. False: there is no room.
 */
bool patch_stub(struct patch_owners *owners, const struct patch_counter *counter,
		struct code_area *area);

/*
 * Likewise code that notes a call which is the longest of its thread, or slow; for PATCH_SPAN_END
 * and PATCH_SPAN_TO, where there are spans.
 */
bool patch_slow_stub(struct patch_owners *owners, const struct patch_counter *counter,
		     struct code_area *area);

struct patch_function {
	uint64_t address;
	uint64_t nr_bytes; /* 0: not known */
	uint64_t bias;	   /* of `address` against the addresses in `branches` */
	/*
	 * From `address` on, the function and what follows it: at least 64, as far as they are
	 * mapped.
	 */
	const uint8_t *bytes;
	size_t nr_readable;
	/*
	 * No branch leads to its first PATCH_REACH_MAX_BYTES, and no function begins in those that
	 * patch_entry_reach() tells: `branches` need not be asked.
	 */
	bool is_plain;
	/* Another tool has one at the first byte, so that byte must stay. */
	bool has_breakpoint;
	/* From there on another probe may be: bytes are overwritten only if need be. 0: nowhere. */
	uint64_t spared_from;
};

/*
 * A probe at a function's entry: a jump over whole instructions of five bytes or more, into a thunk
 * that counts, does the same as they did, and jumps back. It comes after an endbr64, after bytes
 * without effect that are there for the program itself to patch, or after the first instruction, if
 * there is room after them and nothing else leads there: so the first byte is as in the file, where
 * other tools set uprobes. Padding after the function may be used. `branches` are those of the
 * whole module, sorted. The counter, eight bytes, is within 2 GiB of the area. Nothing is written
 * unless the outcome is PATCH_OK.
 *
 * `bytes` are those at the time of the installation. So a call among the first ones may have a
 * probe as well, if they contain it, and if that is removed after this one; a pc in this thunk may
 * then stand for one in the call's thunk.
 *
 * With a callee_kind other than NONE the thunk pushes a return address without a call, which a
 * thread with a shadow stack must not do.
 */
enum patch_outcome patch_entry(struct patch *patch, const struct patch_function *function,
			       const struct branches *branches, struct code_area *area,
			       const struct patch_counter *counter);

/*
 * A probe at a static one amid a function: at `function->address`, a nop of one byte. Only that
 * changes, into the first byte of a jump, and the four bytes after it stay what they are, while
 * they also say how far the jump leads: so nothing that leads to the instructions after the nop is
 * in danger. Where the jump leads there has to be a pad, a jump to the thunk; so at each place to
 * which it would lead if other tools had breakpoints at instructions in the four bytes.
 *
 * If the nop is followed by a jump of five bytes, to which no branch leads, that is replaced, and
 * there are no pads.
 *
 * Each pass counts. What is below the stack pointer, and the flags, are as before after it.
 */
enum patch_outcome patch_site(struct patch *patch, const struct patch_function *function,
			      const struct branches *branches, struct code_area *area,
			      const struct patch_counter *counter);

/* The nop and the four bytes after it, which `old` and `new` have. */
#define PATCH_SITE_BYTES 5
#define PATCH_PADS_MAX	 (1U << (PATCH_SITE_BYTES - 1))
#define PATCH_PAD_BYTES	 5

/*
 * The address of a pad, by the bytes after the nop that have a breakpoint: 0 for none, 1 if the
 * first has one.
 */
uint64_t patch_pad(const struct patch *patch, unsigned int which);
/* Does an instruction begin at each of these bytes? */
static inline bool patch_has_pad(const struct patch *patch, unsigned int which)
{
	return patch->pads && !(which & ~(unsigned int)(patch->pads >> 1));
}
/* The bytes of a pad. False: the thunk is too far away. */
bool patch_pad_bytes(uint64_t pad, uint64_t thunk, uint8_t bytes[PATCH_PAD_BYTES]);

/* The bytes from patch->address on that must be as in `old` when the patch is written. */
static inline size_t patch_nr_known(const struct patch *patch)
{
	return patch->pads ? PATCH_SITE_BYTES : patch->nr_bytes;
}

/* See `callee`; 0: there is none. */
static inline uint64_t patch_semaphore(const struct patch *patch)
{
	return patch->kind == PATCH_SITE ? patch->callee : 0;
}

/*
 * The bytes from a function's first one on that a probe at its entry changes, or leaves in front of
 * those: at most, as far as these bytes of it show. *is_plain: no reason against a probe is in
 * them.
 */
uint8_t patch_entry_reach(const uint8_t *bytes, size_t nr_readable, bool *is_plain);

/*
 * A probe at the call at `address`: a call to a fixed place then leads to a thunk that counts and
 * jumps on to that place. `bytes` are the instruction and what follows it, as far as it can be
 * read. Nothing is written unless the outcome is PATCH_OK.
 */
enum patch_outcome patch_call(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_readable, struct code_area *area,
			      const struct patch_counter *counter);

/* Is it the first byte of a breakpoint, such as a uprobe's, that a probe may come after? */
bool patch_is_breakpoint(uint8_t byte);
/*
 * A sum by which the places of all bytes that are one are known, but 1 time in 65,535; 0: there are
 * none. Compilers fill gaps between functions with them, too.
 */
uint16_t patch_breakpoints_of(const uint8_t *bytes, size_t nr);
/*
 * Is the instruction in front of the patch, of nr_before bytes, as it was, but for a breakpoint?
 * Else the program has changed the entry, and calls may not come to the probe.
 */
bool patch_is_reached(const uint8_t *before, size_t nr_before, const uint8_t *there);

/* Replace the pointer at `address`. */
void patch_word(struct patch *patch, uint64_t address, uint64_t old, uint64_t new);

/*
 * Does each pass through the probe at an entry make the call at that address? It does if the call
 * is among the moved instructions, and no branch is before it: its count is that of the entry.
 */
bool patch_always_calls(const struct patch *patch, uint64_t call);

/*
 * A probe at a way out of a function, with the instructions before it that have no other way on.
 * The window, five bytes or more, is these, and perhaps padding after the way out, as
 * gate_exits_find() chooses it. `exit_at` is the offset of the return, or jump. The pass is
 * PATCH_LEAVE or PATCH_SPAN_END, unless it is a branch that is not taken.
 */
enum patch_outcome patch_exit(struct patch *patch, uint64_t address, const uint8_t *bytes,
			      size_t nr_bytes, size_t exit_at, struct code_area *area,
			      const struct patch_counter *counter);

/*
 * A probe before a system call: the `function` is the instructions in front of it, five bytes or
 * more, after which all arguments are in their registers. The call itself stays, so that threads
 * sleep where they do without a probe. Of patch_counter only what PATCH_NOTE needs.
 */
enum patch_outcome patch_syscall(struct patch *patch, const struct patch_function *function,
				 const struct branches *branches, struct code_area *area,
				 const struct patch_counter *counter);

/*
 * The calls in some code, in order; jumps to other functions are none. To begin, set the first
 * three members, and with_jumps, and leave the others zero.
 */
struct patch_calls {
	uint64_t address;
	const uint8_t *bytes; /* borrowed */
	size_t nr_bytes;
	bool with_jumps; /* with jumps out of the code: a function's last call may be one */
	size_t at;	 /* how far it was read */
	/*
	 * Bytes that are no instruction were found: code and data are mixed. From there on a call
	 * is one only if its callee is known for a function, or a PLT's entry.
	 */
	bool has_unknown;
};

struct patch_call_site {
	uint64_t address;
	uint8_t nr_bytes; /* the return address follows them */
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
	 * Not so: the call at *original has pushed its return address already, and its target is in
	 * a register, or in memory to which one points. For samples this will do; before the thunk
	 * is removed the thread must execute one instruction.
	 */
	PATCH_AT_CALL,
	/*
	 * Likewise, before the system call at *original: its number is not in its register. The
	 * thread must leave the thunk by itself, which it does without a wait.
	 */
	PATCH_NOTING,
};

/*
 * The place of the program for a pc in the thunk, for samples, and to continue there once the old
 * bytes are back. At the thunk's beginning it is the start of the window, or of the callee.
 */
enum patch_place patch_original_pc(const struct patch *patch, uint64_t pc, uint64_t *original);

/* The number of words that the thunk has pushed at pc: the stack pointer is too low by these, */
unsigned int patch_nr_pushed(const struct patch *patch, uint64_t pc);

/* and by what is above them. */
struct patch_spared {
	unsigned int nr_bytes; /* that the thunk has skipped, */
	bool has_flags;	       /* then a word with the flags, */
	bool has_first;	       /* and one with the first of the registers that thunks push */
};
struct patch_spared patch_spared_at(const struct patch *patch, uint64_t pc);

/* The stack that the stub uses, below the words that the thunk has pushed. */
struct patch_saved {
	unsigned int nr_bytes; /* that it has skipped, */
	unsigned int nr_words; /* then rcx and rdx, in this order */
};

/*
 * Is a thread in the stub on the way of this thunk? Its place in the thunk is then `link`, to which
 * the stub returns: the value of rax.
 */
bool patch_is_in_stub(const struct patch *patch, uint64_t pc, uint64_t link,
		      struct patch_saved *saved);

/*
 * The place where a thread, or the code that a signal interrupted, must continue if its pc is
 * within bytes that change. False: it can stay. At the first of these bytes it need not move, as
 * the new one does the right thing; after the last one it must move if the kernel may restart a
 * system call from there.
 */
bool patch_moved_pc(const struct patch *patch, uint64_t pc, uint64_t *moved);

#endif
