// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * looks_probed PID N: N processes with memory that looks as if the profc PID had made it, each with
 * a thread that does not leave what is said to be code of a probe. Ends with standard input.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "inject/region.h"
#include "patch/patch_table.h"
#include "self_measure.h"

#define PAGE_BYTES 4096
#define REGIONS	   8

static uint64_t start_of(int pid)
{
	char path[32], text[1024] = "", *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 || !strrchr(text, ')'))
		exit(77);
	close(fd);
	at = strrchr(text, ')') + 2;
	for (int i = 3; i < 22; i++)
		at = strchr(at, ' ') + 1;
	return strtoull(at, NULL, 10);
}

/* Code that is one endless loop, and a patch of which it is said that it cannot be left there. */
static void *make_region(const char *name)
{
	struct region_header *header;
	struct patch_row *row;
	struct patch *patch;
	uint8_t *bytes;
	uint8_t *code =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 2 * PAGE_BYTES))
		exit(1);
	header = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	memcpy(header->magic, REGION_MAGIC, sizeof(header->magic));
	header->nr_parts = header->nr_patches = header->nr_shapes = 1;
	header->nr_patch_bytes = 10;
	header->patches_offset = PAGE_BYTES;
	header->head_bytes = 2 * PAGE_BYTES;
	row = (struct patch_row *)((uint8_t *)header + PAGE_BYTES);
	patch = (struct patch *)(row + 1);
	bytes = (uint8_t *)(patch + 1);
	memset(code, 0x90, PAGE_BYTES);
	memcpy(code, "\xb8\x22\0\0\0\x0f\x05\xeb\xf7", 9); /* pause(2), again and again */
	memset(bytes + 5, 0x90, 5);			   /* the new ones */
	patch->address = (uintptr_t)code + PAGE_BYTES / 2;
	patch->nr_bytes = 5;
	patch->thunk = (uintptr_t)code;
	patch->nr_thunk_bytes = 9;
	patch->nr_steps = 1;
	patch->steps[0].is_callee = true;
	mprotect(code, PAGE_BYTES, PROT_READ | PROT_EXEC);
	return code;
}

static void look_probed(const char *name)
{
	void *code = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < REGIONS; i++)
		code = make_region(name);
	((void (*)(void))code)();
}

int main(int argc, char **argv)
{
	int pid = (int)number_argument(argc, argv, 1, 0);
	uint64_t nr = number_argument(argc, argv, 2, 1);
	char name[96];
	struct stat found;

	if (stat("/proc/self/ns/pid", &found))
		return 77;
	snprintf(name, sizeof(name), REGION_NAME "-%d-%llu-%llu", pid,
		 (unsigned long long)start_of(pid), (unsigned long long)found.st_ino);
	for (uint64_t i = 0; i < nr; i++) {
		if (fork() == 0)
			look_probed(name);
	}
	say_ready();
	wait_for_end();
	return 0;
}
