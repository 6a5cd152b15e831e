/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_MADE_PERL_H
#define PROFC_TESTS_MADE_PERL_H

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "script/perl.h"
#include "script/perl_layout.h"
#include "snapshot/snapshot.h"

/* An interpreter of Perl 5.36 in the memory of this process, and a native stack that is nowhere. */

#define MADE_STACK  UINT64_C(0x7ffe00000000)
#define FRAME_BYTES 0x100
#define CODE	    UINT64_C(0x1000)
#define CODE_BYTES  0x100
#define RUNOPS	    UINT64_C(0x555500001000)

enum {
	MADE_CONTEXTS = 8,
	MADE_STACKS = 3,
	MADE_STATEMENTS = 8,
	MADE_SUBS = 4,
	MADE_NATIVES = 16,
	/* Types of contexts and stacks, and flags. */
	SUB = 9,
	EVAL = 11,
	MULTICALL = 0x10,
	BLOCK = 0x40,
	STACK_OF_MAIN = 1,
	STACK_OF_SORT = 3,
	OTHER = NR_PERL_FUNCTIONS, /* native frames of another function, or module */
};

struct made_perl {
	struct perl perl;
	_Alignas(8) uint8_t interpreter[3768];
	_Alignas(8) uint8_t stacks[MADE_STACKS][48];
	_Alignas(8) uint8_t contexts[MADE_STACKS][MADE_CONTEXTS * 104];
	_Alignas(8) uint8_t statements[MADE_STATEMENTS][64];
	_Alignas(8) uint8_t heads[MADE_SUBS][24], bodies[MADE_SUBS][104];
	_Alignas(8) uint8_t keys[MADE_SUBS][40], package[24], package_body[64], package_key[24];
	char files[MADE_STATEMENTS][64];
	int nr_stacks;
	struct script_native natives[MADE_NATIVES];
	size_t nr_natives;
	struct snapshot snapshot;
};

static inline void put_word(uint8_t *at, uint32_t offset, uint64_t word)
{
	memcpy(at + offset, &word, sizeof(word));
}

static inline void put_int(uint8_t *at, uint32_t offset, int32_t number)
{
	memcpy(at + offset, &number, sizeof(number));
}

static inline uint64_t at_of(const void *object)
{
	return (uintptr_t)object;
}

static inline void set_statement(struct made_perl *made, int which, int32_t line)
{
	uint8_t *at = made->statements[which];

	at[32] = 195;
	put_int(at, 36, line);
	put_word(at, 48, at_of(made->files[which]));
	put_int(at, 60, 1000 + which);
}

static inline void set_key(uint8_t *key, const char *text)
{
	put_int(key, 4, (int32_t)strlen(text));
	memcpy(key + 8, text, strlen(text) + 1);
}

/* A sub of the package, which has its name without a glob, and begins at a statement. */
static inline void set_sub(struct made_perl *made, int which, const char *name, int start)
{
	put_word(made->heads[which], 0, at_of(made->bodies[which]));
	put_int(made->heads[which], 12, 13);
	put_word(made->bodies[which], 32, at_of(made->package));
	put_word(made->bodies[which], 40, at_of(made->statements[start]));
	put_word(made->bodies[which], 56, at_of(made->keys[which]));
	put_int(made->bodies[which], 92, 0x8000);
	set_key(made->keys[which], name);
}

static inline void push_stack(struct made_perl *made, int type)
{
	uint8_t *stack = made->stacks[made->nr_stacks];

	put_word(stack, 8, at_of(made->contexts[made->nr_stacks]));
	put_word(stack, 16, made->nr_stacks ? at_of(made->stacks[made->nr_stacks - 1]) : 0);
	put_int(stack, 32, -1);
	put_int(stack, 40, -1);
	put_int(stack, 44, type);
	put_word(made->interpreter, 224, at_of(stack));
	made->nr_stacks++;
}

/* A context of any type, called at a statement. */
static inline uint8_t *push_context(struct made_perl *made, int type, int statement)
{
	uint8_t *stack = made->stacks[made->nr_stacks - 1], *context;
	int32_t index;

	memcpy(&index, stack + 32, sizeof(index));
	index++;
	put_int(stack, 32, index);
	context = made->contexts[made->nr_stacks - 1] + index * 104;
	memset(context, 0, 104);
	context[0] = (uint8_t)type;
	put_word(context, 16, at_of(made->statements[statement]));
	if ((type & 15) == SUB || (type & 15) == EVAL) {
		memcpy(context + 56, stack + 40, sizeof(index));
		put_int(stack, 40, index);
	}
	return context;
}

static inline uint8_t *push_sub(struct made_perl *made, int which, int statement, bool returns_to_c)
{
	uint8_t *context = push_context(made, SUB, statement);

	put_word(context, 72, at_of(made->heads[which]));
	put_word(context, 48, returns_to_c ? 0 : 8);
	return context;
}

/* Its jump buffer is in this native frame. */
static inline uint8_t *push_eval(struct made_perl *made, int statement, size_t native)
{
	uint8_t *context = push_context(made, EVAL | BLOCK, statement);

	put_word(context, 96, MADE_STACK + native * FRAME_BYTES + 16);
	put_word(context, 48, 8);
	return context;
}

/* The native frames, the leaf first: functions, or OTHER. */
static inline void set_natives(struct made_perl *made, const int *functions, size_t nr)
{
	made->nr_natives = nr;
	for (size_t i = 0; i < nr; i++)
		made->natives[i] = (struct script_native){
			.sp = MADE_STACK + i * FRAME_BYTES,
			.address = CODE + (uint64_t)functions[i] * CODE_BYTES + 8,
			.is_interpreter = true};
	put_word(made->interpreter, 760, MADE_STACK + (nr - 1) * FRAME_BYTES - 8);
}

#define NATIVES(made, ...)                                                                         \
	set_natives(made, (const int[]){__VA_ARGS__}, ARRAY_SIZE(((const int[]){__VA_ARGS__})))

/* A program that runs, and has called nothing. */
static inline void made_perl_begin(struct made_perl *made)
{
	snapshot_release(&made->snapshot);
	memset(made, 0, sizeof(*made));
	made->perl.layout = perl_layout_of(ARCH_X86_64, 5, 36);
	made->perl.runops = RUNOPS;
	for (int i = 0; i < NR_PERL_FUNCTIONS; i++)
		made->perl.code[i] = (struct perl_code){CODE + (uint64_t)i * CODE_BYTES,
							CODE + (uint64_t)(i + 1) * CODE_BYTES};
	for (int i = 0; i < MADE_STATEMENTS; i++) {
		set_statement(made, i, 10 + i);
		strcpy(made->files[i], "app.pl");
	}
	set_sub(made, 0, "f", 4);
	set_sub(made, 1, "g", 5);
	set_sub(made, 2, "h", 6);
	put_word(made->package, 0, at_of(made->package_body));
	put_int(made->package, 12, 12 | 0x02000000);
	put_word(made->package_body, 32, at_of(made->package_key));
	set_key(made->package_key, "Work");
	put_word(made->interpreter, 208, at_of(made->statements[0]));
	put_word(made->interpreter, 2288, RUNOPS);
	put_int(made->interpreter, 2512, 4);
	push_stack(made, STACK_OF_MAIN);
	made->snapshot.arch = ARCH_X86_64;
	made->snapshot.tgid = made->snapshot.tid = 1;
}

/* Copy all of it into the snapshot. */
static inline void made_perl_copy(struct made_perl *made)
{
	snapshot_drop_regions(&made->snapshot);
	memcpy(snapshot_add_wanted(&made->snapshot, at_of(made->interpreter),
				   at_of(made->natives) - at_of(made->interpreter)),
	       made->interpreter, at_of(made->natives) - at_of(made->interpreter));
}

#endif
