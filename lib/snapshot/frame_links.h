/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SNAPSHOT_FRAME_LINKS_H
#define PROFC_SNAPSHOT_FRAME_LINKS_H

#include <stdint.h>

/* Where the address of the thread's own state is. */
enum frame_links_root {
	FRAME_LINKS_NONE,      /* there is no interpreter, or its threads cannot find their state */
	FRAME_LINKS_BY_OFFSET, /* root_at from the thread's data */
	FRAME_LINKS_BY_MODULE, /* root_at from the block of module `root_of`, by glibc's table */
	/*
	 * A key of glibc's thread-specific data, which is at the address root_of; root_at is where
	 * a thread's data has the table of its values.
	 */
	FRAME_LINKS_BY_KEY,
	/* root_at is its address: only the thread that the process began with has one. */
	FRAME_LINKS_OF_MAIN,
};

/*
 * A piece of a data stack begins with three words: one is the address of the piece before it, and
 * one tells how much of it is used. Both are offsets.
 */
struct frame_piece_links {
	uint32_t previous, used;
	uint32_t used_is_end; /* 0: the number of words that are used, behind these three */
};

/*
 * At most so many bytes of a text are copied, as many as its length says, for which a character
 * takes at most `character` bytes behind `head` ones.
 */
struct frame_text_links {
	uint32_t nr_bytes; /* 0: there are none */
	uint32_t length;   /* an offset */
	uint32_t head, character;
};

/* A stack of contexts; each leads to the one further out. Offsets. */
struct frame_stack_links {
	uint32_t contexts, previous;
	uint32_t index; /* of the innermost context: 32 bits, signed, as is the next */
	uint32_t sub_index, type;
	uint32_t nr_bytes;
};

/* A statement: offsets. */
struct frame_statement_links {
	uint32_t kind, kind_mask; /* with this mask 0: it is being compiled */
	uint32_t line, file, sequence;
	uint32_t nr_bytes, nr_text_bytes; /* text: so many bytes of its file's name */
};

/* A sub is a head, which leads to a body; so is the glob that gives it its name. Offsets in bodies.
 */
struct frame_sub_links {
	uint32_t package, start, root, glob, flags;
	uint32_t is_named;     /* a flag: a text is in place of the glob, */
	uint32_t nr_key_bytes; /* of which so many bytes are copied */
	uint32_t nr_head_bytes, nr_bytes, nr_glob_bytes;
};

/*
 * Frames that are contexts in arrays, of which each has its type in its first byte. Types are bits
 * by their number.
 */
struct frame_context_links {
	uint32_t nr_bytes;		/* of each; 0: the frames are linked otherwise */
	uint32_t type_mask, first_mask; /* of its first 32 bits: the type, and all that matter */
	uint32_t subs, jumps, others;	/* types that have a sub, or a jump buffer, or neither */
	uint32_t statement, next, sub_index, sub, jump; /* offsets */
	uint32_t state_statement, state_phase;
	/* This word of the state is `mark`, or it is not such a state. */
	uint32_t state_mark;
	uint64_t mark;
	struct frame_stack_links of_stack;
	struct frame_statement_links of_statement;
	struct frame_sub_links of_sub;
};

/*
 * How the frames of an interpreter are linked in the memory of a process: for code of ours in that
 * process, which copies the frames of its own thread. A plain value. Members without another
 * comment are offsets in bytes; `state` is the interpreter's facts about a thread.
 *
 * The frames are on a data stack, which has pieces; or on the native stack, without a function; or
 * in objects of their own. Or they are contexts, whose innermost stack state_frame leads to.
 */
struct frame_links {
	uint32_t root; /* enum frame_links_root; FRAME_LINKS_NONE: the rest is unused */
	uint32_t nr_state_bytes;
	uint64_t root_at, root_of;
	/* The address of a word that is the state of the thread that runs; 0: the root is that. */
	uint64_t current;
	/* The newest piece, and the end of its used part; the same: all frames are objects. */
	uint32_t state_piece, state_top;
	struct frame_piece_links piece;
	/*
	 * The innermost frame; with has_evaluations an object on the native stack, or the one in
	 * the state at root_evaluation, leads to it.
	 */
	uint32_t state_frame;
	uint32_t has_evaluations, root_evaluation, evaluation_frame;
	uint32_t nr_frame_bytes;
	uint32_t frame_function, frame_previous, frame_instruction;
	uint32_t nr_before_frame; /* bytes in front of a frame in an object of its own */
	/* Such a frame leads to an object that owns it, as a generator; 0 bytes: to none. */
	uint32_t frame_owner, nr_owner_bytes;
	uint32_t nr_function_bytes;
	uint32_t nr_functions; /* of so many frames, from the innermost on, they are copied */
	/*
	 * Words that no two functions in the same place share; or, if texts have bytes, their
	 * addresses, which do not tell this alone.
	 */
	uint32_t function_is[3];
	struct frame_text_links text;
	struct frame_context_links contexts;
};

#endif
