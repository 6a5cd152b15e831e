// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/shared_code_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/demangled_name.h"
#include "base/escape.h"
#include "calltree/expand.h"
#include "view/number.h"

#define NAMES_SHOWN 6

/* Names keep their arguments: instances of a template differ only in these. */
static void append_name(struct buf *out, const char *name)
{
	escape_terminal(out, demangled_name_without_result(name));
}

void shared_code_append(struct buf *out, const struct expansion *expansion, uint32_t label)
{
	cleanup_free char *list = xstrdup(label_shared_names(expansion, label));
	char *rest = list, *name;
	struct buf own = {0};
	size_t nr = 0;

	label_append_name(&own, expansion, label, NAME_FULL);
	append_name(out, buf_str(&own));
	buf_release(&own);
	while ((name = strsep(&rest, "\n"))) {
		if (nr++ >= NAMES_SHOWN)
			continue;
		buf_append_str(out, nr == 1 ? " shares its code with " : ", ");
		append_name(out, name);
	}
	if (nr <= NAMES_SHOWN)
		return;
	buf_append_str(out, " and ");
	append_count(out, nr - NAMES_SHOWN);
	buf_append_str(out, " more");
}
