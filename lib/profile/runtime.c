// SPDX-License-Identifier: GPL-2.0-or-later
/* Language runtimes, and how to start them so that they name their code. */
#include "profile/runtime.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

#define PYTHON	    "python3 -X perf, of 3.12 and later", "3.8 to 3.13"
#define NODE	    "node --perf-basic-prof", "18 and 20"
#define PHP	    "php -d opcache.jit_debug=16, of 8.0 and later with its JIT", "8.2", NULL, PHP_NO_POOL
#define PHP_NO_POOL "USE_ZEND_ALLOC=0"
#define JAVA	    "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, of 17 and later"

static const struct runtime runtimes[] = {
	{"node", "Node.js", NODE, NULL, NULL},
	{"libnode", "Node.js", NODE, NULL, NULL},
	{"deno", "Deno", "deno run --v8-flags=--perf-basic-prof", NULL, NULL, NULL},
	{"python", "Python", PYTHON, NULL, NULL},
	{"libpython", "Python", PYTHON, NULL, NULL},
	{"ruby", "Ruby", "ruby --yjit-perf, of 3.3 and later", NULL, NULL, NULL},
	{"libruby", "Ruby", "ruby --yjit-perf, of 3.3 and later", NULL, NULL, NULL},
	{"java", "Java", JAVA, NULL, "Compiler.perfmap", NULL},
	{"libjvm", "Java", JAVA, NULL, "Compiler.perfmap", NULL},
	{"dotnet", ".NET", "DOTNET_PerfMapEnabled=1, of 6 and later", NULL, NULL, NULL},
	{"php", "PHP", PHP},
	{"libphp", "PHP", PHP},
	{"perl", "Perl", NULL, "5.36", NULL, NULL},
	{"libperl", "Perl", NULL, "5.36", NULL, NULL},
	{"beam", "Erlang", "erl +JPperf true, of OTP 24 and later", NULL, NULL, NULL},
	{"luajit", "LuaJIT", "a LuaJIT that is built with -DLUAJIT_USE_PERFTOOLS", NULL, NULL,
	 NULL},
	{"libluajit", "LuaJIT", "a LuaJIT that is built with -DLUAJIT_USE_PERFTOOLS", NULL, NULL,
	 NULL},
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

bool runtime_is_without_pool(const struct runtime *runtime, const char *environment,
			     size_t nr_bytes)
{
	const char *end = environment + nr_bytes;

	for (const char *entry = environment; entry < end;
	     entry += strnlen(entry, (size_t)(end - entry)) + 1) {
		if (strncmp(entry, runtime->no_pool, (size_t)(end - entry)) == 0)
			return true;
	}
	return false;
}

const char *runtime_known_versions(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		if (strcmp(runtimes[i].name, name) == 0)
			return runtimes[i].versions;
	}
	return NULL;
}
