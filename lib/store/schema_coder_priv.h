/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of a schema that need no coder of their table. */
#ifndef PROFC_STORE_SCHEMA_CODER_PRIV_H
#define PROFC_STORE_SCHEMA_CODER_PRIV_H

#include <stdbool.h>

#include "profile/schema.h"

struct columns_in;
struct columns_out;
struct profile;

/*
 * Append the members of a row to these columns. `before` is the row that differences are from, or
 * NULL in tables without any.
 */
void schema_put(enum record_type type, struct columns_out *out, const void *row,
		const void *before);
/*
 * Read them into a row, the other members of which stay. False when one of them is out of its
 * bounds: the rows that it refers to are in `profile`.
 */
bool schema_take(enum record_type type, const struct columns_in *in, const struct profile *profile,
		 void *row, const void *before);

#endif
