// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * maps_from_archive FILE OFFSET ENTRY [CPU_MS]: maps the library that begins OFFSET bytes into FILE
 * as a dynamic linker would, and works in its function at the address ENTRY (hexadecimal), which
 * takes and returns a number. The library must need no relocation. Prints {"cpu_ns"}.
 */
#include <elf.h>
#include <sys/mman.h>

#include "self_measure.h"

#define PAGE 4096UL

typedef uint64_t step_function(uint64_t x);

static int protection_of(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
	       (flags & PF_X ? PROT_EXEC : 0);
}

static void map_segment(char *base, int fd, off_t offset, const Elf64_Phdr *segment)
{
	size_t skip = segment->p_vaddr % PAGE;

	if (segment->p_type != PT_LOAD || !segment->p_filesz)
		return;
	if (mmap(base + segment->p_vaddr - skip, segment->p_filesz + skip,
		 protection_of(segment->p_flags), MAP_PRIVATE | MAP_FIXED, fd,
		 offset + (off_t)(segment->p_offset - skip)) == MAP_FAILED)
		exit(2);
}

int main(int argc, char **argv)
{
	struct rounds rounds;
	step_function *step;
	Elf64_Phdr segments[20];
	Elf64_Ehdr header;
	uint64_t x = 1;
	off_t offset;
	char *base;
	int fd;

	if (argc < 4)
		return 2;
	fd = open(argv[1], O_RDONLY);
	offset = atol(argv[2]);
	if (pread(fd, &header, sizeof(header), offset) != sizeof(header) || header.e_phnum > 20 ||
	    pread(fd, segments, sizeof(segments), offset + (off_t)header.e_phoff) < 0)
		return 2;
	base = mmap(NULL, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < header.e_phnum; i++)
		map_segment(base, fd, offset, &segments[i]);
	*(void **)&step = base + strtoul(argv[3], NULL, 16);
	rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID,
			      number_argument(argc, argv, 4, 500) * MS);
	while (rounds_go_on(&rounds))
		x = step(x) + 1;
	printf("{\"cpu_ns\": %llu, \"x\": %llu}\n", (unsigned long long)process_cpu_ns(),
	       (unsigned long long)(x & 1));
	return 0;
}
