/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that calls functions through pointers in memory. */
#ifndef PROFC_CODE_CODE_POINTERS_H
#define PROFC_CODE_CODE_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code at an address. Borrowed. */
struct code_bytes {
	uint64_t address;
	const uint8_t *bytes;
	size_t nr_bytes;
};

/*
 * The fixed addresses of words that the code uses, up to `cap`, in the order of the code. What it
 * reaches by a register is not among them. Returns how many there are.
 */
size_t code_used_words(const struct code_bytes *code, uint64_t *words, size_t cap);

/*
 * May the code use a word at that offset from an address that it takes from memory? So a library
 * reaches the parts of an object that another one may replace.
 */
bool code_uses_offset(const struct code_bytes *code, uint32_t offset);

/*
 * Another value for a pointer that leads to this function just as well, for ever: the address of an
 * instruction without effect that ends before it, with the last of `bytes`; or that of the function
 * with bits that a branch leaves out. 0: there is none.
 */
uint64_t code_other_pointer(uint64_t function, const uint8_t *bytes, size_t nr_bytes);

/*
 * Does the code compare a register with the address of a function? So it does where the compiler
 * has put a copy of the function in place of a call through a pointer that mostly leads there.
 */
bool code_compares_with(const struct code_bytes *code, uint64_t function);

#endif
