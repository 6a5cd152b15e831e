// SPDX-License-Identifier: GPL-2.0-or-later
// C++ exceptions in flight: thrown through frames with and without clean-ups,
// caught by type, rethrown, and thrown again from a handler.
#include <algorithm>
#include <cstdio>
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

int main()
{
	for (int i = 0; i < 3; i++) {
		try {
			rethrower(i);
		} catch (const std::exception &) {
			sink++;
		} catch (int number) {
			sink += static_cast<unsigned long>(number);
		}
	}
	by_library();
	std::printf("%lu\n", sink);
	return 0;
}
