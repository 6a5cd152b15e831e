// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/mman.h>
#include <unistd.h>

#include "base/address.h"
#include "base/file_pages.h"
#include "tests/unit/unit.h"

#define NR_PAGES 64

static size_t nr_resident(const char *at)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512], wanted[64];
	bool is_here = false;
	size_t nr = 0;

	assert_non_null(file);
	snprintf(wanted, sizeof(wanted), "%lx-", (unsigned long)(uintptr_t)at);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, wanted, strlen(wanted)) == 0)
			is_here = true;
		else if (is_here && sscanf(line, "Rss: %zu kB", &nr) == 1)
			break;
	}
	fclose(file);
	return nr * 1024 / page_bytes();
}

TEST(file_pages, are_given_back_but_those_that_were_written_to)
{
	const size_t page = page_bytes(), size = NR_PAGES * page;
	FILE *file = tmpfile();
	char *at;

	assert_non_null(file);
	for (size_t i = 0; i < size; i++)
		assert_int_not_equal(fputc((int)(i / page) + 1, file), EOF);
	assert_int_equal(fflush(file), 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	for (size_t i = 0; i < NR_PAGES; i++)
		assert_int_equal(at[i * page], (char)(i + 1));
	at[5 * page] = 100;
	at[6 * page + 1] = 101;
	assert_int_equal(nr_resident(at), NR_PAGES);
	file_pages_release(at, size);
	assert_int_equal(nr_resident(at), 2);
	assert_int_equal(at[5 * page], 100);
	assert_int_equal(at[6 * page + 1], 101);
	assert_int_equal(at[6 * page], 7);
	assert_int_equal(at[63 * page], 64);
	munmap(at, size);
	fclose(file);
}

TEST(file_pages, memory_of_no_file_stays)
{
	const size_t size = NR_PAGES * page_bytes();
	char *bytes = malloc(size);

	assert_non_null(bytes);
	memset(bytes, 7, size);
	file_pages_release(bytes, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], 7);
	free(bytes);
}
