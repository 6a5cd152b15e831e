/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_CFI_BYTES_H
#define PROFC_TESTS_CFI_BYTES_H

#include <stdint.h>
#include <string.h>

#include "base/buf.h"

/*
 * Call frame information by hand: an .eh_frame with absolute 8-byte pointers.
 *
 *	size_t cie = cfi_add_cie(&bytes, "zR", X86_ENTRY, sizeof(X86_ENTRY) - 1);
 *	cfi_add_fde(&bytes, cie, 0x1000, 0x20, "\x41\x0e\x10", 3);
 */

/* def_cfa rsp+8; the return address (16) at CFA-8: what every x86-64 CIE begins with */
#define X86_ENTRY "\x0c\x07\x08\x90\x01"
/* def_cfa sp+0; the return address stays in x30 */
#define AARCH64_ENTRY "\x0c\x1f\x00"

static inline void cfi_patch_u32(struct buf *bytes, size_t at, uint32_t value)
{
	memcpy(bytes->bytes + at, &value, sizeof(value));
}

static inline size_t cfi_add_cie_ra(struct buf *bytes, const char *augmentation, uint8_t ra,
				    const void *instructions, size_t nr_bytes)
{
	size_t at = bytes->nr_bytes;

	buf_append_u32(bytes, 0);
	buf_append_u32(bytes, 0); /* the id of a CIE */
	buf_append_byte(bytes, 1);
	buf_append(bytes, augmentation, strlen(augmentation) + 1);
	buf_append_byte(bytes, 1);    /* code alignment */
	buf_append_byte(bytes, 0x78); /* data alignment: -8 */
	buf_append_byte(bytes, ra);
	if (augmentation[0] == 'z') {
		buf_append_byte(bytes, 1); /* length of the augmentation's data: the encoding */
		buf_append_byte(bytes, 0); /* DW_EH_PE_absptr */
	}
	buf_append(bytes, instructions, nr_bytes);
	cfi_patch_u32(bytes, at, (uint32_t)(bytes->nr_bytes - at - 4));
	return at;
}

static inline size_t cfi_add_cie(struct buf *bytes, const char *augmentation,
				 const void *instructions, size_t nr_bytes)
{
	return cfi_add_cie_ra(bytes, augmentation, 16, instructions, nr_bytes);
}

struct cfi_range_bytes {
	uint64_t start, length;
};

/* An FDE of a CIE that has "z" in its augmentation. */
static inline size_t cfi_add_fde(struct buf *bytes, size_t cie, struct cfi_range_bytes covers,
				 const void *instructions, size_t nr_bytes)
{
	size_t at = bytes->nr_bytes;

	buf_append_u32(bytes, 0);
	buf_append_u32(bytes, (uint32_t)(at + 4 - cie));
	buf_append_u64(bytes, covers.start);
	buf_append_u64(bytes, covers.length);
	buf_append_byte(bytes, 0); /* no augmentation data */
	buf_append(bytes, instructions, nr_bytes);
	cfi_patch_u32(bytes, at, (uint32_t)(bytes->nr_bytes - at - 4));
	return at;
}

#endif
