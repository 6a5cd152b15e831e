// SPDX-License-Identifier: GPL-2.0-or-later
// C++ exceptions in flight: thrown through frames with and without clean-ups, with
// alloca and realigned, caught by type, rethrown, and thrown again from a handler.
// With the argument "dense" there is little else.
#include <alloca.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static volatile unsigned long sink;

struct cleanup {
	unsigned long *counter;
	~cleanup()
	{
		++*counter;
	}
};

__attribute__((noinline)) static void thrower(int kind)
{
	if (kind == 0)
		throw std::runtime_error("a message long enough to be allocated");
	if (kind == 1)
		throw kind;
	sink += static_cast<unsigned long>(kind);
}

__attribute__((noinline)) static void middle(int depth, int kind)
{
	unsigned long counter = 0;
	cleanup guard{&counter};

	if (depth)
		middle(depth - 1, kind);
	else
		thrower(kind);
	sink += counter;
}

__attribute__((noinline)) static void rethrower(int kind)
{
	try {
		middle(3, kind);
	} catch (const std::exception &caught) {
		sink += std::string(caught.what()).size();
		throw;
	}
}

struct noted_cleanup {
	unsigned long *counter;
	const char *bytes;
	__attribute__((noinline)) ~noted_cleanup()
	{
		++*counter;
		sink += static_cast<unsigned long>(bytes[0]);
	}
};

__attribute__((noinline)) static void with_alloca(int depth, int kind)
{
	unsigned long counter = 0;
	char *bytes = static_cast<char *>(alloca(64 + 16 * static_cast<unsigned>(depth)));

	memset(bytes, kind, 64);
	noted_cleanup guard{&counter, bytes};
	if (depth)
		with_alloca(depth - 1, kind);
	else
		thrower(kind);
	sink += counter;
}

__attribute__((noinline)) static void realigned(int depth, int kind)
{
	struct alignas(64) {
		char bytes[128];
	} wide;
	unsigned long counter = 0;

	memset(&wide, kind, sizeof(wide));
	noted_cleanup guard{&counter, wide.bytes};
	if (depth)
		realigned(depth - 1, kind);
	else
		thrower(kind);
	sink += counter;
}

__attribute__((noinline)) static void other(int kind)
{
	try {
		realigned(1, kind);
	} catch (int number) {
		throw std::string(1, static_cast<char>('a' + number));
	}
}

static void caught(void (*function)(int, int), int kind)
{
	try {
		function(3, kind);
		other(kind);
	} catch (const std::exception &) {
		sink++;
	} catch (int number) {
		sink += static_cast<unsigned long>(number);
	} catch (const std::string &text) {
		sink += text.size();
	}
}

static void by_library()
{
	std::map<std::string, std::vector<int>> table;
	std::vector<std::function<int(int)>> functions = {[](int x) { return x + 1; },
							  [](int x) { return x * 3; }};

	for (int i = 0; i < 20; i++)
		table["key " + std::to_string(i % 5)].push_back(functions[i % 2](i));
	for (auto &entry : table)
		std::sort(entry.second.begin(), entry.second.end(),
			  [](int a, int b) { return a > b; });
	sink += table.size();
	try {
		sink += static_cast<unsigned long>(table.at("no such key")[0]);
	} catch (const std::out_of_range &) {
		sink++;
	}
}

int main(int argc, char **argv)
{
	bool is_dense = argc > 1 && !strcmp(argv[1], "dense");

	for (int i = 0; i < 3; i++) {
		try {
			rethrower(i);
		} catch (const std::exception &) {
			sink++;
		} catch (int number) {
			sink += static_cast<unsigned long>(number);
		}
	}
	for (int i = 0; is_dense && i < 3; i++) {
		caught(with_alloca, i);
		caught(realigned, i);
	}
	by_library();
	std::printf("%lu\n", sink);
	return 0;
}
