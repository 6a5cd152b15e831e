// SPDX-License-Identifier: GPL-2.0-or-later
/* Dense numbers for the ids that an export uses. */
#include "export/numbering_priv.h"

#include <stdlib.h>

#include "base/alloc.h"

void numbering_init(struct numbering *numbering, size_t nr_ids)
{
	*numbering = (struct numbering){.numbers = xcalloc(nr_ids, sizeof(uint32_t)),
					.ids = xcalloc(nr_ids, sizeof(uint32_t))};
}

void numbering_release(struct numbering *numbering)
{
	free(numbering->numbers);
	free(numbering->ids);
	*numbering = (struct numbering){.nr = 0};
}

uint32_t numbering_of(struct numbering *numbering, uint32_t id)
{
	if (!numbering->numbers[id]) {
		numbering->ids[numbering->nr++] = id;
		numbering->numbers[id] = numbering->nr;
	}
	return numbering->numbers[id] - 1;
}

bool numbering_has(const struct numbering *numbering, uint32_t id)
{
	return numbering->numbers[id] != 0;
}
