// SPDX-License-Identifier: GPL-2.0-or-later
/* The texts of profc --help and profc COMMAND --help. */
#include "cmd/help.h"

#include <string.h>

#include "base/buf.h"
#include "base/wrap.h"
#include "cmd/command.h"

void help_profc(const struct command *const *commands, struct buf *out)
{
	buf_append_str(out,
		       "usage: profc COMMAND [OPTIONS] [ARGUMENT...]\n"
		       "       profc --help | --version [-v] | help COMMAND\n"
		       "\n"
		       "Where does the time of a program go? profc samples the stacks of any\n"
		       "native Linux process you may trace, without changing or restarting it.\n"
		       "\n"
		       "Commands:\n");
	for (; *commands; commands++)
		buf_printf(out, "  %-11s %s\n", (*commands)->name, (*commands)->summary);
	buf_append_str(out, "\n"
			    "First steps:\n"
			    "  profc record ./program      record a profile into profc.data\n"
			    "  profc report                show where its time went, by function\n"
			    "  profc annotate FUNCTION     show the cost of each source line\n"
			    "\n"
			    "'profc COMMAND --help' lists the options; profc(1) is the manual.\n");
}

void help_command(const struct command *command, struct buf *out)
{
	static const struct wrap wrap = {.columns = 79};

	buf_printf(out, "usage: profc %s %s\n\n%s\n", command->name, command->synopsis,
		   command->summary);
	if (command->help) {
		buf_append_byte(out, '\n');
		wrap_text(out, command->help, &wrap);
	}
	if (command->options->type != OPTION_SECTION)
		buf_append_str(out, "\nOptions:\n");
	options_help(command->options, out);
}
