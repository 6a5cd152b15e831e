// SPDX-License-Identifier: GPL-2.0-or-later
/* Function symbols of an ELF file by address. */
#include "symbol/elf_symbols.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "symbol/function_names.h"
#include "symbol/minidebug.h"
#include "symbol/object.h"
#include "symbol/sizeless.h"
#include "symbol/symbol_tables.h"

#define RANK_NO_SIZE	    (UINT32_C(1) << 31)
#define RANK_NO_TYPE	    (UINT32_C(1) << 30)
#define RANK_LOCAL	    (UINT32_C(1) << 29)
#define RANK_PER_UNDERSCORE (UINT32_C(1) << 20)
#define RANK_PER_LETTER	    (UINT32_C(1) << 1)
#define RANK_WEAK	    UINT32_C(1)

/* Size of musl's __clone, from its entry to the exit after the thread's function. */
#define THREAD_START_BYTES 64

/*
 * Of several symbols at one address the best has a size, is a function, is global, and has a usual
 * name: without leading underscores, and short. libc's getrlimit is also __getrlimit,
 * __GI___getrlimit and getrlimit64; only the unusual names are not weak.
 */
static uint32_t rank_of(const GElf_Sym *symbol, const char *name)
{
	size_t underscores = strspn(name, "_"), letters = strlen(name);
	uint32_t rank = (uint32_t)(underscores > 7 ? 7 : underscores) * RANK_PER_UNDERSCORE;

	rank += (uint32_t)(letters > 1000 ? 1000 : letters) * RANK_PER_LETTER;
	if (symbol->st_size == 0)
		rank |= RANK_NO_SIZE;
	if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		rank |= RANK_NO_TYPE;
	if (GELF_ST_BIND(symbol->st_info) == STB_LOCAL)
		rank |= RANK_LOCAL;
	if (GELF_ST_BIND(symbol->st_info) == STB_WEAK)
		rank |= RANK_WEAK;
	return rank;
}

/* Marks of ARM's tools between code and data ($x, $d), and the assembler's own labels. */
static bool is_no_function(const GElf_Sym *symbol, const char *name)
{
	unsigned int type = GELF_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return true;
	return !*name || name[0] == '$' || strncmp(name, ".L", 2) == 0;
}

/* Longer than any function written in assembly. */
#define SIZELESS_BYTES_MAX (32 * 1024)

/* The state while symbol tables are read. */
struct reading {
	/*
	 * The last STT_FILE symbol: the local symbols after it are from that file. Global ones
	 * come after all of them, without a file.
	 */
	const char *file;
	Elf *elf;	   /* of the last symbol */
	GElf_Word section; /* that of the last one, in `code_of`, */
	Elf *code_of;
	uint64_t code_end; /* and where it ends; 0: it has no code */
};

static uint64_t read_code_end(Elf *elf, GElf_Word index)
{
	GElf_Shdr header;
	Elf_Scn *section;

	if (index == SHN_UNDEF || index == SHN_ABS || index == SHN_COMMON)
		return 0;
	section = elf_getscn(elf, index);
	return section && gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR
		       ? header.sh_addr + header.sh_size
		       : 0;
}

/* The end of the code section of a symbol; false if it is not in one. Most are in the same. */
static bool section_end(struct reading *reading, const struct table_symbol *found, uint64_t *end)
{
	if (found->elf != reading->code_of || found->section != reading->section) {
		reading->code_of = found->elf;
		reading->section = found->section;
		reading->code_end = read_code_end(found->elf, found->section);
	}
	if (!reading->code_end)
		return false;
	/* `value` may be moved against st_value, and with it the section. */
	*end = reading->code_end + (found->value - found->symbol.st_value);
	if (!found->symbol.st_size && *end - found->value > SIZELESS_BYTES_MAX)
		*end = found->value + SIZELESS_BYTES_MAX;
	return true;
}

static enum symbol_source source_of(const struct symbol_object *object, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (elf != object->elf)
		return object->debug ? SYMBOL_SOURCE_SEPARATE : SYMBOL_SOURCE_MINIDEBUG;
	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return object->is_debug_file_only ? SYMBOL_SOURCE_SEPARATE
							  : SYMBOL_SOURCE_SYMTAB;
	}
	return SYMBOL_SOURCE_DYNSYM;
}

static void add_symbol(struct elf_symbols *symbols, const struct symbol_object *object,
		       const struct table_symbol *found, struct reading *reading)
{
	const GElf_Sym *symbol = &found->symbol;
	const char *name = found->name;
	size_t nr_whole, nr_bytes;
	uint64_t end;

	if (GELF_ST_TYPE(symbol->st_info) == STT_FILE)
		reading->file = *name ? name : NULL;
	if (is_no_function(symbol, name) || !section_end(reading, found, &end) ||
	    found->value >= end)
		return;
	if (symbol->st_size && symbol->st_size < end - found->value)
		end = found->value + symbol->st_size;
	nr_bytes = bare_name_bytes(name, &nr_whole);
	ARRAY_GROW(symbols->rows, symbols->nr, symbols->cap);
	symbols->rows[symbols->nr++] = (struct elf_symbol){
		.start = found->value,
		.end = end,
		.name = name,
		.file = GELF_ST_BIND(symbol->st_info) == STB_LOCAL ? reading->file : NULL,
		.rank = rank_of(symbol, name),
		.whole_print = name_print(name, nr_whole),
		.is_sized = symbol->st_size != 0,
		.is_function = GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE,
		.is_resolver = GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
		.is_part = function_name_is_of_part(name),
		.has_suffix = nr_whole != nr_bytes,
	};
	if (found->elf != reading->elf &&
	    (symbols->source == SYMBOL_SOURCE_NONE || symbols->source == SYMBOL_SOURCE_DYNSYM))
		symbols->source = source_of(object, found->elf);
	reading->elf = found->elf;
	if (found->elf == object->elf)
		symbols->bias = found->value - symbol->st_value;
}

/* By address; of symbols at one address, the symbol that is shown comes last. */
static int compare_symbols(const void *a, const void *b)
{
	const struct elf_symbol *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank > right->rank ? -1 : 1;
	return strcmp(right->name, left->name);
}

static bool are_sorted(const struct elf_symbols *symbols)
{
	for (size_t i = 1; i < symbols->nr; i++) {
		if (compare_symbols(&symbols->rows[i - 1], &symbols->rows[i]) > 0)
			return false;
	}
	return true;
}

static bool has_size(const struct elf_symbol *symbol)
{
	return !(symbol->rank & RANK_NO_SIZE);
}

/* Symbols without a size end where the next one begins. */
static void close_gaps(struct elf_symbols *symbols)
{
	uint64_t next = UINT64_MAX, reach = 0;

	for (size_t i = symbols->nr; i-- > 0;) {
		struct elf_symbol *row = &symbols->rows[i];

		if (!has_size(row) && row->end > next)
			row->end = next;
		if (i && symbols->rows[i - 1].start != row->start)
			next = row->start;
	}
	for (size_t i = 0; i < symbols->nr; i++) {
		struct elf_symbol *row = &symbols->rows[i];

		if (row->end > reach)
			reach = row->end;
		row->reach = (uint32_t)min_u64(reach - row->start, UINT32_MAX);
	}
}

/* No other function is looked for in fewer bytes: they are those of _init, _start and the like. */
#define CUT_BYTES_MIN 64

/* The ranges of symbols without a size, each once. The caller frees them. */
static struct sizeless_range *sizeless_ranges(const struct elf_symbols *symbols, size_t *nr)
{
	struct sizeless_range *ranges = xcalloc(symbols->nr + 1, sizeof(*ranges));

	*nr = 0;
	for (size_t i = 0; i < symbols->nr; i++) {
		const struct elf_symbol *row = &symbols->rows[i];

		if (!has_size(row) && row->end - row->start >= CUT_BYTES_MIN &&
		    (!*nr || ranges[*nr - 1].end <= row->start))
			ranges[(*nr)++] =
				(struct sizeless_range){.start = row->start, .end = row->end};
	}
	return ranges;
}

/* glibc's has 38 bytes, older ones 47. */
#define START_BYTES 48

/* The entry point of a stripped program is only in its header. */
static void add_start(struct elf_symbols *symbols, const struct symbol_object *object)
{
	GElf_Ehdr header;
	uint64_t start;

	if (!object->elf || !gelf_getehdr(object->elf, &header) || !header.e_entry)
		return;
	start = header.e_entry + symbols->bias;
	if (elf_symbols_find(symbols, start))
		return;
	ARRAY_GROW(symbols->rows, symbols->nr, symbols->cap);
	symbols->rows[symbols->nr++] = (struct elf_symbol){.start = start,
							   .end = start + START_BYTES,
							   .name = "_start",
							   .rank = RANK_NO_SIZE | RANK_NO_TYPE};
}

static void add_thread_start(struct elf_symbols *symbols, uint64_t start)
{
	ARRAY_GROW(symbols->rows, symbols->nr, symbols->cap);
	symbols->rows[symbols->nr++] = (struct elf_symbol){.start = start,
							   .end = start + THREAD_START_BYTES,
							   .name = "__clone",
							   .rank = RANK_NO_TYPE};
}

/* Symbols without a size end where calls show that another function begins. */
static void cut_sizeless(struct elf_symbols *symbols, const struct symbol_object *object)
{
	size_t nr, nr_rows = symbols->nr, j = 0;
	cleanup_free struct sizeless_range *ranges = sizeless_ranges(symbols, &nr);

	sizeless_find_cuts(object->elf, symbols->bias, ranges, nr);
	/* Rows and ranges are both sorted by address. */
	for (size_t i = 0; i < nr_rows; i++) {
		struct elf_symbol *row = &symbols->rows[i];

		while (j < nr && ranges[j].start < row->start)
			j++;
		if (j < nr && ranges[j].start == row->start && ranges[j].cut && !has_size(row))
			row->end = ranges[j].cut;
	}
	for (j = 0; j < nr; j++) {
		if (ranges[j].clone)
			add_thread_start(symbols, ranges[j].clone);
	}
}

/* The place of a symbol among the others, by its address. */
struct key {
	uint64_t start;
	size_t from;
};

#define DIGIT_BITS 10
#define DIGITS	   ((size_t)1 << DIGIT_BITS)

/* Sorts by one digit of the addresses, and leaves equal ones in their order. */
static void sort_by_digit(const struct key *keys, struct key *sorted, size_t nr, unsigned int shift)
{
	size_t ends[DIGITS + 1] = {0};

	for (size_t i = 0; i < nr; i++)
		ends[(keys[i].start >> shift & (DIGITS - 1)) + 1]++;
	for (size_t i = 0; i < DIGITS; i++)
		ends[i + 1] += ends[i];
	for (size_t i = 0; i < nr; i++)
		sorted[ends[keys[i].start >> shift & (DIGITS - 1)]++] = keys[i];
}

/* Moves each row to its place, along the ring of those that are in each other's places. */
static void move_rows(struct elf_symbol *rows, struct key *keys, size_t nr)
{
	for (size_t first = 0; first < nr; first++) {
		struct elf_symbol row = rows[first];
		size_t at = first;

		if (keys[first].from == first)
			continue;
		while (keys[at].from != first) {
			size_t from = keys[at].from;

			rows[at] = rows[from];
			keys[at].from = at;
			at = from;
		}
		rows[at] = row;
		keys[at].from = at;
	}
}

/* A comparison is of whole rows, and would be made some twenty times for each. */
static void sort_by_address(struct elf_symbols *symbols)
{
	struct key *keys = xcalloc(symbols->nr, sizeof(*keys));
	struct key *sorted = xcalloc(symbols->nr, sizeof(*sorted)), *last;
	uint64_t differing = 0;

	for (size_t i = 0; i < symbols->nr; i++) {
		keys[i] = (struct key){.start = symbols->rows[i].start, .from = i};
		differing |= keys[i].start ^ keys[0].start;
	}
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!(differing >> shift & (DIGITS - 1)))
			continue;
		sort_by_digit(keys, sorted, symbols->nr, shift);
		last = keys;
		keys = sorted;
		sorted = last;
	}
	move_rows(symbols->rows, keys, symbols->nr);
	free(keys);
	free(sorted);
}

static void sort(struct elf_symbols *symbols)
{
	struct elf_symbol *rows = symbols->rows;

	if (!are_sorted(symbols)) {
		sort_by_address(symbols);
		for (size_t i = 0, nr; i < symbols->nr; i += nr) {
			for (nr = 1; i + nr < symbols->nr && rows[i + nr].start == rows[i].start;
			     nr++)
				;
			if (nr > 1)
				qsort(rows + i, nr, sizeof(*rows), compare_symbols);
		}
	}
	close_gaps(symbols);
}

/* Names are not in the order of the table: each of them would be waited for. */
#define NAMES_AHEAD 16

void elf_symbols_init(struct elf_symbols *symbols, const struct symbol_object *object)
{
	struct reading reading = {.file = NULL};
	struct symbol_tables tables;
	struct table_symbol found;

	minidebug_check(object->elf);
	symbol_tables_init(&tables, object->module);
	*symbols = (struct elf_symbols){.source = SYMBOL_SOURCE_NONE};
	for (int i = 0; i < tables.nr && !has_ended(object->ended); i++) {
		symbol_tables_fetch(&tables, i + NAMES_AHEAD);
		if (symbol_tables_get(&tables, i, &found))
			add_symbol(symbols, object, &found, &reading);
	}
	sort(symbols);
	cut_sizeless(symbols, object);
	add_start(symbols, object);
	sort(symbols);
}

void elf_symbols_release(struct elf_symbols *symbols)
{
	free(symbols->rows);
	index_set_release(&symbols->names);
	free(symbols->suffixed);
	*symbols = (struct elf_symbols){.source = SYMBOL_SOURCE_NONE};
}

/* The highest end of a symbol and all before it. */
static uint64_t reach_of(const struct elf_symbol *row)
{
	return row->start + row->reach;
}

/* The number of symbols that begin at or before an address. */
static size_t nr_up_to(const struct elf_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->rows[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct elf_symbol *elf_symbols_at(const struct elf_symbols *symbols, uint64_t address)
{
	size_t nr = nr_up_to(symbols, address);

	return nr && symbols->rows[nr - 1].start == address ? &symbols->rows[nr - 1] : NULL;
}

void elf_symbols_gap(const struct elf_symbols *symbols, uint64_t address, uint64_t *low,
		     uint64_t *high)
{
	size_t nr = nr_up_to(symbols, address);

	if (nr && reach_of(&symbols->rows[nr - 1]) <= address &&
	    reach_of(&symbols->rows[nr - 1]) > *low)
		*low = reach_of(&symbols->rows[nr - 1]);
	if (nr < symbols->nr && symbols->rows[nr].start < *high)
		*high = symbols->rows[nr].start;
}

static bool has_equal_name(const void *owner, uint32_t index, const void *key)
{
	const struct elf_symbols *symbols = owner;

	return strcmp(symbols->rows[index].name, key) == 0;
}

/* The index of the first symbol with a name, by the names that are indexed. */
static uint32_t index_of_name(const struct elf_symbols *symbols, const char *name, uint64_t hash)
{
	return index_set_find(&symbols->names, hash, has_equal_name, symbols, name);
}

static bool is_suffixed(const struct elf_symbols *symbols, uint32_t print)
{
	uint16_t bit = (uint16_t)print;

	return symbols->suffixed[bit / 8] & 1u << bit % 8;
}

static void note_suffixed(struct elf_symbols *symbols)
{
	symbols->suffixed = xcalloc(UINT16_MAX / 8 + 1, 1);
	for (size_t i = 0; i < symbols->nr; i++) {
		uint16_t bit = (uint16_t)symbols->rows[i].whole_print;

		if (symbols->rows[i].has_suffix)
			symbols->suffixed[bit / 8] |= (uint8_t)(1u << bit % 8);
	}
}

void elf_symbols_index_names(struct elf_symbols *symbols)
{
	if (symbols->suffixed)
		return;
	note_suffixed(symbols);
	for (size_t i = 0; i < symbols->nr && i < INDEX_NONE; i++) {
		const char *name = symbols->rows[i].name;
		uint64_t hash;

		if (!is_suffixed(symbols, symbols->rows[i].whole_print))
			continue;
		hash = hash_bytes(name, strlen(name));
		if (index_of_name(symbols, name, hash) == INDEX_NONE)
			index_set_add(&symbols->names, hash, (uint32_t)i);
	}
}

const struct elf_symbol *elf_symbols_named(const struct elf_symbols *symbols, const char *name)
{
	size_t nr_whole;
	uint32_t print;

	bare_name_bytes(name, &nr_whole);
	print = name_print(name, nr_whole);
	if (symbols->suffixed && is_suffixed(symbols, print)) {
		uint32_t index = index_of_name(symbols, name, hash_bytes(name, strlen(name)));

		return index == INDEX_NONE ? NULL : &symbols->rows[index];
	}
	for (size_t i = 0; i < symbols->nr; i++) {
		if (symbols->rows[i].whole_print == print &&
		    has_equal_name(symbols, (uint32_t)i, name))
			return &symbols->rows[i];
	}
	return NULL;
}

/* Symbols to pass over, mostly labels, that end before an address although an earlier one holds it.
 */
#define SYMBOLS_BACK_MAX 65536

const struct elf_symbol *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address)
{
	const struct elf_symbol *label = NULL;
	size_t low = nr_up_to(symbols, address);

	for (int i = 0;
	     i < SYMBOLS_BACK_MAX && low-- > 0 && reach_of(&symbols->rows[low]) > address; i++) {
		const struct elf_symbol *row = &symbols->rows[low];

		if (row->end <= address)
			continue;
		if (has_size(row))
			return row;
		if (!label)
			label = row;
	}
	return label;
}
