// SPDX-License-Identifier: GPL-2.0-or-later
#include "snapshot/signal_frame.h"
#include "tests/unit/unit.h"

#define STACK_START 0x7f0000010000u
#define STACK_BYTES 0x2000u
#define STRUCK_SP   0xc000123458u

/* The copy of an alternate stack from `sp` on, with a signal frame at `frame`. */
struct copy {
	uint8_t bytes[STACK_BYTES];
	uint64_t start;
	size_t nr;
};

static void put(struct copy *copy, uint64_t address, uint64_t word)
{
	memcpy(copy->bytes + (address - copy->start), &word, sizeof(word));
}

static struct copy copy_with_frame(uint64_t sp, uint64_t frame, uint64_t stack_start)
{
	struct copy copy = {.start = sp, .nr = STACK_START + STACK_BYTES - sp};

	put(&copy, frame, 0x401234);	     /* the restorer */
	put(&copy, frame + 8, 7);	     /* uc_flags */
	put(&copy, frame + 24, stack_start); /* uc_stack.ss_sp */
	put(&copy, frame + 40, STACK_BYTES); /* uc_stack.ss_size */
	put(&copy, frame + 168, STRUCK_SP);  /* rsp */
	put(&copy, frame + 176, 0x402345);   /* rip */
	return copy;
}

TEST(struck_sp, is_read_from_the_signal_frame)
{
	uint64_t sp = 0;

	/* However the handler's own stack pointer is aligned. */
	for (uint64_t below = 0; below < 64; below += 8) {
		struct copy copy = copy_with_frame(STACK_START + 0x1000 - below,
						   STACK_START + 0x1a38, STACK_START);

		assert_true(
			signal_frame_struck_sp(ARCH_X86_64, copy.bytes, copy.nr, copy.start, &sp));
		assert_true(sp == STRUCK_SP);
	}
}

TEST(struck_sp, believes_only_a_stack_that_contains_the_frame)
{
	struct copy copy =
		copy_with_frame(STACK_START + 0x1000, STACK_START + 0x1a38, STACK_START + 0x10000);
	uint64_t sp = 1;

	assert_false(signal_frame_struck_sp(ARCH_X86_64, copy.bytes, copy.nr, copy.start, &sp));
	copy = copy_with_frame(STACK_START + 0x1000, STACK_START + 0x1a38, STACK_START - 0x10000);
	assert_false(signal_frame_struck_sp(ARCH_X86_64, copy.bytes, copy.nr, copy.start, &sp));
	assert_true(sp == 1);
}

TEST(struck_sp, is_aligned)
{
	struct copy copy = copy_with_frame(STACK_START + 0x1000, STACK_START + 0x1a38, STACK_START);
	uint64_t sp = 1;

	put(&copy, STACK_START + 0x1a38 + 168, STRUCK_SP + 3);
	assert_false(signal_frame_struck_sp(ARCH_X86_64, copy.bytes, copy.nr, copy.start, &sp));
}

TEST(struck_sp, stays_within_the_copy)
{
	struct copy copy = copy_with_frame(STACK_START + 0x1000, STACK_START + 0x1a38, STACK_START);
	uint64_t sp = 1;

	assert_false(signal_frame_struck_sp(ARCH_X86_64, copy.bytes, 0xa38 + 175, copy.start, &sp));
	assert_true(signal_frame_struck_sp(ARCH_X86_64, copy.bytes, 0xa38 + 176, copy.start, &sp));
	assert_false(signal_frame_struck_sp(ARCH_X86_64, copy.bytes, 0, copy.start, &sp));
}

TEST(struck_sp, finds_nothing_where_there_is_no_signal)
{
	struct copy copy = {.start = STACK_START, .nr = STACK_BYTES};
	uint64_t sp = 1;

	assert_false(signal_frame_struck_sp(ARCH_X86_64, copy.bytes, copy.nr, copy.start, &sp));
	memset(copy.bytes, 0xff, sizeof(copy.bytes));
	assert_false(signal_frame_struck_sp(ARCH_X86_64, copy.bytes, copy.nr, copy.start, &sp));
}

/* <asm/ucontext.h>, <asm/sigcontext.h> of arm64: offsets as its compiler tells them. */
TEST(struck_sp, is_read_from_a_signal_frame_of_aarch64)
{
	struct copy copy = {.start = STACK_START + 0x808, .nr = STACK_BYTES - 0x808};
	const uint64_t frame = STACK_START + 0x1000;
	uint64_t sp = 0;

	put(&copy, frame + 128 + 16, STACK_START); /* uc_stack.ss_sp */
	put(&copy, frame + 128 + 32, STACK_BYTES); /* uc_stack.ss_size */
	put(&copy, frame + 128 + 432, STRUCK_SP);  /* uc_mcontext.sp */
	assert_true(signal_frame_struck_sp(ARCH_AARCH64, copy.bytes, copy.nr, copy.start, &sp));
	assert_true(sp == STRUCK_SP);
	assert_false(signal_frame_struck_sp(ARCH_AARCH64, copy.bytes,
					    frame + 128 + 432 + 7 - copy.start, copy.start, &sp));
}
