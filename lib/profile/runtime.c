// SPDX-License-Identifier: GPL-2.0-or-later
/* Language runtimes, and how to start them so that they name their code. */
#include "profile/runtime.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

#define PYTHON "python3 -X perf, of 3.12 and later", "3.8 to 3.13"
#define NODE   "node --perf-basic-prof", "18 and 20"
#define PHP    "php -d opcache.jit_debug=16, of 8.0 and later with its JIT", "8.2"
#define JAVA   "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, of 17 and later"

static const struct runtime runtimes[] = {
	{"node", "Node.js", NODE, NULL},
	{"libnode", "Node.js", NODE, NULL},
	{"deno", "Deno", "deno run --v8-flags=--perf-basic-prof", NULL, NULL},
	{"python", "Python", PYTHON, NULL},
	{"libpython", "Python", PYTHON, NULL},
	{"ruby", "Ruby", "ruby --yjit-perf, of 3.3 and later", NULL, NULL},
	{"libruby", "Ruby", "ruby --yjit-perf, of 3.3 and later", NULL, NULL},
	{"java", "Java", JAVA, NULL, "Compiler.perfmap"},
	{"libjvm", "Java", JAVA, NULL, "Compiler.perfmap"},
	{"dotnet", ".NET", "DOTNET_PerfMapEnabled=1, of 6 and later", NULL, NULL},
	{"php", "PHP", PHP, NULL},
	{"libphp", "PHP", PHP, NULL},
	{"perl", "Perl", NULL, "5.36", NULL},
	{"libperl", "Perl", NULL, "5.36", NULL},
	{"beam", "Erlang", "erl +JPperf true, of OTP 24 and later", NULL, NULL},
	{"luajit", "LuaJIT", "a LuaJIT that is built with -DLUAJIT_USE_PERFTOOLS", NULL, NULL},
	{"libluajit", "LuaJIT", "a LuaJIT that is built with -DLUAJIT_USE_PERFTOOLS", NULL, NULL},
};

/* Characters after the name: python3.12, ruby-3.3, libnode.so.108, node. */
static int ends_word(char c)
{
	return c == '\0' || c == '.' || c == '-' || (c >= '0' && c <= '9');
}

const struct runtime *runtime_of_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		size_t length = strlen(runtimes[i].file);

		if (strncmp(file, runtimes[i].file, length) == 0 && ends_word(file[length]))
			return &runtimes[i];
	}
	return NULL;
}

const char *runtime_known_versions(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		if (strcmp(runtimes[i].name, name) == 0)
			return runtimes[i].versions;
	}
	return NULL;
}
