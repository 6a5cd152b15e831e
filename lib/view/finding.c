// SPDX-License-Identifier: GPL-2.0-or-later
/* Findings as lines with a verdict in front. */
#include "view/finding.h"

#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/wrap.h"
#include "view/style.h"

#define INDENT 6

static const char *const words[FINDING_COUNT] = {"ok", "warn", "FAIL"};
static const enum style styles[FINDING_COUNT] = {STYLE_GOOD, STYLE_WARM, STYLE_HOT};

static void append_wrapped(struct buf *out, const struct view *view, const char *text)
{
	const struct wrap wrap = {.columns = view->columns, .indent = INDENT};
	struct buf escaped = {0};

	escape_terminal(&escaped, text);
	wrap_words(out, buf_str(&escaped), escaped.nr_bytes, &wrap);
	buf_release(&escaped);
}

void finding_append(struct buf *out, const struct view *view, enum finding finding,
		    const char *what, const char *hint)
{
	struct buf line = {0};

	style_append(out, view, styles[finding], words[finding]);
	buf_printf(out, "%*s", INDENT - (int)strlen(words[finding]), "");
	append_wrapped(out, view, what);
	if (hint && *hint) {
		buf_printf(&line, "hint: %s", hint);
		buf_printf(out, "%*s", INDENT, "");
		append_wrapped(out, view, buf_str(&line));
	}
	buf_release(&line);
}

void findings_append_sum(struct buf *out, const struct view *view,
			 const unsigned int nr[FINDING_COUNT])
{
	struct buf sum = {0};

	if (nr[FINDING_FAILURE])
		buf_printf(&sum, "%u FAIL: not all that was tried works here", nr[FINDING_FAILURE]);
	else if (nr[FINDING_WARNING])
		buf_printf(&sum, "profiling works here, with %u warning%s", nr[FINDING_WARNING],
			   nr[FINDING_WARNING] == 1 ? "" : "s");
	else
		buf_append_str(&sum, "profiling works here");
	buf_append_byte(out, '\n');
	style_append(out, view, STYLE_HEADING, buf_str(&sum));
	buf_append_byte(out, '\n');
	buf_release(&sum);
}
