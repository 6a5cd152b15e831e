// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loads a program as a library, runs it with the arguments that follow, unloads it, and allocates.
 * Its main() is in no table of symbols: the code at its entry passes it to the C library.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE_BYTES 64

typedef int main_function(int, char **);

static jmp_buf is_over;

/* In place of the C library's. */
void exit(int status)
{
	longjmp(is_over, status + 1);
}

/* "lea DISTANCE(%rip), %rdi" */
static main_function *find_main(const char *image)
{
	const char *code = image + ((const Elf64_Ehdr *)image)->e_entry;

	for (int i = 0; i < CODE_BYTES; i++) {
		int32_t distance;

		if (memcmp(code + i, "\x48\x8d\x3d", 3) != 0)
			continue;
		memcpy(&distance, code + i + 3, sizeof(distance));
		return (main_function *)(uintptr_t)(code + i + 7 + distance);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	main_function *run = NULL;
	struct link_map *map;

	if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
		run = find_main((const char *)map->l_addr);
	if (!run) {
		fprintf(stderr, "cannot load it\n");
		return 2;
	}
	if (!setjmp(is_over))
		run(argc - 1, argv + 1);
	dlclose(library);
	if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
		fprintf(stderr, "it stays loaded\n");
		_exit(2);
	}
	for (int i = 0; i < 200; i++) {
		free(malloc(100000));
		usleep(1000);
	}
	_exit(0);
}
