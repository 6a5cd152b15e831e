/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ELF_ELF_IMAGE_H
#define PROFC_ELF_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_bytes.h"

struct elf_ranges;
struct elf_sdt;
struct err;

/*
 * The parts of an ELF file that mapping and unwind need: program headers, build-id and call frame
 * information. Files are read with pread and never mapped, so that truncating one meanwhile gives
 * an error and no SIGBUS; every size in it is bounded before it is believed.
 */
struct elf_image;

enum elf_machine {
	ELF_MACHINE_X86_64,
	ELF_MACHINE_AARCH64,
	ELF_MACHINE_I386,
	ELF_MACHINE_OTHER, /* including 32-bit files of a 64-bit machine (x32) */
};

/* A PT_LOAD. */
struct elf_segment {
	uint64_t file_offset, file_bytes;
	uint64_t vaddr, memory_bytes;
	bool executable, writable;
};

/* The sections with rules for unwinding (LSB core 5.0 ch. 10; DWARF 5 section 6.4). */
struct elf_cfi {
	struct elf_bytes eh_frame_hdr;
	struct elf_bytes eh_frame;
	struct elf_bytes debug_frame; /* decompressed */
};

/*
 * Open an ELF file. The descriptor is borrowed and must stay open until the
 * image is freed or detached; its file position is not used. ERR_CORRUPT: not
 * an ELF file, or one that contradicts itself.
 */
struct elf_image *elf_image_open(int fd, struct err *err);
/* As above for an ELF file in memory (the vdso); the bytes are copied. */
struct elf_image *elf_image_open_memory(const void *bytes, size_t nr_bytes, struct err *err);
/* Code without a file: a copy of nr_bytes at `vaddr`. The image has nothing else. */
struct elf_image *elf_image_of_code(const void *bytes, size_t nr_bytes, uint64_t vaddr);
/*
 * Code without a file, read on demand. `read` returns how many of nr_bytes from an address on are
 * there; it and its context are borrowed. The image has nothing else.
 */
typedef size_t elf_image_reader(const void *context, uint64_t address, void *out, size_t nr_bytes);
struct elf_image *elf_image_of_reader(elf_image_reader *read, const void *context);
void elf_image_free(struct elf_image *image);
/* Load the CFI now; the descriptor is no longer used, and elf_image_read() finds nothing. */
void elf_image_detach(struct elf_image *image);

enum elf_machine elf_image_machine(const struct elf_image *image);
/* The entry point of a program or its interpreter; 0 if it has none. */
uint64_t elf_image_entry(const struct elf_image *image);
/* The address of the dynamic section, and its size, 0 if there is none. */
uint64_t elf_image_dynamic(const struct elf_image *image, uint64_t *nr_bytes);
size_t elf_image_nr_segments(const struct elf_image *image);
const struct elf_segment *elf_image_segment(const struct elf_image *image, size_t index);
/* Borrowed; *nr_bytes is 0 and NULL returned when the file has none. */
const uint8_t *elf_image_build_id(const struct elf_image *image, size_t *nr_bytes);

/*
 * The load bias (target address = ELF virtual address + bias) of a mapping of this file that starts
 * at `start` and shows the file from `file_offset` on. Segments need not begin at a page of the
 * file and may share one: of those with the offset, take the one with the mapping's own right to
 * execute. False when there is none.
 */
bool elf_image_bias(const struct elf_image *image, uint64_t start, uint64_t file_offset,
		    bool executable, uint64_t *bias);

/*
 * Copy up to nr_bytes of the loaded content from vaddr on. Returns how many bytes the file has
 * there, 0 if none or if they cannot be read.
 */
size_t elf_image_read(const struct elf_image *image, uint64_t vaddr, void *out, size_t nr_bytes);

/*
 * Add the ranges of loaded content that are data by the section headers, of which there need be
 * none, and sort them.
 */
void elf_image_data(const struct elf_image *image, struct elf_ranges *data);

/*
 * The bounds of the function that contains vaddr, from the symbol table (or the dynamic one); false
 * if none covers it. Loaded on the first call.
 */
bool elf_image_function(struct elf_image *image, uint64_t vaddr, uint64_t *start, uint64_t *end);

/*
 * Set values[i] to the virtual address of the exported symbol names[i], 0 if the file does not
 * define it; returns how many it defines. Each call reads the symbols again.
 */
size_t elf_image_exports(const struct elf_image *image, const char *const *names, size_t nr,
			 uint64_t *values);

/* An exported thread-local variable, and the initial data of its module (PT_TLS). */
struct elf_thread_variable {
	uint64_t offset; /* in these data */
	uint64_t vaddr, nr_bytes, alignment;
};

/*
 * False: the file exports no thread-local variable of that name. Files without such data are not
 * searched; others are read again by each call.
 */
bool elf_image_thread_variable(const struct elf_image *image, const char *name,
			       struct elf_thread_variable *variable);

/* Add the static probes of the file that are wanted. Each call reads its notes again. */
void elf_image_sdt(const struct elf_image *image, struct elf_sdt *sdt);
/* Add the ranges of the sections whose names begin so, and sort them. */
void elf_image_sections(const struct elf_image *image, const char *prefix,
			struct elf_ranges *ranges);

/*
 * The nr words of data from vaddr on, as the loader makes them but for the load bias: an address
 * within the file is an ELF virtual address. Returns how many the file has there. Each call reads
 * the relocations again.
 */
size_t elf_image_words(const struct elf_image *image, uint64_t vaddr, uint64_t *words, size_t nr);

/* Read on the first call, then kept. Never NULL; missing or damaged parts are empty. */
const struct elf_cfi *elf_image_cfi(struct elf_image *image);

#endif
