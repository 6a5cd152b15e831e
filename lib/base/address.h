/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_ADDRESS_H
#define PROFC_BASE_ADDRESS_H

#include <stdint.h>
#include <unistd.h>

/*
 * Pages of memory of this machine, and so of all processes on it: of 4 KiB on x86-64; of 4, 16 or
 * 64 KiB on aarch64, as the kernel was built.
 */
static inline uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The first address of the page that holds this one. */
static inline uint64_t page_start(uint64_t address)
{
	return address & -page_bytes();
}

/* So many bytes, or this address, up to a whole page; 0 where that is beyond the last one. */
static inline uint64_t page_align(uint64_t nr_bytes)
{
	return page_start(nr_bytes + page_bytes() - 1);
}

/*
 * The address that a pointer of a program names: on aarch64 processors ignore its highest byte, in
 * which sanitizers and allocators keep a tag.
 */
static inline uint64_t address_of_pointer(uint64_t pointer)
{
#if defined(__aarch64__)
	return pointer & (UINT64_MAX >> 8);
#else
	return pointer;
#endif
}

#endif
