// SPDX-License-Identifier: GPL-2.0-or-later
/* Embeds the blob, which the Makefile makes of heap_blob.c, heap_*_blob.c and heap_*.S of this
 * processor.
 */
#include "heap/heap_code.h"

#if defined(PROFC_HEAP_BLOB)

/* Hidden: through a global offset table a local symbol of the assembler is not found everywhere. */
extern const uint8_t heap_code_bytes[] __attribute__((visibility("hidden")));
extern const uint8_t heap_code_end[] __attribute__((visibility("hidden")));

__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"heap_code_bytes:\n"
	".incbin \"" PROFC_HEAP_BLOB "\"\n"
	"heap_code_end:\n"
	".popsection\n");

const uint8_t *heap_code(size_t *nr_bytes)
{
	*nr_bytes = (size_t)(heap_code_end - heap_code_bytes);
	return heap_code_bytes;
}

#else

const uint8_t *heap_code(size_t *nr_bytes)
{
	*nr_bytes = 0;
	return NULL;
}

#endif
