// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/level_json.h"

#include "base/buf.h"
#include "base/json.h"
#include "calltree/expand.h"
#include "mapping/module.h"
#include "profile/profile.h"

void level_write_json(struct json *json, const struct expansion *expansion,
		      const struct level *level)
{
	const struct place *place = &expansion->places[level->place];
	const struct module *module = label_module(expansion, level->label);
	struct buf name = {0};

	label_append_name(&name, expansion, level->label, NAME_FULL);
	json_object_begin(json);
	json_key_str(json, "function", buf_str(&name));
	json_key_known_str(json, "file", profile_str(expansion->profile, place->file));
	json_key_known_u64(json, "line", place->line);
	json_key_str(json, "module", module ? module->path : NULL);
	json_key_bool(json, "inlined", level->inlined);
	json_object_end(json);
	buf_release(&name);
}
