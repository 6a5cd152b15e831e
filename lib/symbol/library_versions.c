// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/library_versions.h"

#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"

static void append(struct buf *out, const char *name, const char *loaded, const char *compiled)
{
	buf_printf(out, "%s %s", name, loaded);
	if (strcmp(loaded, compiled) != 0)
		buf_printf(out, " (built with %s)", compiled);
}

void library_versions(struct buf *out)
{
	char elfutils[16];

	snprintf(elfutils, sizeof(elfutils), "0.%d", _ELFUTILS_VERSION);
	append(out, "elfutils", dwfl_version(NULL), elfutils);
	append(out, ", zstd", ZSTD_versionString(), ZSTD_VERSION_STRING);
	append(out, ", zlib", zlibVersion(), ZLIB_VERSION);
}
