// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/line_header.h"

#include <stdlib.h>

void line_header_free(struct line_header *header)
{
	if (!header)
		return;
	free(header->directories.rows);
	free(header->files.rows);
	free(header);
}
