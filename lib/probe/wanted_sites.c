// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/wanted_sites.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "patch/patch_machine.h"
#include "patch/sites.h"
#include "probe/wanted.h"

static size_t read_image(void *image, uint64_t address, void *out, size_t nr_bytes)
{
	return elf_image_read(image, address, out, nr_bytes);
}

static size_t read_words(void *image, uint64_t address, uint64_t *words, size_t nr)
{
	return elf_image_words(image, address, words, nr);
}

static int compare_starts(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static size_t list_sites(const struct wanted *wanted, struct site *sites)
{
	size_t nr = 0;

	for (size_t i = 0; i < wanted->nr_places; i++) {
		if (wanted->places[i].is_site)
			sites[nr++] = (struct site){.address = wanted->places[i].address};
	}
	return nr;
}

static void list_segments(const struct elf_image *image, struct site_segment *segments)
{
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);

		segments[i] = (struct site_segment){.start = segment->vaddr,
						    .end = segment->vaddr + segment->file_bytes,
						    .is_code = segment->executable};
	}
}

static bool is_in_data(const struct elf_image *image, uint64_t word)
{
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);

		if (!segment->executable && word >= segment->vaddr &&
		    word - segment->vaddr < segment->memory_bytes)
			return word % sizeof(uint16_t) == 0;
	}
	return false;
}

static void refuse(struct wanted *wanted, uint64_t address, const char *why)
{
	for (size_t i = 0; i < wanted->nr_places && !wanted->gate_refusal; i++) {
		const struct wanted_place *place = &wanted->places[i];

		if (place->is_site && place->address == address)
			wanted->gate_refusal = xasprintf(
				"the time from or to %s cannot be measured: %s", place->name, why);
	}
}

void wanted_judge_sites(struct wanted *wanted, const struct elf_image *image)
{
	cleanup_free struct site *sites = xcalloc(wanted->nr_places + 1, sizeof(*sites));
	cleanup_free struct site_segment *segments =
		xcalloc(elf_image_nr_segments(image) + 1, sizeof(*segments));
	size_t nr = list_sites(wanted, sites);
	const struct site_file file = {.segments = segments,
				       .nr_segments = elf_image_nr_segments(image),
				       .starts = wanted->starts,
				       .nr_starts = wanted->nr_starts,
				       .read = read_image,
				       .words = read_words,
				       .context = (void *)(uintptr_t)image};

	if (!nr || !PATCH_HAS_SPANS)
		return;
	list_segments(image, segments);
	if (wanted->nr_starts)
		qsort(wanted->starts, wanted->nr_starts, sizeof(*wanted->starts), compare_starts);
	sites_judge(&file, sites, nr);
	for (size_t i = 0; i < nr; i++) {
		if (sites[i].why)
			refuse(wanted, sites[i].address, sites[i].why);
	}
	for (size_t i = 0; i < wanted->nr_semaphores; i++) {
		if (!is_in_data(image, wanted->semaphores[i].word))
			refuse(wanted, wanted->semaphores[i].site, "its semaphore is not in data");
	}
}
