// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/serials.h"

#include <stdlib.h>

#include "base/alloc.h"

void serials_release(struct serials *serials)
{
	free(serials->rows);
	*serials = (struct serials){0};
}

void serials_set(struct serials *serials, uint32_t serial, struct probed_process *process,
		 uint32_t parent)
{
	while (serials->nr <= serial) {
		ARRAY_GROW(serials->rows, serials->nr, serials->cap);
		serials->rows[serials->nr++] = (struct serial_row){.parent = SERIALS_NO_PARENT};
	}
	serials->rows[serial] = (struct serial_row){process, parent};
}

struct probed_process *serials_find(const struct serials *serials, uint32_t serial)
{
	return serial < serials->nr ? serials->rows[serial].process : NULL;
}

bool serials_descends(const struct serials *serials, uint32_t serial, uint32_t from)
{
	/* A child has a greater serial than its parent. */
	while (serial > from && serial < serials->nr && serials->rows[serial].parent < serial)
		serial = serials->rows[serial].parent;
	return serial == from;
}

bool serials_has_parent(const struct serials *serials, uint32_t serial)
{
	return serial < serials->nr && serials->rows[serial].parent != SERIALS_NO_PARENT;
}
