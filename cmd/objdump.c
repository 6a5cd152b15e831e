// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs objdump. */
#include "cmd/objdump.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/escape.h"
#include "cmd/search_path.h"

/* Far above the largest function: bounds what is read of objdump's output. */
#define OUTPUT_MAX_BYTES (64u << 20)

static void read_output(const char *command, struct buf *output)
{
	FILE *pipe = popen(command, "re");
	uint8_t bytes[8192];
	size_t nr;

	if (!pipe)
		return;
	while (output->nr_bytes < OUTPUT_MAX_BYTES &&
	       (nr = fread(bytes, 1, sizeof(bytes), pipe)) > 0)
		buf_append(output, bytes, nr);
	pclose(pipe);
}

bool objdump_exists(void)
{
	return in_search_path("objdump");
}

void objdump_run(const char *path, uint64_t start, uint64_t end, struct buf *output)
{
	struct buf command = {0};

	buf_append_str(&command, "objdump --disassemble --no-show-raw-insn ");
	buf_printf(&command, "--start-address=0x%" PRIx64 " --stop-address=0x%" PRIx64 " -- ",
		   start, end);
	escape_shell(&command, path);
	buf_append_str(&command, " 2>/dev/null");
	read_output(buf_str(&command), output);
	buf_release(&command);
}
