// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/duration_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"

struct unit {
	const char *name;
	double ns;
};

int duration_parse(const char *text, uint64_t *ns, struct err *err)
{
	static const struct unit units[] = {
		{"", 1e9},  {"ns", 1},	 {"us", 1e3},	{"ms", 1e6},
		{"s", 1e9}, {"m", 6e10}, {"h", 3.6e12},
	};
	size_t nr_digits = strspn(text, "0123456789.");
	char *end = NULL;
	double value = nr_digits ? strtod(text, &end) : 0;

	for (size_t i = 0; end == text + nr_digits && i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		value *= units[i].ns;
		if (value >= 9e18) /* 285 years; keeps sums of two times within 64 bits */
			return err_set(err, ERR_INVALID, "time '%s' is too long", text);
		*ns = (uint64_t)(value + 0.5);
		return 0;
	}
	err_set(err, ERR_INVALID, "invalid time '%s'", text);
	err_hint(err, "a time is a number with ns, us, ms, s, m or h, such as 500ms; without a "
		      "unit, seconds");
	return ERR_INVALID;
}
