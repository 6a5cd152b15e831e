// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolves addresses of one file to functions, lines and inline chains. */
#include "symbol/symbol.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cfi/cfi.h"
#include "dwarf/dwarf_sections.h"
#include "elf/elf_section.h"
#include "symbol/assembly.h"
#include "symbol/builder.h"
#include "symbol/closure_names.h"
#include "symbol/code_starts.h"
#include "symbol/dwarf_parallel.h"
#include "symbol/familiar_names.h"
#include "symbol/function_names.h"
#include "symbol/hint.h"
#include "symbol/shared_code.h"
#include "symbol/symbol_priv.h"

/* Go's linker puts the table into either section: position-independent programs have the second. */
static void read_go_table(struct symbol_file *file)
{
	Elf *elf = file->object.elf;
	struct elf_bytes bytes = elf_section_bytes(elf, ".gopclntab");
	GElf_Shdr text;
	uint64_t text_address = elf_section_named(elf, ".text", &text) ? text.sh_addr : 0;

	if (!bytes.bytes)
		bytes = elf_section_bytes(elf, ".data.rel.ro.gopclntab");
	gopclntab_init(&file->go, dwarf_bytes_of(bytes), text_address);
}

void symbol_file_read_tables(struct symbol_file *file)
{
	if (file->has_tables)
		return;
	elf_symbols_init(&file->symbols, &file->object);
	plt_init(&file->plt, &file->object);
	read_go_table(file);
	file->has_tables = true;
}

/* The function that the PLT stub at an address calls, or NULL. */
static const char *name_of_stub(const struct symbol_file *file, uint64_t address)
{
	const struct plt_slot *slot = plt_find(&file->plt, address);
	const struct elf_symbol *symbol;

	if (!slot || slot->name || !slot->resolver)
		return slot ? slot->name : NULL;
	symbol = elf_symbols_at(&file->symbols, slot->resolver);
	return symbol ? symbol->name : NULL;
}

const char *symbol_file_callee_of_stub(struct symbol_file *file, uint64_t address)
{
	symbol_file_read_tables(file);
	return name_of_stub(file, address);
}

/*
 * The source file of a local symbol. That of a part is local, too, where the function is not, and
 * both are one function only with the same file.
 */
static const char *file_of(struct symbol_file *file, struct name_pool *pool,
			   const struct elf_symbol *symbol)
{
	const char *name = unversioned_name(pool, symbol->name);
	const char *whole = whole_function_name(pool, name);
	const struct elf_symbol *function;

	if (whole == name)
		return symbol->file;
	/* A search through all symbols for each part would take seconds in a large program. */
	elf_symbols_index_names(&file->symbols);
	function = elf_symbols_named(&file->symbols, whole);
	return function ? function->file : symbol->file;
}

/* Name an address by Go's table or symbol tables; texts are the pool's. False: it has no name. */
static bool name_by_tables(struct symbol_file *file, struct name_pool *pool, uint64_t address,
			   struct symbol_location *location)
{
	const struct elf_symbol *symbol;
	struct go_place place;
	const char *stub;

	symbol_file_read_tables(file);
	if (gopclntab_find(&file->go, address, &place)) {
		location->name = name_pool_keep(pool, place.function);
		location->file = name_pool_keep(pool, place.file);
		location->function_file = location->file;
		location->line = place.line;
		location->function_line = place.function_line;
		return true;
	}
	symbol = elf_symbols_find(&file->symbols, address);
	if (symbol) {
		location->file = name_pool_keep(pool, file_of(file, pool, symbol));
		location->function_file = location->file;
		location->linkage_name = name_pool_keep(pool, symbol->name);
		location->name = name_pool_demangle(
			pool, file->verbatim ? symbol->name : familiar_name(pool, symbol->name));
		if (location->name == location->linkage_name)
			location->linkage_name = NULL;
		if (!file->verbatim && closure_is_in(location->name))
			location->name = closure_hashed(pool, location->name, symbol->name);
		return true;
	}
	stub = name_of_stub(file, address);
	if (stub) {
		const char *callee = file->verbatim ? stub : familiar_name(pool, stub);
		cleanup_free char *name = xasprintf("%s@plt", name_pool_demangle(pool, callee));

		location->name = name_pool_keep(pool, name);
		return true;
	}
	return false;
}

/* A lock alone is no larger; in a larger variable it is a member. */
#define LOCK_BYTES_MAX 64

/* Name an address in a variable: "queue_lock", or "queue+0x28" in a large one. */
static bool name_variable(struct symbol_file *file, struct name_pool *pool, uint64_t address,
			  struct symbol_location *location)
{
	const struct data_symbol *symbol;
	cleanup_free char *part = NULL;

	if (file->verbatim || !data_symbols_hold(&file->object, address))
		return false;
	symbol = data_symbols_find(&file->data, &file->object, address);
	if (!symbol)
		return false;
	location->name = name_pool_demangle(pool, symbol->name);
	if (symbol->end - symbol->start <= LOCK_BYTES_MAX || address == symbol->start)
		return true;
	part = xasprintf("%s+0x%llx", location->name,
			 (unsigned long long)(address - symbol->start));
	location->name = name_pool_keep(pool, part);
	return true;
}

static const char *symbol_name_at(void *context, uint64_t address)
{
	const struct symbol_file *file = context;
	const struct elf_symbol *symbol;

	symbol = elf_symbols_at(&file->symbols, address);
	return symbol ? symbol->name : NULL;
}

/* Give functions the names that callers use, and remove levels of functions' own parts. */
static void make_familiar(struct symbol_file *file, struct result_builder *builder,
			  struct symbol_chain *chain, uint64_t address)
{
	const struct symbol_location *levels = &builder->result->locations[chain->first];
	bool any = false;

	familiar_names_join_parts(builder, chain);
	for (uint32_t i = 0; i < chain->nr; i++)
		any |= levels[i].name && is_inner_name(levels[i].name);
	if (!any)
		return;
	symbol_file_read_tables(file);
	familiar_names_give(builder, chain, &file->symbols, address);
}

/* Go's linker folds nothing. */
static void tell_shared(struct symbol_file *file, struct result_builder *builder,
			const struct symbol_chain *chain, uint64_t address)
{
	symbol_file_read_tables(file);
	if (!file->go.bytes.at && chain->nr &&
	    builder->result->locations[chain->first + chain->nr - 1].name)
		shared_code_tell(builder, chain, &file->symbols, address);
}

/*
 * Name code without debug information, mostly assembly, by symbol tables. They know the function of
 * the code, but not the functions inlined there.
 */
static void resolve_rest(struct symbol_file *file, struct result_builder *builder,
			 const uint64_t *addresses, size_t nr, bool only_names)
{
	cleanup_free bool *is_assembly = xcalloc(nr + 1, sizeof(*is_assembly));
	bool any_assembly = false;

	for (size_t i = 0; i < nr && !has_ended(file->object.ended); i++) {
		struct symbol_chain *chain = &builder->result->chains[i];
		struct symbol_location *outermost =
			chain->nr ? &builder->result->locations[chain->first + chain->nr - 1]
				  : NULL;
		struct symbol_location location = {.name = NULL};

		is_assembly[i] = outermost && outermost->file && !outermost->function_file;
		any_assembly |= is_assembly[i];
		if (outermost && outermost->name) {
			if (!file->verbatim)
				make_familiar(file, builder, chain, addresses[i]);
			continue;
		}
		if (!name_by_tables(file, &builder->pool, addresses[i], &location) &&
		    (outermost || !name_variable(file, &builder->pool, addresses[i], &location)))
			continue;
		if (outermost) { /* the line was known */
			outermost->name = location.name;
			outermost->linkage_name = location.linkage_name;
		} else {
			result_builder_begin(builder, i);
			result_builder_add(builder, &location);
		}
	}
	for (size_t i = 0;
	     i < nr && !only_names && !file->verbatim && !has_ended(file->object.ended); i++)
		tell_shared(file, builder, &builder->result->chains[i], addresses[i]);
	if (any_assembly && !file->verbatim) {
		symbol_file_read_tables(file);
		assembly_define(&file->object, &file->symbols, addresses, is_assembly, nr, builder);
	}
}

struct cfi_search symbol_file_cfi(const struct symbol_file *file)
{
	return (struct cfi_search){
		.hdr = elf_section_bytes(file->object.elf, ".eh_frame_hdr"),
		.frames = elf_section_bytes(file->object.elf, ".eh_frame"),
	};
}

/* An address that neither symbols nor unwind information know, and where these end around it. */
static struct nameless_code nameless_at(struct symbol_file *file, const struct cfi_search *cfi,
					uint64_t address)
{
	struct nameless_code row = {.address = address, .high = UINT64_MAX};

	symbol_file_read_tables(file);
	elf_symbols_gap(&file->symbols, address, &row.low, &row.high);
	cfi_search_gap(cfi, address, &row.low, &row.high);
	return row;
}

/* Is there a function's name for it, and not only a line? */
static bool is_named(const struct symbol_result *result, size_t i)
{
	const struct symbol_chain *chain = &result->chains[i];

	return chain->nr && result->locations[chain->first + chain->nr - 1].name;
}

/* The starts of functions in code that nothing but the code itself tells of. */
static void find_starts_in_code(struct symbol_file *file, const struct symbol_result *result,
				const uint64_t *addresses, size_t nr, uint64_t *starts)
{
	const struct cfi_search cfi = symbol_file_cfi(file);
	cleanup_free struct nameless_code *rows = xcalloc(nr ? nr : 1, sizeof(*rows));
	size_t nr_rows = 0, at = 0;

	for (size_t i = 0; i < nr && !has_ended(file->object.ended); i++) {
		if (!is_named(result, i) && starts[i] == SYMBOL_NO_START)
			rows[nr_rows++] = nameless_at(file, &cfi, addresses[i]);
	}
	code_starts_find(file->object.elf, addresses, nr, rows, nr_rows, file->object.ended);
	for (size_t i = 0; i < nr && at < nr_rows; i++) {
		if (addresses[i] != rows[at].address)
			continue;
		if (rows[at].start < rows[at].end)
			starts[i] = rows[at].start;
		at++;
	}
}

/* Find the start of the function of each address without a name. */
static uint64_t *find_starts(struct symbol_file *file, const struct symbol_result *result,
			     const uint64_t *addresses, size_t nr)
{
	const struct cfi_search cfi = symbol_file_cfi(file);
	uint64_t *starts = xcalloc(nr, sizeof(*starts));
	uint64_t end;

	for (size_t i = 0; i < nr; i++)
		if (is_named(result, i) || has_ended(file->object.ended) ||
		    !cfi_search_function(&cfi, addresses[i], &starts[i], &end))
			starts[i] = SYMBOL_NO_START;
	if (!file->verbatim)
		find_starts_in_code(file, result, addresses, nr, starts);
	return starts;
}

static enum symbol_source source_of(struct symbol_file *file)
{
	const struct symbol_object *object = &file->object;

	if (object->has_dwarf)
		return object->debug || object->is_debug_file_only ? SYMBOL_SOURCE_SEPARATE
								   : SYMBOL_SOURCE_DWARF;
	symbol_file_read_tables(file);
	return file->go.bytes.at ? SYMBOL_SOURCE_GOPCLNTAB : file->symbols.source;
}

int symbol_file_open(const struct symbol_options *options, const struct symbol_request *request,
		     struct symbol_file **file, struct err *err)
{
	struct symbol_file *opened = xcalloc(1, sizeof(*opened));
	int status;

	opened->options = *options;
	if (request->fd < 0 || fstat(request->fd, &opened->opened) < 0)
		opened->opened = (struct stat){.st_ino = 0};
	status = symbol_object_open(&opened->object, &opened->options, request, err);
	if (status < 0) {
		symbol_file_close(opened);
		return status;
	}
	opened->verbatim = options->verbatim;
	opened->nr_threads = options->nr_threads;
	if (opened->object.is_mismatched)
		opened->mismatch = opened->object.difference
					   ? xstrdup(opened->object.difference)
					   : hint_for_mismatch(request, &opened->object.build_id);
	*file = opened;
	return 0;
}

void symbol_file_trim(struct symbol_file *file)
{
	symbol_object_release_pages(&file->object);
	if (!file->object.has_dwarf)
		return;
	dwarf_file_forget_abbrevs(&file->object.dwarf);
	dwarf_file_forget_abbrevs(&file->object.supplement_dwarf);
}

void symbol_file_close(struct symbol_file *file)
{
	if (!file)
		return;
	elf_symbols_release(&file->symbols);
	plt_release(&file->plt);
	data_symbols_release(&file->data);
	symbol_object_close(&file->object);
	free(file->mismatch);
	free(file);
}

/* A copy of the addresses plus the bias. Caller frees. */
static uint64_t *move_addresses(const uint64_t *addresses, size_t nr, uint64_t bias)
{
	uint64_t *moved = xcalloc(nr, sizeof(*moved));

	for (size_t i = 0; i < nr; i++)
		moved[i] = addresses[i] + bias;
	return moved;
}

static struct symbol_result *resolve(struct symbol_file *file, const uint64_t *addresses, size_t nr,
				     bool only_names)
{
	struct symbol_object *object = &file->object;
	cleanup_free uint64_t *moved = move_addresses(addresses, nr, object->address_bias);
	struct result_builder builder;
	struct symbol_result *result;

	result_builder_init(&builder, nr);
	result = builder.result;
	builder.verbatim = file->verbatim;
	builder.only_names = only_names;
	builder.symbol_at = symbol_name_at;
	builder.symbol_context = file;
	if (file->mismatch) {
		result->mismatched = true;
		result->problem = xstrdup(file->mismatch);
		return result_builder_finish(&builder);
	}
	if (file->verbatim)
		symbol_file_read_tables(
			file); /* for symbol_name_at(), before there are several threads */
	if (object->has_dwarf)
		dwarf_resolve_parallel(object, moved, nr, file->nr_threads, &builder);
	resolve_rest(file, &builder, moved, nr, only_names);
	if (only_names)
		return result_builder_finish(&builder);
	if (!object->address_bias)
		result->starts = find_starts(file, result, moved, nr);
	result->source = source_of(file);
	if (object->debug_path && (object->debug || object->is_debug_file_only))
		result->debug_path = xstrdup(object->debug_path);
	if (has_ended(object->ended))
		result->problem = xstrdup("the symbol lookup was ended within this module");
	else if (has_ended(symbol_debug_ended(&file->options)))
		result->problem = xstrdup("its debug information was not read to the end");
	else
		result->problem = hint_for_object(object, result->source);
	return result_builder_finish(&builder);
}

struct symbol_result *symbol_file_resolve(struct symbol_file *file, const uint64_t *addresses,
					  size_t nr)
{
	return resolve(file, addresses, nr, false);
}

struct symbol_result *symbol_file_name(struct symbol_file *file, const uint64_t *addresses,
				       size_t nr)
{
	return resolve(file, addresses, nr, true);
}

bool symbol_file_find_symbol(struct symbol_file *file, const char *name, uint64_t *address)
{
	const struct elf_symbol *symbol;

	symbol_file_read_tables(file);
	symbol = elf_symbols_named(&file->symbols, name);
	if (!symbol)
		return false;
	*address = symbol->start - file->object.address_bias;
	return true;
}

bool symbol_file_find_section(const struct symbol_file *file, const char *name, uint64_t *address)
{
	GElf_Shdr header;

	if (!elf_section_named(file->object.elf, name, &header))
		return false;
	*address = header.sh_addr - file->object.address_bias;
	return true;
}

/* Limit the range to another, which may begin at a label, or extend over code without symbols. */
static void narrow(uint64_t *start, uint64_t *end, uint64_t other_start, uint64_t other_end)
{
	if (other_start > *start)
		*start = other_start;
	if (other_end < *end)
		*end = other_end;
}

bool symbol_file_find_function(struct symbol_file *file, uint64_t address, uint64_t *start,
			       uint64_t *end)
{
	uint64_t bias = file->object.address_bias, moved = address + bias;
	uint64_t low = 0, high = UINT64_MAX, fde_start, fde_end;
	const struct cfi_search cfi = symbol_file_cfi(file);
	const struct elf_symbol *symbol;
	struct go_place place;

	if (file->mismatch)
		return false;
	symbol_file_read_tables(file);
	if (gopclntab_find(&file->go, moved, &place))
		narrow(&low, &high, place.start, place.end);
	symbol = elf_symbols_find(&file->symbols, moved);
	if (symbol)
		narrow(&low, &high, symbol->start, symbol->end);
	if (!bias && cfi_search_function(&cfi, moved, &fde_start, &fde_end))
		narrow(&low, &high, fde_start, fde_end);
	if (high == UINT64_MAX && !bias) {
		struct nameless_code row = nameless_at(file, &cfi, moved);

		code_starts_find(file->object.elf, NULL, 0, &row, 1, file->object.ended);
		if (row.start < row.end)
			narrow(&low, &high, row.start, row.end);
	}
	if (high == UINT64_MAX)
		return false;
	*start = low - bias;
	*end = high - bias;
	return true;
}

const char *symbol_file_mismatch(const struct symbol_file *file)
{
	return file->mismatch;
}

unsigned int symbol_file_address_bytes(const struct symbol_file *file)
{
	return gelf_getclass(file->object.elf) == ELFCLASS32 ? 4 : 8;
}

struct symbol_result *symbol_file_answer(struct symbol_file *file,
					 const struct symbol_request *request)
{
	struct symbol_result *result =
		symbol_file_resolve(file, request->addresses, request->nr_addresses);

	result->owner = symbol_object_owner(&file->object);
	return result;
}

int symbol_resolve_file(const struct symbol_options *options, const struct symbol_request *request,
			struct symbol_result **result, struct err *err)
{
	struct symbol_file *file;
	int status = symbol_file_open(options, request, &file, err);

	if (status < 0)
		return status;
	*result = symbol_file_answer(file, request);
	symbol_file_close(file);
	return 0;
}
