/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ELF_ELF_OPEN_H
#define PROFC_ELF_ELF_OPEN_H

#include <libelf.h>

/*
 * As elf_begin(3) for a file that another user may have made: NULL also if it claims more sections
 * than any program has. libelf keeps 200 bytes for each, and a file of holes can claim any number.
 */
Elf *elf_open(int fd, Elf_Cmd command);
/*
 * As above, to read whole sections, as libelf does when it is asked for a part: NULL also if a
 * large one is of holes. Variables may be.
 */
Elf *elf_open_sections(int fd, Elf_Cmd command);

#endif
