// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of probes, for code in this file. */
#include <stdlib.h>

#include "base/alloc.h"
#include "code/code_x86_64.h"
#include "patch/branches.h"
#include "patch/patch.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

#define FUNCTION UINT64_C(0x401000)
#define AREA	 UINT64_C(0x402000)
#define COUNTER	 UINT64_C(0x403000)

/* Code, and its probe. */
struct made {
	struct code_area area;
	uint8_t thunks[256];
	struct patch patch;
	enum patch_outcome outcome;
};

/* Other functions start at `starts`. */
static struct made made_of(struct patch_function function, const uint64_t *starts, size_t nr_starts)
{
	struct made made = {.area = {.address = AREA, .cap_bytes = sizeof(made.thunks)}};
	uint64_t all[4] = {FUNCTION};
	struct branches *branches;

	for (size_t i = 0; i < nr_starts; i++)
		all[i + 1] = starts[i];
	branches = branches_new(all, nr_starts + 1);
	branches_add_code(branches, FUNCTION, function.bytes, function.nr_readable);
	branches_sort(branches);
	made.area.bytes = made.thunks;
	made.outcome = patch_entry(&made.patch, &function, branches, &made.area,
				   &(struct patch_counter){.address = COUNTER, .nr_shards = 1});
	made.area.bytes = NULL; /* a copy would have it elsewhere */
	branches_free(branches);
	return made;
}

/* `size` is that of its symbol. */
static struct made entry_with(const void *code, size_t nr_bytes, uint64_t size,
			      const uint64_t *starts, size_t nr_starts)
{
	return made_of((struct patch_function){.address = FUNCTION,
					       .nr_bytes = size,
					       .bytes = code,
					       .nr_readable = nr_bytes},
		       starts, nr_starts);
}

static struct made entry(const void *code, size_t nr_bytes)
{
	return entry_with(code, nr_bytes, nr_bytes, NULL, 0);
}

#define ENTRY(literal) entry((literal), sizeof(literal) - 1)

/* With the first instruction among the moved ones, as there is no other room. */
static struct made from_first(const void *code, size_t nr_bytes)
{
	return made_of((struct patch_function){.address = FUNCTION,
					       .nr_bytes = nr_bytes,
					       .bytes = code,
					       .nr_readable = nr_bytes,
					       .spared_from = FUNCTION + 1},
		       NULL, 0);
}

#define FROM_FIRST(literal) from_first((literal), sizeof(literal) - 1)

static struct made call(const void *code, size_t nr_bytes)
{
	struct made made = {.area = {.address = AREA, .cap_bytes = sizeof(made.thunks)}};

	made.area.bytes = made.thunks;
	made.outcome = patch_call(&made.patch, FUNCTION, code, nr_bytes, &made.area,
				  &(struct patch_counter){.address = COUNTER, .nr_shards = 1});
	made.area.bytes = NULL;
	return made;
}

#define CALL(literal) call((literal), sizeof(literal) - 1)

#define COUNT "\xf0\x48\xff\x05\xf8\x0f\0\0" /* lock incq, at the area's beginning */

static void assert_thunk(const struct made *made, const void *thunk, size_t nr_bytes)
{
	assert_int_equal(made->outcome, PATCH_OK);
	assert_int_equal(made->patch.thunk, AREA);
	assert_int_equal(made->patch.nr_thunk_bytes, nr_bytes);
	assert_int_equal(made->area.nr_bytes, nr_bytes);
	assert_memory_equal(made->thunks, thunk, nr_bytes);
}

#define ASSERT_THUNK(made, literal) assert_thunk(&(made), (literal), sizeof(literal) - 1)

static void assert_window(const struct made *made, uint64_t address, const void *window,
			  size_t nr_bytes)
{
	assert_int_equal(made->outcome, PATCH_OK);
	assert_int_equal(made->patch.address, address);
	assert_int_equal(made->patch.nr_bytes, nr_bytes);
	assert_memory_equal(made->patch.new, window, nr_bytes);
}

#define ASSERT_WINDOW(made, address, literal)                                                      \
	assert_window(&(made), (address), (literal), sizeof(literal) - 1)

TEST(patch, entry_jumps_to_what_it_displaced)
{
	/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; ret */
	struct made made = FROM_FIRST("\x55\x48\x89\xe5\x48\x83\xec\x10\xc3");

	ASSERT_WINDOW(made, FUNCTION, "\xe9\xfb\x0f\0\0\xcc\xcc\xcc");
	assert_memory_equal(made.patch.old, "\x55\x48\x89\xe5\x48\x83\xec\x10", 8);
	ASSERT_THUNK(made, COUNT "\x55\x48\x89\xe5\x48\x83\xec\x10\xe9\xf3\xef\xff\xff");
	assert_int_equal(made.patch.kind, PATCH_ENTRY);
}

TEST(patch, first_instruction_stays_and_is_executed_again)
{
	/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; ret */
	struct made push = ENTRY("\x55\x48\x89\xe5\x48\x83\xec\x10\xc3");
	/* sub $0x88,%rsp; mov %rdi,(%rsp); nop; ret */
	struct made sub = ENTRY("\x48\x81\xec\x88\0\0\0\x48\x89\x3c\x24\x90\xc3");
	/* test %rdi,%rdi; je +16; lea 1(%rdi),%rax; ret */
	struct made test = ENTRY("\x48\x85\xff\x74\x10\x48\x8d\x47\1\xc3");

	ASSERT_WINDOW(push, FUNCTION + 1, "\xe9\xfa\x0f\0\0\xcc\xcc");
	ASSERT_THUNK(push, "\x48\x8d\xa4\x24\x08\0\0\0" /* lea 8(%rsp),%rsp */
			   "\xf0\x48\xff\x05\xf0\x0f\0\0"
			   "\x55\x48\x89\xe5\x48\x83\xec\x10\xe9\xeb\xef\xff\xff");
	ASSERT_WINDOW(sub, FUNCTION + 7, "\xe9\xf4\x0f\0\0");
	ASSERT_THUNK(sub, "\x48\x8d\xa4\x24\x88\0\0\0"
			  "\xf0\x48\xff\x05\xf0\x0f\0\0"
			  "\x48\x81\xec\x88\0\0\0\x48\x89\x3c\x24\x90\xe9\xeb\xef\xff\xff");
	ASSERT_WINDOW(test, FUNCTION + 3, "\xe9\xf8\x0f\0\0\xcc");
	ASSERT_THUNK(test, COUNT "\x48\x85\xff\x0f\x84\x04\xf0\xff\xff\x48\x8d\x47\1"
				 "\xe9\xef\xef\xff\xff");
}

TEST(patch, first_instruction_that_harms_nothing_stays_alone)
{
	/* mov %rdi,%rbx; mov %rdi,%rcx; mov %rdi,%rdx; ret */
	struct made made = ENTRY("\x48\x89\xfb\x48\x89\xf9\x48\x89\xfa\xc3");

	ASSERT_WINDOW(made, FUNCTION + 3, "\xe9\xf8\x0f\0\0\xcc");
	ASSERT_THUNK(made, COUNT "\x48\x89\xf9\x48\x89\xfa\xe9\xf6\xef\xff\xff");
}

TEST(patch, first_instruction_is_moved_where_it_cannot_stay)
{
	static const uint64_t second[] = {FUNCTION + 5};
	static const char *const codes[] = {
		"\x48\x89\x7c\x24\xf8\x31\xc0\x31\xc0\x31\xc0", /* mov %rdi,-8(%rsp) */
		"\x58\x31\xc9\x31\xc9\x31\xc9\x31\xc9\x31\xc9", /* pop %rax */
		"\x48\x83\xc4\x08\x31\xc9\x31\xc9\x31\xc9\x90", /* add $8,%rsp */
		"\x48\x83\xe4\xf0\x31\xc9\x31\xc9\x31\xc9\x90", /* and $-16,%rsp */
		"\x48\x89\xfc\x31\xc9\x31\xc9\x31\xc9\x90\x90", /* mov %rdi,%rsp */
		"\x48\xff\xc7\x31\xc9\x31\xc9\x31\xc9\x90\x90", /* inc %rdi */
		"\xf0\x48\xff\x07\x31\xc9\x31\xc9\x31\xc9\x90", /* lock incq (%rdi) */
		"\x48\x0f\x44\xfe\x31\xc9\x31\xc9\x31\xc9\x90", /* cmove %rsi,%rdi */
		"\xb8\x27\0\0\0\x0f\x05\x31\xc9\x31\xc9",	/* mov $39,%eax; syscall */
		"\xb8\x27\0\0\0\xff\xcf\x31\xc9\x75\xfa",	/* and a loop to its next one */
		"\xb8\x27\0\0\0\x79\xfe\x31\xc9\x31\xc9",	/* and a branch to itself */
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct made made = entry(codes[i], 11);

		assert_int_equal(made.outcome, PATCH_OK);
		assert_int_equal(made.patch.address, FUNCTION);
	}
	/* Another function begins with the second instruction. */
	assert_int_equal(entry_with("\xb8\x27\0\0\0\x31\xc9\x31\xc9\x31\xc9", 11, 11, second, 1)
				 .patch.address,
			 FUNCTION);
}

TEST(patch, change_of_the_first_instruction_is_known)
{
	/* sub $24,%rsp; mov %rdi,(%rsp); nop; ret */
	struct made made = ENTRY("\x48\x83\xec\x18\x48\x89\x3c\x24\x90\xc3");
	struct made at_entry = ENTRY("\x48\xff\xc7\x48\xff\xc7\xc3");

	assert_int_equal(made.patch.nr_before, 4);
	assert_true(patch_is_reached(made.patch.before, made.patch.nr_before,
				     (const uint8_t *)"\x48\x83\xec\x18"));
	assert_true(patch_is_reached(made.patch.before, made.patch.nr_before,
				     (const uint8_t *)"\xcc\x83\xec\x18"));
	assert_false(patch_is_reached(made.patch.before, made.patch.nr_before,
				      (const uint8_t *)"\xe9\x83\xec\x18"));
	assert_false(patch_is_reached(made.patch.before, made.patch.nr_before,
				      (const uint8_t *)"\x48\x83\xec\x28"));
	assert_int_equal(at_entry.patch.nr_before, 0);
	assert_true(patch_is_reached(at_entry.patch.before, at_entry.patch.nr_before,
				     (const uint8_t *)""));
}

TEST(patch, breakpoint_of_another_tool_is_left_alone)
{
	struct patch_function function = {.address = FUNCTION, .has_breakpoint = true};
	struct made made;

	function.nr_readable = function.nr_bytes = 9;
	function.bytes = (const uint8_t *)"\x55\x48\x89\xe5\x48\x83\xec\x10\xc3";
	made = made_of(function, NULL, 0);
	assert_int_equal(made.outcome, PATCH_OK);
	assert_int_equal(made.patch.address, FUNCTION + 1);
	/* endbr64; push %rbp; mov %rsp,%rbp; ret */
	function.bytes = (const uint8_t *)"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x90";
	made = made_of(function, NULL, 0);
	assert_int_equal(made.outcome, PATCH_OK);
	assert_int_equal(made.patch.address, FUNCTION + 4);
	/* inc %rdi; inc %rdi; inc %rdi */
	function.bytes = (const uint8_t *)"\x48\xff\xc7\x48\xff\xc7\x48\xff\xc7";
	assert_int_equal(made_of(function, NULL, 0).outcome, PATCH_DIFFERS_FROM_FILE);
}

#define TABLE_WORD UINT64_C(0x403010)
#define END_WORD   UINT64_C(0x403018)
#define CLAIMED	   UINT64_C(0x404000)

#define FIND_ENTRY_BY_RDX                                                                          \
	"\x69\xd1\xb1\x79\x37\x9e" /* imul $0x9e3779b1,%ecx,%edx */                                \
	"\xc1\xea\x11"		   /* shr $17,%edx */                                              \
	"\x81\xe2\xf8\x7f\0\0"	   /* and $0x7ff8,%edx */                                          \
	"\x48\x03\x15\xea\x0f\0\0" /* add table_word(%rip),%rdx */
#define CLAIM_UNLESS_BASE_DIFFERS                                                                  \
	"\xf3\x48\x0f\xae\xc1"		 /* rdfsbase %rcx */                                       \
	"\x64\x48\x3b\x0c\x25\0\0\0\0"	 /* cmp %fs:0,%rcx */                                      \
	"\x75\x23"			 /* jne shared */                                          \
	"\xb9\1\0\0\0"			 /* mov $1,%ecx */                                         \
	"\xf0\x48\x0f\xc1\x0d\xa9\x1f\0" /* lock xadd %rcx,claimed(%rip) */                        \
	"\0\x48\x81\xe9\0\2\0\0"	 /* sub $512,%rcx */                                       \
	"\x73\x0c"			 /* jae shared */                                          \
	"\x64\x48\x2b\x0c\x25\0\0\0\0"	 /* sub %fs:0,%rcx */                                      \
	"\x48\x89\x0a"			 /* mov %rcx,(%rdx) */

/* A stub and a thunk of `mov $1,%eax; ret`. */
struct owned {
	uint8_t bytes[512];
	size_t nr_bytes;
	struct patch_owners owners;
	struct patch patch;
};

static void make_owned(struct owned *owned, bool reads_base)
{
	static const uint8_t code[] = {0xb8, 1, 0, 0, 0, 0xc3};
	const struct patch_function function = {
		.address = FUNCTION, .bytes = code, .nr_readable = sizeof(code)};
	struct branches *branches = branches_new(&function.address, 1);
	struct code_area area = {
		.address = AREA, .bytes = owned->bytes, .cap_bytes = sizeof(owned->bytes)};
	struct patch_counter counter = {.base_word = COUNTER,
					.offset = 0x28,
					.nr_shards = 16,
					.shard_log2 = 7,
					.owners = &owned->owners};

	owned->owners = (struct patch_owners){.table_word = TABLE_WORD,
					      .end_word = END_WORD,
					      .claimed = CLAIMED,
					      .nr_copies = 512,
					      .reads_base = reads_base};
	assert_true(patch_stub(&owned->owners, &counter, &area));
	branches_sort(branches);
	assert_int_equal(patch_entry(&owned->patch, &function, branches, &area, &counter),
			 PATCH_OK);
	branches_free(branches);
	owned->nr_bytes = area.nr_bytes;
}

/*
 * The longest thunk, of a call of 15 bytes behind two jumps, has no room for the push as well: the
 * jump is at the entry then.
 */
TEST(patch, first_instruction_is_moved_where_the_thunk_has_no_room_for_it_twice)
{
	static const uint8_t code[] = "\x50"					 /* push %rax */
				      "\x74\x20\x74\x20"			 /* jz, jz */
				      "\x26\x26\x26\x26\x26\x26\x26\x26\x26\x26" /* es call */
				      "\x26\x26\x26\xff\xd0"			 /* *%rax */
				      "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
				      "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x58\xc3";
	const struct patch_function function = {.address = FUNCTION,
						.nr_bytes = sizeof(code) - 1,
						.bytes = code,
						.nr_readable = sizeof(code) - 1};
	struct branches *branches = branches_new(&function.address, 1);
	uint8_t bytes[2048];
	struct code_area area = {.address = AREA, .bytes = bytes, .cap_bytes = sizeof(bytes)};
	struct patch_owners owners = {.table_word = TABLE_WORD,
				      .end_word = END_WORD,
				      .claimed = CLAIMED,
				      .nr_copies = 512};
	const struct patch_counter counter = {.base_word = COUNTER,
					      .gate_word = COUNTER,
					      .missed = COUNTER,
					      .offset = 0x28,
					      .nr_shards = 16,
					      .shard_log2 = 7,
					      .pass = PATCH_SPAN_TO,
					      .owners = &owners,
					      .nr_spans = 8,
					      .id_at = COUNTER,
					      .slow = COUNTER};
	struct patch patch;

	assert_true(patch_stub(&owners, &counter, &area));
	assert_true(patch_slow_stub(&owners, &counter, &area));
	branches_sort(branches);
	assert_int_equal(patch_entry(&patch, &function, branches, &area, &counter), PATCH_OK);
	assert_int_equal(patch.nr_before, 0);
	assert_int_equal(patch.address, FUNCTION);
	branches_free(branches);
}

TEST(patch, owned_count_is_one_addition_without_a_lock)
{
	static const char thunk[] = "\x50"			   /* push %rax */
				    "\x64\x48\x8b\x04\x25\0\0\0\0" /* mov %fs:0,%rax */
				    "\x69\xc0\xb1\x79\x37\x9e"	   /* imul $0x9e3779b1,%eax,%eax */
				    "\xc1\xe8\x11"		   /* shr $17,%eax */
				    "\x25\xf8\x7f\0\0"		   /* and $0x7ff8,%eax */
				    "\x48\x03\x05\x51\x0f\0\0"	   /* add table_word(%rip),%rax */
				    "\x48\x8b\0"		   /* mov (%rax),%rax */
				    "\x64\x48\x03\x04\x25\0\0\0\0" /* add %fs:0,%rax */
				    "\x48\x3d\0\xfe\xff\xff"	   /* cmp $-512,%rax */
				    "\x0f\x82\x1d\0\0\0"	   /* jb to the last two */
				    "\x48\xc1\xe0\x07"		   /* shl $7,%rax */
				    "\x48\x03\x05\x36\x0f\0\0"	   /* add end_word(%rip),%rax */
				    "\x48\xff\x80\x28\0\0\0"	   /* incq 40(%rax) */
				    "\x58"			   /* pop %rax */
				    "\xb8\1\0\0\0"		   /* mov $1,%eax */
				    "\xe9\x11\xef\xff\xff"	   /* jmp to the function */
				    "\x48\x8d\x05\xee\xff\xff\xff" /* lea of the pop,%rax */
				    "\xe9\0\xff\xff\xff";	   /* jmp stub */
	struct owned owned;

	make_owned(&owned, true);
	assert_int_equal(owned.patch.thunk, AREA + 0xa0);
	assert_int_equal(owned.nr_bytes, 0xa0 + sizeof(thunk) - 1);
	assert_memory_equal(owned.bytes + 0xa0, thunk, sizeof(thunk) - 1);
}

TEST(patch, stub_claims_a_copy_and_counts_in_a_shard)
{
	static const char stub[] = "\x48\x8d\x64\x24\x80"	      /* lea -128(%rsp),%rsp */
				   "\x51\x52"			      /* push %rcx; push %rdx */
				   "\x64\x48\x8b\x0c\x25\0\0\0\0"     /* mov %fs:0,%rcx */
		FIND_ENTRY_BY_RDX "\x48\x83\x3a\0"		      /* cmpq $0,(%rdx) */
				   "\x75\x40"			      /* jne shared */
				   "\x48\x81\x3d\xc9\x1f\0\0\0\2\0\0" /* cmpq $512,claimed(%rip) */
				   "\x73\x33"			      /* jae shared */
		CLAIM_UNLESS_BASE_DIFFERS
				   "\x64\x48\x8b\x0c\x25\0\0\0\0" /* shared: mov %fs:0,%rcx */
				   "\x69\xc9\xb1\x79\x37\x9e"	  /* imul $0x9e3779b1,%ecx,%ecx */
				   "\xc1\xe9\x15"		  /* shr $21,%ecx */
				   "\x81\xe1\x80\x07\0\0"	  /* and $0x780,%ecx */
				   "\x48\x03\x0d\x75\x0f\0\0"	  /* add base_word(%rip),%rcx */
				   "\x48\x63\x50\xfc"		  /* movslq -4(%rax),%rdx */
				   "\xf0\x48\xff\x04\x11"	  /* lock incq (%rcx,%rdx) */
				   "\x5a\x59"			  /* pop %rdx; pop %rcx */
				   "\x48\x83\xec\x80"		  /* sub $-128,%rsp */
				   "\xff\xe0";			  /* jmp *%rax */
	struct owned owned;

	make_owned(&owned, true);
	assert_int_equal(owned.owners.stub, AREA);
	assert_int_equal(owned.owners.nr_stub_bytes, sizeof(stub) - 1);
	assert_memory_equal(owned.bytes, stub, sizeof(stub) - 1);
}

TEST(patch, stub_takes_any_word_but_zero_where_the_base_cannot_be_read)
{
	struct owned owned;

	make_owned(&owned, false);
	/* test %rcx,%rcx; je shared */
	assert_memory_equal(owned.bytes + 0x39, "\x48\x85\xc9\x74\x23\xb9", 6);
}

TEST(patch, thread_in_the_stub_is_in_a_thunk_by_its_link)
{
	/* Offsets of instructions of the stub, and what is saved there. */
	static const struct {
		uint8_t at;
		struct patch_saved saved;
	} places[] = {{0, {0, 0}},	{5, {128, 0}},	  {6, {128, 1}},
		      {7, {128, 2}},	{0x8f, {128, 2}}, {0x94, {128, 2}},
		      {0x95, {128, 1}}, {0x96, {128, 0}}, {0x9a, {0, 0}}};
	struct owned owned;
	const struct patch *patch = &owned.patch;
	struct patch_saved saved;
	uint64_t link, original;

	make_owned(&owned, true);
	link = patch->thunk + patch->counted_at;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		assert_true(patch_is_in_stub(patch, AREA + places[i].at, link, &saved));
		assert_int_equal(saved.nr_bytes, places[i].saved.nr_bytes);
		assert_int_equal(saved.nr_words, places[i].saved.nr_words);
	}
	assert_false(patch_is_in_stub(patch, AREA + 0x9c, link, &saved));
	assert_false(patch_is_in_stub(patch, AREA - 1, link, &saved));
	assert_false(patch_is_in_stub(patch, AREA + 7, link + 1, &saved));
	assert_int_equal(patch_original_pc(patch, link, &original), PATCH_AT);
	assert_int_equal(original, FUNCTION);
	assert_int_equal(patch_nr_pushed(patch, link), 1);
	/* On the way there, and back at the function. */
	assert_int_equal(patch_original_pc(patch, AREA + 0xf4, &original), PATCH_AT);
	assert_int_equal(original, FUNCTION);
	assert_int_equal(patch_nr_pushed(patch, AREA + 0xf4), 1);
	assert_int_equal(patch_nr_pushed(patch, AREA + 0xfb), 1);
	assert_int_equal(patch_original_pc(patch, AREA + 0xef, &original), PATCH_AT);
	assert_int_equal(original, FUNCTION + 5);
	assert_int_equal(patch_nr_pushed(patch, AREA + 0xef), 0);
}

TEST(patch, landing_pad_of_indirect_calls_stays)
{
	/* endbr64; mov $1,%eax; ret */
	struct made made = ENTRY("\xf3\x0f\x1e\xfa\xb8\1\0\0\0\xc3");

	ASSERT_WINDOW(made, FUNCTION + 4, "\xe9\xf7\x0f\0\0");
	ASSERT_THUNK(made, COUNT "\xb8\1\0\0\0\xe9\xf7\xef\xff\xff");
}

TEST(patch, room_for_patches_of_the_program_stays)
{
	/* endbr64; nopl 0(%rax,%rax); mov $1,%eax; ret */
	struct made ftrace = ENTRY("\xf3\x0f\x1e\xfa\x0f\x1f\x44\0\0\xb8\1\0\0\0\xc3");
	/* nop, six times; mov $1,%eax; ret */
	struct made gcc = ENTRY("\x90\x90\x90\x90\x90\x90\xb8\1\0\0\0\xc3");
	/* jmp over nopw 512(%rax,%rax); mov $1,%eax; ret */
	struct made xray = ENTRY("\xeb\x09\x66\x0f\x1f\x84\0\0\2\0\0\xb8\1\0\0\0\xc3");
	/* nop, four times: a patch does not fit */
	struct made few = ENTRY("\x90\x90\x90\x90\xb8\1\0\0\0\xc3");
	/* nop, five times; ret; ud2 */
	struct made full = ENTRY("\x90\x90\x90\x90\x90\xc3\x0f\x0b");

	ASSERT_WINDOW(ftrace, FUNCTION + 9, "\xe9\xf2\x0f\0\0");
	ASSERT_WINDOW(gcc, FUNCTION + 6, "\xe9\xf5\x0f\0\0");
	ASSERT_WINDOW(xray, FUNCTION + 11, "\xe9\xf0\x0f\0\0");
	assert_false(xray.patch.is_in_sled);
	ASSERT_WINDOW(few, FUNCTION, "\xe9\xfb\x0f\0\0\xcc\xcc\xcc\xcc");
	assert_false(few.patch.is_in_sled);
	ASSERT_WINDOW(full, FUNCTION, "\xe9\xfb\x0f\0\0");
	assert_true(full.patch.is_in_sled);
}

TEST(patch, operands_relative_to_rip_stay_the_same)
{
	struct made load = ENTRY("\x48\x8b\x05\x10\0\0\0\xc3");		 /* mov 16(%rip),%rax */
	struct made compare = ENTRY("\x83\x3d\x10\0\0\0\x7f\xc3");	 /* cmpl $127,16(%rip) */
	struct made address = ENTRY("\x48\x8d\x3d\xf9\xff\xff\xff\xc3"); /* lea of itself */

	ASSERT_THUNK(load, COUNT "\x48\x8b\x05\x08\xf0\xff\xff\xe9\xf3\xef\xff\xff");
	ASSERT_THUNK(compare, COUNT "\x83\x3d\x08\xf0\xff\xff\x7f\xe9\xf3\xef\xff\xff");
	ASSERT_THUNK(address, COUNT "\x48\x8d\x3d\xf1\xef\xff\xff\xe9\xf3\xef\xff\xff");
}

TEST(patch, branches_and_jumps_lead_where_they_led)
{
	/* test %edi,%edi; je +16; inc %eax; ret */
	struct made branch = FROM_FIRST("\x85\xff\x74\x10\xff\xc0\xc3");
	struct made wide = FROM_FIRST("\x0f\x88\x10\0\0\0\xc3");	  /* js +16 */
	struct made hinted = FROM_FIRST("\x2e\x75\x10\x31\xc0\xc3");	  /* jne,pn +16; xor */
	struct made jump = FROM_FIRST("\xe9\0\1\0\0");			  /* a tail call */
	struct made near_jump = FROM_FIRST("\x31\xc0\x90\xeb\x40\xcc");	  /* xor; nop; jmp +64 */
	struct made plt = FROM_FIRST("\xf2\xff\x25\x10\0\0\0\x0f\x1f\0"); /* bnd jmp *16(%rip) */
	struct made table = FROM_FIRST("\xff\x24\xfd\0\0\x40\0");	  /* jmp *table(,%rdi,8) */

	ASSERT_THUNK(branch, COUNT "\x85\xff\x0f\x84\x04\xf0\xff\xff\xff\xc0\xe9\xef\xef\xff\xff");
	ASSERT_THUNK(wide, COUNT "\x0f\x88\x08\xf0\xff\xff\xe9\xf3\xef\xff\xff");
	ASSERT_THUNK(hinted, COUNT "\x0f\x85\x05\xf0\xff\xff\x31\xc0\xe9\xf0\xef\xff\xff");
	ASSERT_THUNK(jump, COUNT "\xe9\xf8\xf0\xff\xff");
	ASSERT_THUNK(near_jump, COUNT "\x31\xc0\x90\xe9\x35\xf0\xff\xff");
	ASSERT_THUNK(plt, COUNT "\xf2\xff\x25\x08\xf0\xff\xff");
	ASSERT_THUNK(table, COUNT "\xff\x24\xfd\0\0\x40\0");
}

/* movl $low,-8(%rsp); movl $high,-4(%rsp); lea -8(%rsp),%rsp */
#define PUSH(low) "\xc7\x44\x24\xf8" low "\xc7\x44\x24\xfc\0\0\0\0\x48\x8d\x64\x24\xf8"

TEST(patch, displaced_calls_return_to_the_program)
{
	struct made direct = FROM_FIRST("\xe8\0\1\0\0\xc3");
	/* sub $8,%rsp; call *16(%rip) */
	struct made word = FROM_FIRST("\x48\x83\xec\x08\xff\x15\x10\0\0\0\xc3");
	struct made pointer = FROM_FIRST("\x48\x83\xec\x08\xff\x57\x18\xc3"); /* call *24(%rdi) */
	struct made local = FROM_FIRST("\x48\x83\xec\x08\x41\xff\x54\x24\x08\xc3"); /* *8(%r12) */

	ASSERT_THUNK(direct, COUNT PUSH("\x05\x10\x40\0") "\xe9\xe3\xf0\xff\xff");
	assert_int_equal(direct.patch.callee_kind, PATCH_CALLEE_DIRECT);
	assert_int_equal(direct.patch.callee, FUNCTION + 0x105);
	ASSERT_THUNK(word,
		     COUNT "\x48\x83\xec\x08" PUSH("\x0a\x10\x40\0") "\xff\x25\xf3\xef\xff\xff");
	assert_int_equal(word.patch.callee_kind, PATCH_CALLEE_IN_WORD);
	assert_int_equal(word.patch.callee, FUNCTION + 0x1a);
	ASSERT_THUNK(pointer, COUNT "\x48\x83\xec\x08" PUSH("\x07\x10\x40\0") "\xff\x67\x18");
	assert_int_equal(pointer.patch.callee_kind, PATCH_CALLEE_UNKNOWN);
	ASSERT_THUNK(local, COUNT "\x48\x83\xec\x08" PUSH("\x09\x10\x40\0") "\x41\xff\x64\x24\x08");
}

TEST(patch, call_that_needs_its_stack_pointer_is_refused)
{
	assert_int_equal(ENTRY("\x48\x83\xec\x08\xff\x54\x24\x08\xc3").outcome,
			 PATCH_NO_FIXED_FORM); /* call *8(%rsp) */
	assert_int_equal(ENTRY("\x48\x83\xec\x08\xff\xd4\xc3").outcome,
			 PATCH_NO_FIXED_FORM); /* call *%rsp */
}

TEST(patch, no_call_returns_into_the_window)
{
	/* push %rbx; call *%rax; pop %rbx; ret */
	assert_int_equal(ENTRY("\x53\xff\xd0\x5b\xc3").outcome, PATCH_JUMPED_INTO);
}

TEST(patch, padding_after_a_function_is_used)
{
	static const uint64_t next[] = {FUNCTION + 4}, far[] = {FUNCTION + 8};
	struct made made;

	made = entry_with("\xc3\x66\x90\xcc\x90\x90\x90\x90", 8, 1, NULL, 0);
	ASSERT_WINDOW(made, FUNCTION, "\xe9\xfb\x0f\0\0");
	ASSERT_THUNK(made, COUNT "\xc3");
	/* xor %eax,%eax; ret; nopl 0(%rax) */
	made = entry_with("\x31\xc0\xc3\x0f\x1f\x80\0\0\0\0", 10, 3, NULL, 0);
	ASSERT_WINDOW(made, FUNCTION + 2, "\xe9\xf9\x0f\0\0\xcc\xcc\xcc");
	ASSERT_THUNK(made, COUNT "\x31\xc0\xc3");
	made = entry_with("\xc3\x90\x90\x90\x90\x90\x90\x90", 8, 1, far, 1);
	assert_int_equal(made.outcome, PATCH_OK);
	/* the next function begins with no-ops, as some compilers make them */
	made = entry_with("\xc3\x90\x90\x90\x90\x90\x90\x90", 8, 1, next, 1);
	assert_int_equal(made.outcome, PATCH_JUMPED_INTO);
	/* pop %rbx follows; or no more is readable */
	made = entry_with("\x31\xc0\xc3\x90\x5b\x90\x90\x90", 8, 3, NULL, 0);
	assert_int_equal(made.outcome, PATCH_TOO_SHORT);
	made = entry_with("\x31\xc0\xc3", 3, 3, NULL, 0);
	assert_int_equal(made.outcome, PATCH_TOO_SHORT);
	/* xchg %r8,%rax is no padding, as short as it is */
	made = entry_with("\x31\xc0\xc3\x49\x90\x90\x90\x90", 8, 3, NULL, 0);
	assert_int_equal(made.outcome, PATCH_TOO_SHORT);
	/* its end continues into the next function */
	made = entry_with("\x31\xc0\x90\x90\x90\x90\x90\x90", 8, 2, NULL, 0);
	assert_int_equal(made.outcome, PATCH_TOO_SHORT);
	/* jmp *%rax, and a target of it after that */
	made = entry_with("\xff\xe0\x31\xc0\xc3\x90\x90\x90", 8, 5, NULL, 0);
	assert_int_equal(made.outcome, PATCH_INDIRECT_JUMP);
}

TEST(patch, code_that_is_jumped_into_is_refused)
{
	/* xor %eax,%eax; inc %edi; inc %edi; jne to the second */
	struct made loop = ENTRY("\x31\xc0\xff\xc7\xff\xc7\x75\xfa\xc3");
	/* the byte after the window is the target: that is outside */
	struct made behind = ENTRY("\x31\xc0\xff\xc7\xff\xc7\x75\xfe\xc3");

	assert_int_equal(loop.outcome, PATCH_JUMPED_INTO);
	assert_int_equal(behind.outcome, PATCH_OK);
	assert_int_equal(loop.area.nr_bytes, 0);
}

TEST(patch, loops_to_the_entry_are_no_calls)
{
	/* dec %edi; mov $1,%eax; jne to the start */
	struct made loop = ENTRY("\xff\xcf\xb8\1\0\0\0\x75\xf7\xc3");
	/* endbr64, and to the instruction after it */
	struct made pad = ENTRY("\xf3\x0f\x1e\xfa\xff\xcf\xb8\1\0\0\0\x75\xf7\xc3");
	/* the same, to the endbr64 */
	struct made start = ENTRY("\xf3\x0f\x1e\xfa\xff\xcf\xb8\1\0\0\0\x75\xf3\xc3");
	/* within the window: jmp to itself; test, jne to the start */
	struct made self = ENTRY("\xeb\xfe\xcc\xcc\xcc\xcc");
	struct made two = ENTRY("\x85\xff\x75\xfc\x31\xc0\xc3");
	/* a function that calls itself */
	struct made recursion = ENTRY("\xff\xcf\xb8\1\0\0\0\xe8\xf4\xff\xff\xff\xc3");
	/* another one, from FUNCTION + 8 on, that ends with a jump to it */
	uint64_t other = FUNCTION + 8;
	struct made tail_call = entry_with("\xb8\1\0\0\0\xc3\x90\x90\x31\xff\xe9\xf1\xff\xff\xff",
					   15, 6, &other, 1);

	assert_int_equal(loop.outcome, PATCH_LOOPS_TO_ENTRY);
	assert_int_equal(pad.outcome, PATCH_LOOPS_TO_ENTRY);
	assert_int_equal(start.outcome, PATCH_LOOPS_TO_ENTRY);
	assert_int_equal(self.outcome, PATCH_LOOPS_TO_ENTRY);
	assert_int_equal(two.outcome, PATCH_LOOPS_TO_ENTRY);
	assert_int_equal(recursion.outcome, PATCH_OK);
	assert_int_equal(tail_call.outcome, PATCH_OK);
}

TEST(patch, size_that_is_not_known_ends_at_the_next_function)
{
	static const uint64_t other[] = {FUNCTION + 8};
	static const char code[] = "\xb8\1\0\0\0\xc3\x90\x90\x31\xff\xe9\xf1\xff\xff\xff";

	assert_int_equal(entry_with(code, 15, 0, other, 1).outcome, PATCH_OK);
	assert_int_equal(entry_with(code, 15, 0, NULL, 0).outcome, PATCH_LOOPS_TO_ENTRY);
}

TEST(patch, instructions_without_another_form_are_refused)
{
	static const struct {
		const char *code;
		size_t nr_bytes;
		enum patch_outcome outcome;
	} cases[] = {
		{"\xe2\x10\x31\xc0\x31\xc0\xc3", 7, PATCH_NO_FIXED_FORM},   /* loop */
		{"\xe3\x10\x31\xc0\x31\xc0\xc3", 7, PATCH_NO_FIXED_FORM},   /* jrcxz */
		{"\xc7\xf8\x10\0\0\0\xc3", 7, PATCH_NO_FIXED_FORM},	    /* xbegin */
		{"\x0f\x0b\x90\x90\x90\x90", 6, PATCH_NO_FIXED_FORM},	    /* ud2 */
		{"\xcc\x90\x90\x90\x90\x90", 6, PATCH_NO_FIXED_FORM},	    /* int3 */
		{"\xff\x2f\xc3\xc3\xc3\xc3", 6, PATCH_NO_FIXED_FORM},	    /* far jump */
		{"\x31\xc0\x31\xc0\xff\x1f\xc3", 7, PATCH_NO_FIXED_FORM},   /* far call */
		{"\x66\xe9\x10\0\0\0\xc3", 7, PATCH_NO_FIXED_FORM},	    /* 16 bits */
		{"\x66\x0f\x84\x10\0\0\0\xc3", 8, PATCH_NO_FIXED_FORM},	    /* the same */
		{"\x67\x48\x8d\x05\x10\0\0\0\xc3", 9, PATCH_NO_FIXED_FORM}, /* eip */
		{"\x31\xc0\x06\x31\xc0\xc3", 6, PATCH_UNKNOWN_CODE},
		{"\x31\xc0\x48", 3, PATCH_TOO_SHORT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made made =
			entry_with(cases[i].code, cases[i].nr_bytes, i == 11 ? 2 : 0, NULL, 0);

		assert_int_equal(made.outcome, cases[i].outcome);
		assert_int_equal(made.area.nr_bytes, 0);
	}
}

TEST(patch, code_that_cannot_be_read_is_unknown)
{
	assert_int_equal(entry_with("\x31\xc0\x31", 3, 64, NULL, 0).outcome, PATCH_UNKNOWN_CODE);
	assert_int_equal(entry_with("\x31\xc0", 2, 64, NULL, 0).outcome, PATCH_UNKNOWN_CODE);
	assert_int_equal(entry_with("", 0, 64, NULL, 0).outcome, PATCH_UNKNOWN_CODE);
}

/* How far the area, and the counter, may be away. */
static enum patch_outcome reach(const char *code, size_t nr_bytes, uint64_t area, uint64_t counter)
{
	uint8_t thunks[256];
	struct code_area far = {.address = area, .bytes = thunks, .cap_bytes = sizeof(thunks)};
	struct patch_function function = {
		.address = FUNCTION, .bytes = (const uint8_t *)code, .nr_readable = nr_bytes};
	struct branches *branches = branches_new(NULL, 0);
	struct patch patch;
	enum patch_outcome outcome;

	branches_sort(branches);
	outcome = patch_entry(&patch, &function, branches, &far,
			      &(struct patch_counter){.address = counter, .nr_shards = 1});
	assert_int_equal(far.nr_bytes > 0, outcome == PATCH_OK);
	branches_free(branches);
	return outcome;
}

TEST(patch, distant_areas_and_counters_are_refused)
{
	static const char plain[] = "\xb8\1\0\0\0\xc3";
	/* an operand almost 2 GiB before it */
	static const char far_operand[] = "\x48\x8b\x05\0\0\0\x80\xc3";
	const uint64_t edge = FUNCTION + 0x7fffffff;

	assert_int_equal(reach(plain, 6, edge - 0xf, edge), PATCH_OK);
	assert_int_equal(reach(plain, 6, edge + 0x11, edge), PATCH_OUT_OF_REACH);
	assert_int_equal(reach(plain, 6, 0x500000, 0x500000 + 0x80000007), PATCH_OK);
	assert_int_equal(reach(plain, 6, 0x500000, 0x500000 + 0x80000008), PATCH_OUT_OF_REACH);
	assert_int_equal(reach(far_operand, 8, 0x500000, 0x500000), PATCH_OUT_OF_REACH);
	assert_int_equal(reach(far_operand, 8, 0x300000, 0x300000), PATCH_OK);
}

TEST(patch, full_area_is_left_as_it_is)
{
	uint8_t thunks[48];
	struct code_area area = {.address = AREA, .bytes = thunks, .cap_bytes = 47};
	struct patch patch;

	assert_int_equal(patch_call(&patch, FUNCTION, (const uint8_t *)"\xe8\0\0\0\0", 5, &area,
				    &(struct patch_counter){.address = COUNTER, .nr_shards = 1}),
			 PATCH_OK);
	assert_int_equal(area.nr_bytes, 13);
	assert_int_equal(patch_call(&patch, FUNCTION, (const uint8_t *)"\xe8\0\0\0\0", 5, &area,
				    &(struct patch_counter){.address = COUNTER, .nr_shards = 1}),
			 PATCH_OK);
	/* thunks begin at multiples of 16, with traps in between */
	assert_int_equal(patch.thunk, AREA + 16);
	assert_memory_equal(thunks + 13, "\xcc\xcc\xcc", 3);
	assert_int_equal(area.nr_bytes, 29);
	area.cap_bytes = 32;
	assert_int_equal(patch_call(&patch, FUNCTION, (const uint8_t *)"\xe8\0\0\0\0", 5, &area,
				    &(struct patch_counter){.address = COUNTER, .nr_shards = 1}),
			 PATCH_NO_ROOM);
	assert_int_equal(area.nr_bytes, 29);
	area.cap_bytes = 44;
	assert_int_equal(patch_call(&patch, FUNCTION, (const uint8_t *)"\xe8\0\0\0\0", 5, &area,
				    &(struct patch_counter){.address = COUNTER, .nr_shards = 1}),
			 PATCH_NO_ROOM);
	assert_int_equal(area.nr_bytes, 29);
}

TEST(patch, calls_lead_over_their_thunk)
{
	struct made direct = CALL("\xe8\0\1\0\0");
	struct made padded = CALL("\x67\xe8\0\1\0\0");
	struct made tls = CALL("\x66\x66\x48\xe8\0\1\0\0"); /* as before __tls_get_addr */
	struct made word = CALL("\xff\x15\x10\0\0\0");
	struct made tls_word = CALL("\x66\x48\xff\x15\x10\0\0\0");

	ASSERT_WINDOW(direct, FUNCTION, "\xe8\xfb\x0f\0\0");
	ASSERT_THUNK(direct, COUNT "\xe9\xf8\xf0\xff\xff");
	assert_int_equal(direct.patch.kind, PATCH_CALL);
	assert_int_equal(direct.patch.callee, FUNCTION + 0x105);
	assert_memory_equal(direct.patch.old, "\xe8\0\1\0\0", 5);
	ASSERT_WINDOW(padded, FUNCTION, "\x67\xe8\xfa\x0f\0\0");
	ASSERT_WINDOW(tls, FUNCTION, "\x66\x66\x48\xe8\xf8\x0f\0\0");
	ASSERT_THUNK(tls, COUNT "\xe9\xfb\xf0\xff\xff");
	ASSERT_WINDOW(word, FUNCTION, "\x67\xe8\xfa\x0f\0\0");
	ASSERT_THUNK(word, COUNT "\xff\x25\x08\xf0\xff\xff");
	assert_int_equal(word.patch.kind, PATCH_CALL_GOT);
	assert_int_equal(word.patch.callee, FUNCTION + 0x16);
	ASSERT_WINDOW(tls_word, FUNCTION, "\x67\x67\x67\xe8\xf8\x0f\0\0");
	ASSERT_THUNK(tls_word, COUNT "\x66\x48\xff\x25\x08\xf0\xff\xff");
}

TEST(patch, other_calls_are_refused)
{
	assert_int_equal(CALL("\xff\xd0").outcome, PATCH_INDIRECT_CALL);
	assert_int_equal(CALL("\xff\x14\x25\x10\0\0\0").outcome, PATCH_INDIRECT_CALL);
	assert_int_equal(CALL("\xff\x1d\x10\0\0\0").outcome, PATCH_INDIRECT_CALL); /* far */
	assert_int_equal(CALL("\x67\xff\x15\x10\0\0\0").outcome, PATCH_NO_FIXED_FORM);
	assert_int_equal(CALL("\x66\xe8\x10\0\0\0").outcome, PATCH_NO_FIXED_FORM);
	assert_int_equal(CALL("\xe9\x10\0\0\0").outcome, PATCH_UNKNOWN_CODE);
	assert_int_equal(CALL("\xe8\x10\0\0").outcome, PATCH_UNKNOWN_CODE);
}

TEST(patch, calls_are_found)
{
	static const uint8_t code[] = "\x53\xe8\0\1\0\0"      /* push %rbx; call */
				      "\xff\x15\x10\0\0\0"    /* call *16(%rip) */
				      "\xff\xd0"	      /* call *%rax */
				      "\xb8\xe8\0\0\0"	      /* mov $0xe8,%eax */
				      "\xe9\0\1\0\0"	      /* jmp: a tail call */
				      "\x06"		      /* not an instruction */
				      "\xe8\0\0\0\0\xe8\0\0"; /* call; one with its end missing */
	struct patch_calls calls = {.address = FUNCTION, .bytes = code, .nr_bytes = 33};
	struct patch_call_site site;

	assert_true(patch_calls_next(&calls, &site));
	assert_int_equal(site.address, FUNCTION + 1);
	assert_int_equal(site.nr_bytes, 5);
	assert_int_equal(site.kind, PATCH_CALL);
	assert_int_equal(site.callee, FUNCTION + 0x106);
	assert_ptr_equal(site.bytes, code + 1);
	assert_true(patch_calls_next(&calls, &site));
	assert_int_equal(site.address, FUNCTION + 6);
	assert_int_equal(site.kind, PATCH_CALL_GOT);
	assert_int_equal(site.callee, FUNCTION + 0x1c);
	assert_true(patch_calls_next(&calls, &site));
	assert_int_equal(site.address, FUNCTION + 12);
	assert_int_equal(site.nr_bytes, 2);
	assert_int_equal(site.kind, PATCH_CALL_INDIRECT);
	assert_int_equal(site.callee, 0);
	assert_false(calls.has_unknown);
	assert_true(patch_calls_next(&calls, &site));
	assert_true(calls.has_unknown);
	assert_int_equal(site.address, FUNCTION + 25);
	assert_false(patch_calls_next(&calls, &site));
	assert_false(patch_calls_next(&calls, &site));
}

TEST(patch, calls_before_branches_are_made_by_each_entry)
{
	/* push %rbx; call; ret */
	struct made straight = ENTRY("\x53\xe8\0\1\0\0\xc3");
	/* test %edi,%edi; je; call; ret */
	struct made branch = ENTRY("\x85\xff\x74\x40\xe8\0\1\0\0\xc3");
	struct made alone = CALL("\xe8\0\1\0\0");

	assert_int_equal(straight.outcome, PATCH_OK);
	assert_true(patch_always_calls(&straight.patch, FUNCTION + 1));
	assert_false(patch_always_calls(&straight.patch, FUNCTION));
	assert_false(patch_always_calls(&straight.patch, FUNCTION + 6));
	assert_int_equal(branch.outcome, PATCH_OK);
	assert_false(patch_always_calls(&branch.patch, FUNCTION + 4));
	assert_int_equal(alone.outcome, PATCH_OK);
	assert_false(patch_always_calls(&alone.patch, FUNCTION));
}

TEST(patch, jumps_out_of_the_code_are_calls_if_asked_for)
{
	static const uint8_t code[] = "\x74\x02"	   /* je, within */
				      "\xeb\x7f"	   /* jmp: a tail call */
				      "\x0f\x85\0\1\0\0"   /* jne: perhaps one */
				      "\xff\x25\x10\0\0\0" /* jmp *0x10(%rip) */
				      "\xff\xe0";	   /* jmp *%rax: not known */
	struct patch_calls calls = {
		.address = FUNCTION, .bytes = code, .nr_bytes = 18, .with_jumps = true};
	struct patch_call_site site;

	assert_true(patch_calls_next(&calls, &site));
	assert_int_equal(site.kind, PATCH_CALL_JUMP);
	assert_int_equal(site.address, FUNCTION + 2);
	assert_int_equal(site.callee, FUNCTION + 0x83);
	assert_true(patch_calls_next(&calls, &site));
	assert_int_equal(site.kind, PATCH_CALL_JUMP);
	assert_int_equal(site.callee, FUNCTION + 0x10a);
	assert_true(patch_calls_next(&calls, &site));
	assert_int_equal(site.kind, PATCH_CALL_JUMP);
	assert_int_equal(site.address, FUNCTION + 10);
	assert_int_equal(site.callee, 0);
	assert_false(patch_calls_next(&calls, &site));
}

/* The place in the program of each pc of a thunk, from its beginning on. */
struct place {
	uint64_t offset;
	enum patch_place place;
	uint64_t original;
};

static void assert_places(const struct made *made, const struct place *places, size_t nr)
{
	assert_int_equal(made->outcome, PATCH_OK);
	for (size_t i = 0; i < nr; i++) {
		uint64_t original = 0;

		assert_int_equal(
			patch_original_pc(&made->patch, AREA + places[i].offset, &original),
			places[i].place);
		assert_int_equal(original, places[i].original);
	}
}

#define ASSERT_PLACES(made, ...)                                                                   \
	do {                                                                                       \
		const struct place places_[] = {__VA_ARGS__};                                      \
		assert_places(&(made), places_, ARRAY_SIZE(places_));                              \
	} while (0)

TEST(patch, each_pc_of_a_thunk_has_a_place_in_the_program)
{
	/* push %rbp; mov %rsp,%rbp; je +0; ret */
	struct made entries = FROM_FIRST("\x55\x48\x89\xe5\x74\0\xc3");
	struct made stays = ENTRY("\x55\x48\x89\xe5\x90\x90\xc3");
	struct made test = ENTRY("\x48\x85\xff\x74\x10\x48\x8d\x47\1\xc3");
	struct made direct = FROM_FIRST("\xe8\0\1\0\0\xc3");
	struct made word = FROM_FIRST("\xff\x15\x10\0\0\0\xc3");
	struct made pointer = FROM_FIRST("\x48\x83\xec\x08\xff\x57\x18\xc3");
	struct made calls = CALL("\xe8\0\1\0\0");
	struct made got = CALL("\xff\x15\x10\0\0\0");

	ASSERT_PLACES(entries, {0, PATCH_AT, FUNCTION}, {8, PATCH_AT, FUNCTION},
		      {9, PATCH_AT, FUNCTION + 1}, {12, PATCH_AT, FUNCTION + 4},
		      {18, PATCH_AT, FUNCTION + 6}, {23, PATCH_ELSEWHERE, 0},
		      {(uint64_t)-1, PATCH_ELSEWHERE, 0});
	ASSERT_PLACES(stays, {0, PATCH_AT, FUNCTION + 1}, {8, PATCH_AT, FUNCTION},
		      {16, PATCH_AT, FUNCTION}, {17, PATCH_AT, FUNCTION + 1},
		      {20, PATCH_AT, FUNCTION + 4});
	ASSERT_PLACES(test, {0, PATCH_AT, FUNCTION}, {8, PATCH_AT, FUNCTION},
		      {11, PATCH_AT, FUNCTION + 3}, {17, PATCH_AT, FUNCTION + 5});
	ASSERT_PLACES(direct, {8, PATCH_AT, FUNCTION}, {16, PATCH_AT, FUNCTION},
		      {24, PATCH_AT, FUNCTION}, {29, PATCH_AT, FUNCTION + 0x105});
	ASSERT_PLACES(word, {24, PATCH_AT, FUNCTION}, {29, PATCH_AT_WORD, FUNCTION + 0x16});
	ASSERT_PLACES(pointer, {8, PATCH_AT, FUNCTION}, {12, PATCH_AT, FUNCTION + 4},
		      {28, PATCH_AT, FUNCTION + 4}, {33, PATCH_AT_CALL, FUNCTION + 4});
	ASSERT_PLACES(calls, {0, PATCH_AT, FUNCTION + 0x105}, {8, PATCH_AT, FUNCTION + 0x105},
		      {13, PATCH_ELSEWHERE, 0});
	ASSERT_PLACES(got, {0, PATCH_AT_WORD, FUNCTION + 0x16},
		      {8, PATCH_AT_WORD, FUNCTION + 0x16});
}

static void assert_moved(const struct made *made, uint64_t offset, uint64_t to)
{
	uint64_t moved = 0;

	assert_true(patch_moved_pc(&made->patch, FUNCTION + offset, &moved));
	assert_int_equal(moved, AREA + to);
}

static void assert_not_moved(const struct made *made, uint64_t offset)
{
	uint64_t moved;

	assert_false(patch_moved_pc(&made->patch, FUNCTION + offset, &moved));
}

TEST(patch, threads_among_the_bytes_move_to_the_thunk)
{
	struct made entries = FROM_FIRST("\x55\x48\x89\xe5\x74\0\xc3");
	struct made pointer = FROM_FIRST("\x48\x83\xec\x08\xff\x57\x18\xc3");
	struct made calls = CALL("\xe8\0\1\0\0");
	/* xor %eax,%eax; syscall; xor %ecx,%ecx: the kernel goes back by the length of a call */
	struct made inside = FROM_FIRST("\x31\xc0\x0f\x05\x31\xc9\xc3");
	struct made at_end = FROM_FIRST("\xb0\x27\x90\x0f\x05\x31\xc9\xc3");

	assert_not_moved(&entries, 0); /* the new jump leads on from there */
	assert_moved(&entries, 1, 9);
	assert_moved(&entries, 4, 12);
	assert_not_moved(&entries, 6);
	assert_not_moved(&entries, (uint64_t)-1);
	assert_moved(&pointer, 4, 12);
	assert_not_moved(&pointer, 7);
	assert_not_moved(&calls, 0);
	assert_not_moved(&calls, 5);
	assert_moved(&inside, 2, 10);
	assert_moved(&inside, 4, 12);
	assert_not_moved(&inside, 6);
	assert_moved(&at_end, 3, 11);
	assert_moved(&at_end, 5, 13);
}

TEST(branches, are_kept_near_the_places_asked_about)
{
	static const uint64_t starts[] = {0x1000, 0x2000, 0x3000}, places[] = {0x3000, 0x1000};
	struct branches *branches = branches_new(starts, ARRAY_SIZE(starts));

	branches_ask_about(branches,
			   &(struct branches_places){.at = places, .nr = ARRAY_SIZE(places)});
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		branches_add(branches, 0x1800, starts[i] + 2, false);
	branches_sort(branches);
	assert_true(branches_lead_into(branches, 0x1000, 0x1005));
	assert_false(branches_lead_into(branches, 0x2000, 0x2005));
	assert_true(branches_lead_into(branches, 0x3000, 0x3005));
	assert_int_equal(branches_next_start(branches, 0x1000), 0x2000); /* of all */
	branches_free(branches);
}

/* This program's own code. */
extern const uint8_t __executable_start[], etext[];

/* The targets of calls in it. The caller frees them. */
static uint64_t *own_starts(const uint8_t *code, size_t nr_bytes, size_t *nr)
{
	uint64_t first = (uint64_t)(uintptr_t)code, *starts = NULL;
	size_t cap = 0;

	*nr = 0;
	for (size_t at = 0; at < nr_bytes;) {
		struct code_instruction instruction;

		if (!code_decode(code + at, nr_bytes - at, first + at, &instruction)) {
			at++;
			continue;
		}
		if (instruction.effect == CODE_EFFECT_CALL && instruction.target >= first &&
		    instruction.target < first + nr_bytes) {
			ARRAY_GROW(starts, *nr, cap);
			starts[(*nr)++] = instruction.target;
		}
		at += instruction.nr_bytes;
	}
	return starts;
}

static struct branches *own_branches(const uint64_t *starts, size_t nr, const uint64_t *places,
				     size_t nr_places, const uint8_t *code, size_t nr_bytes)
{
	struct branches *branches = branches_new(starts, nr);

	if (nr_places)
		branches_ask_about(branches,
				   &(struct branches_places){.at = places, .nr = nr_places});
	branches_add_code(branches, (uint64_t)(uintptr_t)code, code, nr_bytes);
	branches_sort(branches);
	return branches;
}

/* Each byte of the program that looks like a branch may be one, in step or not. */
TEST(branches, near_few_places_are_the_same_as_among_all)
{
	size_t nr_bytes = (size_t)(etext - __executable_start), nr, nr_checked = 0;
	uint64_t *starts = own_starts(__executable_start, nr_bytes, &nr);
	struct branches *all = own_branches(starts, nr, NULL, 0, __executable_start, nr_bytes);

	assert_true(nr > 100);
	for (size_t first = 0; first < 50; first++) {
		uint64_t places[] = {starts[first], starts[nr / 2 - first], starts[nr - 1 - first]};
		struct branches *few = own_branches(starts, nr, places, ARRAY_SIZE(places),
						    __executable_start, nr_bytes);

		for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
			uint64_t next = branches_next_start(all, places[i]);

			for (uint64_t at = places[i]; at < next && at < places[i] + 20; at++) {
				bool leads = branches_lead_into(all, at - 1, at + 1);
				bool loops = branches_loop_to(all, at, places[i], next);

				assert_int_equal(branches_lead_into(few, at - 1, at + 1), leads);
				assert_int_equal(branches_loop_to(few, at, places[i], next), loops);
				nr_checked += leads + loops;
			}
		}
		branches_free(few);
	}
	assert_true(nr_checked > 50);
	branches_free(all);
	free(starts);
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Functions of which all are asked about, and the bytes that their probes may change. */
TEST(branches, into_what_probes_change_are_the_same_as_among_all)
{
	const uint8_t *code = __executable_start;
	size_t nr_bytes = (size_t)(etext - code), nr_starts, nr = 0, nr_checked = 0;
	uint64_t *starts = own_starts(code, nr_bytes, &nr_starts);
	struct branches *all = own_branches(starts, nr_starts, NULL, 0, code, nr_bytes), *near;
	uint8_t *reach = xcalloc(nr_starts, sizeof(*reach));

	qsort(starts, nr_starts, sizeof(*starts), compare_addresses);
	for (size_t i = 0; i < nr_starts; i++) {
		bool is_plain;

		if (nr && starts[nr - 1] == starts[i])
			continue;
		reach[nr] = patch_entry_reach((const uint8_t *)(uintptr_t)starts[i],
					      (uint64_t)(uintptr_t)etext - starts[i], &is_plain);
		assert_in_range(reach[nr], 5, PATCH_REACH_MAX_BYTES);
		starts[nr++] = starts[i];
	}
	near = branches_new(starts, nr);
	branches_ask_about(near, &(struct branches_places){.at = starts, .nr = nr, .reach = reach});
	branches_add_code(near, (uint64_t)(uintptr_t)code, code, nr_bytes);
	branches_sort(near);
	for (size_t i = 0; i < nr; i++) {
		uint64_t next = branches_next_start(all, starts[i]);

		for (uint64_t at = starts[i]; at < next && at < starts[i] + reach[i]; at++) {
			bool leads = branches_lead_into(all, at - 1, at + 1);
			bool loops = branches_loop_to(all, at, starts[i], next);

			assert_int_equal(branches_lead_into(near, at - 1, at + 1), leads);
			assert_int_equal(branches_loop_to(near, at, starts[i], next), loops);
			nr_checked++;
		}
	}
	assert_true(nr > 100 && nr_checked > nr * 5);
	branches_free(near);
	branches_free(all);
	free(reach);
	free(starts);
}

/* A function that has no start, but an entry in unwind information, behind data. */
TEST(branches, are_found_after_data_where_a_step_is)
{
	static const uint64_t starts[] = {0x1000}, steps[] = {0x1010, 0x1400, 0x1500};
	static const uint8_t hidden[] = "\x48\xb8\xe9\xfe\xfb\xff\xff"; /* 0x1400: jmp 0x1003 */
	uint8_t code[0x600];

	memset(code, 0x90, sizeof(code));
	memcpy(code + 0x3fe, hidden, sizeof(hidden) - 1);
	for (int has_steps = 0; has_steps < 2; has_steps++) {
		struct branches *branches = branches_new(starts, ARRAY_SIZE(starts));

		branches_know_steps(branches, steps, has_steps ? ARRAY_SIZE(steps) : 0);
		branches_ask_about(branches, &(struct branches_places){.at = starts, .nr = 1});
		assert_int_equal(branches_last_step(branches, 0x14ff), has_steps ? 0x1400 : 0);
		branches_add_code(branches, 0x1000, code, sizeof(code));
		branches_sort(branches);
		assert_int_equal(branches_lead_to(branches, 0x1003, 0x1004), has_steps);
		branches_free(branches);
	}
}

/* In the function at 0x1000 that at 0x1008 begins, and jumps back to it: a loop of the former. */
TEST(branches, between_functions_lead_to_no_start)
{
	static const uint64_t starts[] = {0x1000, 0x1008, 0x1010};
	struct branches_places places = {.at = starts, .nr = ARRAY_SIZE(starts)};

	for (places.span = 0; places.span <= 0x10; places.span += 0x10) {
		struct branches *branches = branches_new(starts, ARRAY_SIZE(starts));

		branches_ask_about(branches, &places);
		branches_add(branches, 0x1009, 0x1000, false);
		branches_add(branches, 0x1009, 0x1010, false);
		branches_add(branches, 0x1012, 0x1010, false);
		branches_sort(branches);
		assert_int_equal(branches_loop_to(branches, 0x1000, 0x1000, 0x1010),
				 places.span == 0x10);
		assert_false(branches_loop_to(branches, 0x1010, 0x1000, 0x1010));
		assert_true(branches_loop_to(branches, 0x1010, 0x1010, 0x1020));
		branches_free(branches);
	}
}

/* Files say where functions are: there, too, where no program has code. */
TEST(branches, are_known_up_to_the_end_of_the_address_space)
{
	static const uint64_t last[] = {UINT64_MAX - 0x3e, UINT64_MAX - 0xf, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
		const uint64_t at[] = {last[i] - 0x100, last[i]};
		const uint8_t reach[] = {5, PATCH_REACH_MAX_BYTES};
		struct branches *branches = branches_new(at, ARRAY_SIZE(at));

		branches_ask_about(
			branches,
			&(struct branches_places){.at = at, .nr = ARRAY_SIZE(at), .reach = reach});
		branches_add(branches, 0x1000, at[0] + 4, true);
		branches_add(branches, 0x1000, at[0] + 5, true);
		branches_sort(branches);
		assert_true(branches_lead_to(branches, at[0] + 4, at[0] + 5));
		assert_false(branches_lead_to(branches, at[0] + 5, at[0] + 6));
		branches_free(branches);
	}
}

TEST(patch, a_probe_reaches_to_the_end_of_an_instruction)
{
	static const uint8_t entry[] = "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x83\xec\x08\xc3";
	static const uint8_t sled[] = "\x0f\x1f\x44\0\0\x55\x48\x89\xe5\xc3";

	static const uint8_t jumps[] = "\xeb\x03\x48\x89\xe5\xc3";
	bool is_plain;

	assert_int_equal(patch_entry_reach(entry, sizeof(entry) - 1, &is_plain), 12);
	assert_true(is_plain);
	assert_int_equal(patch_entry_reach(entry + 4, sizeof(entry) - 5, &is_plain), 8);
	assert_true(is_plain);
	assert_int_equal(patch_entry_reach(jumps, sizeof(jumps) - 1, &is_plain), 5);
	assert_false(is_plain);
	assert_int_equal(patch_entry_reach(sled, sizeof(sled) - 1, &is_plain),
			 PATCH_REACH_MAX_BYTES);
	assert_false(is_plain);
	assert_int_equal(patch_entry_reach(entry, 9, &is_plain), PATCH_REACH_MAX_BYTES);
	assert_false(is_plain);
}

TEST(branches, are_found_after_data)
{
	static const uint64_t starts[] = {0x2000, 0x1000, 0x1000};
	static const uint8_t code[] =
		"\xe9\x05\xf0\xff\xff"	/* 0x1ff9: jmp 0x1003 */
		"\x48\xb8"		/* data that looks like the beginning of a movabs */
		"\x74\x02"		/* 0x2000: je 0x2004 */
		"\xe8\xf9\xff\xff\xff"; /* call 0x2000 */
	struct branches *branches = branches_new(starts, ARRAY_SIZE(starts));

	branches_add_code(branches, 0x1ff9, code, 14);
	branches_add(branches, 0x3000, 0x1100, false);
	branches_sort(branches);
	assert_true(branches_lead_into(branches, 0x1000, 0x1004));
	assert_false(branches_lead_into(branches, 0x1000, 0x1003));
	assert_false(branches_lead_into(branches, 0x1003, 0x1010));
	assert_true(branches_lead_into(branches, 0x2000, 0x2005));
	assert_true(branches_lead_into(branches, 0x1fff, 0x2001));    /* a start */
	assert_false(branches_lead_into(branches, 0x10ff, 0x1101));   /* far from one */
	assert_false(branches_loop_to(branches, 0x2000, 0, 0x10000)); /* by a call only */
	assert_true(branches_loop_to(branches, 0x2004, 0x2000, 0x2001));
	assert_false(branches_loop_to(branches, 0x2004, 0x2001, 0x3000));
	assert_int_equal(branches_next_start(branches, 0xfff), 0x1000);
	assert_int_equal(branches_next_start(branches, 0x1000), 0x2000);
	assert_true(branches_next_start(branches, 0x2000) == UINT64_MAX);
	branches_free(branches);
}

#endif

TEST(patch, every_outcome_has_a_text)
{
	for (int i = 0; i < PATCH_OUTCOME_COUNT; i++)
		assert_string_not_equal(patch_outcome_text((enum patch_outcome)i), "unknown");
}
