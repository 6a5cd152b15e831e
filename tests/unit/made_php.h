/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a thread that runs PHP, made up. On the native stack are, from the leaf on:
 *
 *	leaf                    (native frame 0)
 *	inner, outer            (1: `outer` is a generator, and delegates to `inner`, another one)
 *	each                    (2: a function of PHP's own)
 *	middle, main            (3)
 *	main of the interpreter (4)
 */
#ifndef PROFC_TESTS_UNIT_MADE_PHP_H
#define PROFC_TESTS_UNIT_MADE_PHP_H

#include <assert.h>
#include <string.h>

#include "script/php.h"
#include "snapshot/snapshot.h"

#define MADE_STACK     UINT64_C(0x7ffe00000000)
#define MADE_GLOBALS   UINT64_C(0x555500000000)
#define MADE_PAGE      UINT64_C(0x7fff00000000)
#define MADE_CLASS     UINT64_C(0x555500009000)
#define MADE_HEAP      UINT64_C(0x7fff10000000)
#define MADE_FUNCTIONS UINT64_C(0x55550000a000)
#define MADE_HANDLER   UINT64_C(0x555510000000)

#define MADE_ENTRY     (UINT32_C(1) << 17)
#define MADE_GENERATOR (UINT32_C(1) << 24)

enum made_function { MADE_INNER, MADE_OUTER, MADE_EACH, MADE_MIDDLE, MADE_MAIN, NR_MADE_FUNCTIONS };

#define MADE_FUNCTION(function) (MADE_FUNCTIONS + (uint64_t)(function)*0x400)
#define MADE_OPLINES(function)	(MADE_FUNCTION(function) + 0x200)
#define MADE_NR_OPLINES		8
/* The instruction that a frame has kept. */
#define MADE_KEPT(function)   (MADE_OPLINES(function) + 3 * UINT64_C(32))
#define MADE_OBJECT(function) (MADE_HEAP + (uint64_t)(function)*0x400)
#define NR_MADE_NATIVES	      5

struct made_php {
	struct php php;
	struct snapshot snapshot;
	struct php_native natives[NR_MADE_NATIVES];
	uint64_t frames[NR_MADE_FUNCTIONS]; /* addresses */
};

static inline uint8_t *made_php_at(struct made_php *made, uint64_t address)
{
	for (unsigned int i = 0; i < made->snapshot.nr_regions; i++) {
		const struct stack_region *region = &made->snapshot.regions[i];

		if (address - region->start < region->nr_bytes)
			return made->snapshot.bytes + region->offset + (address - region->start);
	}
	assert(false);
	return NULL;
}

static inline void made_php_put(struct made_php *made, uint64_t address, uint64_t word)
{
	memcpy(made_php_at(made, address), &word, sizeof(word));
}

static inline void made_php_region(struct made_php *made, uint64_t start, size_t nr_bytes)
{
	uint8_t *room = made->snapshot.nr_regions
				? snapshot_add_wanted(&made->snapshot, start, nr_bytes)
				: snapshot_add_region(&made->snapshot, start, nr_bytes);

	assert(room);
	memset(room, 0, nr_bytes);
}

static inline void made_php_frame(struct made_php *made, enum made_function function,
				  uint64_t previous, uint32_t info)
{
	const struct php_frame_layout *layout = &made->php.layout->frame;
	uint64_t at = made->frames[function];

	made_php_put(made, at + layout->opline, MADE_KEPT(function));
	made_php_put(made, at + layout->function, MADE_FUNCTION(function));
	made_php_put(made, at + layout->info, info);
	made_php_put(made, at + layout->previous, previous);
	if (info & MADE_GENERATOR)
		made_php_put(made, at + layout->return_value, MADE_OBJECT(function));
}

static inline void made_php_function(struct made_php *made, enum made_function function)
{
	const struct php_function_layout *layout = &made->php.layout->function;
	uint64_t at = MADE_FUNCTION(function);

	*made_php_at(made, at) = function == MADE_EACH ? PHP_FUNCTION_NATIVE : PHP_FUNCTION_SCRIPT;
	made_php_put(made, at + layout->name, MADE_HEAP + 0x2000);
	if (function == MADE_EACH) {
		made_php_put(made, at + layout->handler, MADE_HANDLER);
		return;
	}
	made_php_put(made, at + layout->nr_oplines, MADE_NR_OPLINES);
	made_php_put(made, at + layout->oplines, MADE_OPLINES(function));
}

static inline void made_php_object(struct made_php *made, enum made_function function,
				   uint64_t delegate)
{
	const struct php_generator_layout *layout = &made->php.layout->generator;
	uint64_t at = MADE_OBJECT(function);

	made_php_put(made, at + layout->class_entry, MADE_CLASS);
	made_php_put(made, at + layout->frame, made->frames[function]);
	made_php_put(made, at + layout->delegate, delegate);
}

static inline void made_php_globals(struct made_php *made, uint64_t top)
{
	const struct php_globals_layout *layout = &made->php.layout->globals;

	made_php_put(made, MADE_GLOBALS + layout->stack, MADE_PAGE);
	made_php_put(made, MADE_GLOBALS + layout->stack_top, top);
	made_php_put(made, MADE_GLOBALS + layout->current, made->frames[MADE_INNER]);
	made_php_put(made, MADE_PAGE + 8, MADE_PAGE + 0x40000);
}

static inline void made_php_init(struct made_php *made)
{
	uint64_t mark = MADE_OBJECT(MADE_OUTER);

	*made = (struct made_php){.php = {.layout = php_layout_of("8.2"),
					  .globals = MADE_GLOBALS,
					  .generator_class = MADE_CLASS}};
	mark += made->php.layout->generator.placeholder;
	made->snapshot.arch = ARCH_X86_64;
	made_php_region(made, MADE_STACK, 0x400);
	made_php_region(made, MADE_GLOBALS, 0x800);
	made_php_region(made, MADE_PAGE, 0x600);
	made_php_region(made, MADE_FUNCTIONS, 0x1400);
	made_php_region(made, MADE_HEAP, 0x2000);
	made->frames[MADE_MAIN] = MADE_PAGE + 0x20;
	made->frames[MADE_MIDDLE] = MADE_PAGE + 0xa0;
	made->frames[MADE_EACH] = MADE_PAGE + 0x120;
	made->frames[MADE_OUTER] = MADE_HEAP + 0x1000;
	made->frames[MADE_INNER] = MADE_HEAP + 0x1100;
	for (int i = 0; i < NR_MADE_FUNCTIONS; i++)
		made_php_function(made, (enum made_function)i);
	made_php_object(made, MADE_OUTER, MADE_OBJECT(MADE_INNER));
	made_php_object(made, MADE_INNER, 0);
	made_php_frame(made, MADE_INNER, mark, MADE_ENTRY | MADE_GENERATOR);
	made_php_frame(made, MADE_OUTER, 0, MADE_ENTRY | MADE_GENERATOR);
	made_php_put(made, mark + made->php.layout->frame.previous, made->frames[MADE_EACH]);
	made_php_frame(made, MADE_EACH, made->frames[MADE_MIDDLE], 0);
	made_php_frame(made, MADE_MIDDLE, made->frames[MADE_MAIN], 0);
	made_php_frame(made, MADE_MAIN, 0, MADE_ENTRY);
	made_php_globals(made, MADE_PAGE + 0x1a0);
	made->natives[1] = (struct php_native){.frame = made->frames[MADE_INNER],
					       .opline = MADE_OPLINES(MADE_INNER) + 32,
					       .has_frame = true,
					       .has_opline = true,
					       .is_loop = true};
	made->natives[3] = (struct php_native){
		.frame = made->frames[MADE_MIDDLE], .has_frame = true, .is_loop = true};
}

static inline void made_php_release(struct made_php *made)
{
	snapshot_release(&made->snapshot);
}

#endif
