// SPDX-License-Identifier: GPL-2.0-or-later
/* Hints for users on better symbols for a module. */
#include "symbol/hint.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "symbol/object.h"
#include "symbol/types.h"

/* Packages of debug information in Debian's main archive. */
struct package {
	const char *file; /* beginning of the file's name */
	const char *name;
};

static const struct package packages[] = {
	{"libc.so.6", "libc6-dbg"},
	{"libm.so.6", "libc6-dbg"},
	{"libpthread.so.0", "libc6-dbg"},
	{"ld-linux", "libc6-dbg"},
	{"libdl.so.2", "libc6-dbg"},
	{"libstdc++.so.6", "libstdc++6-12-dbg"},
	{"python3.11", "python3.11-dbg"},
	{"libpython3.11", "python3.11-dbg"},
	{"libjvm.so", "openjdk-17-dbg"},
	{"libbfd-2.40", "libbinutils-dbg"},
	{"libopcodes-2.40", "libbinutils-dbg"},
	{"ceph-osd", "ceph-osd-dbg"},
	{"ceph-mon", "ceph-mon-dbg"},
	{"ceph-mds", "ceph-mds-dbg"},
	{"librados.so.2", "librados2-dbg"},
	{"librbd.so.1", "librbd1-dbg"},
};

static const char *package_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(packages); i++) {
		if (strncmp(file, packages[i].file, strlen(packages[i].file)) == 0)
			return packages[i].name;
	}
	return NULL;
}

static const char *what_there_is(enum symbol_source source)
{
	switch (source) {
	case SYMBOL_SOURCE_NONE:
		return "no debug information and no symbols";
	case SYMBOL_SOURCE_DYNSYM:
		return "no debug information, only the names of exported functions";
	case SYMBOL_SOURCE_DWARF:
	case SYMBOL_SOURCE_SEPARATE:
	case SYMBOL_SOURCE_SYMTAB:
	case SYMBOL_SOURCE_MINIDEBUG:
	case SYMBOL_SOURCE_GOPCLNTAB:
	case SYMBOL_SOURCE_PERF_MAP:
	case SYMBOL_SOURCE_JITDUMP:
	case SYMBOL_SOURCE_INTERPRETER:
	case SYMBOL_SOURCE_COMPILER:
	case SYMBOL_SOURCE_COUNT:
		break;
	}
	return "no debug information, only function names";
}

static char *hint_for_dwarf(const struct symbol_object *object)
{
	if (object->dwarf.damaged)
		return xstrdup("part of the debug information is damaged and was ignored");
	if (object->missing_supplement)
		return xasprintf("part of the debug information is in a dwz file that is missing: "
				 "%s",
				 object->missing_supplement);
	if (object->split.nr_missing)
		return xasprintf("%zu .dwo files with debug information are missing, and there is "
				 "no %s.dwp",
				 object->split.nr_missing, object->path);
	return NULL;
}

char *hint_for_object(const struct symbol_object *object, enum symbol_source source)
{
	const char *package = package_of(object->path);

	if (object->has_dwarf)
		return hint_for_dwarf(object);
	if (source == SYMBOL_SOURCE_GOPCLNTAB)
		return xstrdup("no debug information: functions and lines are from Go's line "
			       "table, without inlined functions (build without -ldflags=-w)");
	if (object->refused_debug_path)
		return xasprintf("%s: %s is from another build", what_there_is(source),
				 object->refused_debug_path);
	if (package)
		return xasprintf("%s (Debian: install %s)", what_there_is(source), package);
	if (object->build_id.nr && object->has_asked_servers)
		return xasprintf(
			"%s, and none on the servers of DEBUGINFOD_URLS (build with -g, or "
			"install its debug package)",
			what_there_is(source));
	if (object->build_id.nr)
		return xasprintf("%s (build with -g, install its debug package, or set "
				 "DEBUGINFOD_URLS)",
				 what_there_is(source));
	return xasprintf("%s (build with -g)", what_there_is(source));
}

static void append_hex(struct buf *text, const uint8_t *bytes, size_t nr)
{
	if (!nr)
		buf_append_str(text, "none");
	for (size_t i = 0; i < nr; i++)
		buf_printf(text, "%02x", bytes[i]);
}

char *hint_for_mismatch(const struct symbol_request *request, const struct build_id *found)
{
	struct buf text = {.nr_bytes = 0};
	char *copy;

	buf_append_str(&text, "the file was rebuilt or replaced after the recording: build-id ");
	append_hex(&text, found->bytes, found->nr);
	buf_append_str(&text, ", recorded ");
	append_hex(&text, request->build_id, request->nr_build_id_bytes);
	copy = xstrdup(buf_str(&text));
	buf_release(&text);
	return copy;
}
