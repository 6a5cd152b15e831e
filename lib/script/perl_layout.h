/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_PERL_LAYOUT_H
#define PROFC_SCRIPT_PERL_LAYOUT_H

#include <stdint.h>

#include "snapshot/snapshot.h"

/* Where Perl keeps what: members without another comment are offsets in bytes. */

/* The interpreter, which is a thread's state (struct interpreter). */
struct perl_interpreter_layout {
	uint16_t nr_bytes;	/* of all; Perl exports it */
	uint16_t statement;	/* the current one (PL_curcop) */
	uint16_t stack;		/* the current stack of contexts (PL_curstackinfo) */
	uint16_t jump;		/* the innermost jump buffer (PL_top_env), on the native stack */
	uint16_t runops, phase; /* PL_runops, PL_phase */
};

/* A stack of contexts (PERL_SI). */
struct perl_stack_layout {
	uint16_t contexts, previous;
	uint16_t index;	    /* of the innermost context */
	uint16_t sub_index; /* of the innermost one of a sub, format or eval */
	uint16_t type, nr_bytes;
};

/* A context (PERL_CONTEXT): of a sub, of a block, of a loop. */
struct perl_context_layout {
	uint16_t operation; /* the number of the eval's kind of operation, and flags */
	uint16_t statement; /* the one that was current when the context began */
	uint16_t next;	    /* the operation that follows when it ends */
	uint16_t sub_index; /* as the stack has it, when the context began */
	uint16_t sub, jump; /* of a sub; of an eval: the innermost jump buffer */
	uint16_t nr_bytes;
};

/* A statement (COP). */
struct perl_statement_layout {
	uint16_t operation; /* its kind, and flags */
	uint16_t line, file;
	uint16_t sequence; /* a number that no other one has */
	uint16_t nr_bytes;
};

/* The body of a sub (XPVCV), and of the glob that it is named by (XPVGV, GP). */
struct perl_sub_layout {
	uint16_t package, start, root, glob, flags, nr_bytes;
	uint16_t glob_name, glob_package, glob_bytes;
	uint16_t glob_effective; /* in the glob's values */
};

/* The names of a package, which follow the body of its hash. */
struct perl_package_layout {
	uint16_t names, nr_names, nr_bytes;
};

/* Numbers of kinds of operations. */
struct perl_operations {
	uint16_t statement, debugged_statement, require, do_file;
};

struct perl_layout {
	uint8_t revision, version; /* 5, 36 */
	struct perl_interpreter_layout interpreter;
	struct perl_stack_layout stack;
	struct perl_context_layout context;
	struct perl_statement_layout statement;
	struct perl_sub_layout sub;
	struct perl_package_layout package;
	struct perl_operations operations;
};

/* Each object's head, the same in all versions: its body, a count, its type and flags, its values.
 */
#define PERL_HEAD_BYTES	 24
#define PERL_HEAD_FLAGS	 12
#define PERL_HEAD_VALUES 16

/* The kind of an operation, without its flags; 0: it is none, or the statement being compiled. */
#define PERL_OPERATION 0x1ff

/* Flags of a sub: it has no name of its own, but "__ANON__"; it has its name without a glob. */
#define PERL_SUB_IS_ANONYMOUS UINT32_C(0x0080)
#define PERL_SUB_IS_NAMED     UINT32_C(0x8000)

/* No object of these is larger; nor the part of an interpreter that is read. */
#define PERL_OBJECT_BYTES_MAX	   256
#define PERL_INTERPRETER_BYTES_MAX 4096

/*
 * The layout of a version as it is when it is built for threads and a processor; NULL: it is not
 * known. Static.
 */
const struct perl_layout *perl_layout_of(enum arch arch, uint8_t revision, uint8_t version);

#endif
