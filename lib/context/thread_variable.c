// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds how threads get to a thread-local variable, as their loader does. */
#include "context/thread_variable.h"

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "proc/program.h"
#include "script/thread_keys.h"
#include "snapshot/snapshot.h"
#include "snapshot/thread_context.h"

/* Far above any real one: the static data of all modules of a program. */
#define OFFSET_MAX (UINT64_C(1) << 32)

static bool ends_data(void)
{
	return arch_regs(arch_native())->ends_data;
}

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) & -alignment;
}

/*
 * The data of the executable are the first: right below the thread pointer on x86-64 (variant II of
 * "ELF Handling For Thread-Local Storage"), and above two words of the loader's there on aarch64
 * (variant I). Linkers write these distances into the code.
 */
#define LOADER_BYTES 16

static bool find_in_executable(const struct elf_thread_variable *variable,
			       struct context_place *place)
{
	uint64_t alignment = variable->alignment ? variable->alignment : 1;
	uint64_t first = variable->vaddr & (alignment - 1);

	if (alignment & (alignment - 1) || alignment > OFFSET_MAX ||
	    variable->nr_bytes > OFFSET_MAX)
		return false;
	place->access = CONTEXT_ACCESS_STATIC;
	if (ends_data())
		place->offset =
			(int64_t)(LOADER_BYTES + ((first - LOADER_BYTES) & (alignment - 1)));
	else
		place->offset = -(int64_t)(round_up(variable->nr_bytes + first, alignment) - first);
	place->offset += (int64_t)variable->offset;
	return true;
}

/* --- glibc --- */

/* As it tells debuggers: how many bits a member has, how many there are, and where. */
struct member {
	uint32_t nr_bits, nr, offset;
};

/* In the order of names_of_members. */
struct members {
	struct member vector;	    /* in the record of a thread */
	struct member entry, value; /* of the vector: the whole, and its address */
	struct member list;	    /* of modules with thread-local data, in the loader's state */
	struct member nr, next, slots;	/* in a piece of the list */
	struct member generation, link; /* in a slot: what it needs, and the module */
	struct member number, distance; /* in a module */
};

static const char *const names_of_members[] = {
	"_thread_db_pthread_dtvp",
	"_thread_db_dtv_dtv",
	"_thread_db_dtv_t_pointer_val",
	"_thread_db_rtld_global__dl_tls_dtv_slotinfo_list",
	"_thread_db_dtv_slotinfo_list_len",
	"_thread_db_dtv_slotinfo_list_next",
	"_thread_db_dtv_slotinfo_list_slotinfo",
	"_thread_db_dtv_slotinfo_gen",
	"_thread_db_dtv_slotinfo_map",
	"_thread_db_link_map_l_tls_modid",
	"_thread_db_link_map_l_tls_offset",
	"_thread_db_sizeof_pthread",
};
#define NR_MEMBERS (sizeof(struct members) / sizeof(struct member))
#define WORD_BITS  64
#define SLOT_BYTES 16
/* struct pthread and the loader's state have some thousands of bytes. */
#define MEMBER_MAX (UINT32_C(1) << 20)

_Static_assert(ARRAY_SIZE(names_of_members) == NR_MEMBERS + 1, "a name for each, and the size");

/* False: there is another loader, or this one is laid out otherwise. */
static bool find_members(struct space *space, struct members *members, uint32_t *nr_record_bytes)
{
	uint64_t at[NR_MEMBERS + 1];
	struct member *all = &members->vector;

	if (!glibc_exports_find(space, glibc_libraries, names_of_members, NR_MEMBERS + 1, at) ||
	    !space_read_memory(space, at[NR_MEMBERS], nr_record_bytes, sizeof(*nr_record_bytes)))
		return false;
	for (size_t i = 0; i < NR_MEMBERS; i++) {
		if (!space_read_memory(space, at[i], &all[i], sizeof(all[i])) ||
		    all[i].offset > MEMBER_MAX)
			return false;
	}
	return *nr_record_bytes <= MEMBER_MAX && members->vector.nr_bits == WORD_BITS &&
	       members->entry.nr_bits == 2 * WORD_BITS && !members->entry.offset &&
	       !members->value.offset && members->slots.nr_bits == 8 * SLOT_BYTES &&
	       members->link.offset <= SLOT_BYTES - sizeof(uint64_t) &&
	       members->generation.offset <= SLOT_BYTES - sizeof(uint64_t);
}

static bool read_member(struct space *space, uint64_t record, const struct member *member,
			uint64_t *value)
{
	return space_read_memory(space, record + member->offset, value, sizeof(*value));
}

static uint64_t word_of(const uint8_t *slot, const struct member *member)
{
	uint64_t word;

	__builtin_memcpy(&word, slot + member->offset, sizeof(word));
	return word;
}

/* Programs have one piece of some 60 modules, and seldom a second one. */
#define PIECES_MAX 16
#define SLOTS_MAX  512

/* The module with this load bias: where the loader has its record of it. */
struct link {
	uint64_t address, number, generation;
};

static bool find_in_piece(struct space *space, const struct members *members, uint64_t piece,
			  uint64_t nr, uint64_t bias, struct link *link)
{
	uint8_t slots[SLOTS_MAX * SLOT_BYTES];

	if (!space_read_memory(space, piece + members->slots.offset, slots, nr * SLOT_BYTES))
		return false;
	for (uint64_t i = 0; i < nr; i++) {
		const uint8_t *slot = slots + i * SLOT_BYTES;
		uint64_t bias_of_slot;

		link->address = word_of(slot, &members->link);
		/* l_addr comes first, where link.h has it. */
		if (!link->address ||
		    !space_read_memory(space, link->address, &bias_of_slot, sizeof(bias_of_slot)) ||
		    bias_of_slot != bias)
			continue;
		link->generation = word_of(slot, &members->generation);
		link->number += i;
		return true;
	}
	return false;
}

static bool find_link(struct space *space, const struct members *members, uint64_t bias,
		      struct link *link)
{
	static const char *const state[] = {"_rtld_global"};
	uint64_t piece, nr = 0, number;

	*link = (struct link){.number = 0};
	if (!glibc_exports_find(space, glibc_loaders, state, 1, &piece) ||
	    !read_member(space, piece, &members->list, &piece))
		return false;
	for (int i = 0; i < PIECES_MAX && piece; i++) {
		if (!read_member(space, piece, &members->nr, &nr) || nr > SLOTS_MAX)
			return false;
		if (find_in_piece(space, members, piece, nr, bias, link))
			return read_member(space, link->address, &members->number, &number) &&
			       number == link->number;
		link->number += nr;
		if (!read_member(space, piece, &members->next, &piece))
			return false;
	}
	return false;
}

/* NO_TLS_OFFSET and FORCED_DYNAMIC_TLS_OFFSET of glibc, on any processor. */
static bool is_distance(uint64_t value)
{
	return value && value <= OFFSET_MAX;
}

static bool find_in_library(struct space *space, uint64_t bias,
			    const struct elf_thread_variable *variable, struct context_place *place)
{
	struct members members;
	uint32_t nr_record_bytes;
	struct link link;
	uint64_t distance;

	if (!find_members(space, &members, &nr_record_bytes) ||
	    !find_link(space, &members, bias, &link) ||
	    !read_member(space, link.address, &members.distance, &distance))
		return false;
	place->offset = (int64_t)variable->offset;
	if (is_distance(distance)) {
		place->access = CONTEXT_ACCESS_STATIC;
		place->offset += ends_data() ? (int64_t)distance : -(int64_t)distance;
		return true;
	}
	place->access = CONTEXT_ACCESS_DYNAMIC;
	place->module = link.number;
	place->generation = link.generation;
	place->vector_at = members.vector.offset;
	if (ends_data())
		place->vector_at -= nr_record_bytes;
	return true;
}

bool thread_variable_find(struct space *space, const struct mapping *mapping,
			  const struct elf_thread_variable *variable, struct context_place *place)
{
	const struct elf_image *image = space_image(space, mapping);

	*place = (struct context_place){.access = CONTEXT_ACCESS_NONE};
	if (image && elf_image_entry(image) + mapping->bias == proc_program_entry(space_pid(space)))
		return find_in_executable(variable, place);
	return find_in_library(space, mapping->bias, variable, place);
}
