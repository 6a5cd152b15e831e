// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code in thunks that notes calls of futex(2). The call itself overwrites rcx and r11, and rax
 * has its number again in the end: so no register has to be saved but rdx for a moment.
 */
#include "patch/maker_x86_64.h"

#if defined(__x86_64__)

#include <sys/syscall.h>

#include "patch/note.h"

#define NOTE_LOG2 6

/* Members of struct patch_note, as operands of one byte. */
#define AT(member) ((uint8_t)offsetof(struct patch_note, member))
_Static_assert(sizeof(struct patch_note) == 1 << NOTE_LOG2, "shifted by this");

/* mov register,member(%rcx): an instruction of three bytes before its operand's offset. */
static void put_member(struct maker *maker, const char *bytes, uint8_t member)
{
	put(maker, bytes, 3);
	put(maker, &member, 1);
}

/* The next note, of which rcx gets the address. */
static void put_take(struct maker *maker, const struct patch_counter *counter)
{
	const uint32_t mask = PATCH_NOTES - 1;

	put(maker, "\xb8\x01\0\0\0", 5);       /* mov $1,%eax */
	put(maker, "\xf0\x48\x0f\xc1\x05", 5); /* lock xadd %rax,nr(%rip) */
	put_displacement(maker, counter->notes + offsetof(struct patch_notes, nr));
	put(maker, "\x89\xc1", 2); /* mov %eax,%ecx */
	put(maker, "\x81\xe1", 2); /* and $mask,%ecx */
	put(maker, &mask, sizeof(mask));
	put(maker, (const uint8_t[]){0x48, 0xc1, 0xe1, NOTE_LOG2}, 4); /* shl $6,%rcx */
	put(maker, "\x4c\x8d\x1d", 3);				       /* lea notes(%rip),%r11 */
	put_displacement(maker, counter->notes + offsetof(struct patch_notes, notes));
	put(maker, "\x4c\x01\xd9", 3);		      /* add %r11,%rcx */
	put_member(maker, "\x48\x89\x41", AT(taken)); /* mov %rax,taken(%rcx) */
}

static void put_arguments(struct maker *maker)
{
	put_member(maker, "\x48\x89\x79", AT(word));		     /* mov %rdi,word(%rcx) */
	put_member(maker, "\x4c\x89\x41", AT(other_word));	     /* mov %r8,other_word(%rcx) */
	put(maker, (const uint8_t[]){0x89, 0x71, AT(operation)}, 3); /* mov %esi,operation(%rcx) */
	put(maker, (const uint8_t[]){0x89, 0x51, AT(value)}, 3);     /* mov %edx,value(%rcx) */
	put_member(maker, "\x44\x89\x51", AT(other_value)); /* mov %r10d,other_value(%rcx) */
}

static void put_caller(struct maker *maker, const struct patch_counter *counter)
{
	const uint32_t offset = (counter->return_at - UINT32_C(1)) * (uint32_t)sizeof(uint64_t);

	if (counter->return_at) {
		put(maker, "\x48\x8b\x84\x24", 4); /* mov offset(%rsp),%rax */
		put(maker, &offset, sizeof(offset));
	} else {
		put(maker, "\x31\xc0", 2); /* xor %eax,%eax */
	}
	put_member(maker, "\x48\x89\x41", AT(caller)); /* mov %rax,caller(%rcx) */
}

static void put_time(struct maker *maker)
{
	put(maker, "\x49\x89\xd3", 3);		     /* mov %rdx,%r11 */
	put(maker, "\x0f\x31", 2);		     /* rdtsc */
	put(maker, "\x48\xc1\xe2\x20", 4);	     /* shl $32,%rdx */
	put(maker, "\x48\x09\xd0", 3);		     /* or %rdx,%rax */
	put(maker, "\x4c\x89\xda", 3);		     /* mov %r11,%rdx */
	put_member(maker, "\x48\x89\x41", AT(time)); /* mov %rax,time(%rcx) */
}

static void put_id(struct maker *maker, const struct patch_counter *counter)
{
	const uint32_t mask = PATCH_ID_MASK;
	size_t unknown;

	put(maker, "\x48\x8b\x05", 3); /* mov id_at(%rip),%rax */
	put_displacement(maker, counter->id_at);
	put(maker, "\x25", 1); /* and $mask,%eax */
	put(maker, &mask, sizeof(mask));
	unknown = put_short_jump(maker, JE);
	put(maker, "\x64\x8b\x00", 3); /* mov %fs:(%rax),%eax */
	jump_to_here(maker, unknown);
	put(maker, (const uint8_t[]){0x89, 0x41, AT(tid)}, 3); /* mov %eax,tid(%rcx) */
}

void maker_put_note(struct maker *maker, const struct patch_counter *counter,
		    void (*lost)(struct maker *maker))
{
	const uint32_t call = SYS_futex;
	int32_t distance;
	size_t other;

	put(maker, "\x3d", 1); /* cmp $futex,%eax */
	put(maker, &call, sizeof(call));
	put(maker, (const uint8_t[]){0x0f, JNE + 0x10, 0, 0, 0, 0}, 6);
	other = maker->nr_bytes;
	lost(maker);
	put_take(maker, counter);
	put_arguments(maker);
	put_caller(maker, counter);
	put_time(maker);
	put_id(maker, counter);
	put_member(maker, "\x48\x8b\x41", AT(taken));  /* mov taken(%rcx),%rax */
	put(maker, "\x48\xff\xc0", 3);		       /* inc %rax */
	put_member(maker, "\x48\x89\x41", AT(number)); /* mov %rax,number(%rcx) */
	put(maker, "\xb8", 1);			       /* mov $futex,%eax */
	put(maker, &call, sizeof(call));
	distance = (int32_t)(maker->nr_bytes - other);
	memcpy(maker->bytes + other - sizeof(distance), &distance, sizeof(distance));
}

#endif
