/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_LEVEL_JSON_H
#define PROFC_VIEW_LEVEL_JSON_H

struct expansion;
struct json;
struct level;

/* One level of a stack, as an object: function, file, line, module, inlined. */
void level_write_json(struct json *json, const struct expansion *expansion,
		      const struct level *level);

#endif
