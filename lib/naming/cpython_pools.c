// SPDX-License-Identifier: GPL-2.0-or-later
#include "naming/cpython_pools.h"

#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "code/code_pointers.h"
#include "elf/elf_image.h"

#define WORD_BYTES sizeof(uint64_t)
/* The exported functions are shorter, or use the table near their beginnings. */
#define CODE_BYTES 128
#define USED_MAX   16
/* A library reaches _PyRuntime by a word, and the table by its offset in there. */
#define RUNTIME_BYTES 4096
/* As long as the longest instruction. */
#define BEFORE_BYTES 15
#define TEXT_MAX     (UINT64_C(1) << 28)

/* An exported function: its code, and the words that it uses. */
struct user {
	uint8_t bytes[CODE_BYTES];
	size_t nr_bytes;
	uint64_t words[USED_MAX];
	size_t nr_words;
};

/* The exported functions of a domain, in the order of enum cpython_pool. */
struct domain {
	const char *names[NR_CPYTHON_POOLS];
	struct user users[NR_CPYTHON_POOLS];
};

static bool read_user(const struct elf_image *image, uint64_t address, struct user *user)
{
	struct code_bytes code = {.address = address, .bytes = user->bytes};

	user->nr_bytes = elf_image_read(image, address, user->bytes, sizeof(user->bytes));
	code.nr_bytes = user->nr_bytes;
	user->nr_words = code_used_words(&code, user->words, USED_MAX);
	return user->nr_bytes > 0;
}

/* Does the code take a pointer from this word? `runtime`: the address of _PyRuntime, or 0. */
static bool uses(const struct user *user, uint64_t word, uint64_t runtime)
{
	const struct code_bytes code = {.bytes = user->bytes, .nr_bytes = user->nr_bytes};
	uint64_t offset = word - runtime;

	for (size_t i = 0; i < user->nr_words; i++) {
		if (user->words[i] == word)
			return true;
	}
	return runtime && offset < RUNTIME_BYTES && code_uses_offset(&code, (uint32_t)offset);
}

static bool is_code(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);

		if (segment->executable && address - segment->vaddr < segment->file_bytes)
			return true;
	}
	return false;
}

/* Is this a table's first pointer, for this domain? */
static bool is_table(const struct elf_image *image, const struct domain *domain, uint64_t at,
		     uint64_t runtime, uint64_t *functions)
{
	for (size_t i = 0; i < NR_CPYTHON_POOLS; i++) {
		if (!uses(&domain->users[i], at + i * WORD_BYTES, runtime))
			return false;
	}
	if (elf_image_words(image, at, functions, NR_CPYTHON_POOLS) != NR_CPYTHON_POOLS)
		return false;
	for (size_t i = 0; i < NR_CPYTHON_POOLS; i++) {
		if (!is_code(image, functions[i]))
			return false;
		for (size_t k = 0; k < i; k++) {
			if (functions[k] == functions[i])
				return false;
		}
	}
	return true;
}

/* The address of the table's first pointer; 0: it was not found. */
static uint64_t find_table(const struct elf_image *image, const struct domain *domain,
			   uint64_t runtime, uint64_t *functions)
{
	const struct user *first = &domain->users[CPYTHON_MALLOC];

	for (size_t i = 0; i < first->nr_words; i++) {
		if (is_table(image, domain, first->words[i], 0, functions))
			return first->words[i];
	}
	for (uint64_t at = runtime; runtime && at < runtime + RUNTIME_BYTES; at += WORD_BYTES) {
		if (is_table(image, domain, at, runtime, functions))
			return at;
	}
	return 0;
}

static bool read_domain(const struct elf_image *image, struct domain *domain)
{
	uint64_t addresses[NR_CPYTHON_POOLS];
	bool is_read = elf_image_exports(image, domain->names, NR_CPYTHON_POOLS, addresses) ==
		       NR_CPYTHON_POOLS;

	for (size_t i = 0; i < NR_CPYTHON_POOLS && is_read; i++)
		is_read = read_user(image, addresses[i], &domain->users[i]);
	return is_read;
}

static uint64_t find_other(const struct elf_image *image, uint64_t function)
{
	uint8_t bytes[BEFORE_BYTES];
	size_t nr = elf_image_read(image, function - BEFORE_BYTES, bytes, sizeof(bytes));

	return nr == sizeof(bytes) ? code_other_pointer(function, bytes, nr) : 0;
}

static bool has_copies(const struct elf_image *image, uint64_t function)
{
	bool has = false;

	for (size_t i = 0; i < elf_image_nr_segments(image) && !has; i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);
		struct code_bytes code = {.address = segment->vaddr};
		uint8_t *bytes;

		if (!segment->executable)
			continue;
		bytes = alloc_bounded(segment->file_bytes + 1, 1, TEXT_MAX);
		if (!bytes)
			return true;
		code.bytes = bytes;
		code.nr_bytes = elf_image_read(image, segment->vaddr, bytes, segment->file_bytes);
		has = code_compares_with(&code, function);
		free(bytes);
	}
	return has;
}

bool cpython_pools_find(const struct elf_image *image, struct cpython_pools *pools)
{
	static const char *const runtime_name[] = {"_PyRuntime"};
	static const char *const names[CPYTHON_TABLES_MAX][NR_CPYTHON_POOLS] = {
		{"PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc", "PyObject_Free"},
		{"PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc", "PyMem_Free"}};
	uint64_t runtime;

	*pools = (struct cpython_pools){.nr_tables = 0};
	elf_image_exports(image, runtime_name, 1, &runtime);
	for (size_t i = 0; i < CPYTHON_TABLES_MAX; i++) {
		struct domain domain = {.users = {{.nr_bytes = 0}}};
		uint64_t functions[NR_CPYTHON_POOLS], table;

		memcpy(domain.names, names[i], sizeof(domain.names));
		table = read_domain(image, &domain) ? find_table(image, &domain, runtime, functions)
						    : 0;
		if (!table)
			return false;
		if (i && memcmp(functions, pools->functions, sizeof(functions)) != 0)
			return false;
		memcpy(pools->functions, functions, sizeof(functions));
		pools->tables[pools->nr_tables++] = table;
	}
	for (size_t i = 0; i < NR_CPYTHON_POOLS; i++) {
		pools->others[i] = find_other(image, pools->functions[i]);
		if (!pools->others[i])
			pools->has_copies |= has_copies(image, pools->functions[i]);
	}
	return true;
}
