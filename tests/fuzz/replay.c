// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The main() of a fuzz target built without libFuzzer: feeds it every file of the
 * directories named, and prints TAP. A crash is the failure. To search for new
 * inputs, build the target with clang -fsanitize=fuzzer instead of this file.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

static int read_file(const char *path, struct buf *content)
{
	FILE *file = fopen(path, "re");
	uint8_t part[4096];
	size_t nr;

	if (!file)
		return -1;
	while ((nr = fread(part, 1, sizeof(part), file)) > 0)
		buf_append(content, part, nr);
	return fclose(file);
}

static void replay(const char *path, int number)
{
	struct buf content = {0};
	uint8_t *exact;

	printf("# %s\n", path);
	fflush(stdout);
	if (read_file(path, &content)) {
		printf("not ok %d - %s cannot be read\n", number, path);
		return;
	}
	/* A block of just this size, so that reading beyond it is found. */
	exact = xmemdup(content.bytes, content.nr_bytes);
	LLVMFuzzerTestOneInput(exact, content.nr_bytes);
	printf("ok %d - %s\n", number, path);
	free(exact);
	buf_release(&content);
}

static int replay_directory(const char *path, int nr_done)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *file;

		if (entry->d_name[0] == '.')
			continue;
		file = xasprintf("%s/%s", path, entry->d_name);
		replay(file, ++nr_done);
		free(file);
	}
	if (directory)
		closedir(directory);
	return nr_done;
}

int main(int argc, char **argv)
{
	int nr_done = 0;

	for (int i = 1; i < argc; i++)
		nr_done = replay_directory(argv[i], nr_done);
	printf("1..%d\n", nr_done);
	return nr_done ? 0 : 1;
}
