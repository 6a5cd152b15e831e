// SPDX-License-Identifier: GPL-2.0-or-later
/* The code in thunks that times the calls of a gate. */
#include "patch/maker_x86_64.h"

#if defined(__x86_64__)

#include "patch/span.h"

/* Members of struct patch_span, as operands of one byte. */
#define AT(member) ((uint8_t)offsetof(struct patch_span, member))
_Static_assert(offsetof(struct patch_span, nr) < 128, "operands of one byte reach all members");

#define PUSHED 3 /* rax, rcx and rdx */

/* An instruction of three bytes before its operand's offset. */
static void put_at(struct maker *maker, const char *bytes, uint8_t member)
{
	put(maker, bytes, 3);
	put(maker, &member, 1);
}

/* rax is the number of the thread's copy: makes it the copy's address. */
static void put_find_copy(struct maker *maker, const struct patch_counter *counter)
{
	const uint8_t log2 = (uint8_t)counter->shard_log2;

	put(maker, (const uint8_t[]){0x48, 0xc1, 0xe0, log2}, 4); /* shl $n,%rax */
	put(maker, "\x48\x03\x05", 3);				  /* add end_word(%rip),%rax */
	put_displacement(maker, counter->owners->end_word);
}

/* Makes the copy's address, in rax, that of its span, and rcx the stack pointer before the thunk.
 */
static void put_find_span(struct maker *maker, const struct patch_counter *counter)
{
	put(maker, "\x48\x05", 2); /* add $span,%rax */
	put(maker, &counter->span, sizeof(counter->span));
	put(maker, "\x48\x8d\x4c\x24\x18", 5); /* lea 24(%rsp),%rcx */
}

/* The time, in rax; the span goes from there to rcx, and rdx is lost. */
static void put_time(struct maker *maker)
{
	put(maker, "\x48\x89\xc1", 3);	   /* mov %rax,%rcx */
	put(maker, "\x0f\x31", 2);	   /* rdtsc */
	put(maker, "\x48\xc1\xe2\x20", 4); /* shl $32,%rdx */
	put(maker, "\x48\x09\xd0", 3);	   /* or %rdx,%rax */
}

/*
 * The number of the thread's copy, in rax. A thread without one goes to the stub once, which counts
 * the pass, too, and perhaps claims a copy for it: rcx is 1 then, else 0. At *without is a jump of
 * those that have no copy.
 */
static void put_claimed_number(struct maker *maker, const struct patch_counter *counter,
			       size_t *without)
{
	const struct patch_owners *owners = counter->owners;
	size_t search, own, first;

	put(maker, "\x31\xc9", 2); /* xor %ecx,%ecx */
	search = maker->nr_bytes;
	maker_put_thread(maker, RAX);
	maker_put_number(maker, owners->table_word, owners->nr_copies);
	own = put_short_jump(maker, JAE);
	first = put_short_jump(maker, JRCXZ);
	put(maker, "\xf0\x48\xff\x05", 4); /* lock incq missed(%rip) */
	put_displacement(maker, counter->missed);
	*without = put_short_jump(maker, JMP);
	jump_to_here(maker, first);
	put(maker, "\xe9\0\0\0\0", 5); /* jmp to the end of the thunk */
	maker->to_stub_at = maker->nr_bytes;
	put(maker, &counter->offset, sizeof(counter->offset)); /* the stub reads it */
	maker->patch.stub = owners->stub;
	maker->patch.nr_stub_bytes = owners->nr_stub_bytes;
	maker->patch.counted_at = (uint8_t)maker->nr_bytes;
	put(maker, "\xff\xc1", 2); /* inc %ecx */
	put_jump_back(maker, JMP, search);
	jump_to_here(maker, own);
}

/*
 * If the thread has begun a call further up its stack, this one is part of that. If it has begun
 * one further down, or here, that was left on a way without a probe. The signal handlers that
 * interrupt this have calls of their own before `place` is set, and none after that.
 */
static void put_begin_of_call(struct maker *maker)
{
	size_t inside;

	put_at(maker, "\x48\x39\x48", AT(place)); /* cmp %rcx,place(%rax) */
	inside = put_short_jump(maker, JA);
	put_at(maker, "\x48\xff\x40", AT(nr_begun)); /* incq nr_begun(%rax) */
	put_at(maker, "\x48\x89\x48", AT(place));    /* mov %rcx,place(%rax) */
	put_time(maker);
	put_at(maker, "\x48\x89\x41", AT(begin)); /* mov %rax,begin(%rcx) */
	jump_to_here(maker, inside);
}

/* A signal handler may end what has a `place`: so that comes last. */
static void put_begin_anywhere(struct maker *maker)
{
	const int32_t anywhere = -1;

	put_at(maker, "\x48\xff\x40", AT(nr_begun)); /* incq nr_begun(%rax) */
	put_time(maker);
	put_at(maker, "\x48\x89\x41", AT(begin)); /* mov %rax,begin(%rcx) */
	put_at(maker, "\x48\xc7\x41", AT(place)); /* movq $anywhere,place(%rcx) */
	put(maker, &anywhere, sizeof(anywhere));
}

void maker_put_span_begin(struct maker *maker, const struct patch_counter *counter)
{
	size_t without;

	maker_put_push(maker, PUSHED);
	put_claimed_number(maker, counter, &without);
	put_find_copy(maker, counter);
	put(maker, "\x48\x83\xf1\x01", 4); /* xor $1,%rcx: the stub has not counted */
	put(maker, "\x48\x01\x88", 3);	   /* add %rcx,offset(%rax) */
	put(maker, &counter->offset, sizeof(counter->offset));
	put_find_span(maker, counter);
	if (counter->pass == PATCH_SPAN_FROM)
		put_begin_anywhere(maker);
	else
		put_begin_of_call(maker);
	jump_to_here(maker, without);
	maker_put_pop(maker, PUSHED);
}

/* A conditional jump in its long form, to the place of a later long_jump_to_here(). */
static size_t put_long_jump(struct maker *maker, uint8_t opcode)
{
	put(maker, (const uint8_t[]){0x0f, (uint8_t)(opcode + 0x10), 0, 0, 0, 0}, 6);
	return maker->nr_bytes;
}

static void long_jump_to_here(struct maker *maker, size_t from)
{
	int32_t distance = (int32_t)(maker->nr_bytes - from);

	memcpy(maker->bytes + from - sizeof(distance), &distance, sizeof(distance));
}

/* rdx is the span, rax a length: counts it, as patch_span_least() divides them. */
static void put_length(struct maker *maker)
{
	const uint8_t nr_at = AT(nr);

	put(maker, "\x48\x89\xc1", 3);	   /* mov %rax,%rcx */
	put(maker, "\x48\x83\xc9\x08", 4); /* or $8,%rcx */
	put(maker, "\x48\x0f\xbd\xc9", 4); /* bsr %rcx,%rcx */
	put(maker, "\x83\xe9\x03", 3);	   /* sub $3,%ecx */
	put(maker, "\x48\xd3\xe8", 3);	   /* shr %cl,%rax */
	put(maker, "\x48\x8d\x04\xc8", 4); /* lea (%rax,%rcx,8),%rax */
	put(maker, "\x48\xff\x44\xc2", 4); /* incq nr(%rdx,%rax,8) */
	put(maker, &nr_at, 1);
}

/*
 * rdx is the span. A call that is the longest of its thread, or slow, goes to the stub, with rcx as
 * the address of struct patch_slow, and comes back after the jump.
 */
static void put_notable(struct maker *maker, const struct patch_counter *counter)
{
	const struct patch_owners *owners = counter->owners;
	size_t longest, quick;

	put_at(maker, "\x48\x8b\x42", AT(length));  /* mov length(%rdx),%rax */
	put_at(maker, "\x48\x3b\x42", AT(longest)); /* cmp longest(%rdx),%rax */
	longest = put_short_jump(maker, JA);
	put(maker, "\x48\x3b\x05", 3); /* cmp least(%rip),%rax */
	put_displacement(maker, counter->slow + offsetof(struct patch_slow, least));
	quick = put_short_jump(maker, JB);
	jump_to_here(maker, longest);
	put(maker, "\xe9\0\0\0\0", 5); /* jmp to the end of the thunk */
	maker->to_stub_at = maker->nr_bytes;
	maker->stub_step = maker->patch.nr_steps - 1;
	maker->stub_rcx = counter->slow;
	maker->patch.stub = owners->slow_stub;
	maker->patch.nr_stub_bytes = owners->nr_slow_stub_bytes;
	maker->patch.counted_at = (uint8_t)maker->nr_bytes;
	jump_to_here(maker, quick);
}

/* Is there nothing that ends here? The span is in rax, rcx is the stack pointer, and rdx is lost.
 */
static size_t put_unless_ends(struct maker *maker, enum patch_pass pass)
{
	put_at(maker, "\x48\x8b\x50", AT(place)); /* mov place(%rax),%rdx */
	if (pass == PATCH_SPAN_TO) {
		put(maker, "\x48\x85\xd2", 3); /* test %rdx,%rdx */
		return put_long_jump(maker, JE);
	}
	put(maker, "\x48\xff\xca", 3); /* dec %rdx: nothing is above no place */
	put(maker, "\x48\x39\xca", 3); /* cmp %rcx,%rdx */
	return put_long_jump(maker, JAE);
}

/* `place` is cleared last: until then calls of signal handlers are part of this one. */
void maker_put_span_end(struct maker *maker, const struct patch_counter *counter)
{
	const struct patch_owners *owners = counter->owners;
	size_t without, further, forward;

	maker_put_push(maker, PUSHED);
	maker_put_thread(maker, RAX);
	maker_put_number(maker, owners->table_word, owners->nr_copies);
	without = put_long_jump(maker, JB);
	put_find_copy(maker, counter);
	put_find_span(maker, counter);
	further = put_unless_ends(maker, counter->pass);
	put_time(maker);
	put_at(maker, "\x48\x2b\x41", AT(begin)); /* sub begin(%rcx),%rax */
	forward = put_short_jump(maker, JAE);
	put(maker, "\x31\xc0", 2); /* xor %eax,%eax: clocks of two processors differ */
	jump_to_here(maker, forward);
	put(maker, "\x48\x89\xca", 3);		   /* mov %rcx,%rdx */
	put_at(maker, "\x48\x01\x42", AT(total));  /* add %rax,total(%rdx) */
	put_at(maker, "\x48\x89\x42", AT(length)); /* mov %rax,length(%rdx) */
	put_length(maker);
	put_notable(maker, counter);
	put(maker, "\x31\xc9", 2);		  /* xor %ecx,%ecx */
	put_at(maker, "\x48\x89\x4a", AT(place)); /* mov %rcx,place(%rdx) */
	long_jump_to_here(maker, without);
	long_jump_to_here(maker, further);
	maker_put_pop(maker, PUSHED);
}

/* If rdx is the span, and its last call is the longest: that, with rcx lost. */
static void put_longest(struct maker *maker, const struct patch_counter *counter)
{
	const uint32_t mask = PATCH_ID_MASK;
	size_t shorter, unknown;

	put_at(maker, "\x48\x8b\x4a", AT(length));  /* mov length(%rdx),%rcx */
	put_at(maker, "\x48\x39\x4a", AT(longest)); /* cmp %rcx,longest(%rdx) */
	shorter = put_short_jump(maker, JAE);
	put_at(maker, "\x48\x8b\x4a", AT(begin));	  /* mov begin(%rdx),%rcx */
	put_at(maker, "\x48\x89\x4a", AT(longest_begin)); /* mov %rcx,longest_begin(%rdx) */
	put(maker, "\x48\x8b\x0d", 3);			  /* mov id_at(%rip),%rcx */
	put_displacement(maker, counter->id_at);
	put(maker, "\x81\xe1", 2); /* and $mask,%ecx */
	put(maker, &mask, sizeof(mask));
	unknown = put_short_jump(maker, JRCXZ);
	put(maker, "\x64\x8b\x09", 3); /* mov %fs:(%rcx),%ecx */
	jump_to_here(maker, unknown);
	put_at(maker, "\x48\x89\x4a", AT(longest_tid)); /* mov %rcx,longest_tid(%rdx) */
	put_at(maker, "\x48\x8b\x4a", AT(length));	/* mov length(%rdx),%rcx */
	put_at(maker, "\x48\x89\x4a", AT(longest));	/* mov %rcx,longest(%rdx) */
	jump_to_here(maker, shorter);
}

/* mov %rdx,member(%rcx) of a struct patch_slow_call, with rcx as far from it as from the first. */
static void put_to_slow_call(struct maker *maker, size_t member)
{
	const uint32_t at = (uint32_t)(offsetof(struct patch_slow, calls) + member);

	put(maker, "\x48\x89\x91", 3);
	put(maker, &at, sizeof(at));
}

/* Member of the span, whose address is on the stack, into rdx. */
static void put_from_saved(struct maker *maker, uint8_t member)
{
	put(maker, "\x48\x8b\x14\x24", 4);     /* mov (%rsp),%rdx */
	put_at(maker, "\x48\x8b\x52", member); /* mov member(%rdx),%rdx */
}

/* The number is kept in the red zone meanwhile. */
static void put_slow(struct maker *maker, const struct patch_counter *counter)
{
	const uint32_t nr_at = offsetof(struct patch_slow, nr), mask = PATCH_SLOW_CALLS - 1;
	const uint32_t id_mask = PATCH_ID_MASK;
	size_t quick, unknown;

	_Static_assert(sizeof(struct patch_slow_call) == 1 << 5, "shifted by this");
	put(maker, "\x48\x8b\x4c\x24\x08", 5); /* mov 8(%rsp),%rcx */
	put_from_saved(maker, AT(length));
	put(maker, "\x48\x3b\x11", 3); /* cmp least(%rcx),%rdx */
	quick = put_short_jump(maker, JB);
	put(maker, "\xba\x01\0\0\0", 5);       /* mov $1,%edx */
	put(maker, "\xf0\x48\x0f\xc1\x91", 5); /* lock xadd %rdx,nr(%rcx) */
	put(maker, &nr_at, sizeof(nr_at));
	put(maker, "\x48\x89\x54\x24\xf8", 5); /* mov %rdx,-8(%rsp) */
	put(maker, "\x81\xe2", 2);	       /* and $mask,%edx */
	put(maker, &mask, sizeof(mask));
	put(maker, "\xc1\xe2\x05", 3); /* shl $5,%edx */
	put(maker, "\x48\x01\xd1", 3); /* add %rdx,%rcx */
	put_from_saved(maker, AT(begin));
	put_to_slow_call(maker, offsetof(struct patch_slow_call, begin));
	put_from_saved(maker, AT(length));
	put_to_slow_call(maker, offsetof(struct patch_slow_call, length));
	put(maker, "\x48\x8b\x15", 3); /* mov id_at(%rip),%rdx */
	put_displacement(maker, counter->id_at);
	put(maker, "\x81\xe2", 2); /* and $mask,%edx */
	put(maker, &id_mask, sizeof(id_mask));
	unknown = put_short_jump(maker, JE);
	put(maker, "\x64\x8b\x12", 3); /* mov %fs:(%rdx),%edx */
	jump_to_here(maker, unknown);
	put_to_slow_call(maker, offsetof(struct patch_slow_call, tid));
	put(maker, "\x48\x8b\x54\x24\xf8", 5); /* mov -8(%rsp),%rdx */
	put(maker, "\x48\xff\xc2", 3);	       /* inc %rdx */
	put_to_slow_call(maker, offsetof(struct patch_slow_call, number));
	jump_to_here(maker, quick);
}

bool patch_slow_stub(struct patch_owners *owners, const struct patch_counter *counter,
		     struct code_area *area)
{
	struct maker maker = {.patch = {.thunk = area->address + area->nr_bytes}};

	maker_put_stub_begin(&maker);
	put_longest(&maker, counter);
	put_slow(&maker, counter);
	maker_put_stub_end(&maker);
	if (!maker_finish_stub(&maker, area))
		return false;
	owners->slow_stub = maker.patch.thunk;
	owners->nr_slow_stub_bytes = (uint8_t)maker.nr_bytes;
	return true;
}

/* A place of 0 is below all, and stays. */
void maker_put_span_leave(struct maker *maker, const struct patch_counter *counter)
{
	const uint32_t nr_bytes = sizeof(struct patch_span);
	size_t without, next, further;

	maker_put_push(maker, PUSHED);
	maker_put_thread(maker, RAX);
	maker_put_number(maker, counter->owners->table_word, counter->owners->nr_copies);
	without = put_short_jump(maker, JB);
	put_find_copy(maker, counter);
	put_find_span(maker, counter);
	put(maker, "\xba", 1); /* mov $nr,%edx */
	put(maker, &counter->nr_spans, sizeof(counter->nr_spans));
	next = maker->nr_bytes;
	put_at(maker, "\x48\x39\x48", AT(place)); /* cmp %rcx,place(%rax) */
	further = put_short_jump(maker, JA);
	put_at(maker, "\x48\xc7\x40", AT(place)); /* movq $0,place(%rax) */
	put(maker, "\0\0\0", 4);
	jump_to_here(maker, further);
	put(maker, "\x48\x05", 2); /* add $nr_bytes,%rax */
	put(maker, &nr_bytes, sizeof(nr_bytes));
	put(maker, "\xff\xca", 2); /* dec %edx */
	put_jump_back(maker, JNE, next);
	jump_to_here(maker, without);
	maker_put_pop(maker, PUSHED);
}

#endif
