// SPDX-License-Identifier: GPL-2.0-or-later
/* Not with base/alloc.h: libiberty's header declares xstrdup() and its kin once more. */
#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#elif __has_include(<demangle.h>)
#include <demangle.h>
#else
/* Some distributions have libiberty.a without this header; its interface is as old as GCC 3. */
#define DMGL_PARAMS (1 << 0)
#define DMGL_ANSI   (1 << 1)
#define DMGL_GNU_V3 (1 << 14)
#define DMGL_DLANG  (1 << 16)
#define DMGL_RUST   (1 << 17)
extern char *cplus_demangle(const char *mangled, int options);
extern char *ada_demangle(const char *mangled, int options);
extern char *xstrdup(const char *text);
#endif

#include <string.h>

#include "symbol/symbol.h"

/*
 * A demangler recurses over its input, and its output may grow exponentially
 * with it: beyond this length no compiler's name is worth the risk.
 */
#define MAX_LINKAGE_NAME_BYTES 65536

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "_ZN…17h<16 hex digits>E": Rust's first scheme is C++'s with a hash as last component. */
static bool is_legacy_rust(const char *name)
{
	const char *hash = strstr(name, "17h");

	while (hash) {
		if (strspn(hash + 3, "0123456789abcdef") >= 16 && hash[19] == 'E')
			return true;
		hash = strstr(hash + 1, "17h");
	}
	return false;
}

static char *demangle_known(const char *name, int style)
{
	return cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | style);
}

/*
 * Each scheme by its own prefix and its own demangler: libiberty's automatic
 * style would take C++ names with 17-letter parts for Rust.
 */
static char *demangle_any(const char *name)
{
	char *result;

	if (starts_with(name, "_Z") || starts_with(name, "__Z") || starts_with(name, "___Z")) {
		name = strstr(name, "_Z");
		if (is_legacy_rust(name)) {
			result = demangle_known(name, DMGL_RUST);
			if (result)
				return result;
		}
		return demangle_known(name, DMGL_GNU_V3);
	}
	if (starts_with(name, "_R"))
		return demangle_known(name, DMGL_RUST);
	if (starts_with(name, "_D") && name[2] >= '0' && name[2] <= '9')
		return demangle_known(name, DMGL_DLANG);
	if (strcmp(name, "_Dmain") == 0)
		return xstrdup("D main");
	return NULL;
}

/*
 * GNAT lowers everything and joins the parts by "__": only such names are
 * given to its demangler, which would accept any C name that has them.
 */
static bool is_ada(const char *name)
{
	return starts_with(name, "_ada_") ||
	       (strstr(name, "___") != NULL && name[0] != '_' && strstr(name, "___elab"));
}

char *symbol_demangle(const char *linkage_name)
{
	char *result = NULL;

	if (strlen(linkage_name) <= MAX_LINKAGE_NAME_BYTES) {
		result = demangle_any(linkage_name);
		if (!result && is_ada(linkage_name))
			result = ada_demangle(linkage_name, DMGL_PARAMS | DMGL_ANSI);
	}
	return result ? result : xstrdup(linkage_name);
}
