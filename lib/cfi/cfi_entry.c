// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for CIEs and FDEs of .eh_frame and .debug_frame. */
#include <string.h>

#include "base/minmax.h"
#include "cfi/cfi.h"

/* LSB core 5.0 table 10-5 and 10-6. */
#define PE_FORMAT  0x0f
#define PE_ABSPTR  0x00
#define PE_ULEB128 0x01
#define PE_UDATA2  0x02
#define PE_UDATA4  0x03
#define PE_UDATA8  0x04
#define PE_SLEB128 0x09
#define PE_SDATA2  0x0a
#define PE_SDATA4  0x0b
#define PE_SDATA8  0x0c
#define PE_PCREL   0x10
#define PE_DATAREL 0x30
#define PE_OMIT	   0xff

#define LENGTH_64BIT UINT32_C(0xffffffff)

/* The number alone, without its base. */
static uint64_t read_format(struct cursor *cursor, uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return cursor_u64(cursor);
	case PE_ULEB128:
		return cursor_uleb(cursor);
	case PE_UDATA2:
		return cursor_u16(cursor);
	case PE_UDATA4:
		return cursor_u32(cursor);
	case PE_SLEB128:
		return (uint64_t)cursor_padded_sleb(cursor);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)cursor_u16(cursor);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)cursor_u32(cursor);
	default: /* a byte of a file: it may have any value */
		cursor->failed = true;
		return 0;
	}
}

uint64_t cfi_pointer(const struct cfi_section *section, struct cursor *cursor, uint8_t encoding)
{
	uint64_t here = section->bytes.vaddr + (uint64_t)(cursor->at - section->bytes.bytes);
	uint64_t value = read_format(cursor, encoding);

	switch (encoding & ~PE_FORMAT) {
	case PE_ABSPTR:
		return value;
	case PE_PCREL:
		return here + value;
	case PE_DATAREL:
		return section->hdr_vaddr + value;
	default: /* text- and function-relative, aligned, indirect: not written by linkers */
		cursor->failed = true;
		return 0;
	}
}

/* The header that CIE and FDE share. */
struct entry {
	struct cursor body; /* after length and id */
	uint64_t id;
	uint64_t id_offset; /* of the id in the section */
	uint64_t next;	    /* offset of the next entry */
	bool is_64bit;
};

static bool entry_at(const struct cfi_section *section, uint64_t offset, struct entry *entry)
{
	struct cursor at = cursor_over(section->bytes.bytes, section->bytes.nr_bytes);
	const uint8_t *body;
	uint64_t length;

	if (!cursor_bytes(&at, offset))
		return false;
	length = cursor_u32(&at);
	entry->is_64bit = length == LENGTH_64BIT;
	if (entry->is_64bit)
		length = cursor_u64(&at);
	body = cursor_bytes(&at, length);
	if (!length || !body) /* a length of 0 ends .eh_frame */
		return false;
	entry->next = (uint64_t)(at.at - section->bytes.bytes);
	entry->body = cursor_over(body, length);
	entry->id_offset = (uint64_t)(body - section->bytes.bytes);
	/* In .eh_frame the id is 4 bytes even after a 64-bit length. */
	if (entry->is_64bit && section->is_debug_frame)
		entry->id = cursor_u64(&entry->body);
	else
		entry->id = cursor_u32(&entry->body);
	return !entry->body.failed;
}

static bool is_cie(const struct cfi_section *section, const struct entry *entry)
{
	if (!section->is_debug_frame)
		return entry->id == 0;
	return entry->id == (entry->is_64bit ? UINT64_MAX : UINT32_MAX);
}

static bool cie_offset_of(const struct cfi_section *section, const struct entry *fde,
			  uint64_t *offset)
{
	*offset = section->is_debug_frame ? fde->id : fde->id_offset - fde->id;
	return *offset < section->bytes.nr_bytes;
}

/* LSB 10.6.1.1.1: the fields that the letters after 'z' announce. */
static void read_augmentation(const struct cfi_section *section, const char *letters,
			      struct cursor *at, struct cfi_fde *fde)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			fde->pointer_encoding = cursor_byte(at);
			break;
		case 'P':
			cfi_pointer(section, at, cursor_byte(at) & 0x7f);
			break;
		case 'L':
			fde->lsda_encoding = cursor_byte(at);
			break;
		case 'S':
			fde->is_signal_frame = true;
			break;
		case 'B': /* aarch64: return addresses signed with the B key */
		case 'G': /* aarch64: memory tagging */
			break;
		default: /* unknown: its data cannot be skipped */
			at->failed = true;
			return;
		}
	}
}

/* Six letters are defined. The entry is read with each FDE that refers to it. */
#define AUGMENTATION_BYTES_MAX 16

static const char *read_augmentation_letters(struct cursor *at)
{
	const char *text = (const char *)at->at;
	const uint8_t *end = memchr(at->at, 0, min_u64(cursor_left(at), AUGMENTATION_BYTES_MAX));

	if (at->failed || !end) {
		at->failed = true;
		return "";
	}
	at->at = end + 1;
	return text;
}

static bool read_cie(const struct cfi_section *section, uint64_t offset, struct cfi_fde *fde)
{
	struct entry entry;
	struct cursor *at = &entry.body;
	const char *augmentation;
	uint8_t version, address_bytes = 8, selector_bytes = 0;

	if (!entry_at(section, offset, &entry) || !is_cie(section, &entry))
		return false;
	version = cursor_byte(at);
	if (version != 1 && version != 3 && version != 4)
		return false;
	augmentation = read_augmentation_letters(at);
	if (version == 4) {
		address_bytes = cursor_byte(at);
		selector_bytes = cursor_byte(at);
	}
	if (address_bytes != 8 || selector_bytes != 0)
		return false;
	fde->code_align = cursor_uleb(at);
	fde->data_align = cursor_padded_sleb(at);
	fde->ra_column = version == 1 ? cursor_byte(at) : cursor_uleb(at);
	fde->pointer_encoding = PE_ABSPTR;
	fde->lsda_encoding = PE_OMIT;
	fde->is_signal_frame = false;
	fde->has_augmentation_data = augmentation[0] == 'z';
	if (fde->has_augmentation_data) {
		uint64_t nr_bytes = cursor_uleb(at);
		const uint8_t *data = cursor_bytes(at, nr_bytes);
		struct cursor augmented = cursor_over(data ? data : at->at, data ? nr_bytes : 0);

		read_augmentation(section, augmentation + 1, &augmented, fde);
		at->failed |= augmented.failed;
	} else if (augmentation[0]) {
		return false; /* "eh" of gcc 2 */
	}
	fde->initial_instructions = *at;
	return !at->failed;
}

/* A pointer of 0 is null, whatever its base. */
static void read_lsda(const struct cfi_section *section, struct cursor *at, struct cfi_fde *fde)
{
	uint64_t nr_bytes = cursor_uleb(at);
	const uint8_t *data = cursor_bytes(at, nr_bytes);
	struct cursor pointer = cursor_over(data ? data : at->at, data ? nr_bytes : 0);
	struct cursor plain = pointer;

	if (fde->lsda_encoding == PE_OMIT || !nr_bytes || !read_format(&plain, fde->lsda_encoding))
		return;
	fde->lsda = cfi_pointer(section, &pointer, fde->lsda_encoding);
	if (pointer.failed)
		fde->lsda = 0;
}

bool cfi_fde_at(const struct cfi_section *section, uint64_t offset, struct cfi_fde *fde)
{
	struct entry entry;
	struct cursor *at = &entry.body;
	uint64_t cie_offset;

	if (!entry_at(section, offset, &entry) || is_cie(section, &entry) ||
	    !cie_offset_of(section, &entry, &cie_offset) || !read_cie(section, cie_offset, fde))
		return false;
	fde->start = cfi_pointer(section, at, fde->pointer_encoding);
	/* The length has the format of the pointer and no base. */
	fde->end = fde->start + read_format(at, fde->pointer_encoding);
	if (fde->end < fde->start)
		return false;
	fde->lsda = 0;
	if (fde->has_augmentation_data)
		read_lsda(section, at, fde);
	fde->instructions = *at;
	return !at->failed;
}

bool cfi_section_next(const struct cfi_section *section, uint64_t *offset, struct elf_range *found)
{
	struct entry entry;
	struct cfi_fde fde;

	while (entry_at(section, *offset, &entry)) {
		uint64_t here = *offset;

		*offset = entry.next;
		if (is_cie(section, &entry) || !cfi_fde_at(section, here, &fde) ||
		    fde.start == fde.end || !fde.start)
			continue;
		*found = (struct elf_range){.start = fde.start, .end = fde.end, .value = here};
		return true;
	}
	return false;
}
