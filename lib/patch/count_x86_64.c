// SPDX-License-Identifier: GPL-2.0-or-later
/* The code in thunks, and in their stub, that counts a pass. */
#include "patch/maker_x86_64.h"

#if defined(__x86_64__)

#include "patch/gate.h"

_Static_assert(PATCH_OWNERS_BYTES == 1 << 15, "generated code knows it");

/* Offsets of instructions within the stub, and the stack that it skips. */
#define PUSHED_FROM	5 /* after the red zone is skipped: two pushes of a byte each */
#define POPPED_FROM_END 8 /* two pops of a byte each, then 6 bytes that end it */

/* mov %fs:0,%reg */
void maker_put_thread(struct maker *maker, unsigned int reg)
{
	const uint8_t bytes[] = {0x64, 0x48, 0x8b, (uint8_t)(0x04 | reg << 3), 0x25, 0, 0, 0, 0};

	put(maker, bytes, sizeof(bytes));
}

/*
 * Takes the thread's own word, in `from`, to a place in a table at the address in `word`: `mask` of
 * the hash's bits, shifted right. All bits of the word affect the upper ones of the product. The
 * flags are lost.
 */
static void put_find(struct maker *maker, unsigned int from, unsigned int to, uint8_t right,
		     uint32_t mask, uint64_t word)
{
	const uint8_t multiply[] = {0x69, (uint8_t)(0xc0 | to << 3 | from)};
	const uint32_t factor = PATCH_OWNERS_FACTOR;
	const uint8_t shift[] = {0xc1, (uint8_t)(0xe8 | to), right};

	put(maker, multiply, sizeof(multiply)); /* imul $factor,%from,%to */
	put(maker, &factor, sizeof(factor));
	put(maker, shift, sizeof(shift)); /* shr $right,%to */
	if (to == RAX)
		put(maker, "\x25", 1); /* and $mask,%eax */
	else
		put(maker, (const uint8_t[]){0x81, (uint8_t)(0xe0 | to)}, 2);
	put(maker, &mask, sizeof(mask));
	put(maker, (const uint8_t[]){0x48, 0x03, (uint8_t)(0x05 | to << 3)}, 3); /* add word,%to */
	put_displacement(maker, word);
}

static void put_find_shard(struct maker *maker, const struct patch_counter *counter,
			   unsigned int reg)
{
	uint32_t mask = (counter->nr_shards - 1) << counter->shard_log2;
	uint8_t right = (uint8_t)(__builtin_clz(counter->nr_shards - 1) - (int)counter->shard_log2);

	put_find(maker, reg, reg, right, mask, counter->base_word);
}

/*
 * The thread's own word is in eax; its value and the flags are lost. For the lock it takes 0.1 to
 * 10 ns, by the processor, and more where two threads count the same in one copy.
 */
static void put_count_of_shard(struct maker *maker, const struct patch_counter *counter)
{
	put_find_shard(maker, counter, RAX);
	put(maker, "\xf0\x48\xff\x80", 4); /* lock incq offset(%rax) */
	put(maker, &counter->offset, sizeof(counter->offset));
}

/* The thread's entry in the table of owners: see patch_owner_index(). */
static void put_find_entry(struct maker *maker, uint64_t table_word, unsigned int from,
			   unsigned int to)
{
	const uint32_t mask = PATCH_OWNERS_BYTES - sizeof(uint64_t);

	put_find(maker, from, to, PATCH_OWNERS_SHIFT, mask, table_word);
}

/* The entry of another thread, or an empty one, gives no possible number. */
void maker_put_number(struct maker *maker, uint64_t table_word, uint32_t nr_copies)
{
	const uint32_t least = -nr_copies;

	put_find_entry(maker, table_word, RAX, RAX);
	put(maker, "\x48\x8b\x00", 3);			       /* mov (%rax),%rax */
	put(maker, "\x64\x48\x03\x04\x25\x00\x00\x00\x00", 9); /* add %fs:0,%rax */
	put(maker, "\x48\x3d", 2);			       /* cmp $least,%rax */
	put(maker, &least, sizeof(least));
}

/*
 * The thread's own word is in eax; its value and the flags are lost. No other thread, no other
 * process and no signal handler can come into the addition, as it is one instruction. A thread
 * without a copy goes by the end of the thunk to the stub, which counts, and comes back after the
 * addition.
 */
static void put_count_of_own(struct maker *maker, const struct patch_counter *counter)
{
	const struct patch_owners *owners = counter->owners;
	const uint8_t log2 = (uint8_t)counter->shard_log2;

	maker_put_number(maker, owners->table_word, owners->nr_copies);
	put(maker, "\x0f\x82\0\0\0\0", 6); /* jb to the end of the thunk */
	maker->to_stub_at = maker->nr_bytes;
	put(maker, (const uint8_t[]){0x48, 0xc1, 0xe0, log2}, 4); /* shl $n,%rax */
	put(maker, "\x48\x03\x05", 3);				  /* add end_word(%rip),%rax */
	put_displacement(maker, owners->end_word);
	put(maker, "\x48\xff\x80", 3); /* incq offset(%rax) */
	put(maker, &counter->offset, sizeof(counter->offset));
	maker->patch.stub = owners->stub;
	maker->patch.nr_stub_bytes = owners->nr_stub_bytes;
	maker->patch.counted_at = (uint8_t)maker->nr_bytes;
}

void maker_put_way_to_stub(struct maker *maker)
{
	struct patch *patch = &maker->patch;
	int32_t distance = (int32_t)(maker->nr_bytes - maker->to_stub_at);

	if (!patch->stub)
		return;
	memcpy(maker->bytes + maker->to_stub_at - sizeof(distance), &distance, sizeof(distance));
	patch->stub_from = (uint8_t)maker->nr_bytes;
	assert(patch->nr_steps < PATCH_MAX_STEPS);
	patch->steps[patch->nr_steps] = patch->steps[maker->stub_step];
	patch->steps[patch->nr_steps++].offset = patch->stub_from;
	if (maker->stub_rcx) {
		put(maker, "\x48\x8d\x0d", 3); /* lea stub_rcx(%rip),%rcx */
		put_displacement(maker, maker->stub_rcx);
	}
	put(maker, "\x48\x8d\x05", 3); /* lea counted_at(%rip),%rax */
	put_displacement(maker, patch->thunk + patch->counted_at);
	put(maker, "\xe9", 1); /* jmp stub */
	put_displacement(maker, patch->stub);
}

/*
 * Is the thread's own word, in rcx, no other thread's? So it is if it is the address of the
 * thread's data. Where that cannot be read, it is taken for that unless it is 0, as in threads of
 * Go.
 */
static size_t put_proof(struct maker *maker, bool reads_base)
{
	if (!reads_base) {
		put(maker, "\x48\x85\xc9", 3); /* test %rcx,%rcx */
		return put_short_jump(maker, JE);
	}
	put(maker, "\xf3\x48\x0f\xae\xc1", 5);		       /* rdfsbase %rcx */
	put(maker, "\x64\x48\x3b\x0c\x25\x00\x00\x00\x00", 9); /* cmp %fs:0,%rcx */
	return put_short_jump(maker, JNE);
}

/*
 * Claims a copy for the thread, whose own word is in rcx: that, rdx and the flags are lost. Another
 * thread with the same entry may do so at the same time: the later one has the entry then, and the
 * other none. A copy is given away once. At the returned places are jumps to where the claim ends.
 */
static void put_claim(struct maker *maker, const struct patch_owners *owners, size_t ends[4])
{
	put_find_entry(maker, owners->table_word, RCX, RDX);
	put(maker, "\x48\x83\x3a\x00", 4); /* cmpq $0,(%rdx) */
	ends[0] = put_short_jump(maker, JNE);
	put(maker, "\x48\x81\x3d", 3); /* cmpq $nr,claimed(%rip) */
	put_displacement(maker, owners->claimed - sizeof(owners->nr_copies));
	put(maker, &owners->nr_copies, sizeof(owners->nr_copies));
	ends[1] = put_short_jump(maker, JAE);
	ends[2] = put_proof(maker, owners->reads_base);
	put(maker, "\xb9\x01\x00\x00\x00", 5); /* mov $1,%ecx */
	put(maker, "\xf0\x48\x0f\xc1\x0d", 5); /* lock xadd %rcx,claimed(%rip) */
	put_displacement(maker, owners->claimed);
	put(maker, "\x48\x81\xe9", 3); /* sub $nr,%rcx */
	put(maker, &owners->nr_copies, sizeof(owners->nr_copies));
	ends[3] = put_short_jump(maker, JAE);
	put(maker, "\x64\x48\x2b\x0c\x25\x00\x00\x00\x00", 9); /* sub %fs:0,%rcx */
	put(maker, "\x48\x89\x0a", 3);			       /* mov %rcx,(%rdx) */
}

void maker_put_stub_begin(struct maker *maker)
{
	put(maker, "\x48\x8d\x64\x24\x80", 5); /* lea -128(%rsp),%rsp */
	assert(maker->nr_bytes == PUSHED_FROM);
	put(maker, "\x51\x52", 2); /* push %rcx; push %rdx */
}

void maker_put_stub_end(struct maker *maker)
{
	put(maker, "\x5a\x59", 2);	   /* pop %rdx; pop %rcx */
	put(maker, "\x48\x83\xec\x80", 4); /* sub $-128,%rsp */
	put(maker, "\xff\xe0", 2);	   /* jmp *%rax */
}

bool maker_finish_stub(const struct maker *maker, struct code_area *area)
{
	if (maker->is_out_of_reach || maker->nr_bytes > area->cap_bytes - area->nr_bytes)
		return false;
	memcpy(area->bytes + area->nr_bytes, maker->bytes, maker->nr_bytes);
	area->nr_bytes += maker->nr_bytes;
	return true;
}

/* rax is where to return to: the last four bytes before it are the counter's offset in a copy. */
static void put_stub(struct maker *maker, const struct patch_counter *counter)
{
	size_t ends[4];

	maker_put_stub_begin(maker);
	maker_put_thread(maker, RCX);
	put_claim(maker, counter->owners, ends);
	for (size_t i = 0; i < 4; i++)
		jump_to_here(maker, ends[i]);
	maker_put_thread(maker, RCX);
	put_find_shard(maker, counter, RCX);
	put(maker, "\x48\x63\x50\xfc", 4);     /* movslq -4(%rax),%rdx */
	put(maker, "\xf0\x48\xff\x04\x11", 5); /* lock incq (%rcx,%rdx) */
	maker_put_stub_end(maker);
}

bool patch_stub(struct patch_owners *owners, const struct patch_counter *counter,
		struct code_area *area)
{
	struct maker maker = {.patch = {.thunk = area->address + area->nr_bytes}};

	put_stub(&maker, counter);
	if (!maker_finish_stub(&maker, area))
		return false;
	owners->stub = maker.patch.thunk;
	owners->nr_stub_bytes = (uint8_t)maker.nr_bytes;
	return true;
}

bool patch_is_in_stub(const struct patch *patch, uint64_t pc, uint64_t link,
		      struct patch_saved *saved)
{
	uint64_t offset = pc - patch->stub, left = patch->nr_stub_bytes - offset;

	if (!patch->stub || offset >= patch->nr_stub_bytes ||
	    link != patch->thunk + patch->counted_at)
		return false;
	*saved = (struct patch_saved){.nr_bytes = 0};
	if (offset >= PUSHED_FROM && left > 2)
		saved->nr_bytes = PATCH_RED_ZONE_BYTES;
	if (offset > PUSHED_FROM && left > POPPED_FROM_END - 2)
		saved->nr_words++;
	if (offset > PUSHED_FROM + 1 && left >= POPPED_FROM_END)
		saved->nr_words++;
	return true;
}

void maker_put_push(struct maker *maker, uint8_t nr)
{
	for (uint8_t i = 0; i < nr; i++) {
		put(maker, (const uint8_t[]){(uint8_t)(0x50 + i)}, 1);
		maker->patch.pushed_from[i] = (uint8_t)maker->nr_bytes;
	}
}

void maker_put_pop(struct maker *maker, uint8_t nr)
{
	for (uint8_t i = nr; i > 0; i--) {
		put(maker, (const uint8_t[]){(uint8_t)(0x58 + i - 1)}, 1);
		maker->patch.pushed_to[i - 1] = (uint8_t)maker->nr_bytes;
	}
}

/* The thread's own word is in eax; its value and the flags are lost. */
static void put_count_of_thread(struct maker *maker, const struct patch_counter *counter)
{
	if (counter->owners)
		put_count_of_own(maker, counter);
	else
		put_count_of_shard(maker, counter);
}

static void put_count_by_thread(struct maker *maker, const struct patch_counter *counter)
{
	maker_put_push(maker, 1);
	maker_put_thread(maker, RAX);
	put_count_of_thread(maker, counter);
	maker_put_pop(maker, 1);
}

/*
 * Saves rax, rcx and rdx; then rcx is the thread's own word, and rdx points to its slot (gate.h).
 */
static void put_find_slot(struct maker *maker, const struct patch_counter *counter)
{
	const uint32_t mask = (GATE_SLOTS - 1) * GATE_SLOT_BYTES;

	maker_put_push(maker, PATCH_MAX_PUSHED);
	maker_put_thread(maker, RCX);
	put(maker, "\x48\x89\xca", 3);		   /* mov %rcx,%rdx */
	put(maker, "\x48\xc1\xea\x0c", 4);	   /* shr $12,%rdx */
	put(maker, "\x69\xd2\x01\x01\x00\x00", 6); /* imul $0x101,%edx,%edx */
	put(maker, "\xc1\xea\x04", 3);		   /* shr $4,%edx */
	put(maker, "\x81\xe2", 2);		   /* and $mask,%edx */
	put(maker, &mask, sizeof(mask));
	put(maker, "\x48\x03\x15", 3); /* add table(%rip),%rdx */
	put_displacement(maker, counter->gate_word);
}

/* Sets rax to the stack pointer before the thunk. */
static void put_stack_pointer(struct maker *maker)
{
	put(maker, "\x48\x8d\x44\x24\x18", 5); /* lea 24(%rsp),%rax */
}

/* With the registers of put_find_slot(). */
static void put_count_of_slot(struct maker *maker, const struct patch_counter *counter)
{
	put(maker, "\x89\xc8", 2); /* mov %ecx,%eax */
	put_count_of_thread(maker, counter);
}

/*
 * A function that is called from the gate has its return address below that of the gate. The slot
 * of a thread that is inside has the thread's word.
 */
void maker_put_count_within(struct maker *maker, const struct patch_counter *counter)
{
	size_t other, above;

	put_find_slot(maker, counter);
	put(maker, "\x48\x39\x0a", 3); /* cmp %rcx,(%rdx) */
	other = put_short_jump(maker, JNE);
	put_stack_pointer(maker);
	put(maker, "\x48\x3b\x42\x08", 4); /* cmp 8(%rdx),%rax */
	above = put_short_jump(maker, JAE);
	put_count_of_slot(maker, counter);
	jump_to_here(maker, other);
	jump_to_here(maker, above);
	maker_put_pop(maker, PATCH_MAX_PUSHED);
}

/*
 * A free slot becomes the thread's. If the thread has the slot already, it is inside, and re-enters
 * deeper; or it left by a path without a probe, and enters from its present place.
 */
void maker_put_enter(struct maker *maker, const struct patch_counter *counter)
{
	size_t free_slot, own, missed, inside;

	put_find_slot(maker, counter);
	put(maker, "\x31\xc0", 2);	       /* xor %eax,%eax */
	put(maker, "\xf0\x48\x0f\xb1\x0a", 5); /* lock cmpxchg %rcx,(%rdx) */
	free_slot = put_short_jump(maker, JE);
	put(maker, "\x48\x39\xc8", 3); /* cmp %rcx,%rax */
	own = put_short_jump(maker, JE);
	put(maker, "\xf0\x48\xff\x05", 4); /* lock incq missed(%rip) */
	put_displacement(maker, counter->missed);
	missed = put_short_jump(maker, JMP);
	jump_to_here(maker, own);
	put_stack_pointer(maker);
	put(maker, "\x48\x3b\x42\x08", 4); /* cmp 8(%rdx),%rax */
	inside = put_short_jump(maker, JB);
	jump_to_here(maker, free_slot);
	put_stack_pointer(maker);
	put(maker, "\x48\x89\x42\x08", 4); /* mov %rax,8(%rdx) */
	jump_to_here(maker, inside);
	put_count_of_slot(maker, counter);
	jump_to_here(maker, missed);
	maker_put_pop(maker, PATCH_MAX_PUSHED);
}

/* The stack pointer is where the gate was entered, or above: its frame is gone. */
void maker_put_leave(struct maker *maker, const struct patch_counter *counter)
{
	size_t other, deeper;

	put_find_slot(maker, counter);
	put(maker, "\x48\x39\x0a", 3); /* cmp %rcx,(%rdx) */
	other = put_short_jump(maker, JNE);
	put_stack_pointer(maker);
	put(maker, "\x48\x3b\x42\x08", 4); /* cmp 8(%rdx),%rax */
	deeper = put_short_jump(maker, JB);
	put(maker, "\x48\xc7\x42\x08\x00\x00\x00\x00", 8); /* movq $0,8(%rdx) */
	put(maker, "\x48\xc7\x02\x00\x00\x00\x00", 7);	   /* movq $0,(%rdx) */
	jump_to_here(maker, other);
	jump_to_here(maker, deeper);
	maker_put_pop(maker, PATCH_MAX_PUSHED);
}

void maker_put_count(struct maker *maker, const struct patch_counter *counter)
{
	if (counter->nr_shards > 1) {
		put_count_by_thread(maker, counter);
		return;
	}
	put(maker, "\xf0\x48\xff\x05", 4); /* lock incq counter(%rip) */
	put_displacement(maker, counter->address);
}

#endif
