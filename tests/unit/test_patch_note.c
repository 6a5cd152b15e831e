// SPDX-License-Identifier: GPL-2.0-or-later
/* Notes of futex(2) at work: code is copied to writable memory, and makes calls from there. */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "patch/branches.h"
#include "patch/note.h"
#include "patch/patch.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

#define PAGE 4096
/* FUTEX_WAKE, private */
#define WAKE 0x81

/* The word that this makes a call for; rdx, r8, r10 and those that calls preserve stay. */
static const uint8_t call[] = {
	0xbe, WAKE, 0,	  0,	0, /* mov $WAKE,%esi */
	0x48, 0x83, 0xec, 0x08,	   /* sub $8,%rsp */
	0x44, 0x89, 0xc8,	   /* mov %r9d,%eax */
	0x40, 0x80, 0xf6, 0x00,	   /* xor $0,%sil */
	0x0f, 0x05,		   /* syscall */
	0x48, 0x83, 0xc4, 0x08,	   /* add $8,%rsp */
	0xc3,			   /* ret */
};
#define WINDOW_AT    9
#define WINDOW_BYTES 7
#define CALL_AT	     (WINDOW_AT + WINDOW_BYTES)

/* Code, thunks, a word with the offset of a thread's id, and notes: all near each other. */
struct memory {
	uint8_t code[PAGE], thunks[PAGE];
	uint64_t id_at, word;
	struct patch_notes notes;
};

struct fixture {
	struct memory *memory;
	struct patch patch;
};

static uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

static enum patch_outcome install(struct fixture *fixture, uint64_t branch_to)
{
	struct memory *memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct patch_function window = {.address = address_of(memory->code) + WINDOW_AT,
					      .nr_bytes = WINDOW_BYTES,
					      .bytes = call + WINDOW_AT,
					      .nr_readable = sizeof(call) - WINDOW_AT};
	struct code_area area = {
		.address = address_of(memory->thunks), .bytes = memory->thunks, .cap_bytes = PAGE};
	const struct patch_counter counter = {.pass = PATCH_NOTE,
					      .id_at = address_of(&memory->id_at),
					      .notes = address_of(&memory->notes),
					      .return_at = PATCH_RETURN_AT(8)};
	const uint64_t start = address_of(memory->code);
	struct branches *branches = branches_new(&start, 1);
	enum patch_outcome outcome;

	assert_true(memory != MAP_FAILED);
	fixture->memory = memory;
	memcpy(memory->code, call, sizeof(call));
	if (branch_to)
		branches_add(branches, start + 200, start + branch_to, false);
	branches_sort(branches);
	outcome = patch_syscall(&fixture->patch, &window, branches, &area, &counter);
	branches_free(branches);
	if (outcome == PATCH_OK)
		memcpy(memory->code + WINDOW_AT, fixture->patch.new, WINDOW_BYTES);
	return outcome;
}

static void release(struct fixture *fixture)
{
	munmap(fixture->memory, sizeof(*fixture->memory));
}

/* Registers that the call must find, and leave. */
struct registers {
	uint64_t rdi, rdx, r8, r9, r10, rbx, r12, result, returned_to;
};

static void run(const struct fixture *fixture, struct registers *registers)
{
	register uint64_t r8 __asm__("r8") = registers->r8;
	register uint64_t r9 __asm__("r9") = registers->r9;
	register uint64_t r10 __asm__("r10") = registers->r10;
	register uint64_t r12 __asm__("r12") = registers->r12;
	uint64_t rdi = registers->rdi, rdx = registers->rdx, rbx = registers->rbx;

	__asm__ volatile("sub $128,%%rsp\n	call *%[code]\n1:	add $128,%%rsp\n"
			 "	lea 1b(%%rip),%%rcx\n	mov %%rcx,%[returned]\n"
			 : "=a"(registers->result), "+D"(rdi), "+d"(rdx), "+r"(r8), "+r"(r9),
			   "+r"(r10), "+b"(rbx), "+r"(r12), [returned] "=m"(registers->returned_to)
			 : [code] "0"(fixture->memory->code)
			 : "rsi", "rcx", "r11", "memory", "cc");
	*registers = (struct registers){.rdi = rdi,
					.rdx = rdx,
					.r8 = r8,
					.r9 = r9,
					.r10 = r10,
					.rbx = rbx,
					.r12 = r12,
					.result = registers->result,
					.returned_to = registers->returned_to};
}

TEST(patch_note, call_is_noted_and_changes_nothing_else)
{
	struct fixture fixture;
	const struct patch_notes *notes;
	const struct patch_note *note;

	assert_int_equal(install(&fixture, 0), PATCH_OK);
	notes = &fixture.memory->notes;
	for (uint64_t number = 1; number < 5; number++) {
		struct registers registers = {.rdi = address_of(&fixture.memory->word),
					      .rdx = UINT64_C(0x1234567800000000) + number,
					      .r8 = UINT64_C(0x8877665544332211),
					      .r9 = SYS_futex,
					      .r10 = UINT64_C(0x1020304050607080),
					      .rbx = UINT64_C(0xb0b0b0b0b0b0b0b0),
					      .r12 = UINT64_C(0xc0c0c0c0c0c0c0c0)};
		struct registers after = registers;

		run(&fixture, &after);
		assert_int_equal(after.result, 0); /* there was nothing to wake */
		registers.result = after.result;
		registers.returned_to = after.returned_to;
		assert_memory_equal(&after, &registers, sizeof(after));
		assert_int_equal(notes->nr, number);
		note = &notes->notes[number - 1];
		assert_int_equal(note->number, number);
		assert_true(note->word == registers.rdi && note->other_word == registers.r8);
		assert_int_equal(note->operation, WAKE);
		assert_int_equal(note->value, number);
		assert_int_equal(note->other_value, 0x50607080);
		assert_true(note->caller == after.returned_to);
		assert_int_equal(note->tid, 0); /* it is not said where that is */
		assert_true(number == 1 || note->time > note[-1].time);
	}
	release(&fixture);
}

TEST(patch_note, other_system_calls_are_not_noted)
{
	struct fixture fixture;
	struct registers registers = {.r9 = SYS_getpid};

	assert_int_equal(install(&fixture, 0), PATCH_OK);
	run(&fixture, &registers);
	assert_int_equal(registers.result, getpid());
	assert_int_equal(fixture.memory->notes.nr, 0);
	release(&fixture);
}

TEST(patch_note, notes_go_around_the_ring)
{
	struct fixture fixture;
	struct registers registers = {.r9 = SYS_futex};

	assert_int_equal(install(&fixture, 0), PATCH_OK);
	fixture.memory->notes.nr = PATCH_NOTES * UINT64_C(0x100000001);
	registers.rdi = address_of(&fixture.memory->word);
	run(&fixture, &registers);
	assert_true(fixture.memory->notes.notes[0].number ==
		    PATCH_NOTES * UINT64_C(0x100000001) + 1);
	release(&fixture);
}

/* It must be a whole instruction in front of the call to which nothing else leads. */
TEST(patch_note, code_that_is_jumped_into_is_left_alone)
{
	struct fixture fixture;

	for (uint64_t at = WINDOW_AT; at <= CALL_AT; at++) {
		assert_int_equal(install(&fixture, at),
				 at == WINDOW_AT ? PATCH_OK : PATCH_JUMPED_INTO);
		release(&fixture);
	}
}

/* Where a thread is in the program, at each place of the thunk; and whether it can be taken out. */
TEST(patch_note, threads_are_taken_out_but_while_they_write)
{
	struct fixture fixture;
	uint64_t code, original, moved;
	bool was_noting = false, is_noting = false;

	assert_int_equal(install(&fixture, 0), PATCH_OK);
	code = address_of(fixture.memory->code);
	for (uint64_t at = 0; at < fixture.patch.nr_thunk_bytes; at++) {
		enum patch_place place =
			patch_original_pc(&fixture.patch, fixture.patch.thunk + at, &original);

		is_noting = place == PATCH_NOTING;
		was_noting |= is_noting;
		assert_true(is_noting || place == PATCH_AT);
		assert_true(original == code + (at < 3	 ? WINDOW_AT
						: at < 7 ? WINDOW_AT + 3
							 : CALL_AT));
		assert_int_equal(patch_nr_pushed(&fixture.patch, fixture.patch.thunk + at), 0);
	}
	assert_true(was_noting && !is_noting);
	/* Asleep, or about to begin the call again. */
	assert_false(patch_moved_pc(&fixture.patch, code + CALL_AT, &moved));
	assert_false(patch_moved_pc(&fixture.patch, code + CALL_AT + 2, &moved));
	assert_true(patch_moved_pc(&fixture.patch, code + WINDOW_AT + 3, &moved));
	assert_true(moved == fixture.patch.thunk + 3);
	release(&fixture);
}

#else

TEST(patch_note, is_for_x86_64_only)
{
	const struct patch_function window = {.nr_bytes = 4};
	struct patch patch;

	assert_int_equal(patch_syscall(&patch, &window, NULL, NULL, NULL), PATCH_UNSUPPORTED);
}

#endif
