// SPDX-License-Identifier: GPL-2.0-or-later
/* The [vdso] of this process as an ELF file. */
#include "symbol/vdso.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int vdso_open(void)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = image;
	size_t nr_bytes;
	int fd;

	if (!image || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return -1;
	/* The section headers are its last part. */
	nr_bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0)
		(void)fchmod(fd, 0600); /* else its owner would be any user */
	if (fd >= 0 && write(fd, image, nr_bytes) != (ssize_t)nr_bytes) {
		close(fd);
		return -1;
	}
	return fd;
}
