// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks for an interpreter in a process that runs. */
#include "doctor/interpreter_priv.h"

#include <stdio.h>

#include "mapping/module.h"
#include "mapping/space.h"
#include "profile/runtime.h"
#include "script/script.h"

static bool find_in(struct script_process *process, struct doctor_interpreter *found)
{
	const char *name;

	script_process_find(process);
	name = script_process_runtime(process);
	if (!name)
		return false;
	*found = (struct doctor_interpreter){.name = name,
					     .problem = script_process_problem(process),
					     .versions = runtime_known_versions(name)};
	snprintf(found->version, sizeof(found->version), "%s", script_process_version(process));
	return true;
}

bool doctor_find_interpreter(pid_t pid, struct doctor_interpreter *found)
{
	struct module_table *modules = module_table_new();
	struct script_modules *known = script_modules_new();
	struct space *space = space_new(modules, pid);
	struct script_process *process = script_process_new(known, space);
	bool is_found = space_refresh(space, NULL) == 0 && find_in(process, found);

	script_process_free(process);
	space_free(space);
	script_modules_free(known);
	module_table_free(modules);
	return is_found;
}
