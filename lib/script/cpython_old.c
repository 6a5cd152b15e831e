// SPDX-License-Identifier: GPL-2.0-or-later
/* CPython before 3.8: recognised, so that users learn why its functions are not read. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "script/runtime_priv.h"

/* Nothing that it exports says its version, but the names of its program and library do. */
static void *recognise(struct space *space, const struct script_module *module,
		       struct script_found *found)
{
	const char *slash = strrchr(module->path, '/');
	const char *name = strstr(slash ? slash : module->path, "python");
	const char *digits = name ? name + strlen("python") : "";

	(void)space;
	*found = (struct script_found){.support = SCRIPT_UNKNOWN_VERSION};
	if (isdigit((unsigned char)digits[0]) && digits[1] == '.' &&
	    isdigit((unsigned char)digits[2]))
		snprintf(found->version, sizeof(found->version), "%.*s",
			 isdigit((unsigned char)digits[3]) ? 4 : 3, digits);
	return NULL;
}

const struct script_runtime cpython_old_runtime = {
	.name = "Python",
	.exports = {"PyCode_Type", "PyGen_Type", "PyEval_EvalCode", "Py_GetVersion"},
	.nr_exports = 4,
	.recognise = recognise,
};
