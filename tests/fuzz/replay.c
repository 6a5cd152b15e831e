// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The main() of a fuzz target built without libFuzzer: feeds it every file of the
 * directories named, each also damaged in NR_MUTATIONS ways that are the same in every
 * run, and prints TAP. A crash is the failure, and the last line says of what. MUTATIONS in the
 * environment is another number of ways. To search for new inputs, build the target with clang
 * -fsanitize=fuzzer instead of this file.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/index_set.h"

#define NR_MUTATIONS 200

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

/* A block of just this size, so that reading beyond it is found. */
static void feed(const uint8_t *bytes, size_t nr_bytes)
{
	uint8_t *exact = xmemdup(bytes, nr_bytes);

	LLVMFuzzerTestOneInput(exact, nr_bytes);
	free(exact);
}

static uint64_t next_random(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return scramble_u64(*state);
}

/* A word of the input in the place of another one: pointers that lead in circles, or elsewhere. */
static void repeat_word(uint8_t *bytes, size_t nr_bytes, uint64_t *random)
{
	uint64_t word;
	size_t nr_words = nr_bytes / sizeof(word), first = nr_bytes % sizeof(word);

	if (nr_words < 2)
		return;
	first = next_random(random) % (first + 1);
	memcpy(&word, bytes + first + next_random(random) % nr_words * sizeof(word), sizeof(word));
	memcpy(bytes + first + next_random(random) % nr_words * sizeof(word), &word, sizeof(word));
}

/* One to four bytes changed; every fourth time, the end cut off; every eighth, words repeated. */
static void feed_damaged(const struct buf *content, uint64_t number)
{
	static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff};
	uint64_t random = number;
	uint8_t *damaged = xmemdup(content->bytes, content->nr_bytes);
	size_t nr_bytes = content->nr_bytes;

	for (uint64_t i = next_random(&random) % 4 + 1; i > 0; i--) {
		uint8_t *byte = damaged + next_random(&random) % nr_bytes;

		if (next_random(&random) % 2)
			*byte = odd[next_random(&random) % ARRAY_SIZE(odd)];
		else
			*byte = (uint8_t)(*byte ^ 1U << next_random(&random) % 8);
	}
	if (number % 4 == 0)
		nr_bytes = next_random(&random) % nr_bytes;
	else if (number % 8 == 7)
		repeat_word(damaged, nr_bytes, &random);
	feed(damaged, nr_bytes);
	free(damaged);
}

static void replay(const char *path, int number, uint64_t nr_mutations)
{
	struct buf content = {0};

	printf("# %s\n", path);
	fflush(stdout);
	if (read_file(path, &content)) {
		printf("not ok %d - %s cannot be read\n", number, path);
		return;
	}
	feed(content.bytes, content.nr_bytes);
	for (uint64_t i = 0; content.nr_bytes && i < nr_mutations; i++)
		feed_damaged(&content, i);
	printf("ok %d - %s\n", number, path);
	buf_release(&content);
}

static int replay_directory(const char *path, int nr_done, uint64_t nr_mutations)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char *file;

		if (entry->d_name[0] == '.')
			continue;
		file = xasprintf("%s/%s", path, entry->d_name);
		replay(file, ++nr_done, nr_mutations);
		free(file);
	}
	if (directory)
		closedir(directory);
	return nr_done;
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("MUTATIONS");
	uint64_t nr_mutations = wanted ? strtoull(wanted, NULL, 10) : NR_MUTATIONS;
	int nr_done = 0;

	for (int i = 1; i < argc; i++)
		nr_done = replay_directory(argv[i], nr_done, nr_mutations);
	printf("1..%d\n", nr_done);
	return nr_done ? 0 : 1;
}
