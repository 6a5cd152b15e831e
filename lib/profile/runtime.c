// SPDX-License-Identifier: GPL-2.0-or-later
/* Language runtimes, and how to start them so that they name their code. */
#include "profile/runtime.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

static const struct runtime runtimes[] = {
	{"node", "Node.js", "node --perf-basic-prof"},
	{"libnode", "Node.js", "node --perf-basic-prof"},
	{"deno", "Deno", "deno run --v8-flags=--perf-basic-prof"},
	{"python", "Python", "python3 -X perf, of 3.12 and later"},
	{"libpython", "Python", "python3 -X perf, of 3.12 and later"},
	{"ruby", "Ruby", "ruby --yjit-perf, of 3.3 and later"},
	{"libruby", "Ruby", "ruby --yjit-perf, of 3.3 and later"},
	{"java", "Java",
	 "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, of 17 and later"},
	{"libjvm", "Java",
	 "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, of 17 and later"},
	{"dotnet", ".NET", "DOTNET_PerfMapEnabled=1, of 6 and later"},
	{"php", "PHP", "php -d opcache.jit_debug=16, of 8.0 and later with its JIT"},
	{"beam", "Erlang", "erl +JPperf true, of OTP 24 and later"},
	{"luajit", "LuaJIT", "a LuaJIT that is built with -DLUAJIT_USE_PERFTOOLS"},
	{"libluajit", "LuaJIT", "a LuaJIT that is built with -DLUAJIT_USE_PERFTOOLS"},
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
