// SPDX-License-Identifier: GPL-2.0-or-later
/* Escapes text for XML and HTML. */
#include "export/markup_priv.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/escape.h"
#include "export/extract_priv.h"

void escape_markup_n(struct buf *out, const char *text, size_t nr_bytes)
{
	for (size_t i = 0; i < nr_bytes; i++) {
		switch (text[i]) {
		case '&':
			buf_append_str(out, "&amp;");
			break;
		case '<':
			buf_append_str(out, "&lt;");
			break;
		case '>':
			buf_append_str(out, "&gt;");
			break;
		case '"':
			buf_append_str(out, "&quot;");
			break;
		case '\'':
			buf_append_str(out, "&#39;");
			break;
		default:
			buf_append_byte(out, (uint8_t)text[i]);
		}
	}
}

void escape_markup(struct buf *out, const char *text)
{
	escape_markup_n(out, text, strlen(text));
}

void escape_target_markup(struct buf *out, const char *text)
{
	struct buf plain = {0};

	escape_terminal(&plain, text);
	escape_markup_n(out, buf_str(&plain), plain.nr_bytes);
	buf_release(&plain);
}

static void append_bytes(struct buf *out, uint64_t nr_bytes)
{
	static const char *const units[] = {"GiB", "MiB", "KiB"};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		uint64_t divisor = UINT64_C(1) << (30 - 10 * i);

		if (nr_bytes >= divisor) {
			buf_printf(out, "%.*f %s", i ? 1 : 2, (double)nr_bytes / (double)divisor,
				   units[i]);
			return;
		}
	}
	buf_printf(out, "%llu bytes", (unsigned long long)nr_bytes);
}

void markup_weight(struct buf *out, const struct extract *extract, uint64_t weight)
{
	double ns = (double)weight;

	if (extract_is_bytes(extract))
		append_bytes(out, weight);
	else if (!extract_is_time(extract))
		buf_printf(out, "%llu %.*s", (unsigned long long)weight,
			   (int)strlen(extract_unit(extract)) - (weight == 1),
			   extract_unit(extract));
	else if (weight >= NS_PER_SEC)
		buf_printf(out, "%.3f s", ns / (double)NS_PER_SEC);
	else if (weight >= NS_PER_MS)
		buf_printf(out, "%.3g ms", ns / (double)NS_PER_MS);
	else if (weight >= NS_PER_US)
		buf_printf(out, "%.3g \xc2\xb5s", ns / (double)NS_PER_US);
	else
		buf_printf(out, "%llu ns", (unsigned long long)weight);
}
