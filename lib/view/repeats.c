// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/repeats.h"

#include "base/buf.h"
#include "calltree/expand.h"
#include "view/number.h"

void append_repeats(struct buf *out, uint64_t nr)
{
	if (nr <= 1)
		return;
	buf_append_str(out, " (\xc3\x97 ");
	append_count(out, nr);
	buf_append_byte(out, ')');
}

size_t nr_same_levels(const struct level *levels, size_t nr)
{
	size_t same = nr > 0;

	while (same < nr && levels[nr - 1 - same].place == levels[nr - 1].place &&
	       levels[nr - 1 - same].inlined == levels[nr - 1].inlined)
		same++;
	return same;
}
