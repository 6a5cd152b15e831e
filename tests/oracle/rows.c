// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows that profc compiles, in readelf's words:
 *
 *	rows FILE < ADDRESSES
 *
 * For each address (hexadecimal, a line each) a line with it, the CFA, and what is known of
 * the frame pointer and the return address: c-8 is saved at CFA - 8, u not known, s the same as
 * here; f-16 saved at frame pointer - 16. `exp` for CFAs by an expression that rows hold; for what
 * they do not hold the kind of row instead: root, signal, fallback, none, bad.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "unwind/module_cfi.h"

static const char *const kinds[] = {
	[ROW_EMPTY] = "empty",	     [ROW_STEP] = "",		[ROW_STEP_DEREF] = "",
	[ROW_STEP_PLT] = "",	     [ROW_SIGNAL] = "signal",	[ROW_ROOT] = "root",
	[ROW_FALLBACK] = "fallback", [ROW_NO_CFI] = "none",	[ROW_BAD_CFI] = "bad",
	[ROW_NO_FILE] = "nofile",    [ROW_FOREIGN] = "foreign",
};

static void print_fp(const struct row *row)
{
	switch ((enum row_fp)row->fp) {
	case ROW_FP_SAME:
		printf(" s");
		return;
	case ROW_FP_AT_CFA:
		printf(" c%+d", row->fp_offset);
		return;
	case ROW_FP_AT_FP:
		printf(" f%+d", row->fp_offset);
		return;
	case ROW_FP_LOST:
		printf(" u");
		return;
	}
}

static void print_row(uint64_t address, const struct row *row)
{
	printf("%" PRIx64 " ", address);
	if (row->kind != ROW_STEP && row->kind != ROW_STEP_DEREF && row->kind != ROW_STEP_PLT) {
		printf("%s\n", kinds[row->kind]);
		return;
	}
	if (row->kind == ROW_STEP)
		printf("r%u%+d", row->cfa_reg, row->cfa_offset);
	else
		printf("exp");
	print_fp(row);
	if (row->ra == ROW_RA_AT_CFA)
		printf(" c%+d\n", row->ra_offset);
	else
		printf(" s\n");
}

int main(int argc, char **argv)
{
	char line[64];
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct elf_image *image = fd >= 0 ? elf_image_open(fd, NULL) : NULL;
	const struct unwind_arch *arch;
	struct module_cfi cfi;
	uint64_t work = 0;

	if (!image)
		return 2;
	arch = elf_image_machine(image) == ELF_MACHINE_AARCH64 ? &unwind_arch_aarch64
							       : &unwind_arch_x86_64;
	module_cfi_init(&cfi, image, &work);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t address = strtoull(line, NULL, 16);
		struct row row = module_cfi_row(&cfi, arch, address, address);

		print_row(address, &row);
	}
	module_cfi_release(&cfi);
	elf_image_free(image);
	close(fd);
	return 0;
}
