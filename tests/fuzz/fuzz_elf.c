// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Program files that are none, or lie: what mapping and unwind read of them, and
 * the symbols of some addresses. The corpus holds a library of one inlined call:
 *
 *	gcc -O2 -g -gz=none -shared -fPIC -nostdlib -ffile-prefix-map=$PWD=. \
 *		-Wl,--build-id,-z,noseparate-code,-z,max-page-size=4096 -o inlined.so inlined.c
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "elf/elf_image.h"
#include "elf/elf_sdt.h"
#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

static void check_bytes(const struct elf_bytes *part)
{
	uint64_t sum = 0;

	for (size_t i = 0; part->bytes && i < part->nr_bytes; i++)
		sum += part->bytes[i];
	assert(part->bytes || sum == 0);
}

static int wants_all(const void *context, const char *provider, const char *name)
{
	(void)context;
	return (int)(strlen(provider) + strlen(name)) % 8;
}

static void open_image(int fd, size_t nr_bytes)
{
	struct err err = ERR_INIT;
	struct elf_image *image = elf_image_open(fd, &err);
	struct elf_sdt sdt = {.wants = wants_all};
	const struct elf_cfi *cfi;
	size_t nr_build_id_bytes;
	uint64_t bias;

	if (!image) {
		assert(err.code && err.what[0]);
		return;
	}
	cfi = elf_image_cfi(image);
	check_bytes(&cfi->eh_frame_hdr);
	check_bytes(&cfi->eh_frame);
	check_bytes(&cfi->debug_frame);
	(void)elf_image_build_id(image, &nr_build_id_bytes);
	assert(nr_build_id_bytes <= nr_bytes);
	(void)elf_image_bias(image, 0x7f0000000000, 0x1000, true, &bias);
	elf_image_sdt(image, &sdt);
	elf_sdt_release(&sdt);
	elf_image_free(image);
}

static void resolve(int fd)
{
	static const uint64_t addresses[] = {0x0, 0x1000, 0x1004, 0x1010, 0x1021, 0xffffffffffff};
	const struct symbol_request request = {
		.path = "/nonexistent/fuzz",
		.fd = fd,
		.addresses = addresses,
		.nr_addresses = ARRAY_SIZE(addresses),
	};
	const struct symbol_options options = {0};
	struct symbol_result *result = NULL;
	struct err err = ERR_INIT;

	if (symbol_resolve_file(&options, &request, &result, &err) != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert(result->chains[i].first + (size_t)result->chains[i].nr <=
		       result->nr_locations);
	for (size_t i = 0; i < result->nr_locations; i++)
		assert(!result->locations[i].name || strlen(result->locations[i].name) > 0);
	symbol_result_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, nr_bytes) != (ssize_t)nr_bytes)
		abort();
	open_image(fd, nr_bytes);
	resolve(fd);
	close(fd);
	return 0;
}
