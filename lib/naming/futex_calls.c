// SPDX-License-Identifier: GPL-2.0-or-later
#include "naming/futex_calls.h"

#include "elf/elf_image.h"
#include "probe/wanted.h"

#if defined(__x86_64__)

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "cfi/cfi.h"
#include "code/code_x86_64.h"
#include "patch/note.h"
#include "patch/patch.h"

#define CODE_BYTES_MAX ((size_t)64 << 20)
#define SYSCALL_BYTES  2
#define JUMP_BYTES     5
/* DWARF numbers (System V ABI, figure 3.36). */
#define DWARF_RBP 6
#define DWARF_RSP 7
#define DWARF_RA  16
#define DWARF_RAX 0
/* More is no frame of a function that makes such a call. */
#define FRAME_BYTES_MAX 65536

/* The calls of a file: the C library has fewer than a hundred. */
#define CALLS_MAX 1024
/* A made file could have each of its instructions decoded once for each of them. */
#define DECODED_BYTES_MAX (4 * (uint64_t)CODE_BYTES_MAX)
/* To look up a function takes as long as to decode so many. */
#define LOOK_BYTES 64

/* Where the name of the call is not known it may be anything. */
#define CALL_UNKNOWN (-1)

struct finding {
	struct wanted *wanted;
	struct elf_image *image;
	struct cfi_section frames;
	struct elf_bytes header;
	uint64_t wrapper; /* the address of syscall(), which makes any call; or 0 */
	uint64_t nr_decoded_bytes;
	size_t nr_calls;
	bool is_any;
};

/* A function, decoded up to some instruction. */
struct decoding {
	uint64_t start, end;
	const uint8_t *bytes; /* from `start` on */
	uint64_t at;
	int64_t call;			/* the constant in eax, or CALL_UNKNOWN */
	bool has_number;		/* of futex(2), in some register */
	uint64_t last[PATCH_MAX_BYTES]; /* the latest instructions that lead on, by their ends */
	size_t nr_last;
};

/*
 * The C library compares the pc of a thread that is cancelled with bounds that are before this code
 * and after it: since glibc 2.41, and musl does.
 */
static bool is_bounded(const struct decoding *decoding, uint64_t end)
{
	static const uint8_t pattern[] = {0x4c, 0x89, 0x5c, 0x24, 0x08, 0x0f, 0x05};
	const size_t before = sizeof(pattern) - SYSCALL_BYTES;

	return decoding->at - decoding->start >= before && end - decoding->at >= SYSCALL_BYTES &&
	       memcmp(decoding->bytes + (decoding->at - before - decoding->start), pattern,
		      sizeof(pattern)) == 0;
}

static void note_call_number(struct decoding *decoding, const uint8_t *bytes,
			     const struct code_instruction *code)
{
	int32_t constant;
	bool is_far = bytes[0] == 0x41;

	if (code->nr_bytes == 5U + is_far && (bytes[is_far] & 0xf8) == 0xb8) {
		memcpy(&constant, bytes + 1 + is_far, sizeof(constant));
		decoding->has_number |= constant == SYS_futex;
	}
	if (bytes[0] == 0xb8 && code->nr_bytes == 5) {
		memcpy(&constant, bytes + 1, sizeof(constant));
		decoding->call = constant;
	} else if (memcmp(bytes, "\x48\xc7\xc0", 3) == 0 && code->nr_bytes == 7) {
		memcpy(&constant, bytes + 3, sizeof(constant));
		decoding->call = constant;
	} else if (memcmp(bytes, "\x31\xc0", 2) == 0 && code->nr_bytes == 2) {
		decoding->call = 0;
	} else if (code->written & 1 || code_flow(code->effect) == CODE_FLOW_CALLS ||
		   code_flow(code->effect) == CODE_FLOW_LEAVES) {
		decoding->call = CALL_UNKNOWN;
	}
}

static bool is_syscall(const uint8_t *bytes, size_t nr_bytes)
{
	return nr_bytes == SYSCALL_BYTES && bytes[0] == 0x0f && bytes[1] == 0x05;
}

/* Decodes up to the address. False: that is no instruction. */
static bool decode_to(struct decoding *decoding, uint64_t address)
{
	while (decoding->at < address) {
		const uint8_t *bytes = decoding->bytes + (decoding->at - decoding->start);
		struct code_instruction code;

		if (!code_decode(bytes, decoding->end - decoding->at, decoding->at, &code))
			return false;
		if (code_flow(code.effect) != CODE_FLOW_ON || is_syscall(bytes, code.nr_bytes))
			decoding->nr_last = 0;
		else
			decoding->last[decoding->nr_last++ % PATCH_MAX_BYTES] = decoding->at;
		if (is_syscall(bytes, code.nr_bytes))
			decoding->call = CALL_UNKNOWN;
		else
			note_call_number(decoding, bytes, &code);
		decoding->at += code.nr_bytes;
	}
	return decoding->at == address;
}

/* Does it jump through a register or table? Where such a jump leads is not known. */
static bool has_table(const struct decoding *decoding)
{
	struct code_instruction code;

	for (uint64_t at = decoding->start; at < decoding->end; at += code.nr_bytes) {
		if (!code_decode(decoding->bytes + (at - decoding->start), decoding->end - at, at,
				 &code))
			return true;
		if (code.effect == CODE_EFFECT_STOP)
			return true;
	}
	return false;
}

/* The start of the instructions before the call, and how many there are; 0: none that fit. */
static uint64_t window_before(const struct decoding *decoding, size_t *nr)
{
	for (size_t i = 1; i <= decoding->nr_last && i <= PATCH_MAX_BYTES; i++) {
		uint64_t start = decoding->last[(decoding->nr_last - i) % PATCH_MAX_BYTES];

		if (decoding->at - start > PATCH_MAX_BYTES)
			break;
		*nr = i;
		if (decoding->at - start >= JUMP_BYTES)
			return start;
	}
	return 0;
}

/* Where the return address is, if the stack pointer leads to it. */
static uint16_t return_at(const struct finding *finding, const struct cfi_fde *fde,
			  uint64_t address)
{
	static const uint64_t columns[CFI_TRACKED_COUNT] = {[CFI_TRACKED_SP] = DWARF_RSP,
							    [CFI_TRACKED_FP] = DWARF_RBP,
							    [CFI_TRACKED_RA] = DWARF_RA,
							    [CFI_TRACKED_EH] = DWARF_RAX};
	struct cfi_rules rules;
	int64_t offset;

	if (!cfi_rules_at(&finding->frames, fde, columns, address, &rules) ||
	    rules.cfa.kind != CFI_RULE_REGISTER || rules.cfa.reg != DWARF_RSP ||
	    rules.tracked[CFI_TRACKED_RA].kind != CFI_RULE_OFFSET)
		return 0;
	offset = rules.cfa.offset + rules.tracked[CFI_TRACKED_RA].offset;
	return offset >= 0 && offset < FRAME_BYTES_MAX && offset % 8 == 0 ? PATCH_RETURN_AT(offset)
									  : 0;
}

static void refuse(struct finding *finding, const struct decoding *decoding, const char *reason)
{
	cleanup_free char *name = wanted_name_of_syscall(decoding->at);

	wanted_refuse(finding->wanted, name, reason);
}

static void add_call(struct finding *finding, const struct cfi_fde *fde,
		     const struct decoding *decoding)
{
	uint64_t start;
	size_t nr = 0;

	if (is_bounded(decoding, decoding->end)) {
		refuse(finding, decoding,
		       "the C library cancels threads by their places in it: waits for "
		       "conditions and semaphores are not noted");
		return;
	}
	if (decoding->call != SYS_futex &&
	    (decoding->call != CALL_UNKNOWN ||
	     (!decoding->has_number && decoding->start != finding->wrapper)))
		return;
	finding->nr_calls++;
	start = window_before(decoding, &nr);
	if (decoding->call == SYS_futex && (!start || (nr > 1 && has_table(decoding))))
		refuse(finding, decoding,
		       patch_outcome_text(start ? PATCH_JUMPED_INTO : PATCH_TOO_SHORT));
	if (!start || (nr > 1 && has_table(decoding)))
		return;
	wanted_add_syscall(finding->wanted, start, decoding->at - start,
			   return_at(finding, fde, decoding->at));
	finding->is_any |= decoding->call == SYS_futex;
}

/* False: the file is not one that a linker makes, and would take too long. */
static bool may_decode(struct finding *finding, uint64_t nr_bytes)
{
	finding->nr_decoded_bytes += nr_bytes;
	return finding->nr_decoded_bytes <= DECODED_BYTES_MAX && finding->nr_calls < CALLS_MAX;
}

/*
 * The bytes at an address that look like a system call. A signal frame begins before its function,
 * amid other bytes.
 */
static void look_at(struct finding *finding, uint64_t address, const uint8_t *code, uint64_t from,
		    uint64_t to)
{
	struct decoding decoding = {.call = CALL_UNKNOWN};
	struct cfi_fde fde;
	uint64_t offset;

	if (!cfi_hdr_find(&finding->header, &finding->frames.bytes, address, &offset) ||
	    !cfi_fde_at(&finding->frames, offset, &fde) || fde.is_signal_frame ||
	    address < fde.start || address >= fde.end || fde.start < from || fde.end > to)
		return;
	decoding.start = decoding.at = fde.start;
	decoding.end = fde.end;
	decoding.bytes = code + (fde.start - from);
	/* Once to the call, and once wholly. */
	if (may_decode(finding, address - fde.start) && decode_to(&decoding, address) &&
	    may_decode(finding, 2 * (fde.end - fde.start)))
		add_call(finding, &fde, &decoding);
}

static void search(struct finding *finding, const struct elf_segment *segment)
{
	size_t nr_bytes = (size_t)min_u64(segment->file_bytes, CODE_BYTES_MAX);
	uint8_t *code = alloc_bounded(nr_bytes, 1, CODE_BYTES_MAX);
	const uint8_t *at = code;

	if (!code)
		return;
	nr_bytes = elf_image_read(finding->image, segment->vaddr, code, nr_bytes);
	finding->nr_decoded_bytes += nr_bytes;
	while (may_decode(finding, LOOK_BYTES) &&
	       (at = memmem(at, nr_bytes - (size_t)(at - code), "\x0f\x05", SYSCALL_BYTES))) {
		look_at(finding, segment->vaddr + (uint64_t)(at - code), code, segment->vaddr,
			segment->vaddr + nr_bytes);
		at += SYSCALL_BYTES;
	}
	free(code);
}

bool futex_calls_add(struct wanted *wanted, struct elf_image *image)
{
	static const char *const wrapper = "syscall";
	const struct elf_cfi *cfi = elf_image_cfi(image);
	struct finding finding = {
		.wanted = wanted,
		.image = image,
		.frames = {.bytes = cfi->eh_frame, .hdr_vaddr = cfi->eh_frame_hdr.vaddr},
		.header = cfi->eh_frame_hdr};

	if (!cfi_hdr_is_usable(&finding.header))
		return false;
	elf_image_exports(image, &wrapper, 1, &finding.wrapper);
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		if (elf_image_segment(image, i)->executable)
			search(&finding, elf_image_segment(image, i));
	}
	return finding.is_any;
}

#else

bool futex_calls_add(struct wanted *wanted, struct elf_image *image)
{
	(void)wanted;
	(void)image;
	return false;
}

#endif
