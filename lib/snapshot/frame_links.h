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

/*
 * How the frames of an interpreter are linked in the memory of a process: for code of ours in that
 * process, which copies the frames of its own thread. A plain value. Members without another
 * comment are offsets in bytes; `state` is the interpreter's facts about a thread.
 *
 * The frames are on a data stack, which has pieces; or on the native stack, without a function; or
 * in objects of their own.
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
};

#endif
