/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thunks in the making, in this room and in others whose probes do more than count. */
#ifndef PROFC_PATCH_MAKER_X86_64_H
#define PROFC_PATCH_MAKER_X86_64_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "patch/patch.h"

/*
 * The prelude, or count, four jumps that grow by four bytes, and a call of 15 bytes in its long
 * form. Offsets in a thunk are bytes.
 */
#define THUNK_MAX_BYTES 255
/* The first instruction once more, and the stack pointer raised: where there is no room for these
 * the thunk is refused. */
#define THUNK_EXTRA_BYTES 32

struct maker {
	struct patch patch; /* so far */
	uint8_t bytes[THUNK_MAX_BYTES + THUNK_EXTRA_BYTES];
	size_t nr_bytes;
	size_t entry;	     /* offset of the instruction to which the jump at the function leads */
	uint32_t lowered_by; /* the stack pointer, since the function's entry */
	size_t to_stub_at; /* after the jump to where the thunk goes to its stub, if it has one, */
	size_t stub_step;  /* in this one of its steps; */
	uint64_t stub_rcx; /* and rcx has this address there; 0: it is not changed */
	bool is_out_of_reach; /* a target is further than 2 GiB away */
};

/* All but the bytes, which are many. */
static inline void maker_clear(struct maker *maker)
{
	memset(&maker->patch, 0, sizeof(maker->patch));
	memset(&maker->nr_bytes, 0, sizeof(*maker) - offsetof(struct maker, nr_bytes));
}

static inline void put(struct maker *maker, const void *bytes, size_t nr_bytes)
{
	assert(nr_bytes <= sizeof(maker->bytes) - maker->nr_bytes);
	memcpy(maker->bytes + maker->nr_bytes, bytes, nr_bytes);
	maker->nr_bytes += nr_bytes;
}

/* The displacement from the instruction that ends at `end` to `target`. */
static inline int32_t displacement(struct maker *maker, uint64_t target, uint64_t end)
{
	int64_t distance = (int64_t)(target - end);

	if (distance != (int32_t)distance)
		maker->is_out_of_reach = true;
	return (int32_t)distance;
}

/* The last four bytes of an instruction, which refer to the target. */
static inline void put_displacement(struct maker *maker, uint64_t target)
{
	uint64_t end = maker->patch.thunk + maker->nr_bytes + sizeof(int32_t);
	int32_t distance = displacement(maker, target, end);

	put(maker, &distance, sizeof(distance));
}

/* A short jump to the place of a later jump_to_here(), which gets the returned offset. */
static inline size_t put_short_jump(struct maker *maker, uint8_t opcode)
{
	put(maker, (const uint8_t[]){opcode, 0}, 2);
	return maker->nr_bytes - 1;
}

static inline void jump_to_here(struct maker *maker, size_t at)
{
	assert(maker->nr_bytes - at - 1 < 128);
	maker->bytes[at] = (uint8_t)(maker->nr_bytes - at - 1);
}

/* A conditional jump, by its short opcode, to a place before it. */
static inline void put_jump_back(struct maker *maker, uint8_t opcode, size_t to)
{
	size_t short_by = maker->nr_bytes + 2 - to;

	if (short_by <= 128) {
		put(maker, (const uint8_t[]){opcode, (uint8_t)-short_by}, 2);
		return;
	}
	put(maker, (const uint8_t[]){0x0f, (uint8_t)(opcode + 0x10)}, 2);
	put_displacement(maker, maker->patch.thunk + to);
}

#define JO    0x70
#define JB    0x72
#define JAE   0x73
#define JE    0x74
#define JNE   0x75
#define JA    0x77
#define JS    0x78
#define JRCXZ 0xe3
#define JMP   0xeb

/* Numbers of registers in instructions. */
enum { RAX = 0, RCX = 1, RDX = 2 };

/* The code of a pass, which leaves all as it was but the flags. */
void maker_put_pass(struct maker *maker, const struct patch_counter *counter);
/* That of PATCH_COUNT, PATCH_COUNT_WITHIN, PATCH_ENTER and PATCH_LEAVE, */
void maker_put_count(struct maker *maker, const struct patch_counter *counter);
void maker_put_count_within(struct maker *maker, const struct patch_counter *counter);
void maker_put_enter(struct maker *maker, const struct patch_counter *counter);
void maker_put_leave(struct maker *maker, const struct patch_counter *counter);
/* To be put at the end of the thunk; nothing if it has no stub. */
void maker_put_way_to_stub(struct maker *maker);
/* and of PATCH_SPAN_BEGIN or FROM, PATCH_SPAN_END or TO, and PATCH_SPAN_LEAVE. */
void maker_put_span_begin(struct maker *maker, const struct patch_counter *counter);
void maker_put_span_end(struct maker *maker, const struct patch_counter *counter);
void maker_put_span_leave(struct maker *maker, const struct patch_counter *counter);

/*
 * That of PATCH_NOTE, before a system call; `lost` is called where the registers begin to be other
 * than there.
 */
void maker_put_note(struct maker *maker, const struct patch_counter *counter,
		    void (*lost)(struct maker *maker));

/* A stub saves registers below the red zone, rcx at 8(%rsp) and rdx at (%rsp); rax is its link. */
void maker_put_stub_begin(struct maker *maker);
void maker_put_stub_end(struct maker *maker);
/* False: there is no room in the area for it. */
bool maker_finish_stub(const struct maker *maker, struct code_area *area);

/* Save rax, or the first `nr` of rax, rcx and rdx; and restore them. */
void maker_put_push(struct maker *maker, uint8_t nr);
void maker_put_pop(struct maker *maker, uint8_t nr);

/* The thread's own word, at fs:0, into one of the first eight registers. */
void maker_put_thread(struct maker *maker, unsigned int reg);
/*
 * The thread's own word is in eax. Then rax has the number of the thread's copy, from -nr_copies to
 * -1, or a `jb` would jump: the thread has none. At `table_word` is the address of the table of
 * owners.
 */
void maker_put_number(struct maker *maker, uint64_t table_word, uint32_t nr_copies);

/*
 * Puts the code of a thunk before the function's own first instructions, and calls
 * maker_put_entry() where it begins. All is as at the function's entry; it must preserve the stack,
 * and all registers that the function or its caller may use.
 */
typedef void maker_prelude(struct maker *maker, const void *context);

/* The jump at the function leads to what follows. */
void maker_put_entry(struct maker *maker);

/*
 * As patch_entry() with code that does something else than to count. *original: the address of the
 * function without its probe, in the thunk.
 */
enum patch_outcome patch_entry_behind(struct patch *patch, const struct patch_function *function,
				      const struct branches *branches, struct code_area *area,
				      maker_prelude *prelude, const void *context,
				      uint64_t *original);

#endif
