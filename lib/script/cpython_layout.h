/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_CPYTHON_LAYOUT_H
#define PROFC_SCRIPT_CPYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPYTHON_NR_LOCKS 2

/*
 * Where CPython keeps what a walk of its frames needs. A minor version (3.11) never changes it, so
 * there is a table by version; and the interpreter describes a part of it itself, against which the
 * table is checked: the members of the type of code objects, up to 3.10 those of the type of
 * frames, and from 3.13 on _Py_DebugOffsets at the start of _PyRuntime. All offsets are in bytes
 * from the start of their object.
 */
struct cpython_runtime_layout {
	uint32_t first_interpreter;		 /* in _PyRuntime */
	uint32_t next_interpreter, first_thread; /* in PyInterpreterState */
	/*
	 * Up to 3.11, in _PyRuntime: the state of the thread with the GIL, and the key of threads'
	 * own; without CPYTHON_NR_LOCKS of the C library before them, whose size each processor
	 * has.
	 */
	uint32_t running_thread, thread_key;
	/* The lock of the interpreter: up to 3.11 in _PyRuntime; then a pointer in
	 * PyInterpreterState.
	 */
	uint32_t gil;
};

/* PyThreadState. */
struct cpython_thread_layout {
	uint32_t next, id;	      /* id: pthread_self() */
	uint32_t chunk, chunk_top;    /* the data stack, on which functions have their frames */
	uint32_t cframe, root_cframe; /* 3.11 and 3.12 */
	uint32_t frame;		      /* up to 3.10, and from 3.13 on */
};

/*
 * _PyInterpreterFrame, and _PyCFrame, which each evaluation has in its native frame. Up to 3.10:
 * PyFrameObject, as far as it is read.
 */
struct cpython_frame_layout {
	uint32_t code, previous, instruction, owner;
	uint32_t is_entry; /* 3.11: the outermost frame of an evaluation */
	uint32_t nr_bytes;
	uint32_t cframe_frame, cframe_previous;
	/* Up to 3.10: the generator it is of, and its variables, up to one of which it is large. */
	uint32_t generator, variables;
	/* Then the instruction is a number, of so many bytes each. */
	uint32_t nr_number_bytes;
};

/* PyCodeObject. */
struct cpython_code_layout {
	uint32_t first_line, file, name, line_table;
	uint32_t version;      /* no two objects share it; from 3.12 on, else 0 */
	uint32_t instructions; /* also its size without them */
};

/* How the line table of a code object is written. */
enum cpython_lines {
	CPYTHON_LINES_BY_STEP,	/* 3.8, 3.9: co_lnotab */
	CPYTHON_LINES_BY_RANGE, /* 3.10: co_linetable of pairs */
	CPYTHON_LINES_BY_ENTRY, /* from 3.11 on */
};

struct cpython_layout {
	uint16_t version;	/* major << 8 | minor */
	bool has_frame_objects; /* up to 3.10: each frame is one, and has an evaluation of its own
				 */
	bool has_cframes;	/* 3.11 and 3.12 */
	bool has_entry_frames;	/* from 3.12 on each evaluation has a frame of its own, */
				/* in its native frame, below those of its functions */
	bool describes_itself;	/* _Py_DebugOffsets: from 3.13 on */
	struct cpython_runtime_layout runtime;
	struct cpython_thread_layout thread;
	struct cpython_frame_layout frame;
	struct cpython_code_layout code;
	uint32_t generator_frame, generator_state; /* in generators, coroutines */
	uint32_t text_ascii, text_other;	   /* characters of a compact str of either kind */
	enum cpython_lines lines;
};

/*
 * The version of a code object from its first bytes; 0: it has none that tells it from another one.
 */
uint32_t cpython_layout_code_version(const struct cpython_layout *layout, const uint8_t *code);

/* So many bytes of the name, the file and the line table of a code object tell it from another. */
#define CPYTHON_TEXT_BYTES 256
/* Where a str and a bytes object have their length, and what a character takes at most. */
#define CPYTHON_TEXT_LENGTH	    16
#define CPYTHON_CHARACTER_BYTES_MAX 4

/* struct _gil_runtime_state: the same in all of these versions. */
#define CPYTHON_GIL_INTERVAL	    0 /* in microseconds, after which it is asked for */
#define CPYTHON_GIL_HOLDER	    8
#define CPYTHON_GIL_LOCKED	    16
#define CPYTHON_GIL_CONDITION	    32 /* a pthread_cond_t */
#define CPYTHON_GIL_CONDITION_BYTES 48

/* The size of a _PyCFrame. */
#define CPYTHON_CFRAME_BYTES 24

/* The size of a thread state, as far as walks need it. */
uint32_t cpython_layout_thread_bytes(const struct cpython_layout *layout);

/* Bytes of a thread state, a frame or a code object that are read at once: none has more. */
#define CPYTHON_OBJECT_BYTES_MAX 512

/*
 * The layout of a version, as Py_Version has it (3.11.2: 0x030b02f0). NULL: it is not known, or not
 * of a release. Static.
 */
const struct cpython_layout *cpython_layout_of(uint64_t version);

/* A member of the type of code objects, PyMemberDef. */
struct cpython_member {
	char name[16]; /* cut */
	uint64_t offset;
};

/* More members are not read. */
#define CPYTHON_MEMBERS_MAX 40

/*
 * Do these members, and tp_basicsize, agree with the layout about all that it says of code objects?
 */
bool cpython_layout_agrees(const struct cpython_layout *layout,
			   const struct cpython_member *members, size_t nr_members,
			   uint64_t basic_size);

/* The same about frames that are objects. */
bool cpython_layout_agrees_about_frames(const struct cpython_layout *layout,
					const struct cpython_member *members, size_t nr_members,
					uint64_t basic_size);

/* As much of _Py_DebugOffsets is read. */
#define CPYTHON_DEBUG_OFFSETS_BYTES 376

/*
 * Check a layout of a version that describes itself against the first bytes of _PyRuntime, and take
 * from there what depends on how it was built. False: this is no description, it contradicts the
 * layout, or the build is free-threaded, whose objects differ.
 */
bool cpython_layout_take_offsets(struct cpython_layout *layout, const uint8_t *bytes,
				 size_t nr_bytes);

#endif
