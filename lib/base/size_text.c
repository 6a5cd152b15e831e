// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/size_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int size_parse(const char *text, uint64_t *nr_bytes)
{
	static const char units[] = "BKMG";
	char *end;
	double number = strtod(text, &end);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : units;

	if (end == text || !unit || (*end && end[1]))
		return ERR_INVALID;
	number *= (double)(UINT64_C(1) << 10 * (unit - units));
	if (!(number >= 1) || number > 1e18)
		return ERR_INVALID;
	*nr_bytes = (uint64_t)number;
	return 0;
}
