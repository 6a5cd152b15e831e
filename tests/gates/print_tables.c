// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints the tables of profc.data as the schema has them, for scripts/check-tables. A table is a
 * line of its number, its title and the first column that older files lack, if any; and for each
 * of its columns a line that begins with a tab, of its name and what it holds.
 */
#include <stdio.h>

#include "profile/schema.h"

static const char *plain_content(const struct schema_column *column)
{
	switch ((enum schema_type)column->type) {
	case SCHEMA_SIGNED:
		return "signed";
	case SCHEMA_NS:
	case SCHEMA_SPAN:
	case SCHEMA_TIME:
	case SCHEMA_END:
		return "ns";
	case SCHEMA_ROW:
		return column->of == RECORD_STRINGS ? "text" : "row";
	case SCHEMA_NUMBER:
	case SCHEMA_CHOICE:
	case SCHEMA_FLAGS:
	case SCHEMA_PID:
	case SCHEMA_ROW_OR_NONE:
	case SCHEMA_ROW_PLUS_ONE:
		break;
	}
	return "";
}

static const char *content(const struct schema_column *column)
{
	switch ((enum schema_form)column->form) {
	case SCHEMA_PLAIN:
	case SCHEMA_CODED:
		return plain_content(column);
	case SCHEMA_DIFFERENCE:
	case SCHEMA_CODED_SIGNED:
		return "signed";
	case SCHEMA_CODED_BYTES:
		return "bytes";
	case SCHEMA_CODED_NUMBER:
		break;
	}
	return "";
}

int main(void)
{
	for (int type = 0; type < RECORD_TYPE_COUNT; type++) {
		const struct schema *schema = &schemas[type];

		if (!schema->title)
			continue;
		printf("%d\t%s\t%s\n", type, schema->title,
		       schema->nr_old < schema->nr ? schema->columns[schema->nr_old].name : "");
		for (unsigned int i = 0; i < schema->nr; i++)
			printf("\t%s\t%s\n", schema->columns[i].name, content(&schema->columns[i]));
	}
	return 0;
}
