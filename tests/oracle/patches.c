// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What probes would be written into the functions of files, and whether Zydis agrees:
 *
 *	patches outcomes FILE...   how many functions can be counted, and why others cannot
 *	patches refused FILE       which cannot, and why
 *	patches compare FILE...    each instruction, and each that is moved into a thunk
 *
 * `compare` prints each difference, then a line with what was compared, with the number of
 * instructions that only Zydis knows; status 77 where this was built without Zydis.
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "code/code_x86_64.h"
#include "patch/branches.h"
#include "patch/patch.h"

/* Before 4 Zydis had no such header, and another interface. */
#if defined(__x86_64__) && __has_include(<Zydis/Disassembler.h>)
#define HAS_ZYDIS 1
#include <Zydis/Zydis.h>
#else
#define HAS_ZYDIS 0
#endif

#define AREA_BYTES (UINT64_C(1) << 26)

struct function {
	uint64_t address, nr_bytes;
	char *name;
};

struct file {
	const char *path;
	uint8_t *bytes;
	size_t nr_bytes;
	Elf *elf;
	struct function *functions;
	size_t nr_functions, cap_functions;
	uint64_t end; /* of its addresses */
};

struct subject {
	const struct file *file;
	const struct branches *branches;
	struct code_area area;
	struct patch_counter counter;
};

static void load_table(struct file *file, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *symbols = elf_getdata(section, NULL);

	for (int i = 0; symbols && (size_t)i < header->sh_size / header->sh_entsize; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(symbols, i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		ARRAY_GROW(file->functions, file->nr_functions, file->cap_functions);
		file->functions[file->nr_functions++] = (struct function){
			.address = symbol.st_value,
			.nr_bytes = symbol.st_size,
			.name = xstrdup(elf_strptr(file->elf, header->sh_link, symbol.st_name)),
		};
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->nr_bytes < right->nr_bytes) - (left->nr_bytes > right->nr_bytes);
}

/* Of those at one address the longest. */
static void drop_aliases(struct file *file)
{
	size_t nr = 0;

	if (file->nr_functions)
		qsort(file->functions, file->nr_functions, sizeof(*file->functions),
		      compare_functions);
	for (size_t i = 0; i < file->nr_functions; i++) {
		if (nr && file->functions[nr - 1].address == file->functions[i].address)
			free(file->functions[i].name);
		else
			file->functions[nr++] = file->functions[i];
	}
	file->nr_functions = nr;
}

static bool load(struct file *file, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	Elf_Scn *section = NULL;

	*file = (struct file){.path = path};
	if (fd < 0 || fstat(fd, &status) < 0)
		return false;
	file->nr_bytes = (size_t)status.st_size;
	file->bytes = mmap(NULL, file->nr_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	elf_version(EV_CURRENT);
	file->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (file->bytes == MAP_FAILED || elf_kind(file->elf) != ELF_K_ELF)
		return false;
	while ((section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			load_table(file, section, &header);
	}
	drop_aliases(file);
	return true;
}

static void release(struct file *file)
{
	for (size_t i = 0; i < file->nr_functions; i++)
		free(file->functions[i].name);
	free(file->functions);
	elf_end(file->elf);
	munmap(file->bytes, file->nr_bytes);
}

/* The file's bytes from an address of code on; NULL: there is no code. */
static const uint8_t *bytes_at(const struct file *file, uint64_t address, size_t *nr_readable)
{
	size_t nr;
	GElf_Phdr segment;

	if (elf_getphdrnum(file->elf, &nr) < 0)
		return NULL;
	for (int i = 0; (size_t)i < nr; i++) {
		if (!gelf_getphdr(file->elf, i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_flags & PF_X) || address < segment.p_vaddr ||
		    address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*nr_readable = segment.p_filesz - (address - segment.p_vaddr);
		return file->bytes + segment.p_offset + (address - segment.p_vaddr);
	}
	return NULL;
}

static struct branches *sweep(struct file *file)
{
	uint64_t *starts = xcalloc(file->nr_functions + 1, sizeof(*starts));
	struct branches *branches;
	size_t nr = 0;

	for (size_t i = 0; i < file->nr_functions; i++)
		starts[i] = file->functions[i].address;
	branches = branches_new(starts, file->nr_functions);
	free(starts);
	if (elf_getphdrnum(file->elf, &nr) < 0)
		return branches;
	for (int i = 0; (size_t)i < nr; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(file->elf, i, &segment) || segment.p_type != PT_LOAD)
			continue;
		file->end = max_u64(file->end, segment.p_vaddr + segment.p_memsz);
		if (segment.p_flags & PF_X)
			branches_add_code(branches, segment.p_vaddr, file->bytes + segment.p_offset,
					  segment.p_filesz);
	}
	branches_sort(branches);
	return branches;
}

static bool function_of(const struct file *file, size_t index, struct patch_function *function)
{
	const struct function *from = &file->functions[index];

	*function = (struct patch_function){.address = from->address, .nr_bytes = from->nr_bytes};
	function->bytes = bytes_at(file, from->address, &function->nr_readable);
	return function->bytes != NULL;
}

static void count_calls(const struct patch_function *function, size_t nr[])
{
	struct patch_calls calls = {.address = function->address,
				    .bytes = function->bytes,
				    .nr_bytes = min_u64(function->nr_bytes, function->nr_readable)};
	struct patch_call_site site;

	while (patch_calls_next(&calls, &site))
		nr[site.kind]++;
}

static void outcomes(struct subject *subject, bool name_refused)
{
	const struct file *file = subject->file;
	size_t nr[PATCH_OUTCOME_COUNT] = {0}, nr_calls[PATCH_CALL_INDIRECT + 1] = {0}, total = 0;

	for (size_t i = 0; i < file->nr_functions; i++) {
		struct patch_function function;
		struct patch patch;
		enum patch_outcome outcome;

		if (!function_of(file, i, &function))
			continue;
		outcome = patch_entry(&patch, &function, subject->branches, &subject->area,
				      &subject->counter);
		nr[outcome]++;
		total++;
		count_calls(&function, nr_calls);
		if (outcome && name_refused)
			printf("%#" PRIx64 " %s: %s\n", function.address, file->functions[i].name,
			       patch_outcome_text(outcome));
	}
	if (name_refused)
		return;
	printf("%s: %zu functions", file->path, total);
	for (size_t i = 0; i < PATCH_OUTCOME_COUNT; i++) {
		if (nr[i])
			printf("; %zu %s", nr[i], patch_outcome_text((enum patch_outcome)i));
	}
	printf("; calls: %zu direct, %zu through words, %zu indirect; %zu bytes of thunks\n",
	       nr_calls[PATCH_CALL], nr_calls[PATCH_CALL_GOT], nr_calls[PATCH_CALL_INDIRECT],
	       subject->area.nr_bytes);
}

#if HAS_ZYDIS

struct decoded {
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const uint8_t *bytes;
	uint64_t address;
};

struct comparison {
	ZydisDecoder decoder;
	const char *path;
	size_t nr_instructions, nr_moved, nr_data, nr_unknown, nr_differences;
};

static bool decode(const struct comparison *comparison, struct decoded *decoded,
		   const uint8_t *bytes, size_t nr_bytes, uint64_t address)
{
	decoded->bytes = bytes;
	decoded->address = address;
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&comparison->decoder, bytes, nr_bytes,
						   &decoded->instruction, decoded->operands));
}

static void differs(struct comparison *comparison, uint64_t address, const char *what)
{
	comparison->nr_differences++;
	printf("%s: %#" PRIx64 ": %s\n", comparison->path, address, what);
}

/* Where its displacement is, if that is relative to rip; as code_decode() says it. */
static size_t disp_at(const struct decoded *decoded)
{
	for (size_t i = 0; i < decoded->instruction.operand_count_visible; i++) {
		const ZydisDecodedOperand *operand = &decoded->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operand->mem.base == ZYDIS_REGISTER_RIP)
			return decoded->instruction.raw.disp.offset;
	}
	/* A no-op's operand is hidden. */
	return decoded->instruction.raw.modrm.mod == 0 && decoded->instruction.raw.modrm.rm == 5 &&
			       decoded->instruction.raw.disp.size == 32
		       ? decoded->instruction.raw.disp.offset
		       : 0;
}

static bool has_target(const struct decoded *decoded)
{
	return decoded->instruction.raw.imm[0].is_relative;
}

static uint64_t absolute(const struct decoded *decoded)
{
	int64_t offset = has_target(decoded) ? decoded->instruction.raw.imm[0].value.s
					     : decoded->instruction.raw.disp.value;

	return decoded->address + decoded->instruction.length + (uint64_t)offset;
}

static void compare_lengths(struct comparison *comparison, const struct patch_function *function)
{
	size_t nr_bytes = min_u64(function->nr_bytes, function->nr_readable);

	for (size_t at = 0; at < nr_bytes;) {
		const uint8_t *bytes = function->bytes + at;
		struct decoded zydis;
		struct code_instruction ours;
		uint64_t address = function->address + at;

		if (!decode(comparison, &zydis, bytes, nr_bytes - at, address)) {
			comparison->nr_data++;
			at++;
			continue;
		}
		comparison->nr_instructions++;
		if (!code_decode(bytes, nr_bytes - at, address, &ours))
			comparison->nr_unknown++;
		else if (ours.nr_bytes != zydis.instruction.length)
			differs(comparison, address, "has another length");
		else if (ours.disp_at != disp_at(&zydis))
			differs(comparison, address, "has its displacement elsewhere");
		else if (ours.disp_at && ours.operand != absolute(&zydis))
			differs(comparison, address, "has its operand elsewhere");
		else if (has_target(&zydis) && ours.target != absolute(&zydis))
			differs(comparison, address, "leads elsewhere");
		at += zydis.instruction.length;
	}
}

static bool is_same(const struct decoded *original, const struct decoded *moved)
{
	size_t at = disp_at(original), nr = original->instruction.length;

	if (has_target(original))
		return original->instruction.mnemonic == moved->instruction.mnemonic &&
		       has_target(moved) && absolute(original) == absolute(moved);
	if (nr != moved->instruction.length || at != disp_at(moved))
		return false;
	if (!at)
		return memcmp(original->bytes, moved->bytes, nr) == 0;
	return memcmp(original->bytes, moved->bytes, at) == 0 &&
	       memcmp(original->bytes + at + 4, moved->bytes + at + 4, nr - at - 4) == 0 &&
	       absolute(original) == absolute(moved);
}

/* movl $,-8(%rsp); movl $,-4(%rsp); lea -8(%rsp),%rsp; jmp */
static bool is_same_call(const struct comparison *comparison, const struct decoded *call,
			 const uint8_t *thunk, uint64_t address)
{
	static const ZydisMnemonic mnemonics[] = {ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_MOV,
						  ZYDIS_MNEMONIC_LEA, ZYDIS_MNEMONIC_JMP};
	static const int64_t places[] = {-8, -4, -8};
	struct decoded decoded[ARRAY_SIZE(mnemonics)];
	const struct decoded *jump = &decoded[3];
	uint64_t pushed;

	for (size_t i = 0, at = 0; i < ARRAY_SIZE(mnemonics); i++) {
		if (!decode(comparison, &decoded[i], thunk + at, 32, address + at) ||
		    decoded[i].instruction.mnemonic != mnemonics[i])
			return false;
		if (i < 2 && (decoded[i].operands[0].size != 32 ||
			      decoded[i].operands[0].mem.base != ZYDIS_REGISTER_RSP))
			return false;
		if (i < 3 && decoded[i].instruction.raw.disp.value != places[i])
			return false;
		at += decoded[i].instruction.length;
	}
	if (decoded[2].operands[0].reg.value != ZYDIS_REGISTER_RSP)
		return false;
	pushed = (decoded[0].instruction.raw.imm[0].value.u & UINT32_MAX) |
		 decoded[1].instruction.raw.imm[0].value.u << 32;
	if (pushed != call->address + call->instruction.length)
		return false;
	if (has_target(call) || disp_at(call))
		return absolute(call) == absolute(jump) && disp_at(call) == disp_at(jump);
	return call->operands[0].type == jump->operands[0].type &&
	       memcmp(&call->operands[0].mem, &jump->operands[0].mem,
		      sizeof(call->operands[0].mem)) == 0 &&
	       call->operands[0].reg.value == jump->operands[0].reg.value;
}

/* How far an instruction lowers the stack pointer; -1: it does not. */
static int64_t lowers_by(const struct decoded *decoded)
{
	const ZydisDecodedOperand *operands = decoded->operands;

	if (decoded->instruction.mnemonic == ZYDIS_MNEMONIC_PUSH)
		return decoded->instruction.operand_width / 8;
	if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    operands[0].reg.value != ZYDIS_REGISTER_RSP)
		return -1;
	if (decoded->instruction.mnemonic == ZYDIS_MNEMONIC_SUB)
		return decoded->instruction.raw.imm[0].value.s;
	if (decoded->instruction.mnemonic == ZYDIS_MNEMONIC_LEA &&
	    operands[1].mem.base == ZYDIS_REGISTER_RSP &&
	    operands[1].mem.index == ZYDIS_REGISTER_NONE)
		return -decoded->instruction.raw.disp.value;
	return -1;
}

/* Does a thunk whose first step stands behind an instruction that stays take back what that did? */
static bool is_raised(const struct comparison *comparison, const struct patch *patch,
		      const uint8_t *thunk)
{
	size_t at = patch->steps[0].offset;
	struct decoded first, raising;

	if (!patch->nr_before ||
	    !decode(comparison, &first, patch->before, patch->nr_before,
		    patch->address - patch->nr_before) ||
	    first.instruction.length != patch->nr_before)
		return !patch->nr_before;
	if (patch->nr_steps < 2 || patch->steps[0].window_offset < 0 ||
	    patch->steps[1].window_offset >= 0)
		return lowers_by(&first) < 0;
	return decode(comparison, &raising, thunk + at, 32, patch->thunk + at) &&
	       lowers_by(&first) > 0 && lowers_by(&raising) == -lowers_by(&first);
}

/* Nothing is moved there: the stack pointer was raised. */
static bool is_raising(const struct patch *patch, size_t step)
{
	return patch->steps[step].window_offset < 0 && step + 1 < patch->nr_steps &&
	       patch->steps[step + 1].window_offset == patch->steps[step].window_offset;
}

static bool decode_original(const struct comparison *comparison, const struct patch *patch,
			    int8_t window_offset, struct decoded *original)
{
	if (window_offset < 0)
		return decode(comparison, original, patch->before, patch->nr_before,
			      patch->address - patch->nr_before);
	return decode(comparison, original, patch->old + window_offset,
		      (size_t)(patch->nr_bytes - window_offset),
		      patch->address + (uint64_t)window_offset);
}

static void compare_thunk(struct comparison *comparison, const struct subject *subject,
			  const struct patch *patch)
{
	const uint8_t *thunk = subject->area.bytes + (patch->thunk - subject->area.address);

	if (!is_raised(comparison, patch, thunk))
		differs(comparison, patch->address, "is not what the first instruction has left");
	for (size_t i = 1; i < patch->nr_steps; i++) {
		const struct patch_step *step = &patch->steps[i];
		struct decoded original, moved;

		if (is_raising(patch, i))
			continue;

		if (!decode(comparison, &moved, thunk + step->offset, 32,
			    patch->thunk + step->offset)) {
			differs(comparison, patch->address, "is moved wrongly");
			return;
		}
		if (step->window_offset == patch->nr_bytes) {
			if (moved.instruction.mnemonic != ZYDIS_MNEMONIC_JMP ||
			    absolute(&moved) != patch->address + patch->nr_bytes)
				differs(comparison, patch->address, "is not jumped back to");
			return;
		}
		if (!decode_original(comparison, patch, step->window_offset, &original)) {
			differs(comparison, patch->address, "is not cut between instructions");
			return;
		}
		comparison->nr_moved++;
		if (original.instruction.mnemonic == ZYDIS_MNEMONIC_CALL) {
			if (!is_same_call(comparison, &original, thunk + step->offset,
					  patch->thunk + step->offset))
				differs(comparison, original.address, "is another call");
			return;
		}
		if (!is_same(&original, &moved))
			differs(comparison, original.address, "is another instruction");
	}
}

/* A call that is patched, and its thunk, which goes where it went. */
static void compare_call(struct comparison *comparison, const struct subject *subject,
			 const struct patch *patch)
{
	const uint8_t *thunk = subject->area.bytes + (patch->thunk - subject->area.address);
	struct decoded call, patched, jump;
	size_t at = patch->steps[1].offset;

	if (!decode(comparison, &call, patch->old, patch->nr_bytes, patch->address) ||
	    !decode(comparison, &patched, patch->new, patch->nr_bytes, patch->address) ||
	    !decode(comparison, &jump, thunk + at, 32, patch->thunk + at) ||
	    patched.instruction.mnemonic != ZYDIS_MNEMONIC_CALL ||
	    patched.instruction.length != call.instruction.length || !has_target(&patched) ||
	    absolute(&patched) != patch->thunk || jump.instruction.mnemonic != ZYDIS_MNEMONIC_JMP ||
	    absolute(&jump) != absolute(&call) || disp_at(&jump) != disp_at(&call))
		differs(comparison, patch->address, "is patched to another call");
	comparison->nr_moved++;
}

static void compare_calls(struct comparison *comparison, struct subject *subject,
			  const struct patch_function *function)
{
	struct patch_calls calls = {.address = function->address,
				    .bytes = function->bytes,
				    .nr_bytes = min_u64(function->nr_bytes, function->nr_readable)};
	struct patch_call_site site;

	while (patch_calls_next(&calls, &site)) {
		struct patch patch;
		size_t before = subject->area.nr_bytes;

		if (patch_call(&patch, site.address, site.bytes, site.nr_bytes, &subject->area,
			       &subject->counter) == PATCH_OK)
			compare_call(comparison, subject, &patch);
		subject->area.nr_bytes = before;
	}
}

static bool compare_file(struct subject *subject)
{
	struct comparison comparison = {.path = subject->file->path};

	ZydisDecoderInit(&comparison.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t i = 0; i < subject->file->nr_functions; i++) {
		struct patch_function function;
		struct patch patch;

		if (!function_of(subject->file, i, &function))
			continue;
		compare_lengths(&comparison, &function);
		if (patch_entry(&patch, &function, subject->branches, &subject->area,
				&subject->counter) == PATCH_OK)
			compare_thunk(&comparison, subject, &patch);
		compare_calls(&comparison, subject, &function);
	}
	printf("%s: %zu instructions, %zu moved, %zu bytes of data, %zu unknown, %zu differences\n",
	       comparison.path, comparison.nr_instructions, comparison.nr_moved, comparison.nr_data,
	       comparison.nr_unknown, comparison.nr_differences);
	return comparison.nr_differences == 0;
}

#else

static bool compare_file(struct subject *subject)
{
	(void)subject;
	return false;
}

#endif

static bool work(const char *verb, const char *path)
{
	struct file file;
	struct branches *branches;
	struct subject subject;
	bool is_good = true;

	if (!load(&file, path)) {
		fprintf(stderr, "patches: %s cannot be read\n", path);
		return false;
	}
	branches = sweep(&file);
	subject = (struct subject){
		.file = &file,
		.branches = branches,
		.area = {.address = (file.end + 0xfffff) & ~UINT64_C(0xfffff),
			 .bytes = xmalloc(AREA_BYTES),
			 .cap_bytes = AREA_BYTES},
	};
	subject.counter = (struct patch_counter){.address = subject.area.address + AREA_BYTES,
						 .nr_shards = 1};
	if (strcmp(verb, "compare") == 0)
		is_good = compare_file(&subject);
	else
		outcomes(&subject, strcmp(verb, "refused") == 0);
	free(subject.area.bytes);
	branches_free(branches);
	release(&file);
	return is_good;
}

int main(int argc, char **argv)
{
	bool is_good = true;

	if (argc < 3) {
		fprintf(stderr, "usage: patches outcomes|refused|compare FILE...\n");
		return 2;
	}
	if (!HAS_ZYDIS && strcmp(argv[1], "compare") == 0) {
		printf("built without Zydis\n");
		return 77;
	}
	for (int i = 2; i < argc; i++)
		is_good = work(argv[1], argv[i]) && is_good;
	return is_good ? 0 : 1;
}
