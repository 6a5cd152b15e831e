// SPDX-License-Identifier: GPL-2.0-or-later
/* A library to be counted in, linked or loaded: nobody but its callers counts its calls. */
#include "own_counts.h"

static volatile uint64_t plugin_sink;

COUNTED static void plugin_helper(void)
{
	plugin_sink++;
}

COUNTED void plugin_function(void)
{
	plugin_helper();
	plugin_helper();
}

COUNTED void plugin_other(void)
{
	plugin_helper();
}
