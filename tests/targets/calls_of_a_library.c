// SPDX-License-Identifier: GPL-2.0-or-later
/* calls_of_a_library: calls functions of counted_plugin.c, linked, and prints how often. */
#include "own_counts.h"

void plugin_function(void);
void plugin_other(void);

int main(void)
{
	void (*volatile pointed)(void) = plugin_function;

	for (int i = 0; i < 1009; i++)
		plugin_function();
	for (int i = 0; i < 11; i++)
		pointed();
	for (int i = 0; i < 107; i++)
		plugin_other();
	say_own_count("plugin_function", 1009 + 11);
	say_own_count("plugin_helper", 2 * (1009 + 11) + 107);
	say_own_count("plugin_other", 107);
	return 0;
}
