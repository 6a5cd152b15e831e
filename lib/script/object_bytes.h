/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of an interpreter's objects, in a copy of their bytes. */
#ifndef PROFC_SCRIPT_OBJECT_BYTES_H
#define PROFC_SCRIPT_OBJECT_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint64_t word_at(const uint8_t *bytes, uint64_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static inline uint32_t number_at(const uint8_t *bytes, uint64_t offset)
{
	uint32_t number;

	memcpy(&number, bytes + offset, sizeof(number));
	return number;
}

static inline int32_t int_at(const uint8_t *bytes, uint64_t offset)
{
	return (int32_t)number_at(bytes, offset);
}

static inline uint16_t short_at(const uint8_t *bytes, uint64_t offset)
{
	uint16_t number;

	memcpy(&number, bytes + offset, sizeof(number));
	return number;
}

#endif
