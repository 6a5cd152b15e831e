// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for language-specific data areas (LSDA), the exception tables of functions. */
#include "unwind/eh_table.h"

#define PE_OMIT 0xff

bool eh_table_begin(struct eh_table *table, const struct elf_bytes *bytes, uint64_t function)
{
	struct cursor *at = &table->at;
	uint8_t encoding;
	uint64_t nr_bytes;

	*table = (struct eh_table){
		.bytes.bytes = *bytes,
		.at = cursor_over(bytes->bytes, bytes->nr_bytes),
		.function = function,
		.landings = function,
	};
	encoding = cursor_byte(at);
	if (encoding != PE_OMIT)
		table->landings = cfi_pointer(&table->bytes, at, encoding);
	if (cursor_byte(at) != PE_OMIT) /* of the table of types */
		cursor_uleb(at);
	table->encoding = cursor_byte(at);
	nr_bytes = cursor_uleb(at);
	if (!at->failed && nr_bytes < cursor_left(at))
		*at = cursor_over(at->at, nr_bytes);
	return !at->failed;
}

bool eh_table_next(struct eh_table *table, struct eh_call_site *site)
{
	struct cursor *at = &table->at;
	uint64_t landing;

	if (!cursor_left(at))
		return false;
	site->start = table->function + cfi_pointer(&table->bytes, at, table->encoding);
	site->end = site->start + cfi_pointer(&table->bytes, at, table->encoding);
	landing = cfi_pointer(&table->bytes, at, table->encoding);
	site->landing = landing ? table->landings + landing : 0;
	cursor_uleb(at); /* the action there */
	return !at->failed;
}
